/* SPDX-License-Identifier: MIT */
/* Redaction of messages that may repeat a secret. */
#include "base/redact.h"

#include <string.h>

#define KEEP     (CFR_REDACT_MAX - 4)
#define WORD_MAX 64
#define SHARED   12
/* Fewer characters would be found in any text. */
#define LEAST 4
/* Shorter secrets may be a part of our own words, and shorter words of a passphrase may be our own. */
#define OWN_LEAST 8
/* No more is looked at: what is kept is shorter. */
#define LOOK_MAX 2048

static bool word_char(char c)
{
    return c > 0x20 && c < 0x7f;
}

/* `{"` in base64url, which is how the first two parts of every token begin. */
static bool like_token(struct cfr_view word)
{
    ptrdiff_t at = cfr_view_find(word, "eyJ");

    return at >= 0 && word.n - (size_t)at > 8;
}

static bool may_be_long(struct cfr_view word)
{
    while (word.n != 0 && strchr("\"'(<[", word.p[0]) != NULL) {
        word.p++;
        word.n--;
    }
    return (cfr_view_starts(word, "arn:") || cfr_view_starts(word, "https://") ||
            cfr_view_starts(word, "//iam.googleapis.com/") || cfr_view_starts(word, "system:serviceaccount:") ||
            cfr_view_starts(word, "system:node:")) &&
           memchr(word.p, '?', word.n) == NULL;
}

/* N if TEXT begins with that much of SECRET: with SHARED characters from anywhere in it, or with all of a shorter one.
 */
static size_t begins(struct cfr_view text, struct cfr_view secret)
{
    size_t n = secret.n < SHARED ? secret.n : SHARED;

    return n != 0 && n <= text.n && memmem(secret.p, secret.n, text.p, n) != NULL ? n : 0;
}

static bool is_alnum(char c)
{
    return (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z');
}

/* How much of TEXT's beginning, which follows BEFORE, repeats SECRET, with the blanks of a passphrase, or one of its
 * words; 0 = nothing. */
static size_t repeats(struct cfr_view text, char before, struct cfr_view secret, bool own)
{
    size_t most = begins(text, secret);
    bool apart = !is_alnum(before) && (text.n == most || !is_alnum(text.p[most]));

    if (most < LEAST || (own && most < OWN_LEAST && !apart))
        most = 0;
    while (secret.n != 0) {
        size_t n = 0;

        while (n < secret.n && word_char(secret.p[n]))
            n++;
        if (n > most && n < SHARED && n >= (own ? OWN_LEAST : LEAST) &&
            begins(text, (struct cfr_view){secret.p, n}) != 0)
            most = n;
        n += n < secret.n ? 1 : 0;
        secret = (struct cfr_view){secret.p + n, secret.n - n};
    }
    return most;
}

/* Where the last of what repeats a secret, and begins in the first N characters of TEXT, ends; 0 = there is nothing. */
static size_t find_end(struct cfr_view text, size_t n, char before, const struct cfr_view *secrets, size_t count,
                       bool own)
{
    size_t end = 0;

    for (size_t i = 0; i < n; i++) {
        struct cfr_view rest = {text.p + i, text.n - i};

        for (size_t k = 0; k < count; k++) {
            size_t m = repeats(rest, i != 0 ? text.p[i - 1] : before, secrets[k], own);

            end = m != 0 && i + m > end ? i + m : end;
        }
    }
    return end;
}

static bool unfit(struct cfr_view word)
{
    return like_token(word) || (word.n > WORD_MAX && !may_be_long(word));
}

const char *cfr_redact(struct cfr_view text, const struct cfr_view *secrets, size_t count, char out[CFR_REDACT_MAX])
{
    struct cfr_view t = {text.p, text.n < LOOK_MAX ? text.n : LOOK_MAX};
    size_t len = 0;
    size_t end = 0; /* of what repeats a secret */
    size_t i = 0;

    while (i < t.n) {
        struct cfr_view word = {t.p + i, 0};
        bool repeated;
        size_t found;
        size_t room;

        while (i + word.n < t.n && word_char(word.p[word.n]))
            word.n++;
        found = find_end((struct cfr_view){word.p, t.n - i}, word.n != 0 ? word.n : 1, i != 0 ? t.p[i - 1] : ' ',
                         secrets, count, false);
        end = found != 0 && i + found > end ? i + found : end;
        repeated = end > i;
        i += word.n != 0 ? word.n : 1;
        if (word.n == 0)
            continue;
        if (repeated || unfit(word))
            word = cfr_view_of("[removed]");
        if (len != 0)
            out[len++] = ' ';
        room = KEEP - len;
        memcpy(out + len, word.p, word.n < room ? word.n : room);
        len += word.n < room ? word.n : room;
        if (word.n > room || (len >= KEEP - 1 && i < t.n)) {
            memcpy(out + len, "...", 4);
            return out;
        }
    }
    out[len] = '\0';
    return out;
}

/* What replaces WORD, and is not longer. */
static struct cfr_view replacement(struct cfr_view word)
{
    if (word.n < sizeof "[removed]" - 1)
        return (struct cfr_view){"***", word.n < 3 ? word.n : 3};
    return cfr_view_of("[removed]");
}

char *cfr_redact_secrets(char *text, const struct cfr_view *secrets, size_t count)
{
    struct cfr_view rest = cfr_view_of(text);
    char *to = text;
    char before = ' ';
    size_t end = 0; /* of what repeats a secret, from the rest on */

    /* What was overwritten is shorter, so the rest is still as it was. */
    while (rest.n != 0) {
        struct cfr_view word = {rest.p, 0};
        size_t taken;
        size_t found;

        while (word.n < rest.n && word_char(word.p[word.n]))
            word.n++;
        taken = word.n != 0 ? word.n : 1;
        found = find_end(rest, taken, before, secrets, count, true);
        end = found > end ? found : end;
        before = rest.p[taken - 1];
        word = word.n == 0 ? (struct cfr_view){rest.p, 1} : end != 0 ? replacement(word) : word;
        memmove(to, word.p, word.n);
        to += word.n;
        rest = (struct cfr_view){rest.p + taken, rest.n - taken};
        end -= taken < end ? taken : end;
    }
    *to = '\0';
    return text;
}
