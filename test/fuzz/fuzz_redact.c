/* SPDX-License-Identifier: MIT */
/* The first line is a secret, the rest another program's message: what is shown of it fits on a terminal, and holds no
 * word of the secret, nor 12 characters in a row of one. */
#include "fuzz.h"

#include "base/redact.h"

#include <string.h>

#define SHARED     12
#define WORD_LEAST 4

static void check_word(struct cfr_view word, const char *shown)
{
    size_t n = word.n < SHARED ? word.n : SHARED;

    /* They are what the result itself is made of. */
    if (word.n < WORD_LEAST || memchr(word.p, '[', word.n) != NULL || memchr(word.p, '.', word.n) != NULL ||
        memmem("removed]", 8, word.p, n) != NULL)
        return;
    for (size_t i = 0; i + n <= word.n; i++)
        CFR_FUZZ_MUST(memmem(shown, strlen(shown), word.p + i, n) == NULL);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const char *text = (const char *)data;
    const char *end = size != 0 ? memchr(text, '\n', size) : NULL;
    struct cfr_view secret = {text, end != NULL ? (size_t)(end - text) : size};
    struct cfr_view message = {text + secret.n, size - secret.n};
    char out[CFR_REDACT_MAX];
    size_t from = 0;

    CFR_FUZZ_MUST(cfr_redact(message, &secret, 1, out) == out);
    CFR_FUZZ_MUST(strlen(out) < sizeof out && cfr_view_is_text(cfr_view_of(out)));
    for (size_t i = 0; i <= secret.n; i++) {
        if (i < secret.n && secret.p[i] > 0x20 && secret.p[i] < 0x7f)
            continue;
        check_word((struct cfr_view){secret.p + from, i - from}, out);
        from = i + 1;
    }
    return 0;
}
