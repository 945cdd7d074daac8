/* SPDX-License-Identifier: MIT */
/* Lists of the commands that the launcher may start: their bytes, and the comparison with what it is requested to
 * start. */
#include "agent/loop/launcher_private.h"

#include <ctype.h>
#include <string.h>

#define NUMBER_MAX 20 /* digits */

static size_t count_words(char *const *list, size_t *bytes)
{
    size_t n = 0;

    while (list[n] != NULL)
        *bytes += strlen(list[n++]) + 1;
    return n;
}

static char *copy_words(char *to, char *const *words)
{
    for (; *words != NULL; words++)
        to = stpcpy(to, *words) + 1;
    return to;
}

int cfr_launcher_list_add(struct cfr_secret *list, char *const *argv, char *const *environment, struct cfr_err *err)
{
    struct cfr_launcher_command head = {0};
    size_t bytes = 0;
    char *to;

    head.arguments = (uint32_t)count_words(argv, &bytes);
    head.variables = (uint32_t)count_words(environment, &bytes);
    if (bytes > CFR_LAUNCHER_LIST_MAX)
        return cfr_err_set(err, CFR_E_LIMIT, "%s has too many arguments and variables", argv[0]);
    head.bytes = (uint32_t)bytes;
    to = cfr_secret_reserve(list, sizeof head + bytes, err);
    if (to == NULL)
        return CFR_E_LIMIT;
    memcpy(to, &head, sizeof head);
    (void)copy_words(copy_words(to + sizeof head, argv), environment);
    cfr_secret_grown(list, sizeof head + bytes);
    return 0;
}

/* ALLOWED is NAME= with CFR_LAUNCHER_NUMBER. */
static bool is_number_of(const char *allowed, const char *word)
{
    size_t n = strlen(allowed) - strlen(CFR_LAUNCHER_NUMBER);
    size_t digits = 0;

    if (strncmp(allowed, word, n) != 0)
        return false;
    while (isdigit((unsigned char)word[n + digits]))
        digits++;
    return word[n + digits] == '\0' && digits != 0 && digits <= NUMBER_MAX;
}

static bool ends_with_number(const char *word)
{
    const char *value = strchr(word, '=');

    return value != NULL && strcmp(value + 1, CFR_LAUNCHER_NUMBER) == 0;
}

/* Each of the two texts holds words with their NULs. */
static bool same_words(const struct cfr_launcher_command *head, const char *allowed, size_t allowed_left,
                       const char *words)
{
    size_t left = head->bytes;

    for (uint32_t i = 0; i < head->arguments + head->variables; i++) {
        size_t n = strnlen(allowed, allowed_left);
        size_t k = strnlen(words, left);

        if (n == allowed_left || k == left)
            return false;
        if (strcmp(allowed, words) != 0 &&
            (i < head->arguments || !ends_with_number(allowed) || !is_number_of(allowed, words)))
            return false;
        allowed += n + 1;
        allowed_left -= n + 1;
        words += k + 1;
        left -= k + 1;
    }
    return allowed_left == 0 && left == 0;
}

bool cfr_launcher_list_merge(struct cfr_secret *list, struct cfr_view more)
{
    struct cfr_launcher_command one;

    while (more.n >= sizeof one) {
        struct cfr_view whole = more;

        memcpy(&one, more.p, sizeof one);
        if (one.bytes > more.n - sizeof one)
            return true;
        whole.n = sizeof one + one.bytes;
        if (!cfr_launcher_list_has(cfr_secret_view(list), &one, more.p + sizeof one) &&
            cfr_secret_append(list, whole, NULL) != 0)
            return false;
        more.p += whole.n;
        more.n -= whole.n;
    }
    return true;
}

bool cfr_launcher_list_has(struct cfr_view list, const struct cfr_launcher_command *head, const char *words)
{
    struct cfr_launcher_command one;

    while (list.n >= sizeof one) {
        memcpy(&one, list.p, sizeof one);
        list.p += sizeof one;
        list.n -= sizeof one;
        if (one.bytes > list.n)
            return false;
        if (one.arguments == head->arguments && one.variables == head->variables && one.arguments != 0 &&
            same_words(head, list.p, one.bytes, words))
            return true;
        list.p += one.bytes;
        list.n -= one.bytes;
    }
    return false;
}
