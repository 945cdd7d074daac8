/* SPDX-License-Identifier: MIT */
/* Redaction of messages that may repeat a secret. */
#include "base/redact.h"

#include <string.h>

#define KEEP     (CFR_REDACT_MAX - 4)
#define WORD_MAX 64
#define SHARED   12
/* Shorter secrets, or words of a passphrase, may be words of our own. */
#define OWN_LEAST 8
/* No more is looked at: what is kept is shorter. */
#define LOOK_MAX 2048

static bool word_char(char c)
{
    return c > 0x20 && c < 0x7f;
}

static bool shares(struct cfr_view word, struct cfr_view secret)
{
    size_t n = secret.n < SHARED ? secret.n : SHARED;

    /* One or two characters would be found in any word. */
    if (secret.n < 4)
        return false;
    for (size_t i = 0; i + n <= word.n; i++) {
        if (memmem(secret.p, secret.n, word.p + i, n) != NULL)
            return true;
    }
    return false;
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

/* A passphrase has blanks, and a message is looked at word by word. */
static bool shares_any(struct cfr_view word, struct cfr_view secret, size_t least)
{
    while (secret.n != 0) {
        size_t n = 0;

        while (n < secret.n && word_char(secret.p[n]))
            n++;
        if (n >= least && shares(word, (struct cfr_view){secret.p, n}))
            return true;
        n += n < secret.n ? 1 : 0;
        secret = (struct cfr_view){secret.p + n, secret.n - n};
    }
    return false;
}

static bool shares_secret(struct cfr_view word, const struct cfr_view *secrets, size_t count, size_t least)
{
    for (size_t i = 0; i < count; i++) {
        if (shares_any(word, secrets[i], least))
            return true;
    }
    return false;
}

static bool unfit(struct cfr_view word, const struct cfr_view *secrets, size_t count)
{
    return like_token(word) || (word.n > WORD_MAX && !may_be_long(word)) || shares_secret(word, secrets, count, 0);
}

const char *cfr_redact(struct cfr_view text, const struct cfr_view *secrets, size_t count, char out[CFR_REDACT_MAX])
{
    struct cfr_view t = {text.p, text.n < LOOK_MAX ? text.n : LOOK_MAX};
    size_t len = 0;
    size_t i = 0;

    while (i < t.n) {
        struct cfr_view word = {t.p + i, 0};
        size_t room;

        while (i + word.n < t.n && word_char(word.p[word.n]))
            word.n++;
        i += word.n != 0 ? word.n : 1;
        if (word.n == 0)
            continue;
        if (unfit(word, secrets, count))
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

char *cfr_redact_secrets(char *text, const struct cfr_view *secrets, size_t count)
{
    static const char removed[] = "[removed]";
    const char *from = text;
    char *to = text;

    while (*from != '\0') {
        struct cfr_view word = {from, 0};

        while (word_char(word.p[word.n]))
            word.n++;
        if (word.n == 0) {
            *to++ = *from++;
            continue;
        }
        from += word.n;
        if (shares_secret(word, secrets, count, OWN_LEAST))
            word = (struct cfr_view){removed, word.n < sizeof removed - 1 ? word.n : sizeof removed - 1};
        memmove(to, word.p, word.n);
        to += word.n;
    }
    *to = '\0';
    return text;
}
