/* SPDX-License-Identifier: MIT */
/* Replaces keys of the configuration in errors by where their values came from. */
#include "sts/core/origin.h"

#include "base/err.h"

#include <stdio.h>
#include <string.h>

#define KEY_CHARS "abcdefghijklmnopqrstuvwxyz0123456789_"

/* What replaces an error. */
struct text {
    char p[CFR_ERR_TEXT_MAX];
    size_t n;
};

static void add(struct text *to, struct cfr_view text)
{
    size_t room = sizeof to->p - to->n;

    memcpy(to->p + to->n, text.p, text.n < room ? text.n : room);
    to->n += text.n < room ? text.n : room;
}

static bool is_key_char(char c)
{
    return c != '\0' && strchr(KEY_CHARS, c) != NULL;
}

static void cut(struct cfr_view *text, size_t n)
{
    *text = (struct cfr_view){text->p + n, text->n - n};
}

/* Cuts "a.b.KEY: " off *TEXT; false if it does not begin so. */
static bool cut_key(struct cfr_view *text, struct cfr_view *key)
{
    ptrdiff_t end = cfr_view_find(*text, ": ");
    ptrdiff_t from = 0;

    for (ptrdiff_t i = 0; i < end; i++) {
        if (text->p[i] == '.')
            from = i + 1;
        else if (!is_key_char(text->p[i]))
            return false;
    }
    if (end <= from)
        return false;
    *key = (struct cfr_view){text->p + from, (size_t)(end - from)};
    cut(text, (size_t)end + 2);
    return true;
}

/* A name of several words stands without the marks that the key had. */
static void add_name(const char *name, bool marked, struct cfr_view *rest, struct text *out)
{
    bool words = strchr(name, ' ') != NULL;

    if (words && marked && cfr_view_starts(*rest, "`")) {
        out->n--;
        cut(rest, 1);
    }
    add(out, cfr_view_of(name));
    if (!words && marked && cfr_view_starts(*rest, ": ")) {
        add(out, cfr_view_of("="));
        cut(rest, 2);
    }
}

static void add_advice(struct cfr_view text, cfr_sts_origin_fn *find, const void *ctx, struct text *out)
{
    char before = ' ';

    while (text.n != 0) {
        struct cfr_view word = {text.p, 0};
        char buf[CFR_STS_ORIGIN_MAX];
        const char *name = NULL;

        while (word.n < text.n && is_key_char(text.p[word.n]))
            word.n++;
        if (before == '`' || (before == ' ' && word.n != 0 && memchr(word.p, '_', word.n) != NULL))
            name = find(ctx, word, buf);
        /* `KEY: VALUE` is to be written into a configuration. */
        if (name != NULL && before == '`' && strchr(name, ' ') != NULL && word.n < text.n && text.p[word.n] != '`')
            name = NULL;
        word.n += word.n == 0;
        cut(&text, word.n);
        if (name != NULL)
            add_name(name, before == '`', &text, out);
        else
            add(out, word);
        before = word.p[word.n - 1];
    }
}

/* True for "AWS_REGION: ...". */
static bool begins_with_variable(struct cfr_view text)
{
    size_t n = 0;

    while (n < text.n && ((text.p[n] >= 'A' && text.p[n] <= 'Z') || text.p[n] == '_'))
        n++;
    return n < text.n && text.p[n] == ':' && memchr(text.p, '_', n) != NULL;
}

void cfr_sts_name_origin(char *text, size_t size, cfr_sts_origin_fn *find, const void *ctx)
{
    struct cfr_view all = cfr_view_of(text);
    struct cfr_view rest = all;
    const char *answer = strstr(text, " (HTTP ");
    const char *hint = answer != NULL ? strstr(answer, "): ") : NULL;
    struct text out = {.n = 0};
    char buf[CFR_STS_ORIGIN_MAX];
    char first[CFR_STS_ORIGIN_MAX] = "";
    struct cfr_view key;

    if (hint != NULL)
        cut(&rest, (size_t)(hint - text) + 3);
    while (hint == NULL && cut_key(&rest, &key)) {
        const char *found = find(ctx, key, buf);

        if (found != NULL)
            (void)snprintf(first, sizeof first, "%s", found);
    }
    /* The error is about a key of the configuration. */
    if (first[0] == '\0' && rest.n != all.n && hint == NULL && cut_key(&all, &key) && key.p == text)
        return;
    all = cfr_view_of(text);
    if (first[0] != '\0') {
        add(&out, cfr_view_of(first));
        add(&out, cfr_view_of(": "));
    } else if (hint != NULL || !begins_with_variable(rest)) {
        add(&out, (struct cfr_view){all.p, all.n - rest.n});
    }
    add_advice(rest, find, ctx, &out);
    (void)cfr_view_show((struct cfr_view){out.p, out.n}, text, size);
}
