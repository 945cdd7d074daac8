/* SPDX-License-Identifier: MIT */
/* Values of configuration fields: parsing, defaults, freeing. */
#include "base/field_private.h"

#include "base/secret.h"
#include "base/str.h"
#include "base/time.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PATH_BYTES_MAX 4095
#define NAME_BYTES_MAX 255
#define SHOWN_MAX      64 /* of a value that an error repeats */

static void *at(void *node, const struct cfr_field *field)
{
    return (char *)node + field->offset;
}

const struct cfr_field *cfr_field_find(const struct cfr_table *table, struct cfr_view key)
{
    for (const struct cfr_field *f = table->fields; f->key != NULL; f++) {
        if (f->variant == NULL && cfr_view_is(key, f->key))
            return f;
    }
    return NULL;
}

const struct cfr_field *cfr_field_find_variant(const struct cfr_table *table, struct cfr_view key,
                                               struct cfr_variant *out)
{
    for (const struct cfr_field *f = table->fields; f->key != NULL; f++) {
        for (size_t i = 0; f->variant != NULL && (*out = f->variant(i)).key != NULL; i++) {
            if (out->flat ? cfr_field_find(out->table, key) != NULL : cfr_view_is(key, out->key))
                return f;
        }
    }
    return NULL;
}

bool cfr_field_at(const struct cfr_table *table, size_t index, struct cfr_field *out)
{
    for (const struct cfr_field *f = table->fields; f->key != NULL; f++) {
        struct cfr_variant v;

        if (f->variant == NULL) {
            *out = *f;
            if (index-- == 0)
                return true;
            continue;
        }
        for (size_t i = 0; (v = f->variant(i)).key != NULL; i++) {
            for (const struct cfr_field *own = v.table->fields; v.flat && own->key != NULL; own++) {
                *out = *own;
                if (index-- == 0)
                    return true;
            }
            if (v.flat || index-- != 0)
                continue;
            *out = (struct cfr_field){
                .key = v.key, .type = CFR_FIELD_MAP, .offset = f->offset, .table = v.table, .doc = v.doc};
            if (v.most > 1) {
                out->type = CFR_FIELD_ONE_OR_LIST;
                out->min = 1;
                out->max = v.most;
            }
            return true;
        }
    }
    return false;
}

static int check_length(const struct cfr_field *f, struct cfr_view text, struct cfr_err *err)
{
    if (text.n == 0)
        return cfr_err_set(err, CFR_E_CONFIG, "is empty; write a value, or leave the key out");
    if (f->min == 0 && f->max == 0)
        return 0;
    if ((int64_t)text.n < f->min)
        return cfr_err_set(err, CFR_E_CONFIG, "is shorter than %" PRId64 " characters", f->min);
    if ((int64_t)text.n > f->max)
        return cfr_err_set(err, CFR_E_CONFIG, "is longer than %" PRId64 " characters", f->max);
    return 0;
}

/* Line feeds and tabs are for texts of several lines, such as a policy; a path has neither. */
static int check_characters(const struct cfr_field *f, struct cfr_view text, struct cfr_err *err)
{
    bool strict = (f->flags & (CFR_FIELD_PATH | CFR_FIELD_FILE_NAME)) != 0;

    for (size_t i = 0; i < text.n; i++) {
        unsigned char c = (unsigned char)text.p[i];

        if (c == 0x7f || (c < 0x20 && (strict || (c != '\n' && c != '\t' && c != '\r'))))
            return cfr_err_set(err, CFR_E_CONFIG, "has the control character 0x%02x at position %zu; remove it", c,
                               i + 1);
    }
    return 0;
}

/* The errors do not repeat the value: it may be a secret that was written in place of its file. */
static int check_path(struct cfr_view text, struct cfr_err *err)
{
    struct cfr_view rest = text;

    if (text.p[0] != '/')
        return cfr_err_set(err, CFR_E_CONFIG, "must be an absolute path, which begins with /");
    if (text.n > PATH_BYTES_MAX)
        return cfr_err_set(err, CFR_E_CONFIG, "is longer than %d bytes", PATH_BYTES_MAX);
    while (rest.n != 0) {
        struct cfr_view part;
        const char *slash;

        rest.p++;
        rest.n--;
        slash = rest.n != 0 ? memchr(rest.p, '/', rest.n) : NULL;
        part = (struct cfr_view){rest.p, slash != NULL ? (size_t)(slash - rest.p) : rest.n};
        if (part.n == 0)
            return cfr_err_set(err, CFR_E_CONFIG, "has an empty component; write it without %s",
                               slash != NULL ? "the double slash" : "the slash at its end");
        if (cfr_view_is(part, ".") || cfr_view_is(part, ".."))
            return cfr_err_set(err, CFR_E_CONFIG, "has a component %.*s; write the path it leads to", (int)part.n,
                               part.p);
        if (part.n > NAME_BYTES_MAX)
            return cfr_err_set(err, CFR_E_CONFIG, "has a component longer than %d bytes", NAME_BYTES_MAX);
        rest.p += part.n;
        rest.n -= part.n;
    }
    return 0;
}

static int check_file_name(struct cfr_view text, struct cfr_err *err)
{
    if (memchr(text.p, '/', text.n) != NULL)
        return cfr_err_set(err, CFR_E_CONFIG, "is not a file name; write one name without /");
    if (cfr_view_is(text, ".") || cfr_view_starts(text, ".."))
        return cfr_err_set(err, CFR_E_CONFIG, "cannot be a file name here; do not begin it with ..");
    if (text.n > NAME_BYTES_MAX)
        return cfr_err_set(err, CFR_E_CONFIG, "is longer than %d bytes", NAME_BYTES_MAX);
    return 0;
}

/* "env:NAME" (POSIX, 8.1) */
static int check_variable(struct cfr_view text, struct cfr_err *err)
{
    bool good = text.n > 4 && (text.p[4] < '0' || text.p[4] > '9');

    for (size_t i = 4; good && i < text.n; i++)
        good = text.p[i] == '_' || (text.p[i] >= 'A' && text.p[i] <= 'Z') || (text.p[i] >= 'a' && text.p[i] <= 'z') ||
               (text.p[i] >= '0' && text.p[i] <= '9');
    return good ? 0 : cfr_err_set(err, CFR_E_CONFIG, "has no variable name after env:; write env:NAME");
}

static int store_string(const struct cfr_field *f, char **to, struct cfr_view text, struct cfr_err *err)
{
    char *copy;
    int rc = check_length(f, text, err);

    if (rc == 0)
        rc = check_characters(f, text, err);
    if (rc == 0 && (f->flags & CFR_FIELD_CONTENT) != 0 && cfr_view_starts(text, "env:"))
        rc = check_variable(text, err);
    else if (rc == 0 && (f->flags & CFR_FIELD_PATH) != 0)
        rc = check_path(text, err);
    if (rc == 0 && (f->flags & CFR_FIELD_FILE_NAME) != 0)
        rc = check_file_name(text, err);
    if (rc != 0)
        return rc;
    copy = cfr_str_dup(text);
    if (copy == NULL)
        return cfr_err_nomem(err);
    free(*to);
    *to = copy;
    return 0;
}

static int store_bool(bool *to, struct cfr_view text, bool quoted, struct cfr_err *err)
{
    static const char *const words[2][4] = {{"no", "off", "false", "n"}, {"yes", "on", "true", "y"}};
    char buf[SHOWN_MAX + 4];

    if (!quoted && (cfr_view_is(text, "true") || cfr_view_is(text, "false"))) {
        *to = text.p[0] == 't';
        return 0;
    }
    for (size_t i = 0; i < 8; i++) {
        if (cfr_view_is_nocase(text, words[i / 4][i % 4]))
            return cfr_err_set(err, CFR_E_CONFIG, "%s is neither true nor false; write %s%s",
                               cfr_view_show(text, buf, sizeof buf), i / 4 == 1 ? "true" : "false",
                               quoted ? " without quotes" : "");
    }
    return cfr_err_set(err, CFR_E_CONFIG, "%s is neither true nor false; write one of the two",
                       cfr_view_show(text, buf, sizeof buf));
}

static int store_int(const struct cfr_field *f, int64_t *to, struct cfr_view text, bool quoted, struct cfr_err *err)
{
    char buf[SHOWN_MAX + 4];
    int64_t value = 0;
    bool good = text.n != 0 && text.p[0] != '+' && (text.n == 1 || text.p[0] != '0') && cfr_view_int(text, &value);

    if (!good && f->min == f->max && f->min != 0)
        return cfr_err_set(err, CFR_E_CONFIG, "must be %" PRId64 ", got \"%s\"", f->min,
                           cfr_view_show(text, buf, sizeof buf));
    if (!good)
        return cfr_err_set(err, CFR_E_CONFIG, "must be an integer in decimal digits, got \"%s\"",
                           cfr_view_show(text, buf, sizeof buf));
    if (quoted)
        return cfr_err_set(err, CFR_E_CONFIG, "\"%s\" is text because of its quotes; write %s without them",
                           cfr_view_show(text, buf, sizeof buf), buf);
    if (f->min == f->max && f->min != 0 && value != f->min)
        return cfr_err_set(err, CFR_E_CONFIG, "must be %" PRId64 ", got %" PRId64, f->min, value);
    if (!(f->min == 0 && f->max == 0) && (value < f->min || value > f->max))
        return cfr_err_set(err, CFR_E_CONFIG,
                           "%" PRId64 " is out of range; write a number from %" PRId64 " to %" PRId64, value, f->min,
                           f->max);
    *to = value;
    return 0;
}

/* As the configuration writes it, in the largest unit that divides it. */
static const char *duration_text(int64_t ms, char buf[32])
{
    static const struct {
        const char *unit;
        int64_t ms;
    } units[] = {{"d", 86400000}, {"h", 3600000}, {"m", 60000}, {"s", 1000}, {"ms", 1}};
    size_t i = 0;

    while (i < 4 && (ms % units[i].ms != 0 || ms == 0))
        i++;
    if (ms == 0)
        i = 3;
    (void)snprintf(buf, 32, "%" PRId64 "%s", ms / units[i].ms, units[i].unit);
    return buf;
}

static int store_duration(const struct cfr_field *f, int64_t *to, struct cfr_view text, struct cfr_err *err)
{
    char buf[SHOWN_MAX + 4];
    char low[32];
    char high[32];
    int64_t value;

    if (cfr_view_int(text, &value) && value >= 0 && value < 1000000)
        return cfr_err_set(err, CFR_E_CONFIG, "%s has no unit; write %" PRId64 "s if seconds are meant",
                           cfr_view_show(text, buf, sizeof buf), value);
    if (!cfr_time_parse_duration(text, &value))
        return cfr_err_set(
            err, CFR_E_CONFIG,
            "%s is not a duration; write whole numbers with the units d, h, m, s or ms, such as 90s or 1h30m",
            cfr_view_show(text, buf, sizeof buf));
    if (!(f->min == 0 && f->max == 0) && (value < f->min || value > f->max))
        return cfr_err_set(err, CFR_E_CONFIG, "%s is out of range; write a duration from %s to %s",
                           cfr_view_show(text, buf, sizeof buf), duration_text(f->min, low),
                           duration_text(f->max, high));
    *to = value;
    return 0;
}

static bool octal(struct cfr_view text, unsigned *out)
{
    *out = 0;
    if (text.n < 3 || text.n > 5)
        return false;
    for (size_t i = 0; i < text.n; i++) {
        if (text.p[i] < '0' || text.p[i] > '7')
            return false;
        *out = *out * 8 + (unsigned)(text.p[i] - '0');
    }
    return true;
}

/* True for common modes: the owner may read, and group and others have no permission that the class before lacks. */
static bool sensible(unsigned mode)
{
    unsigned u = mode >> 6 & 7;
    unsigned g = mode >> 3 & 7;
    unsigned o = mode & 7;

    return mode <= 0777 && u >= 4 && (g & ~u) == 0 && (o & ~g) == 0;
}

/* A number without quotes may be meant as octal (640) or be the decimal that some tool made of it (416). */
static int refuse_unquoted(struct cfr_view text, struct cfr_err *err)
{
    char buf[SHOWN_MAX + 4];
    int64_t decimal;
    unsigned mode;

    if (octal(text, &mode) && (text.p[0] == '0' || sensible(mode)))
        return cfr_err_set(err, CFR_E_CONFIG, "write the mode in quotes: \"%04o\" (YAML reads %s as a number)", mode,
                           cfr_view_show(text, buf, sizeof buf));
    if (cfr_view_int(text, &decimal) && decimal >= 0 && decimal <= 0777)
        return cfr_err_set(err, CFR_E_CONFIG, "write the mode in quotes: \"%04o\" (%s is its decimal value)",
                           (unsigned)decimal, cfr_view_show(text, buf, sizeof buf));
    return cfr_err_set(err, CFR_E_CONFIG, "%s is not a mode; write octal digits in quotes, such as \"0640\"",
                       cfr_view_show(text, buf, sizeof buf));
}

static int store_mode(int64_t *to, struct cfr_view text, bool quoted, struct cfr_err *err)
{
    char buf[SHOWN_MAX + 4];
    unsigned mode;

    if (!quoted)
        return refuse_unquoted(text, err);
    if (!octal(text, &mode))
        return cfr_err_set(err, CFR_E_CONFIG, "\"%s\" is not a mode; write octal digits, such as \"0640\"",
                           cfr_view_show(text, buf, sizeof buf));
    if (mode > 0777)
        return cfr_err_set(err, CFR_E_CONFIG, "\"%s\" has more than permission bits; write \"%04o\"",
                           cfr_view_show(text, buf, sizeof buf), mode & 0775);
    if ((mode & 2) != 0)
        return cfr_err_set(err, CFR_E_CONFIG, "\"%s\" is world-writable; write \"%04o\"",
                           cfr_view_show(text, buf, sizeof buf), mode & 0775);
    *to = mode;
    return 0;
}

static int store_enum(const struct cfr_field *f, int *to, struct cfr_view text, struct cfr_err *err)
{
    char buf[SHOWN_MAX + 4];
    struct cfr_str all = {.limit = 384};
    const char *like;
    int rc;

    for (int i = 0; f->choices[i] != NULL; i++) {
        if (cfr_view_is(text, f->choices[i])) {
            *to = i;
            return 0;
        }
    }
    like = cfr_field_suggest_choice(f->choices, text);
    if (like != NULL)
        return cfr_err_set(err, CFR_E_CONFIG, "%s is not a valid value; did you mean %s?",
                           cfr_view_show(text, buf, sizeof buf), like);
    for (int i = 0; f->choices[i] != NULL; i++)
        cfr_str_addf(&all, "%s%s", i == 0 ? "" : ", ", f->choices[i]);
    rc = cfr_err_set(err, CFR_E_CONFIG, "%s is not a valid value; write one of: %s",
                     cfr_view_show(text, buf, sizeof buf), all.p != NULL ? all.p : f->choices[0]);
    cfr_str_free(&all);
    return rc;
}

int cfr_field_store(const struct cfr_field *field, void *node, struct cfr_view text, bool quoted, struct cfr_err *err)
{
    void *to = at(node, field);

    switch (field->type) {
    case CFR_FIELD_STRING:
        return store_string(field, to, text, err);
    case CFR_FIELD_BOOL:
        return store_bool(to, text, quoted, err);
    case CFR_FIELD_INT:
        return store_int(field, to, text, quoted, err);
    case CFR_FIELD_DURATION:
        return store_duration(field, to, text, err);
    case CFR_FIELD_MODE:
        return store_mode(to, text, quoted, err);
    case CFR_FIELD_ENUM:
        return store_enum(field, to, text, err);
    case CFR_FIELD_STRINGS:
    case CFR_FIELD_PAIRS:
    case CFR_FIELD_MAP:
    case CFR_FIELD_LIST:
    case CFR_FIELD_ONE_OR_LIST:
    case CFR_FIELD_ONE_OF:
    case CFR_FIELD_ANY_OF:
        break;
    }
    return cfr_err_set(err, CFR_E_INTERNAL, "%s holds no scalar", field->key);
}

int cfr_field_defaults(const struct cfr_table *table, void *node, struct cfr_err *err)
{
    for (const struct cfr_field *f = table->fields; f->key != NULL; f++) {
        struct cfr_err why = {0};
        int rc;

        if (f->type == CFR_FIELD_MODE || (f->flags & CFR_FIELD_UNSET) != 0)
            *(int64_t *)at(node, f) = -1;
        if (f->fallback == NULL)
            continue;
        rc = cfr_field_store(f, node, cfr_view_of(f->fallback), f->type == CFR_FIELD_MODE, &why);
        if (rc != 0)
            return cfr_err_set(err, rc == CFR_E_NOMEM ? rc : CFR_E_INTERNAL, "default of %s: %s", f->key, why.text);
    }
    return 0;
}

static void free_text(char *text)
{
    if (text != NULL)
        cfr_secret_wipe(text, strlen(text));
    free(text);
}

static void free_strings(struct cfr_strings *s)
{
    for (size_t i = 0; i < s->count; i++)
        free_text(s->items[i]);
    free(s->items);
    *s = (struct cfr_strings){0};
}

static void free_pairs(struct cfr_pairs *p)
{
    for (size_t i = 0; i < p->count; i++) {
        free_text(p->items[i].key);
        free_text(p->items[i].value);
    }
    free(p->items);
    *p = (struct cfr_pairs){0};
}

static void free_list(const struct cfr_table *table, struct cfr_list *list)
{
    for (size_t i = 0; i < list->count; i++)
        cfr_field_free(table, (char *)list->items + i * table->size);
    free(list->items);
    *list = (struct cfr_list){0};
}

static void free_map(const struct cfr_table *table, void **map)
{
    if (*map != NULL)
        cfr_field_free(table, *map);
    free(*map);
    *map = NULL;
}

static void free_one_of(struct cfr_one_of *one)
{
    if (one->config != NULL)
        cfr_field_free(one->variant.table, one->config);
    free(one->config);
    *one = (struct cfr_one_of){0};
}

static void free_any_of(struct cfr_list *list)
{
    struct cfr_one_of *all = list->items;

    for (size_t i = 0; i < list->count; i++)
        free_one_of(&all[i]);
    free(all);
    *list = (struct cfr_list){0};
}

void cfr_field_free(const struct cfr_table *table, void *node)
{
    for (const struct cfr_field *f = table->fields; f->key != NULL; f++) {
        void *p = at(node, f);

        switch (f->type) {
        case CFR_FIELD_STRING:
            free_text(*(char **)p);
            *(char **)p = NULL;
            break;
        case CFR_FIELD_STRINGS:
            free_strings(p);
            break;
        case CFR_FIELD_PAIRS:
            free_pairs(p);
            break;
        case CFR_FIELD_MAP:
            free_map(f->table, p);
            break;
        case CFR_FIELD_LIST:
        case CFR_FIELD_ONE_OR_LIST:
            free_list(f->table, p);
            break;
        case CFR_FIELD_ONE_OF:
            free_one_of(p);
            break;
        case CFR_FIELD_ANY_OF:
            free_any_of(p);
            break;
        case CFR_FIELD_BOOL:
        case CFR_FIELD_INT:
        case CFR_FIELD_DURATION:
        case CFR_FIELD_MODE:
        case CFR_FIELD_ENUM:
            break;
        }
    }
}

/* ---- texts with one flag ---- */

struct text_walk {
    unsigned flag;
    cfr_field_each_fn *each;
    void *ctx;
    char where[128];
};

static void walk_texts(struct text_walk *w, const struct cfr_table *table, const void *node);

/* The same for what is below KEY. */
static void walk_below(struct text_walk *w, const char *key, const struct cfr_table *table, const void *node)
{
    size_t n = strlen(w->where);

    if (node == NULL)
        return;
    (void)snprintf(w->where + n, sizeof w->where - n, "%s.", key);
    walk_texts(w, table, node);
    w->where[n] = '\0';
}

static void walk_one_of(struct text_walk *w, const struct cfr_one_of *one)
{
    if (one->config != NULL && one->variant.flat)
        walk_texts(w, one->variant.table, one->config);
    else
        walk_below(w, one->variant.key, one->variant.table, one->config);
}

static void walk_texts(struct text_walk *w, const struct cfr_table *table, const void *node)
{
    for (const struct cfr_field *f = table->fields; f->key != NULL; f++) {
        const void *p = (const char *)node + f->offset;
        const struct cfr_list *list = p;

        if (f->type == CFR_FIELD_STRING && (f->flags & w->flag) != 0 && *(char *const *)p != NULL) {
            w->each(w->ctx, &(struct cfr_field_text){f, *(char *const *)p, w->where, table, node});
        } else if (f->type == CFR_FIELD_MAP) {
            walk_below(w, f->key, f->table, *(void *const *)p);
        } else if (f->type == CFR_FIELD_ONE_OF) {
            walk_one_of(w, p);
        } else if (f->type == CFR_FIELD_ANY_OF) {
            for (size_t i = 0; i < list->count; i++)
                walk_one_of(w, (const struct cfr_one_of *)list->items + i);
        } else if (f->type == CFR_FIELD_LIST || f->type == CFR_FIELD_ONE_OR_LIST) {
            for (size_t i = 0; i < list->count; i++)
                walk_below(w, f->key, f->table, (const char *)list->items + i * f->table->size);
        }
    }
}

void cfr_field_each(const struct cfr_table *table, const void *node, unsigned flag, cfr_field_each_fn *each, void *ctx)
{
    struct text_walk walk = {.flag = flag, .each = each, .ctx = ctx};

    walk_texts(&walk, table, node);
}
