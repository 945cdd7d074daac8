/* SPDX-License-Identifier: MIT */
/* Output of `credfresh check`: a line for each finding, with the line of the configuration that it is about. */
#include "agent/doctor/doctor_private.h"

#include <string.h>

#define EXCERPT_MAX 160 /* columns of a line that are shown */
#define KEY_MAX     64  /* columns of a key, and what separates it from its value */
#define WORD_LEAST  3   /* shorter words occur everywhere */

/* Line NUMBER of TEXT, without its end; empty if there is none. */
static struct cfr_view find_line(struct cfr_view text, int number)
{
    struct cfr_view line = {"", 0};

    while (number > 0 && cfr_view_line(&text, &line))
        number--;
    return number == 0 ? line : (struct cfr_view){"", 0};
}

static bool in_word(char c)
{
    return cfr_view_is_alnum(c) || (c != '\0' && strchr("_-./:@%+~", c) != NULL);
}

/* Whether a word of TEXT ends before AT: the colon of a key is none of its bytes. */
static bool ends_word(struct cfr_view text, size_t at)
{
    return at == text.n || !in_word(text.p[at]) || (text.p[at] == ':' && (at + 1 == text.n || text.p[at + 1] == ' '));
}

/* The first place in LINE where WORD is a whole word; empty if there is none. */
static struct cfr_view find_word(struct cfr_view line, struct cfr_view word)
{
    const char *end = line.p + line.n;
    const char *p = line.p;

    while (word.n != 0 && (p = memmem(p, (size_t)(end - p), word.p, word.n)) != NULL) {
        if ((p == line.p || !in_word(p[-1])) && ends_word(line, (size_t)(p - line.p) + word.n))
            return (struct cfr_view){p, word.n};
        p++;
    }
    return (struct cfr_view){line.p, 0};
}

/* TEXT without the credential that it begins with, of whose name words may occur anywhere. */
static const char *skip_unit(const char *text)
{
    static const char *const units[] = {"credential ", "image credential ", "endpoint "};
    const char *end = strstr(text, ": ");

    for (size_t i = 0; end != NULL && i < sizeof units / sizeof units[0]; i++) {
        if (strncmp(text, units[i], strlen(units[i])) == 0)
            return end + 2;
    }
    return text;
}

#define KEY_CHARS "abcdefghijklmnopqrstuvwxyz0123456789_."

/* The key of LINE that TEXT begins with, as in "exchange.aws: duration: ..."; empty if there is none. */
static struct cfr_view find_named_key(struct cfr_view line, const char *text)
{
    struct cfr_view key = {line.p, 0};
    size_t n;

    while ((n = strspn(text, KEY_CHARS)) != 0 && text[n] == ':' && text[n + 1] == ' ') {
        const char *dot = memrchr(text, '.', n);
        const char *last = dot != NULL ? dot + 1 : text;
        struct cfr_view found = find_word(line, (struct cfr_view){last, (size_t)(text + n - last)});
        size_t end = (size_t)(found.p - line.p) + found.n;

        if (found.n != 0 && end < line.n && line.p[end] == ':')
            key = found;
        text += n + 2;
    }
    return key;
}

#define AROUND_WORDS " \"`;,:?"

/* The part of LINE that ITEM is about: of the value of the key that its text names, the longest word that the text
 * names too, else the key itself. Without such a key it is a word of the whole line, of a finding about the machine a
 * path. Empty if there is none. So nothing is shown that the text does not say: the rest of the line may hold a secret.
 */
static struct cfr_view find_part(struct cfr_view line, const struct cfr_doctor_item *item)
{
    const char *text = skip_unit(item->text);
    struct cfr_view key = find_named_key(line, text);
    bool any = key.n != 0 || strcmp(item->check, "config") == 0;
    struct cfr_view rest = {key.p + key.n, line.n - (size_t)(key.p + key.n - line.p)};
    struct cfr_view part = {line.p, 0};

    while (*(text += strspn(text, AROUND_WORDS)) != '\0') {
        struct cfr_view word = {text, strcspn(text, AROUND_WORDS)};

        text += word.n;
        if (word.n >= WORD_LEAST && word.n > part.n && (any || memchr(word.p, '/', word.n) != NULL)) {
            struct cfr_view found = find_word(rest, word);

            part = found.n != 0 ? found : part;
        }
    }
    return part.n != 0 ? part : key;
}

static bool consists_of(struct cfr_view text, const char *bytes)
{
    while (text.n != 0 && text.p[0] != '\0' && strchr(bytes, text.p[0]) != NULL) {
        text.p++;
        text.n--;
    }
    return text.n == 0;
}

/* Where the key begins whose value begins at AT; AT if no key of a configuration is directly before it. */
static size_t find_key(struct cfr_view line, size_t at)
{
    size_t least = at > KEY_MAX ? at - KEY_MAX : 0;
    size_t i = at;
    size_t end;

    while (i > least && strchr(" \"'", line.p[i - 1]) != NULL)
        i--;
    if (i == least || line.p[i - 1] != ':')
        return at;
    end = --i;
    while (i > least && ((line.p[i - 1] >= 'a' && line.p[i - 1] <= 'z') || line.p[i - 1] == '_'))
        i--;
    return i == end || (i != 0 && strchr(" {,", line.p[i - 1]) == NULL) ? at : i;
}

/* "  12 | ...directory: relative}" and a caret below what is wrong, without the line's indentation; "..." is for what
 * else the line has, which may be secret. */
static void add_excerpt(const struct cfr_doctor_item *item, const char *margin, struct cfr_view source,
                        struct cfr_str *out)
{
    struct cfr_view line = find_line(source, item->line);
    struct cfr_view part;
    struct cfr_view before;
    struct cfr_view after;
    char shown[EXCERPT_MAX];
    size_t at;
    size_t lead = 3;

    if (item->line == 0 || item->text == NULL)
        return;
    part = find_part(line, item);
    if (part.n == 0)
        return;
    at = (size_t)(part.p - line.p);
    before = (struct cfr_view){line.p, find_key(line, at)};
    after = (struct cfr_view){part.p + part.n, line.n - at - part.n};
    cfr_str_addf(out, "%s%7d | ", margin, item->line);
    if (consists_of(before, " -"))
        lead = 0;
    else
        cfr_str_addz(out, "...");
    cfr_str_addz(out, cfr_view_show((struct cfr_view){line.p + before.n, at - before.n + part.n}, shown, sizeof shown));
    if (consists_of(after, " \"'}]\r"))
        cfr_str_add(out, cfr_view_trim(after));
    else
        cfr_str_addz(out, "...");
    cfr_str_addf(out, "\n%s        | %*s^", margin, (int)(lead + at - before.n), "");
    for (size_t i = 1; i < part.n && at - before.n + i < sizeof shown - 1; i++)
        cfr_str_addz(out, "~");
    cfr_str_addz(out, "\n");
}

void cfr_doctor_write_lines(const struct cfr_doctor *d, size_t columns, const char *margin, struct cfr_view source,
                            struct cfr_str *out)
{
    size_t credentials = d->config != NULL ? d->config->credentials.count : 0;
    unsigned errors = d->tally[CFR_FINDING_WRONG];
    unsigned warnings = d->tally[CFR_FINDING_WARNING];

    for (size_t i = 0; i < d->count; i++) {
        const struct cfr_doctor_item *item = &d->items[i];
        bool bad = item->level >= CFR_FINDING_WARNING;
        struct cfr_str line = {.limit = out->limit};

        const char *mark = item->level == CFR_FINDING_WRONG  ? "ERROR"
                           : bad                             ? "warn"
                           : item->level == CFR_FINDING_NOTE ? "note"
                                                             : "ok";

        if (bad && item->file != NULL && item->line != 0)
            cfr_str_addf(&line, "%s:%d: ", item->file, item->line);
        else if (bad && item->file != NULL)
            cfr_str_addf(&line, "%s: ", item->file);
        if (item->credential != NULL || d->config != NULL)
            cfr_str_addf(&line, "%s: ", item->credential != NULL ? item->credential : "agent");
        cfr_str_addz(&line, item->text != NULL ? item->text : "");
        cfr_str_addf(out, "%s%-5s  ", margin, mark);
        cfr_str_add_wrapped(out, line.p != NULL ? line.p : "", columns, strlen(margin) + 7, 7);
        cfr_str_addz(out, "\n");
        out->failed = out->failed || line.failed;
        cfr_str_free(&line);
        if (bad)
            add_excerpt(item, margin, source, out);
    }
    cfr_str_addf(out, "%s%s: ", margin, d->config_path != NULL ? d->config_path : "environment");
    if (d->config != NULL)
        cfr_str_addf(out, "%zu credential%s, ", credentials, credentials == 1 ? "" : "s");
    cfr_str_addf(out, "%u error%s, %u warning%s", errors, errors == 1 ? "" : "s", warnings, warnings == 1 ? "" : "s");
    cfr_doctor_add_judge(d, out);
    cfr_str_addz(out, "\n");
}
