/* SPDX-License-Identifier: MIT */
/* Growing text and its escapes. */
#include "base/str.h"

#include "base/view_private.h"

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
    size_t left = s->failed ? 0 : s->cap - s->len;
    va_list ap;
    int n;

    /* Mostly it fits in what there is, and need not be formatted twice. */
    va_start(ap, fmt);
    n = vsnprintf(left != 0 ? s->p + s->len : NULL, left, fmt, ap);
    va_end(ap);
    if (n < 0)
        s->failed = true;
    if (n < 0 || !room(s, (size_t)n)) {
        if (left != 0)
            s->p[s->len] = '\0';
        return;
    }
    if ((size_t)n >= left) {
        va_start(ap, fmt);
        (void)vsnprintf(s->p + s->len, (size_t)n + 1, fmt, ap);
        va_end(ap);
    }
    s->len += (size_t)n;
}

void cfr_str_add_shown(struct cfr_str *s, struct cfr_view text, size_t most)
{
    size_t size = text.n <= most ? text.n + 1 : most + 4;

    if (!room(s, size - 1))
        return;
    (void)cfr_view_show(text, s->p + s->len, size);
    s->len += strlen(s->p + s->len);
}

/* How many bytes of TEXT go into a JSON string as they are; all of them whole characters. */
static size_t plain(struct cfr_view text)
{
    size_t i = 0;

    while (i < text.n) {
        unsigned char b = (unsigned char)text.p[i];
        uint32_t c;
        size_t k = b < 0x80 ? 1 : cfr_view_char((struct cfr_view){text.p + i, text.n - i}, &c);

        if (b == '"' || b == '\\' || b < 0x20 || b == 0x7f || k == 0 || (b >= 0x80 && !cfr_view_is_shown(c)))
            break;
        i += k;
    }
    return i;
}

/* Adds the escape of what TEXT begins with. Returns how many bytes of TEXT it stands for. */
static size_t add_escape(struct cfr_str *s, struct cfr_view text)
{
    uint32_t c;
    size_t n = cfr_view_char(text, &c);

    if (n == 0)
        cfr_str_addz(s, "\\ufffd");
    else if (c == '"' || c == '\\')
        cfr_str_addf(s, "\\%c", (char)c);
    else if (c < 0x10000)
        cfr_str_addf(s, "\\u%04x", (unsigned)c);
    else
        cfr_str_addf(s, "\\u%04x\\u%04x", (unsigned)(0xd7c0 + (c >> 10)), (unsigned)(0xdc00 | (c & 0x3ff)));
    return n != 0 ? n : 1;
}

void cfr_str_add_json(struct cfr_str *s, struct cfr_view text)
{
    if (text.p == NULL) {
        cfr_str_addz(s, "null");
        return;
    }
    cfr_str_addz(s, "\"");
    for (size_t i = 0; i < text.n;) {
        size_t k = plain((struct cfr_view){text.p + i, text.n - i});

        cfr_str_add(s, (struct cfr_view){text.p + i, k});
        i += k;
        if (i < text.n)
            i += add_escape(s, (struct cfr_view){text.p + i, text.n - i});
    }
    cfr_str_addz(s, "\"");
}

void cfr_str_add_wrapped(struct cfr_str *s, const char *text, size_t columns, size_t used, size_t indent)
{
    bool first = true;

    if (columns == 0) {
        cfr_str_addz(s, text);
        return;
    }
    while (*(text += strspn(text, " ")) != '\0') {
        size_t n = strcspn(text, " ");

        if (!first && used + 1 + n > columns) {
            cfr_str_addf(s, "\n%*s", (int)indent, "");
            used = indent;
        } else if (!first) {
            cfr_str_addz(s, " ");
            used++;
        }
        cfr_str_add(s, (struct cfr_view){text, n});
        used += n;
        text += n;
        first = false;
    }
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
