/* SPDX-License-Identifier: MIT */
/* From YAML to structs. */
#include "agent/bind/bind.h"

#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define FIELDS_MAX 64
#define WHERE_MAX  224
#define NAME_MAX_  63

/* Where in the document we are, for messages. A unit is one item of a list at the root: a credential. */
struct scope {
    const struct scope *up;
    const char *key;
    const struct cfr_table *unit; /* set for such an item; KEY is then its list's */
    const struct cfr_yaml_node *item;
    size_t number; /* 1-based */
    /* The mapping whose pairs hold here where there is no such key; NULL = none. */
    const struct cfr_yaml_node *defaults;
    const struct cfr_yaml_node *of_items; /* the same for the items of the lists at the root */
    bool unsound;                         /* they have a mistake, which has been reported */
};

static void bind_map(struct cfr_config_diagnostics *ps, const struct cfr_table *table, const struct cfr_yaml_node *map,
                     void *node, const struct scope *scope);

static void add_unit(struct cfr_str *s, const struct scope *scope)
{
    const struct cfr_yaml_node *name = cfr_yaml_get(scope->item, "name", NULL);

    if (name != NULL && name->kind == CFR_YAML_SCALAR && name->text.n > 0 && name->text.n <= NAME_MAX_ &&
        cfr_view_printable(name->text))
        cfr_str_addf(s, "%s %.*s", scope->unit->name, (int)name->text.n, name->text.p);
    else
        cfr_str_addf(s, "%s number %zu", scope->unit->name, scope->number);
}

/* "credential registry: publish.files.mode" */
static void describe(const struct scope *scope, const char *key, char buf[WHERE_MAX])
{
    const struct scope *chain[CFR_YAML_DEPTH_MAX + 1];
    struct cfr_str s = {.limit = WHERE_MAX - 1};
    size_t n = 0;
    const char *dot = "";

    for (; scope != NULL && n < CFR_YAML_DEPTH_MAX; scope = scope->up)
        chain[n++] = scope;
    while (n-- > 0) {
        if (chain[n]->unit != NULL) {
            add_unit(&s, chain[n]);
            dot = ": ";
        } else if (chain[n]->key != NULL) {
            cfr_str_addf(&s, "%s%s", dot, chain[n]->key);
            dot = ".";
        }
    }
    if (key != NULL)
        cfr_str_addf(&s, "%s%s", dot, key);
    (void)snprintf(buf, WHERE_MAX, "%s", s.p != NULL ? s.p : "");
    cfr_str_free(&s);
}

__attribute__((format(printf, 5, 6))) static void problem(struct cfr_config_diagnostics *ps, const struct scope *scope,
                                                          int line, const char *key, const char *fmt, ...)
{
    char where[WHERE_MAX];
    char what[CFR_ERR_TEXT_MAX];
    va_list ap;

    va_start(ap, fmt);
    (void)vsnprintf(what, sizeof what, fmt, ap);
    va_end(ap);
    describe(scope, key, where);
    cfr_config_diagnostics_add(ps, line, "%s%s%s", where, where[0] != '\0' ? ": " : "", what);
}

static void *allocate(struct cfr_config_diagnostics *ps, size_t count, size_t size)
{
    void *p = calloc(count, size);

    if (p == NULL)
        ps->nomem = true;
    return p;
}

static const char *kind_name(enum cfr_yaml_kind kind)
{
    return kind == CFR_YAML_SCALAR ? "text" : kind == CFR_YAML_LIST ? "a list" : "a mapping";
}

/* The key that an example would begin with. */
static const char *first_key(const struct cfr_table *table)
{
    struct cfr_field first;

    for (const struct cfr_field *f = table->fields; f->key != NULL; f++) {
        if ((f->flags & CFR_FIELD_REQUIRED) != 0)
            return f->key;
    }
    return cfr_field_at(table, 0, &first) ? first.key : "KEY";
}

static bool wants(struct cfr_config_diagnostics *ps, const struct cfr_field *f, const struct cfr_yaml_node *value,
                  enum cfr_yaml_kind kind, const struct scope *scope)
{
    struct cfr_view key;

    if (value->kind == kind)
        return true;
    if (kind == CFR_YAML_SCALAR)
        problem(ps, scope, value->line, f->key, "expected a single value, got %s", kind_name(value->kind));
    else if (kind == CFR_YAML_LIST)
        problem(ps, scope, value->line, f->key, "expected a list, got %s; write each item after a dash",
                kind_name(value->kind));
    else if (value->kind == CFR_YAML_SCALAR && !value->quoted && cfr_yaml_lacks_space(value->text, &key))
        problem(ps, scope, value->line, f->key, "write a space after the colon: `%.*s: ...`", (int)key.n, key.p);
    else
        problem(ps, scope, value->line, f->key, "expected a mapping, got %s; write `%s: ...` below it, indented",
                kind_name(value->kind), f->table != NULL ? first_key(f->table) : "KEY");
    return false;
}

/* What `credfresh init` writes for a value that it was not given; the rest of it says what to write. */
static bool is_placeholder(struct cfr_config_diagnostics *ps, const struct cfr_field *f,
                           const struct cfr_yaml_node *value, const struct scope *scope)
{
    static const char mark[] = "REPLACE-ME";
    struct cfr_view words = value->text;

    if (!cfr_view_starts(words, mark))
        return false;
    words.p += sizeof mark - 1;
    words.n -= sizeof mark - 1;
    if (cfr_view_starts(words, " with ") && cfr_view_printable(words))
        problem(ps, scope, value->line, f->key, "REPLACE-ME is a placeholder; write %.*s",
                (int)(words.n - strlen(" with ")), words.p + strlen(" with "));
    else
        problem(ps, scope, value->line, f->key, "REPLACE-ME is a placeholder; write the value");
    return true;
}

/* "$NAME", "$NAME/..." or "${NAME}" anywhere in one word. */
static bool names_variable(struct cfr_view text)
{
    static const char letters[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz_";
    bool word = true;

    for (size_t i = 0; i < text.n; i++)
        word = word && text.p[i] > ' ' && text.p[i] != '"';
    return word && (cfr_view_find(text, "${") >= 0 ||
                    (text.n > 1 && text.p[0] == '$' && text.p[1] != '\0' && strchr(letters, text.p[1]) != NULL));
}

static int refuse_variable(struct cfr_config_diagnostics *ps, const struct cfr_field *f, int line,
                           const struct scope *scope)
{
    problem(ps, scope, line, f->key, CFR_YAML_NO_VARIABLES);
    return CFR_E_CONFIG;
}

static bool bind_scalar(struct cfr_config_diagnostics *ps, const struct cfr_field *f, const struct cfr_yaml_node *value,
                        void *node, const struct scope *scope)
{
    struct cfr_err err = {0};
    int rc;

    if (!wants(ps, f, value, CFR_YAML_SCALAR, scope) || is_placeholder(ps, f, value, scope))
        return false;
    rc = cfr_field_store(f, node, value->text, value->quoted, &err);
    if (rc == CFR_E_NOMEM)
        ps->nomem = true;
    else if (names_variable(value->text) && (rc != 0 || (!value->quoted && (f->flags & CFR_FIELD_VARIABLES) == 0)))
        rc = refuse_variable(ps, f, value->line, scope);
    else if (rc != 0)
        problem(ps, scope, value->line, f->key, "%s", err.text);
    return rc == 0;
}

static bool count_fits(struct cfr_config_diagnostics *ps, const struct cfr_field *f, const struct cfr_yaml_node *value,
                       const struct scope *scope)
{
    const char *what = value->kind == CFR_YAML_LIST ? "items" : "keys";

    if (f->min == 0 && f->max == 0)
        return true;
    if ((int64_t)value->count < f->min) {
        if (value->count == 0)
            problem(ps, scope, value->line, f->key, "is empty; write at least %" PRId64, f->min);
        else
            problem(ps, scope, value->line, f->key, "has too few %s; write at least %" PRId64, what, f->min);
        return false;
    }
    if ((int64_t)value->count > f->max) {
        problem(ps, scope, value->line, f->key, "has too many %s; at most %" PRId64 " are possible", what, f->max);
        return false;
    }
    return true;
}

/* A copy of a scalar of a list or a mapping of texts, or NULL. */
static char *copy_text(struct cfr_config_diagnostics *ps, const struct cfr_field *f, const struct cfr_yaml_node *value,
                       const struct scope *scope)
{
    char *copy;

    if (value->kind != CFR_YAML_SCALAR) {
        problem(ps, scope, value->line, f->key, "expected text in it, got %s", kind_name(value->kind));
        return NULL;
    }
    if (is_placeholder(ps, f, value, scope))
        return NULL;
    if (cfr_yaml_is_null(value)) {
        problem(ps, scope, value->line, f->key, "an item has no value; write \"\" if empty text is meant");
        return NULL;
    }
    if (memchr(value->text.p, '\0', value->text.n) != NULL) {
        problem(ps, scope, value->line, f->key, "a text in it has a NUL character; remove it");
        return NULL;
    }
    copy = cfr_str_dup(value->text);
    if (copy == NULL)
        ps->nomem = true;
    return copy;
}

static bool bind_strings(struct cfr_config_diagnostics *ps, const struct cfr_field *f,
                         const struct cfr_yaml_node *value, struct cfr_strings *to, const struct scope *scope)
{
    if (!wants(ps, f, value, CFR_YAML_LIST, scope) || !count_fits(ps, f, value, scope))
        return false;
    to->items = value->count != 0 ? allocate(ps, value->count, sizeof *to->items) : NULL;
    if (to->items == NULL)
        return true;
    for (const struct cfr_yaml_node *v = value->child; v != NULL; v = v->next) {
        char *text = copy_text(ps, f, v, scope);

        if (text != NULL)
            to->items[to->count++] = text;
    }
    return true;
}

static bool pair_known(struct cfr_config_diagnostics *ps, const struct cfr_field *f, const struct cfr_pairs *to,
                       const struct cfr_yaml_node *key, const struct scope *scope)
{
    for (size_t i = 0; i < to->count; i++) {
        if (cfr_view_is(key->text, to->items[i].key)) {
            problem(ps, scope, key->line, f->key, "%.64s occurs twice; remove one", to->items[i].key);
            return true;
        }
    }
    return false;
}

static bool bind_pairs(struct cfr_config_diagnostics *ps, const struct cfr_field *f, const struct cfr_yaml_node *value,
                       struct cfr_pairs *to, const struct scope *scope)
{
    if (!wants(ps, f, value, CFR_YAML_MAP, scope) || !count_fits(ps, f, value, scope))
        return false;
    to->items = value->count != 0 ? allocate(ps, value->count, sizeof *to->items) : NULL;
    if (to->items == NULL)
        return true;
    for (const struct cfr_yaml_node *k = value->child; k != NULL; k = k->next->next) {
        struct cfr_pair *pair = &to->items[to->count];

        if (k->kind == CFR_YAML_SCALAR && pair_known(ps, f, to, k, scope))
            continue;
        pair->key = copy_text(ps, f, k, scope);
        pair->value = pair->key != NULL ? copy_text(ps, f, k->next, scope) : NULL;
        if (pair->value != NULL) {
            to->count++;
        } else {
            free(pair->key);
            pair->key = NULL;
        }
    }
    return true;
}

/* NODE if it is a mapping, else NULL. */
static const struct cfr_yaml_node *as_map(const struct cfr_yaml_node *node)
{
    return node != NULL && node->kind == CFR_YAML_MAP ? node : NULL;
}

static bool bind_sub(struct cfr_config_diagnostics *ps, const struct cfr_field *f, const struct cfr_yaml_node *value,
                     void **to, const struct scope *scope)
{
    struct scope here = {.up = scope, .key = f->key, .unsound = scope->unsound};

    if (scope->defaults != NULL)
        here.defaults = as_map(cfr_yaml_get(scope->defaults, f->key, NULL));
    if (f->table == NULL || !wants(ps, f, value, CFR_YAML_MAP, scope))
        return false;
    *to = allocate(ps, 1, f->table->size);
    if (*to != NULL)
        bind_map(ps, f->table, value, *to, &here);
    return true;
}

static bool bind_one_of(struct cfr_config_diagnostics *ps, const struct cfr_variant *variant,
                        const struct cfr_yaml_node *key, struct cfr_one_of *to, const struct scope *scope)
{
    const struct cfr_field as = {.key = variant->key, .type = CFR_FIELD_MAP, .table = variant->table};

    to->variant = *variant;
    to->line = key->line;
    return bind_sub(ps, &as, key->next, &to->config, scope);
}

static bool bind_list(struct cfr_config_diagnostics *ps, const struct cfr_field *f, const struct cfr_yaml_node *value,
                      struct cfr_list *to, const struct scope *scope)
{
    bool single = f->type == CFR_FIELD_ONE_OR_LIST && value->kind == CFR_YAML_MAP;
    const struct cfr_yaml_node *v = single ? value : value->child;
    size_t count = single ? 1 : value->count;
    struct scope here = {.up = scope, .key = f->key, .unit = scope->up == NULL ? f->table : NULL};
    struct cfr_view key;

    if (!single && (!wants(ps, f, value, CFR_YAML_LIST, scope) || !count_fits(ps, f, value, scope)))
        return false;
    to->items = count != 0 ? allocate(ps, count, f->table->size) : NULL;
    if (to->items == NULL)
        return true;
    if (here.unit != NULL && f->table->takes_default != NULL) {
        here.defaults = scope->of_items;
        here.unsound = scope->unsound;
    }
    for (size_t i = 0; i < count && !ps->nomem; i++, v = v->next) {
        here.item = v;
        here.number = i + 1;
        if (v->kind == CFR_YAML_MAP) {
            bind_map(ps, f->table, v, (char *)to->items + to->count++ * f->table->size, &here);
            continue;
        }
        if (v->kind == CFR_YAML_SCALAR && !v->quoted && cfr_yaml_lacks_space(v->text, &key))
            problem(ps, &here, v->line, NULL, "write a space after the colon: `%.*s: ...`", (int)key.n, key.p);
        else
            problem(ps, &here, v->line, NULL, "each item must be a mapping, not %s; write `- %s: ...`",
                    kind_name(v->kind), first_key(f->table));
    }
    return true;
}

static bool add_one_of(struct cfr_config_diagnostics *ps, const struct cfr_one_of *one, struct cfr_list *to)
{
    struct cfr_one_of *more = realloc(to->items, (to->count + 1) * sizeof *more);

    if (more == NULL) {
        ps->nomem = true;
        return false;
    }
    to->items = more;
    more[to->count++] = *one;
    return true;
}

/* Mappings of one key of the registry; each becomes an item of its own. */
static bool bind_any_of(struct cfr_config_diagnostics *ps, const struct cfr_variant *variant,
                        const struct cfr_yaml_node *key, struct cfr_list *to, const struct scope *scope)
{
    const struct cfr_field as = {
        .key = variant->key, .type = CFR_FIELD_ONE_OR_LIST, .table = variant->table, .min = 1, .max = variant->most};
    struct cfr_list all = {0};
    bool sound;

    if (variant->table == NULL || (variant->most <= 1 && !wants(ps, &as, key->next, CFR_YAML_MAP, scope)))
        return false;
    sound = bind_list(ps, &as, key->next, &all, scope);
    for (size_t i = 0; i < all.count; i++) {
        void *item = (char *)all.items + i * variant->table->size;
        struct cfr_one_of one = {*variant, allocate(ps, 1, variant->table->size), key->line};

        if (one.config != NULL)
            memcpy(one.config, item, variant->table->size);
        if (one.config == NULL || !add_one_of(ps, &one, to)) {
            cfr_field_free(variant->table, item);
            free(one.config);
        }
    }
    free(all.items);
    return sound;
}

/* False when the value could not be taken at all; mistakes deeper down are reported by themselves. */
static bool bind_value(struct cfr_config_diagnostics *ps, const struct cfr_field *f, const struct cfr_yaml_node *value,
                       void *node, const struct scope *scope)
{
    void *to = (char *)node + f->offset;

    switch (f->type) {
    case CFR_FIELD_STRINGS:
        return bind_strings(ps, f, value, to, scope);
    case CFR_FIELD_PAIRS:
        return bind_pairs(ps, f, value, to, scope);
    case CFR_FIELD_MAP:
        return bind_sub(ps, f, value, to, scope);
    case CFR_FIELD_LIST:
    case CFR_FIELD_ONE_OR_LIST:
        return bind_list(ps, f, value, to, scope);
    case CFR_FIELD_STRING:
    case CFR_FIELD_BOOL:
    case CFR_FIELD_INT:
    case CFR_FIELD_DURATION:
    case CFR_FIELD_MODE:
    case CFR_FIELD_ENUM:
    case CFR_FIELD_ONE_OF: /* their keys are no field's: see bind_pair */
    case CFR_FIELD_ANY_OF:
        break;
    }
    return bind_scalar(ps, f, value, node, scope);
}

/* Whether KEY looks like one whose value would be a secret. */
static bool carries_secret(struct cfr_view key)
{
    static const char *const ends[] = {"secret",      "password", "passwd", "access_key", "secret_key",
                                       "private_key", "api_key",  "apikey", "_token",     "assertion"};

    for (size_t i = 0; i < sizeof ends / sizeof ends[0]; i++) {
        size_t n = strlen(ends[i]);

        if (key.n >= n && cfr_view_is_nocase((struct cfr_view){key.p + key.n - n, n}, ends[i]))
            return true;
    }
    return false;
}

/* The key of TABLE that names the file with the secret KEY: "client_secret_file" for "client_secret"; NULL = none. */
static const char *find_secret_file(const struct cfr_table *table, struct cfr_view key)
{
    static const char end[] = "_file";
    struct cfr_field f;

    for (size_t i = 0; carries_secret(key) && cfr_field_at(table, i, &f); i++) {
        size_t n = strlen(f.key);

        if (n >= key.n + sizeof end - 1 && strcmp(f.key + n - (sizeof end - 1), end) == 0 &&
            memcmp(f.key + n - (sizeof end - 1) - key.n, key.p, key.n) == 0)
            return f.key;
    }
    return NULL;
}

/* Returns the key that was probably meant, or NULL. */
static const char *unknown_key(struct cfr_config_diagnostics *ps, const struct cfr_table *table,
                               const struct cfr_yaml_node *key, const struct scope *scope)
{
    const char *file = find_secret_file(table, key->text);
    bool secret = file == NULL && carries_secret(key->text);
    const char *like = file != NULL ? file : secret ? NULL : cfr_field_suggest(table, key->text);
    struct cfr_view shown = cfr_view_printable(key->text) ? key->text : cfr_view_of("(not printable)");
    int n = shown.n < 64 ? (int)shown.n : 64;
    struct cfr_str keys = {.limit = 320};
    struct cfr_field f;

    for (size_t i = 0; like == NULL && cfr_field_at(table, i, &f); i++)
        cfr_str_addf(&keys, "%s%s", i == 0 ? "" : ", ", f.key);
    if (cfr_view_is(key->text, "<<") && !key->quoted)
        problem(ps, scope, key->line, NULL, "merge keys (<<) are not supported; write the keys out");
    else if (file != NULL)
        problem(ps, scope, key->line, NULL,
                "%.*s: secrets are never written here; put it in a file and name it in `%s`", n, shown.p, file);
    else if (secret)
        problem(ps, scope, key->line, NULL,
                "%.*s: secrets are never written here, and this %s has no key for the file of one; mount it as a "
                "Secret and name that in `secret` of the credential",
                n, shown.p, table->name);
    else if (like != NULL)
        problem(ps, scope, key->line, NULL, "unknown key %.*s; did you mean %s?", n, shown.p, like);
    else
        problem(ps, scope, key->line, NULL, "unknown key %.*s; this %s has: %s", n, shown.p, table->name,
                keys.p != NULL ? keys.p : "other keys");
    cfr_str_free(&keys);
    return like;
}

/* Whether KEY is one that TABLE no longer has; it is then reported. */
static bool report_gone(struct cfr_config_diagnostics *ps, const struct cfr_table *table,
                        const struct cfr_yaml_node *key, const struct scope *scope)
{
    const struct cfr_field_gone *gone = table->gone;

    while (gone != NULL && gone->key != NULL && !cfr_view_is(key->text, gone->key))
        gone++;
    if (gone == NULL || gone->key == NULL)
        return false;
    problem(ps, scope, key->line, gone->key, "%s", gone->instead);
    return true;
}

/* The field that KEY belongs to; *OUT is set if that is a ONE_OF. */
static const struct cfr_field *find_field(const struct cfr_table *table, struct cfr_view key, struct cfr_variant *out)
{
    const struct cfr_field *f = cfr_field_find(table, key);

    return f != NULL ? f : cfr_field_find_variant(table, key, out);
}

/* What an ANY_OF has so far of the variant KEY; NULL = nothing. */
static const struct cfr_one_of *find_one(const struct cfr_list *list, const char *key)
{
    const struct cfr_one_of *all = list->items;

    for (size_t i = 0; i < list->count; i++) {
        if (cfr_view_is(cfr_view_of(key), all[i].variant.key))
            return &all[i];
    }
    return NULL;
}

/* One of the keys of a flat variant, which MAP itself has. */
static bool bind_flat(struct cfr_config_diagnostics *ps, const struct cfr_variant *variant,
                      const struct cfr_yaml_node *map, const struct cfr_yaml_node *key, struct cfr_list *to,
                      const struct scope *scope)
{
    const struct cfr_field *f = cfr_field_find(variant->table, key->text);
    const struct cfr_one_of *one = find_one(to, variant->key);
    struct cfr_one_of new = {*variant, NULL, key->line};
    struct cfr_err err = {0};

    for (const struct cfr_yaml_node *k = map->child; k != key; k = k->next->next) {
        if (k->kind == CFR_YAML_SCALAR && cfr_view_is(k->text, f->key)) {
            problem(ps, scope, key->line, f->key, "is given twice, first on line %d; remove one", k->line);
            return false;
        }
    }
    if (cfr_yaml_is_null(key->next)) {
        problem(ps, scope, key->line, f->key, "has no value; write one, or leave the key out");
        return false;
    }
    if (one == NULL) {
        new.config = allocate(ps, 1, variant->table->size);
        if (new.config == NULL)
            return false;
        ((struct cfr_node *)new.config)->line = map->line;
        if (cfr_field_defaults(variant->table, new.config, &err) != 0 || !add_one_of(ps, &new, to)) {
            cfr_field_free(variant->table, new.config);
            free(new.config);
            ps->nomem = true;
            return false;
        }
        one = &new;
    }
    return bind_value(ps, f, key->next, one->config, scope);
}

/* What bind_map knows of each field of its table. */
struct seen {
    int line;        /* of its key, 0 = not there */
    const char *key; /* which it was, of a ONE_OF */
    bool guessed;    /* some unknown key was probably meant to be this one */
};

static bool bind_known_pair(struct cfr_config_diagnostics *ps, const struct cfr_table *table,
                            const struct cfr_yaml_node *map, const struct cfr_yaml_node *key, void *node,
                            struct seen seen[FIELDS_MAX], const struct scope *scope)
{
    const struct cfr_field *f;
    struct cfr_variant variant = {.key = NULL};
    const struct cfr_one_of *one;
    const char *name;
    int before;
    void *to;
    ptrdiff_t i;

    if (key->kind != CFR_YAML_SCALAR) {
        problem(ps, scope, key->line, NULL, "a key must be text, not %s", kind_name(key->kind));
        return false;
    }
    if (report_gone(ps, table, key, scope))
        return false;
    f = find_field(table, key->text, &variant);
    if (f == NULL) {
        const char *like = unknown_key(ps, table, key, scope);

        f = like != NULL ? find_field(table, cfr_view_of(like), &variant) : NULL;
        if (f != NULL && f - table->fields < FIELDS_MAX)
            seen[f - table->fields].guessed = true;
        return false;
    }
    i = f - table->fields;
    name = variant.key != NULL ? variant.key : f->key;
    if (i >= FIELDS_MAX) {
        problem(ps, scope, key->line, name, "the table of a %s is too long", table->name);
        return false;
    }
    to = (char *)node + f->offset;
    if (variant.flat)
        return bind_flat(ps, &variant, map, key, to, scope);
    one = f->type == CFR_FIELD_ANY_OF ? find_one(to, name) : NULL;
    before = one != NULL ? one->line : f->type == CFR_FIELD_ANY_OF ? 0 : seen[i].line;
    if (before != 0 && f->type == CFR_FIELD_ONE_OF && strcmp(seen[i].key, name) != 0) {
        problem(ps, scope, key->line, name, "cannot be combined with %s, on line %d; keep one of the two", seen[i].key,
                before);
        return false;
    }
    if (before != 0) {
        problem(ps, scope, key->line, name, "is given twice, first on line %d; remove one", before);
        return false;
    }
    seen[i].line = key->line;
    seen[i].key = name;
    if (cfr_yaml_is_null(key->next)) {
        problem(ps, scope, key->line, name, "has no value; write one, or leave the key out");
        return false;
    }
    if (f->type == CFR_FIELD_ONE_OF)
        return bind_one_of(ps, &variant, key, to, scope);
    if (f->type == CFR_FIELD_ANY_OF)
        return bind_any_of(ps, &variant, key, to, scope);
    return bind_value(ps, f, key->next, node, scope);
}

/* False when the rules across fields would only repeat what is wrong with this one. */
static bool bind_pair(struct cfr_config_diagnostics *ps, const struct cfr_table *table, const struct cfr_yaml_node *map,
                      const struct cfr_yaml_node *key, void *node, struct seen seen[FIELDS_MAX],
                      const struct scope *scope)
{
    struct cfr_node *head = node;
    const struct cfr_field *f;
    const char *like;

    if (bind_known_pair(ps, table, map, key, node, seen, scope))
        return true;
    f = key->kind == CFR_YAML_SCALAR ? cfr_field_find(table, key->text) : NULL;
    if (f == NULL && key->kind == CFR_YAML_SCALAR && (like = cfr_field_suggest(table, key->text)) != NULL)
        f = cfr_field_find(table, cfr_view_of(like));
    head->unclear = head->unclear || f == NULL || f->type > CFR_FIELD_ENUM;
    return false;
}

static bool check_required(struct cfr_config_diagnostics *ps, const struct cfr_table *table, int line,
                           const struct seen seen[FIELDS_MAX], const struct scope *scope)
{
    size_t before = ps->count;
    size_t i = 0;

    for (const struct cfr_field *f = table->fields; f->key != NULL && i < FIELDS_MAX; f++, i++) {
        if ((f->flags & CFR_FIELD_REQUIRED) == 0 || seen[i].line != 0 || seen[i].guessed)
            continue;
        if (f->type == CFR_FIELD_INT && f->min == f->max) /* which format the file has */
            problem(ps, scope, line, f->key, "is missing; the file must begin with `%s: %" PRId64 "`", f->key, f->min);
        else
            problem(ps, scope, line, f->key, "is missing; this %s needs it", table->name);
    }
    return ps->count == before;
}

/* Whether KEY is a word of TEXT. */
static bool has_word(const char *text, const char *key)
{
    static const char letters[] = "abcdefghijklmnopqrstuvwxyz_";
    size_t n = strlen(key);

    for (const char *p = strstr(text, key); p != NULL; p = strstr(p + 1, key)) {
        if ((p == text || strchr(letters, p[-1]) == NULL) && (p[n] == '\0' || strchr(letters, p[n]) == NULL))
            return true;
    }
    return false;
}

/* Where the keys that TEXT names come from, if that is not NODE's own mapping. */
static void add_origins(struct cfr_str *s, const char *text, const struct cfr_table *table, const struct cfr_node *node,
                        const struct scope *scope)
{
    for (size_t i = 0; i < CHAR_BIT * sizeof node->defaulted && table->fields[i].key != NULL; i++) {
        const char *key = table->fields[i].key;
        int line = 0;

        if ((node->defaulted & 1U << i) == 0 || !has_word(text, key))
            continue;
        (void)cfr_yaml_get(scope->defaults, key, &line);
        cfr_str_addf(s, "%s`%s` is that of `defaults`, line %d", s->len == 0 ? " (" : ", ", key, line);
    }
    if (s->len != 0)
        cfr_str_addz(s, ")");
}

/* The error of a rule across fields begins with the key that it is about, if it is about one. */
static void report_check(struct cfr_config_diagnostics *ps, const struct cfr_table *table,
                         const struct cfr_yaml_node *map, const void *node, const struct cfr_err *err,
                         const struct scope *scope)
{
    struct cfr_str origins = {.limit = 256};
    struct cfr_view text = cfr_view_of(err->text);
    ptrdiff_t colon = cfr_view_find(text, ": ");
    char key[NAME_MAX_ + 1] = "";
    struct cfr_variant unused;
    int line = map->line;

    if (colon > 0 && colon <= NAME_MAX_)
        (void)snprintf(key, sizeof key, "%.*s", (int)colon, text.p);
    add_origins(&origins, err->text, table, node, scope);
    if (key[0] == '\0' || find_field(table, cfr_view_of(key), &unused) == NULL) {
        problem(ps, scope, line, NULL, "%s%s", err->text, origins.p != NULL ? origins.p : "");
    } else {
        (void)cfr_yaml_get(map, key, &line);
        problem(ps, scope, line, key, "%s%s", err->text + colon + 2, origins.p != NULL ? origins.p : "");
    }
    cfr_str_free(&origins);
}

/* The rules across the fields of NODE. */
static bool run_check(struct cfr_config_diagnostics *ps, const struct cfr_table *table, const struct cfr_yaml_node *map,
                      const void *node, const struct scope *scope)
{
    struct cfr_err err = {0};
    int rc = table->check != NULL ? table->check(node, &err) : 0;

    if (rc == CFR_E_NOMEM)
        ps->nomem = true;
    else if (rc != 0)
        report_check(ps, table, map, node, &err, scope);
    return rc == 0;
}

/* Those of the flat variants, whose keys are in MAP itself; the others were checked where they are. */
static bool check_flat(struct cfr_config_diagnostics *ps, const struct cfr_yaml_node *map, const struct cfr_list *list,
                       const struct scope *scope)
{
    const struct cfr_one_of *all = list->items;

    for (size_t i = 0; i < list->count; i++) {
        if (all[i].variant.flat && !run_check(ps, all[i].variant.table, map, all[i].config, scope))
            return false;
    }
    return true;
}

/* The key of the defaults that a mapping of TABLE may have; NULL = MAP has none. */
static const struct cfr_yaml_node *find_defaults(const struct cfr_table *table, const struct cfr_yaml_node *map)
{
    const struct cfr_field *f = table->fields;

    while (f->key != NULL && (f->flags & CFR_FIELD_DEFAULTS) == 0)
        f++;
    for (const struct cfr_yaml_node *k = map->child; k != NULL && f->key != NULL; k = k->next->next) {
        if (k->kind == CFR_YAML_SCALAR && cfr_view_is(k->text, f->key))
            return k;
    }
    return NULL;
}

/* The pairs of MAP, the defaults for its lists first. HERE takes what those are. */
static bool bind_own(struct cfr_config_diagnostics *ps, const struct cfr_table *table, const struct cfr_yaml_node *map,
                     void *node, struct seen seen[FIELDS_MAX], struct scope *here)
{
    const struct cfr_yaml_node *defaults = find_defaults(table, map);
    size_t before = ps->count;
    bool sound = true;

    if (defaults != NULL) {
        sound = bind_pair(ps, table, map, defaults, node, seen, here);
        here->of_items = as_map(defaults->next);
        here->unsound = ps->count != before;
    }
    for (const struct cfr_yaml_node *k = map->child; k != NULL && !ps->nomem; k = k->next->next)
        sound = (k == defaults || bind_pair(ps, table, map, k, node, seen, here)) && sound;
    return sound;
}

/* What the defaults have and MAP has not. A mapping of theirs holds only inside one of MAP: see bind_sub. */
static bool bind_defaults(struct cfr_config_diagnostics *ps, const struct cfr_table *table,
                          const struct cfr_yaml_node *map, void *node, struct seen seen[FIELDS_MAX],
                          const struct scope *scope)
{
    const struct cfr_yaml_node *k = scope->defaults != NULL ? scope->defaults->child : NULL;
    struct cfr_node *head = node;
    bool sound = true;

    for (; k != NULL && sound && !ps->nomem; k = k->next->next) {
        const struct cfr_field *f = k->kind == CFR_YAML_SCALAR ? cfr_field_find(table, k->text) : NULL;
        ptrdiff_t i = f != NULL ? f - table->fields : FIELDS_MAX;

        if (i >= FIELDS_MAX || seen[i].line != 0 || f->type == CFR_FIELD_MAP ||
            (table->takes_default != NULL && !table->takes_default(node, f->key)))
            continue;
        sound = !scope->unsound && bind_pair(ps, table, map, k, node, seen, scope);
        if ((size_t)i < CHAR_BIT * sizeof head->defaulted)
            head->defaulted |= 1U << i;
    }
    return sound;
}

static void bind_map(struct cfr_config_diagnostics *ps, const struct cfr_table *table, const struct cfr_yaml_node *map,
                     void *node, const struct scope *scope)
{
    struct seen seen[FIELDS_MAX] = {{0}};
    struct scope here = *scope;
    struct cfr_node *head = node;
    struct cfr_err err = {0};
    size_t before = ps->count;
    bool sound;
    int rc = cfr_field_defaults(table, node, &err);

    head->line = map->line;
    if (rc == CFR_E_NOMEM) {
        ps->nomem = true;
        return;
    }
    if (rc != 0)
        problem(ps, scope, map->line, NULL, "%s", err.text);
    sound = bind_own(ps, table, map, node, seen, &here);
    sound = bind_defaults(ps, table, map, node, seen, scope) && sound;
    if (!check_required(ps, table, map->line, seen, scope))
        sound = false;
    for (const struct cfr_field *f = table->fields; f->key != NULL && sound && !ps->nomem; f++)
        sound = f->type != CFR_FIELD_ANY_OF || check_flat(ps, map, (void *)((char *)node + f->offset), scope);
    if (!table->late && !ps->nomem && sound)
        (void)run_check(ps, table, map, node, scope);
    head->faulty = ps->count != before;
}

void cfr_config_bind(const struct cfr_table *table, const struct cfr_yaml_node *root, void *node,
                     struct cfr_config_diagnostics *problems)
{
    struct scope scope = {0};

    if (root->kind != CFR_YAML_MAP) {
        problem(problems, NULL, root->line, NULL, "expected a mapping, got %s; begin with `%s: 1`",
                kind_name(root->kind), first_key(table));
        return;
    }
    if (cfr_yaml_get(root, "apiVersion", NULL) != NULL && cfr_yaml_get(root, "kind", NULL) != NULL)
        problem(problems, NULL, root->line, NULL,
                "this is a Kubernetes object; credfresh reads the text below `data:`, `credfresh.yaml:`");
    else
        bind_map(problems, table, root, node, &scope);
}
