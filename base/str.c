/* SPDX-License-Identifier: MIT */
/* Growing text. */
#include "base/str.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static bool room(struct cfr_str *s, size_t n)
{
    size_t cap = s->cap < 64 ? 64 : s->cap;
    char *p;

    if (s->failed || n > s->limit || s->len > s->limit - n) {
        s->failed = true;
        return false;
    }
    if (s->len + n + 1 <= s->cap)
        return true;
    while (cap < s->len + n + 1)
        cap *= 2;
    p = realloc(s->p, cap);
    if (p == NULL) {
        s->failed = true;
        return false;
    }
    s->p = p;
    s->cap = cap;
    return true;
}

void cfr_str_add(struct cfr_str *s, struct cfr_view text)
{
    if (!room(s, text.n))
        return;
    if (text.n != 0)
        memcpy(s->p + s->len, text.p, text.n);
    s->len += text.n;
    s->p[s->len] = '\0';
}

void cfr_str_addz(struct cfr_str *s, const char *text)
{
    cfr_str_add(s, cfr_view_of(text));
}

void cfr_str_addf(struct cfr_str *s, const char *fmt, ...)
{
    va_list ap;
    int n;

    va_start(ap, fmt);
    n = vsnprintf(NULL, 0, fmt, ap);
    va_end(ap);
    if (n < 0)
        s->failed = true;
    if (n < 0 || !room(s, (size_t)n))
        return;
    va_start(ap, fmt);
    (void)vsnprintf(s->p + s->len, (size_t)n + 1, fmt, ap);
    va_end(ap);
    s->len += (size_t)n;
}

void cfr_str_add_json(struct cfr_str *s, struct cfr_view text)
{
    const unsigned char *p = (const unsigned char *)text.p;

    if (text.p == NULL) {
        cfr_str_addz(s, "null");
        return;
    }
    cfr_str_addz(s, "\"");
    for (size_t i = 0; i < text.n;) {
        size_t k = cfr_view_utf8_len((struct cfr_view){text.p + i, text.n - i});

        if (p[i] == '"' || p[i] == '\\')
            cfr_str_addf(s, "\\%c", p[i]);
        else if (p[i] < 0x20 || p[i] == 0x7f)
            cfr_str_addf(s, "\\u%04x", p[i]);
        else if (k == 0)
            cfr_str_addz(s, "\\ufffd");
        else
            cfr_str_add(s, (struct cfr_view){text.p + i, k});
        i += k == 0 ? 1 : k;
    }
    cfr_str_addz(s, "\"");
}

struct cfr_view cfr_str_view(const struct cfr_str *s)
{
    return (struct cfr_view){s->p, s->len};
}

void cfr_str_free(struct cfr_str *s)
{
    free(s->p);
    *s = (struct cfr_str){.limit = s->limit};
}

char *cfr_str_dup(struct cfr_view text)
{
    char *p = malloc(text.n + 1);

    if (p == NULL)
        return NULL;
    if (text.n != 0)
        memcpy(p, text.p, text.n);
    p[text.n] = '\0';
    return p;
}
