/* SPDX-License-Identifier: MIT */
/* Simple expressions of a Google pool's provider. */
#include "agent/doctor/trust_cel_private.h"

#include <string.h>

#define DEPTH_MAX 16
#define TEXT_MAX  4096

/* One expression in the middle of another. */
struct cel {
    const struct cfr_doctor_policy_cel *c;
    unsigned depth;
};

static struct cfr_view from(struct cfr_view v, size_t at)
{
    return (struct cfr_view){v.p + at, v.n - at};
}

static struct cfr_view until(struct cfr_view v, size_t at)
{
    return (struct cfr_view){v.p, at};
}

/* The next byte of V at or after AT that stands in no quotes and no brackets, or V.n. Steps over what is in
 * them. */
static size_t next_open(struct cfr_view v, size_t at)
{
    int depth = 0;
    char quote = 0;

    for (size_t i = at; i < v.n; i++) {
        char ch = v.p[i];

        if (quote != 0) {
            i += ch == '\\' ? 1 : 0;
            quote = ch == quote ? 0 : quote;
        } else if (ch == '"' || ch == '\'') {
            quote = ch;
        } else if (ch == '(' || ch == '[') {
            depth++;
        } else if (ch == ')' || ch == ']') {
            depth--;
        } else if (depth == 0) {
            return i;
        }
    }
    return v.n;
}

/* Where WORD stands in V outside of quotes and brackets; V.n if nowhere. */
static size_t find_open(struct cfr_view v, const char *word)
{
    size_t n = strlen(word);

    for (size_t i = next_open(v, 0); i < v.n; i = next_open(v, i + 1)) {
        if (i + n <= v.n && memcmp(v.p + i, word, n) == 0)
            return i;
    }
    return v.n;
}

/* ---- texts ---- */

static enum cfr_doctor_policy_verdict text_of(const struct cel *e, struct cfr_view v, struct cfr_str *out);

static enum cfr_doctor_policy_verdict literal(struct cfr_view v, struct cfr_str *out)
{
    if (v.n < 2 || v.p[v.n - 1] != v.p[0] || memchr(v.p, '\\', v.n) != NULL || memchr(v.p + 1, v.p[0], v.n - 2) != NULL)
        return CFR_DOCTOR_POLICY_UNKNOWN;
    cfr_str_add(out, (struct cfr_view){v.p + 1, v.n - 2});
    return CFR_DOCTOR_POLICY_YES;
}

static bool name_char(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}

/* Takes `.NAME` or `['NAME']` off *PATH. */
static bool take_member(struct cfr_view *path, struct cfr_view *name)
{
    size_t n = 1;

    if (path->n > 4 && path->p[0] == '[' && (path->p[1] == '\'' || path->p[1] == '"')) {
        const char *end = memchr(path->p + 2, path->p[1], path->n - 2);

        if (end == NULL || (size_t)(end - path->p) + 1 >= path->n || end[1] != ']')
            return false;
        *name = (struct cfr_view){path->p + 2, (size_t)(end - path->p) - 2};
        *path = from(*path, (size_t)(end - path->p) + 2);
        return true;
    }
    if (path->n < 2 || path->p[0] != '.')
        return false;
    while (n < path->n && name_char(path->p[n]))
        n++;
    *name = (struct cfr_view){path->p + 1, n - 1};
    *path = from(*path, n);
    return name->n != 0;
}

/* The claim at PATH. False if PATH is not one. */
static bool claim_at(const struct cfr_json *claims, struct cfr_view path, const struct cfr_json **out)
{
    struct cfr_view name;
    char key[256];

    *out = claims;
    while (path.n != 0) {
        if (!take_member(&path, &name) || name.n >= sizeof key)
            return false;
        memcpy(key, name.p, name.n);
        key[name.n] = '\0';
        *out = cfr_json_get(*out, key);
    }
    return true;
}

static bool claim_of(const struct cel *e, struct cfr_view v, const struct cfr_json **out)
{
    return cfr_view_starts(v, "assertion") && claim_at(e->c->claims, from(v, strlen("assertion")), out);
}

static enum cfr_doctor_policy_verdict mapped(const struct cel *e, struct cfr_view v, struct cfr_str *out)
{
    struct cel inner = {e->c, e->depth + 1};
    struct cfr_view expression;
    char key[256];

    if (v.n >= sizeof key || e->depth >= DEPTH_MAX)
        return CFR_DOCTOR_POLICY_UNKNOWN;
    memcpy(key, v.p, v.n);
    key[v.n] = '\0';
    if (!cfr_json_string(cfr_json_get(e->c->mapping, key), &expression))
        return CFR_DOCTOR_POLICY_NO;
    return text_of(&inner, expression, out);
}

static enum cfr_doctor_policy_verdict term(const struct cel *e, struct cfr_view v, struct cfr_str *out)
{
    const struct cfr_json *claim;
    struct cfr_view text;

    v = cfr_view_trim(v);
    if (v.n != 0 && (v.p[0] == '"' || v.p[0] == '\''))
        return literal(v, out);
    if (claim_of(e, v, &claim)) {
        if (claim != NULL && !cfr_json_string(claim, &text))
            return CFR_DOCTOR_POLICY_UNKNOWN;
        if (claim == NULL)
            return CFR_DOCTOR_POLICY_NO;
        cfr_str_add(out, text);
        return CFR_DOCTOR_POLICY_YES;
    }
    for (size_t i = 0; i < v.n; i++) {
        if (!name_char(v.p[i]) && v.p[i] != '.')
            return CFR_DOCTOR_POLICY_UNKNOWN;
    }
    if (cfr_view_starts(v, "google.") || cfr_view_starts(v, "attribute."))
        return mapped(e, v, out);
    return CFR_DOCTOR_POLICY_UNKNOWN;
}

static enum cfr_doctor_policy_verdict text_of(const struct cel *e, struct cfr_view v, struct cfr_str *out)
{
    size_t plus;
    enum cfr_doctor_policy_verdict one;
    enum cfr_doctor_policy_verdict all = CFR_DOCTOR_POLICY_YES;

    do {
        plus = find_open(v, "+");
        one = term(e, until(v, plus), out);
        if (one == CFR_DOCTOR_POLICY_UNKNOWN)
            return one;
        all = one == CFR_DOCTOR_POLICY_NO ? one : all;
        v = plus < v.n ? from(v, plus + 1) : (struct cfr_view){NULL, 0};
    } while (v.n != 0);
    return all;
}

enum cfr_doctor_policy_verdict cfr_doctor_policy_cel_text(const struct cfr_doctor_policy_cel *c,
                                                          struct cfr_view expression, struct cfr_str *out)
{
    return text_of(&(struct cel){c, 0}, expression, out);
}

/* ---- truth ---- */

static enum cfr_doctor_policy_verdict truth(const struct cel *e, struct cfr_view v);

static enum cfr_doctor_policy_verdict of(bool b)
{
    return b ? CFR_DOCTOR_POLICY_YES : CFR_DOCTOR_POLICY_NO;
}

typedef bool compare_fn(struct cfr_view a, struct cfr_view b);

static bool starts(struct cfr_view a, struct cfr_view b)
{
    return a.n >= b.n && memcmp(a.p, b.p, b.n) == 0;
}

static bool ends(struct cfr_view a, struct cfr_view b)
{
    return a.n >= b.n && memcmp(a.p + (a.n - b.n), b.p, b.n) == 0;
}

static bool contains(struct cfr_view a, struct cfr_view b)
{
    return b.n == 0 || (a.n != 0 && memmem(a.p, a.n, b.p, b.n) != NULL);
}

/* A missing claim is an error, for which Google refuses the token, whatever stands on the other side. */
static enum cfr_doctor_policy_verdict compare(const struct cel *e, struct cfr_view left, struct cfr_view right,
                                              compare_fn *fn)
{
    struct cfr_str a = {.limit = TEXT_MAX};
    struct cfr_str b = {.limit = TEXT_MAX};
    enum cfr_doctor_policy_verdict l = text_of(e, left, &a);
    enum cfr_doctor_policy_verdict r = text_of(e, right, &b);
    enum cfr_doctor_policy_verdict out = CFR_DOCTOR_POLICY_UNKNOWN;

    if (l == CFR_DOCTOR_POLICY_YES && r == CFR_DOCTOR_POLICY_YES && !a.failed && !b.failed)
        out =
            of(fn(a.p != NULL ? cfr_str_view(&a) : cfr_view_of(""), b.p != NULL ? cfr_str_view(&b) : cfr_view_of("")));
    else if (l == CFR_DOCTOR_POLICY_NO || r == CFR_DOCTOR_POLICY_NO)
        out = CFR_DOCTOR_POLICY_ABSENT;
    cfr_str_free(&a);
    cfr_str_free(&b);
    return out;
}

/* `LEFT in ["a", "b"]`, or in a claim that is a list. */
static enum cfr_doctor_policy_verdict is_in(const struct cel *e, struct cfr_view left, struct cfr_view list)
{
    enum cfr_doctor_policy_verdict any = CFR_DOCTOR_POLICY_NO;
    const struct cfr_json *claim;
    struct cfr_str a = {.limit = TEXT_MAX};
    struct cfr_view text;

    list = cfr_view_trim(list);
    if (list.n >= 2 && list.p[0] == '[' && list.p[list.n - 1] == ']') {
        list = (struct cfr_view){list.p + 1, list.n - 2};
        while (list.n != 0 && any == CFR_DOCTOR_POLICY_NO) {
            size_t comma = find_open(list, ",");

            any = compare(e, left, until(list, comma), cfr_view_eq);
            list = comma < list.n ? from(list, comma + 1) : (struct cfr_view){NULL, 0};
        }
        return any;
    }
    if (!claim_of(e, list, &claim) || (claim != NULL && !cfr_json_is_array(claim)))
        return CFR_DOCTOR_POLICY_UNKNOWN;
    any = text_of(e, left, &a);
    if (any == CFR_DOCTOR_POLICY_NO || claim == NULL)
        any = CFR_DOCTOR_POLICY_ABSENT;
    else if (any == CFR_DOCTOR_POLICY_YES)
        any = CFR_DOCTOR_POLICY_NO;
    for (const struct cfr_json *i = cfr_json_first(claim); i != NULL && any == CFR_DOCTOR_POLICY_NO;
         i = cfr_json_next(i))
        any = of(cfr_json_string(i, &text) && cfr_view_eq(text, cfr_str_view(&a)));
    cfr_str_free(&a);
    return any;
}

/* `TEXT.method(TEXT)`. */
static enum cfr_doctor_policy_verdict method(const struct cel *e, struct cfr_view v)
{
    static const struct {
        const char *name;
        compare_fn *fn;
    } methods[] = {{".startsWith(", starts}, {".endsWith(", ends}, {".contains(", contains}};

    for (size_t i = 0; i < sizeof methods / sizeof methods[0]; i++) {
        ptrdiff_t at = cfr_view_find(v, methods[i].name);
        size_t n = strlen(methods[i].name);

        if (at > 0 && v.p[v.n - 1] == ')')
            return compare(e, until(v, (size_t)at), (struct cfr_view){v.p + at + n, v.n - (size_t)at - n - 1},
                           methods[i].fn);
    }
    return CFR_DOCTOR_POLICY_UNKNOWN;
}

static enum cfr_doctor_policy_verdict invert(enum cfr_doctor_policy_verdict v)
{
    return v == CFR_DOCTOR_POLICY_UNKNOWN || v == CFR_DOCTOR_POLICY_ABSENT ? v : of(v == CFR_DOCTOR_POLICY_NO);
}

static enum cfr_doctor_policy_verdict simple(const struct cel *e, struct cfr_view v)
{
    size_t at = find_open(v, "==");

    if (at < v.n)
        return compare(e, until(v, at), from(v, at + 2), cfr_view_eq);
    at = find_open(v, "!=");
    if (at < v.n)
        return invert(compare(e, until(v, at), from(v, at + 2), cfr_view_eq));
    at = find_open(v, " in ");
    if (at < v.n)
        return is_in(e, until(v, at), from(v, at + 4));
    if (v.n != 0 && v.p[0] == '!')
        return invert(truth(e, from(v, 1)));
    /* Nothing of it stands outside of its parentheses. */
    if (v.n >= 2 && v.p[0] == '(' && v.p[v.n - 1] == ')' && next_open(v, 0) == v.n)
        return truth(e, (struct cfr_view){v.p + 1, v.n - 2});
    return method(e, v);
}

static enum cfr_doctor_policy_verdict both(enum cfr_doctor_policy_verdict a, enum cfr_doctor_policy_verdict b)
{
    if (a == CFR_DOCTOR_POLICY_NO || b == CFR_DOCTOR_POLICY_NO)
        return CFR_DOCTOR_POLICY_NO;
    if (a == CFR_DOCTOR_POLICY_UNKNOWN || b == CFR_DOCTOR_POLICY_UNKNOWN)
        return CFR_DOCTOR_POLICY_UNKNOWN;
    return a == CFR_DOCTOR_POLICY_ABSENT ? a : b;
}

static enum cfr_doctor_policy_verdict truth(const struct cel *outer, struct cfr_view v)
{
    struct cel e = {outer->c, outer->depth + 1};
    size_t at;

    if (e.depth > DEPTH_MAX)
        return CFR_DOCTOR_POLICY_UNKNOWN;
    v = cfr_view_trim(v);
    at = find_open(v, "||");
    if (at < v.n)
        return invert(both(invert(truth(&e, until(v, at))), invert(truth(&e, from(v, at + 2)))));
    at = find_open(v, "&&");
    if (at < v.n)
        return both(truth(&e, until(v, at)), truth(&e, from(v, at + 2)));
    return simple(&e, v);
}

enum cfr_doctor_policy_verdict cfr_doctor_policy_cel_true(const struct cfr_doctor_policy_cel *c,
                                                          struct cfr_view expression)
{
    return truth(&(struct cel){c, 0}, expression);
}
