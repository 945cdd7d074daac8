/* SPDX-License-Identifier: MIT */
/* YAML reader, by the events of libyaml. */
#include "base/yaml.h"

#include "base/secret.h"

#include <stdlib.h>
#include <string.h>
#include <yaml.h>

#define BLOCK_BYTES 16384
#define ANCHORS_MAX 1024
#define COPIES_MAX  4096 /* aliases and merged pairs */
#define KEYS_MAX    1024 /* of a mapping with a merge key */
#define LEVELS_MAX  64
#define WORD_MAX_   40
#define KEY_CHARS   "abcdefghijklmnopqrstuvwxyz0123456789_"

struct block {
    struct block *next;
    size_t used;
    size_t size;
};

/* Nodes and texts live in blocks that are freed together. */
struct cfr_yaml {
    struct block *blocks;
    struct cfr_yaml_node *root;
};

struct anchor {
    struct anchor *next;
    const char *name;
    struct cfr_yaml_node *node;
    size_t height; /* levels of collections */
    bool open;
};

struct reader {
    yaml_parser_t parser;
    struct cfr_view text;
    struct cfr_yaml *doc;
    struct cfr_yaml_node *open[CFR_YAML_FOREIGN_DEPTH_MAX]; /* collections that have not ended */
    struct cfr_yaml_node *last[CFR_YAML_FOREIGN_DEPTH_MAX]; /* their latest children */
    size_t below[CFR_YAML_FOREIGN_DEPTH_MAX];               /* levels below them */
    struct anchor *named[CFR_YAML_FOREIGN_DEPTH_MAX];       /* their anchors, or NULL */
    size_t depth;
    unsigned documents;
    cfr_yaml_map_fn *fn; /* only for another program's file */
    void *ctx;
    bool foreign; /* another program's file */
    bool limited; /* in the number of nodes */
    size_t nodes;
    struct anchor *anchors; /* the latest first */
    size_t anchor_count;
    size_t copies;
    int *line;
    struct cfr_err *err;
};

static void *allocate(struct cfr_yaml *doc, size_t n)
{
    struct block *b = doc->blocks;
    char *p;

    n = (n + 15) & ~(size_t)15;
    if (b == NULL || b->size - b->used < n) {
        size_t size = n > BLOCK_BYTES / 4 ? n : BLOCK_BYTES;

        b = malloc(sizeof *b + size);
        if (b == NULL)
            return NULL;
        *b = (struct block){.next = doc->blocks, .size = size};
        doc->blocks = b;
    }
    p = (char *)(b + 1) + b->used;
    b->used += n;
    return p;
}

void cfr_yaml_free(struct cfr_yaml *doc)
{
    if (doc == NULL)
        return;
    while (doc->blocks != NULL) {
        struct block *next = doc->blocks->next;

        cfr_secret_wipe(doc->blocks, sizeof *doc->blocks + doc->blocks->size);
        free(doc->blocks);
        doc->blocks = next;
    }
    free(doc);
}

const struct cfr_yaml_node *cfr_yaml_root(const struct cfr_yaml *doc)
{
    return doc->root;
}

bool cfr_yaml_is_null(const struct cfr_yaml_node *node)
{
    return node->kind == CFR_YAML_SCALAR && !node->quoted &&
           (node->text.n == 0 || cfr_view_is(node->text, "~") || cfr_view_is_nocase(node->text, "null"));
}

const struct cfr_yaml_node *cfr_yaml_get(const struct cfr_yaml_node *map, const char *key, int *key_line)
{
    if (map->kind != CFR_YAML_MAP)
        return NULL;
    for (const struct cfr_yaml_node *k = map->child; k != NULL; k = k->next->next) {
        if (k->kind == CFR_YAML_SCALAR && cfr_view_is(k->text, key)) {
            if (key_line != NULL)
                *key_line = k->line;
            return k->next;
        }
    }
    return NULL;
}

static int line_of(const yaml_mark_t *mark)
{
    return mark->line < 1000000000 ? (int)mark->line + 1 : 0;
}

static int refuse(struct reader *r, int line, const char *what)
{
    *r->line = line;
    return cfr_err_set(r->err, CFR_E_CONFIG, "%s", what);
}

static int out_of_memory(struct reader *r)
{
    return cfr_err_nomem(r->err);
}

/* The line that OFFSET is on. */
static int line_at(struct cfr_view text, size_t offset)
{
    int line = 1;

    for (size_t i = 0; i < offset && i < text.n; i++)
        line += text.p[i] == '\n' ? 1 : 0;
    return line;
}

static bool tab_indents(struct cfr_view text, int line)
{
    struct cfr_view rest = text;
    struct cfr_view one = {NULL, 0};

    for (int i = 0; i < line; i++) {
        if (!cfr_view_line(&rest, &one))
            return false;
    }
    for (size_t i = 0; i < one.n && (one.p[i] == ' ' || one.p[i] == '\t'); i++) {
        if (one.p[i] == '\t')
            return true;
    }
    return false;
}

/* ---- syntax errors ---- */

/* A syntax error as libyaml reports it. Lines begin at 1, columns at 0. */
struct cfr_yaml_mistake {
    const char *problem;
    const char *context; /* NULL: none */
    int line;
    size_t column;
    int context_line;
};

/* A column at which a list or the keys of a mapping stand, and the first line that has it. */
struct level {
    size_t column;
    int line;
    struct cfr_view word; /* "-", or a key */
};

struct levels {
    struct level items[LEVELS_MAX];
    size_t count;
};

static struct cfr_view line_number(struct cfr_view text, int number)
{
    struct cfr_view line = {"", 0};

    while (number > 0 && cfr_view_line(&text, &line))
        number--;
    return number == 0 ? line : (struct cfr_view){"", 0};
}

static size_t blanks(struct cfr_view line, size_t at)
{
    size_t n = at;

    while (n < line.n && line.p[n] == ' ')
        n++;
    return n;
}

static bool is_dash(struct cfr_view line, size_t at)
{
    return at < line.n && line.p[at] == '-' && (at + 1 == line.n || line.p[at + 1] == ' ');
}

static bool has_nothing(struct cfr_view line, size_t at)
{
    return at == line.n || line.p[at] == '#' || line.p[at] == '\r';
}

/* The key that begins at AT, without its colon; other text is not repeated. */
static struct cfr_view key_at(struct cfr_view line, size_t at)
{
    size_t n = 0;

    while (at + n < line.n && line.p[at + n] != '\0' && strchr(KEY_CHARS, line.p[at + n]) != NULL)
        n++;
    return n != 0 && n <= WORD_MAX_ && at + n < line.n && line.p[at + n] == ':' ? (struct cfr_view){line.p + at, n}
                                                                                : cfr_view_of("the text");
}

/* Enters what stands at COLUMN of a line; deeper levels end. Returns false if that column is new and less deep than the
 * level that ended last, which is then *ENDED. */
static bool enter(struct levels *all, const struct level *new, struct level *ended)
{
    bool any = false;

    while (all->count != 0 && all->items[all->count - 1].column > new->column) {
        *ended = all->items[--all->count];
        any = true;
    }
    if (all->count != 0 && all->items[all->count - 1].column == new->column) {
        const struct level *same = &all->items[all->count - 1];

        /* A key cannot stand in the column of the dashes. */
        return !any || !cfr_view_is(same->word, "-") || cfr_view_is(new->word, "-");
    }
    if (all->count < LEVELS_MAX)
        all->items[all->count++] = *new;
    return !any;
}

/* The first mistake of indentation up to line LAST: what stands at *AT, and what it should be aligned with. */
static bool find_shift(struct cfr_view text, int last, struct level *at, struct level *with)
{
    struct levels all = {.count = 0};
    struct cfr_view line;

    for (int n = 1; n <= last && cfr_view_line(&text, &line); n++) {
        size_t i = blanks(line, 0);

        while (!has_nothing(line, i)) {
            bool dash = is_dash(line, i);
            const struct level new = {i, n, dash ? cfr_view_of("-") : key_at(line, i)};

            if (!enter(&all, &new, with) && n == last) {
                *at = new;
                return true;
            }
            if (!dash)
                break;
            i = blanks(line, i + 1);
        }
    }
    return false;
}

/* The line above that is neither empty nor a comment; 0: none. */
static int line_above(struct cfr_view text, int line)
{
    while (--line > 0) {
        struct cfr_view above = line_number(text, line);

        if (!has_nothing(above, blanks(above, 0)))
            return line;
    }
    return 0;
}

/* Where the text of LINE begins after its dashes. */
static size_t content_column(struct cfr_view line)
{
    size_t i = blanks(line, 0);

    while (is_dash(line, i))
        i = blanks(line, i + 1);
    return i;
}

static struct cfr_view content(struct cfr_view text, int number)
{
    struct cfr_view line = line_number(text, number);
    size_t i = content_column(line);

    return (struct cfr_view){line.p + i, line.n - i};
}

bool cfr_yaml_lacks_space(struct cfr_view text, struct cfr_view *key)
{
    *key = key_at(text, 0);
    return key->p == text.p && text.n > key->n + 1 && strchr(" \r\n", text.p[key->n + 1]) == NULL &&
           !cfr_view_starts((struct cfr_view){text.p + key->n, text.n - key->n}, "://");
}

static int refuse_glued(struct cfr_view at, struct cfr_view key, struct cfr_err *err)
{
    char value[WORD_MAX_ + 4] = "...";

    /* A name is part of most messages anyway; any other value may be a secret. */
    if (cfr_view_is(key, "name"))
        (void)cfr_view_show(cfr_view_trim((struct cfr_view){at.p + key.n + 1, at.n - key.n - 1}), value, sizeof value);
    return cfr_err_set(err, CFR_E_CONFIG, "write a space after the colon: `%.*s: %s`", (int)key.n, key.p, value);
}

/* "mapping values are not allowed in this context": a colon after what is a value already. */
static int explain_colon(struct cfr_view text, const struct cfr_yaml_mistake *m, int *line, struct cfr_err *err)
{
    struct cfr_view own = content(text, m->line);
    size_t column = (size_t)(own.p - line_number(text, m->line).p);
    ptrdiff_t colon = cfr_view_find(own, ":");
    int up = line_above(text, m->line);
    struct cfr_view above = content(text, up);
    struct cfr_view key = key_at(own, 0);
    struct cfr_view other;

    if (colon >= 0 && m->column > column + (size_t)colon)
        return cfr_err_set(err, CFR_E_CONFIG, "put a value with a colon and a space in it in quotes");
    if (cfr_yaml_lacks_space(above, &other)) {
        *line = up;
        return refuse_glued(above, other, err);
    }
    if (up != 0 && cfr_view_find(above, ":") < 0) {
        *line = up;
        return cfr_err_set(err, CFR_E_CONFIG, "write a colon after the key on this line");
    }
    other = key_at(above, 0);
    return cfr_err_set(err, CFR_E_CONFIG,
                       "`%.*s` stands further right than `%.*s` on line %d; indent it to the same column", (int)key.n,
                       key.p, (int)other.n, other.p, up);
}

static int explain_bracket(const struct cfr_yaml_mistake *m, bool map, struct cfr_err *err)
{
    return cfr_err_set(err, CFR_E_CONFIG, "expected `,` or `%s` here, for the `%s` on line %d", map ? "}" : "]",
                       map ? "{" : "[", m->context_line);
}

static const char *plain_words(const char *problem)
{
    static const char *const rows[][2] = {
        {"did not find expected key",
         "expected a key here, such as `KEY: VALUE`; put a value with special characters in quotes"},
        {"did not find expected '-' indicator", "expected `- ` here, for the next item of the list"},
        {"did not find expected node content",
         "expected a value here; put one that begins with a special character in quotes"},
        {"block sequence entries are not allowed in this context", "write the first `- ` on a new line"},
        {"found character that cannot start any token", "a value cannot begin with this character; put it in quotes"},
        {"could not find expected ':'", "write a colon and a space after the key on this line"},
        {"found unknown escape character",
         "unknown escape after the backslash; use single quotes, or write the backslash twice"},
    };

    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        if (strcmp(problem, rows[i][0]) == 0)
            return rows[i][1];
    }
    return NULL;
}

/* Variables of a shell, which YAML takes for a mapping. */
static bool has_variable(struct cfr_view line)
{
    return cfr_view_find(line, "${") >= 0;
}

/* Describes M, an error in TEXT, in the words of this project, and sets *LINE to the line to correct. Repeats keys of
 * TEXT only: a value may be a secret. */
static int explain(struct cfr_view text, const struct cfr_yaml_mistake *m, int *line, struct cfr_err *err)
{
    struct level at;
    struct level with = {0};

    *line = m->line;
    if (has_variable(line_number(text, m->line)))
        return cfr_err_set(err, CFR_E_CONFIG, CFR_YAML_NO_VARIABLES);
    if (strcmp(m->problem, "did not find expected ',' or '}'") == 0 ||
        strcmp(m->problem, "did not find expected ',' or ']'") == 0)
        return explain_bracket(m, strchr(m->problem, '}') != NULL, err);
    if (strcmp(m->problem, "mapping values are not allowed in this context") == 0)
        return explain_colon(text, m, line, err);
    if (strcmp(m->problem, "found unexpected end of stream") == 0 && m->context != NULL &&
        strstr(m->context, "quoted scalar") != NULL) {
        *line = m->context_line;
        return cfr_err_set(err, CFR_E_CONFIG,
                           "the quotation mark on this line has no counterpart up to the end of the "
                           "file; add it");
    }
    if (find_shift(text, m->line, &at, &with))
        return cfr_err_set(err, CFR_E_CONFIG,
                           "`%.*s` stands further left than `%.*s` on line %d; indent it to the same column",
                           (int)at.word.n, at.word.p, (int)with.word.n, with.word.p, with.line);
    if (strcmp(m->problem, "could not find expected ':'") == 0 && m->context_line != 0)
        *line = m->context_line;
    if (plain_words(m->problem) != NULL)
        return cfr_err_set(err, CFR_E_CONFIG, "%s", plain_words(m->problem));
    if (m->context != NULL && m->context_line != m->line)
        return cfr_err_set(err, CFR_E_CONFIG, "not valid YAML: %s (%s that begins on line %d)", m->problem, m->context,
                           m->context_line);
    return cfr_err_set(err, CFR_E_CONFIG, "not valid YAML: %s", m->problem);
}

static int syntax_error(struct reader *r)
{
    const yaml_parser_t *p = &r->parser;
    const struct cfr_yaml_mistake m = {
        .problem = p->problem != NULL ? p->problem : "syntax error",
        .context = p->context,
        .line = line_of(&p->problem_mark),
        .column = p->problem_mark.column,
        .context_line = line_of(&p->context_mark),
    };

    if (p->error == YAML_MEMORY_ERROR)
        return out_of_memory(r);
    if (p->error == YAML_READER_ERROR) {
        *r->line = line_at(r->text, p->problem_offset);
        return cfr_err_set(r->err, CFR_E_CONFIG, "%s; remove the character", m.problem);
    }
    if (tab_indents(r->text, m.line))
        return refuse(r, m.line, "a tab indents this line; write spaces");
    return explain(r->text, &m, r->line, r->err);
}

/* ---- events ---- */

static int check_properties(struct reader *r, const yaml_char_t *anchor, const yaml_char_t *tag, int line)
{
    if (anchor != NULL && !r->foreign)
        return refuse(r, line, "anchors (&) are not supported; write the value out");
    if (tag != NULL)
        return refuse(r, line, "tags (!) are not supported; put text that begins with ! in quotes");
    return 0;
}

/* Hangs a new node onto the innermost open collection. NULL when memory is short. */
static struct cfr_yaml_node *add_node(struct reader *r, enum cfr_yaml_kind kind, int line)
{
    struct cfr_yaml_node *node = allocate(r->doc, sizeof *node);

    if (node == NULL)
        return NULL;
    *node = (struct cfr_yaml_node){.kind = kind, .line = line};
    r->nodes++;
    if (r->depth == 0) {
        r->doc->root = node;
        return node;
    }
    if (r->last[r->depth - 1] == NULL)
        r->open[r->depth - 1]->child = node;
    else
        r->last[r->depth - 1]->next = node;
    r->last[r->depth - 1] = node;
    r->open[r->depth - 1]->count++;
    return node;
}

/* Keeps NODE under its anchor's NAME, if it has one, in *OUT (else NULL). A name may be used again. */
static int keep_anchor(struct reader *r, const yaml_char_t *name, struct cfr_yaml_node *node, bool open,
                       struct anchor **out)
{
    size_t n = name != NULL ? strlen((const char *)name) : 0;
    char *copy;

    *out = NULL;
    if (name == NULL)
        return 0;
    if (r->anchor_count++ == ANCHORS_MAX)
        return refuse(r, node->line, "too many anchors (&); write some of the values out");
    *out = allocate(r->doc, sizeof **out);
    copy = *out != NULL ? allocate(r->doc, n + 1) : NULL;
    if (copy == NULL)
        return out_of_memory(r);
    memcpy(copy, name, n + 1);
    **out = (struct anchor){.next = r->anchors, .name = copy, .node = node, .open = open};
    r->anchors = *out;
    return 0;
}

static int refuse_depth(struct reader *r, int line)
{
    return refuse(r, line,
                  r->foreign ? "nested too deeply" : "nested too deeply; no key of credfresh is at such a depth");
}

static int count_copy(struct reader *r, int line)
{
    return r->copies++ < COPIES_MAX
               ? 0
               : refuse(r, line, "too many aliases (*) and merge keys; write some of the values out");
}

/* A copy of the anchor's node that shares its children. */
static int add_alias(struct reader *r, const yaml_char_t *name, int line)
{
    const struct anchor *a = r->anchors;
    struct cfr_yaml_node *node;
    int rc;

    if (!r->foreign)
        return refuse(r, line, "aliases (*) are not supported; write the value out, or in quotes if it begins with *");
    while (a != NULL && strcmp(a->name, (const char *)name) != 0)
        a = a->next;
    if (a == NULL || a->open)
        return refuse(r, line,
                      a == NULL ? "an alias (*) without its anchor (&)"
                                : "an alias (*) is inside the value of its anchor (&)");
    if (r->depth + a->height > CFR_YAML_FOREIGN_DEPTH_MAX)
        return refuse_depth(r, line);
    rc = count_copy(r, line);
    if (rc != 0)
        return rc;
    node = add_node(r, a->node->kind, line);
    if (node == NULL)
        return out_of_memory(r);
    node->quoted = a->node->quoted;
    node->count = a->node->count;
    node->text = a->node->text;
    node->child = a->node->child;
    if (r->depth != 0 && r->below[r->depth - 1] < a->height)
        r->below[r->depth - 1] = a->height;
    return 0;
}

/* ---- merge keys ---- */

static bool is_merge(const struct cfr_yaml_node *key)
{
    return key->kind == CFR_YAML_SCALAR && !key->quoted && cfr_view_is(key->text, "<<");
}

/* True if KEY is among the pairs from FIRST on, up to and without END. */
static bool has_key(const struct cfr_yaml_node *first, const struct cfr_yaml_node *end, const struct cfr_yaml_node *key)
{
    for (const struct cfr_yaml_node *k = first; k != end; k = k->next->next) {
        if (k->kind == CFR_YAML_SCALAR && key->kind == CFR_YAML_SCALAR && cfr_view_eq(k->text, key->text))
            return true;
    }
    return false;
}

static int add_copy(struct reader *r, const struct cfr_yaml_node *node)
{
    struct cfr_yaml_node *copy = add_node(r, node->kind, node->line);

    if (copy == NULL)
        return out_of_memory(r);
    *copy = *node;
    copy->next = NULL;
    return 0;
}

/* Appends to the innermost mapping the pairs of FROM whose keys it does not have. BEFORE is the last value in front of
 * the merge key, or NULL. */
static int merge_pairs(struct reader *r, const struct cfr_yaml_node *from, const struct cfr_yaml_node *before, int line)
{
    const struct cfr_yaml_node *map = r->open[r->depth - 1];

    if (from->kind != CFR_YAML_MAP)
        return refuse(r, line, "the value of a merge key (<<) must be a mapping or a list of mappings");
    for (const struct cfr_yaml_node *k = from->child; k != NULL; k = k->next->next) {
        const struct cfr_yaml_node *after = before != NULL ? before->next : map->child;
        int rc = count_copy(r, line);

        /* Clients differ in which of the two counts. */
        if (rc == 0 && has_key(map->child, after, k))
            rc = refuse(r, line, "the merge key (<<) comes after a key that it also has; write it first");
        if (rc != 0)
            return rc;
        if (has_key(after, NULL, k))
            continue;
        rc = add_copy(r, k);
        if (rc == 0)
            rc = add_copy(r, k->next);
        if (rc != 0)
            return rc;
    }
    return 0;
}

/* Replaces the merge key of the innermost mapping by the pairs of its mapping. */
static int resolve_merge(struct reader *r)
{
    struct cfr_yaml_node *map = r->open[r->depth - 1];
    struct cfr_yaml_node *before = NULL; /* the last value in front of it */
    struct cfr_yaml_node *key = map->child;
    const struct cfr_yaml_node *value;
    int rc = 0;

    while (key != NULL && !is_merge(key)) {
        before = key->next;
        key = before->next;
    }
    if (key == NULL)
        return 0;
    if (map->count / 2 > KEYS_MAX)
        return refuse(r, key->line, "a mapping with a merge key (<<) has too many keys");
    value = key->next;
    *(before != NULL ? &before->next : &map->child) = value->next;
    map->count -= 2;
    r->last[r->depth - 1] = value->next != NULL ? r->last[r->depth - 1] : before;
    for (const struct cfr_yaml_node *k = value->next; k != NULL; k = k->next->next) {
        if (is_merge(k))
            return refuse(r, k->line, "a second merge key (<<) in one mapping; write one, with a list");
    }
    if (value->kind != CFR_YAML_LIST)
        return merge_pairs(r, value, before, key->line);
    for (const struct cfr_yaml_node *n = value->child; rc == 0 && n != NULL; n = n->next)
        rc = merge_pairs(r, n, before, key->line);
    return rc;
}

static int open_collection(struct reader *r, enum cfr_yaml_kind kind, const yaml_char_t *anchor, const yaml_char_t *tag,
                           int line)
{
    struct cfr_yaml_node *node;
    int rc = check_properties(r, anchor, tag, line);

    if (rc != 0)
        return rc;
    if (r->depth == (r->foreign ? CFR_YAML_FOREIGN_DEPTH_MAX : CFR_YAML_DEPTH_MAX))
        return refuse_depth(r, line);
    node = add_node(r, kind, line);
    if (node == NULL)
        return out_of_memory(r);
    r->open[r->depth] = node;
    r->last[r->depth] = NULL;
    r->below[r->depth] = 0;
    return keep_anchor(r, anchor, node, true, &r->named[r->depth++]);
}

static int close_collection(struct reader *r)
{
    struct cfr_yaml_node *node = r->open[r->depth - 1];
    int rc = node->kind == CFR_YAML_MAP && r->foreign ? resolve_merge(r) : 0;
    size_t height = r->below[--r->depth] + 1;

    if (node->kind == CFR_YAML_MAP)
        node->count /= 2;
    if (rc == 0 && node->kind == CFR_YAML_MAP && r->foreign)
        rc = r->fn(r->ctx, node, r->line);
    if (r->named[r->depth] != NULL) {
        r->named[r->depth]->open = false;
        r->named[r->depth]->height = height;
    }
    if (r->depth != 0 && r->below[r->depth - 1] < height)
        r->below[r->depth - 1] = height;
    return rc;
}

static int add_scalar(struct reader *r, const yaml_event_t *e, int line)
{
    size_t n = e->data.scalar.length;
    struct cfr_yaml_node *node;
    struct anchor *named;
    char *copy;
    int rc = check_properties(r, e->data.scalar.anchor, e->data.scalar.tag, line);

    if (rc != 0)
        return rc;
    node = add_node(r, CFR_YAML_SCALAR, line);
    copy = node != NULL ? allocate(r->doc, n + 1) : NULL;
    if (copy == NULL)
        return out_of_memory(r);
    memcpy(copy, e->data.scalar.value, n);
    copy[n] = '\0';
    node->text = (struct cfr_view){copy, n};
    node->quoted = e->data.scalar.style != YAML_PLAIN_SCALAR_STYLE;
    return keep_anchor(r, e->data.scalar.anchor, node, false, &named);
}

static int begin_document(struct reader *r, const yaml_event_t *e, int line)
{
    if (r->documents++ != 0)
        return refuse(r, line, "a second document begins here; keep one, and remove this `---`");
    if (e->data.document_start.tag_directives.start != e->data.document_start.tag_directives.end)
        return refuse(r, line, "%TAG directives are not supported; remove it");
    return 0;
}

static int on_event(struct reader *r, const yaml_event_t *e)
{
    int line = line_of(&e->start_mark);

    switch (e->type) {
    case YAML_DOCUMENT_START_EVENT:
        return begin_document(r, e, line);
    case YAML_ALIAS_EVENT:
        return add_alias(r, e->data.alias.anchor, line);
    case YAML_SCALAR_EVENT:
        return add_scalar(r, e, line);
    case YAML_SEQUENCE_START_EVENT:
        return open_collection(r, CFR_YAML_LIST, e->data.sequence_start.anchor, e->data.sequence_start.tag, line);
    case YAML_MAPPING_START_EVENT:
        return open_collection(r, CFR_YAML_MAP, e->data.mapping_start.anchor, e->data.mapping_start.tag, line);
    case YAML_SEQUENCE_END_EVENT:
    case YAML_MAPPING_END_EVENT:
        return close_collection(r);
    case YAML_NO_EVENT:
    case YAML_STREAM_START_EVENT:
    case YAML_STREAM_END_EVENT:
    case YAML_DOCUMENT_END_EVENT:
        break;
    }
    return 0;
}

static int read_events(struct reader *r)
{
    bool end = false;

    while (!end) {
        yaml_event_t e;
        int rc;

        if (yaml_parser_parse(&r->parser, &e) == 0)
            return syntax_error(r);
        end = e.type == YAML_STREAM_END_EVENT || (e.type == YAML_DOCUMENT_END_EVENT && r->foreign);
        rc = on_event(r, &e);
        if (e.type == YAML_SCALAR_EVENT)
            cfr_secret_wipe(e.data.scalar.value, e.data.scalar.length);
        yaml_event_delete(&e);
        if (rc != 0)
            return rc;
        if (r->limited && r->nodes > CFR_YAML_NODES_MAX)
            return refuse(r, 0, "it has too many values");
    }
    if (r->doc->root == NULL || cfr_yaml_is_null(r->doc->root))
        return refuse(r, 1, r->foreign ? "it is empty" : "the file is empty; begin with `version: 1`");
    return 0;
}

static int check_encoding(struct reader *r)
{
    enum cfr_view_form form = cfr_view_form(r->text);
    char words[CFR_ERR_TEXT_MAX];
    size_t i = 0;

    if (form == CFR_FORM_UTF16 || form == CFR_FORM_ARCHIVE || form == CFR_FORM_CERTIFICATE || form == CFR_FORM_KEY ||
        form == CFR_FORM_JWT || form == CFR_FORM_MARKUP) {
        (void)snprintf(words, sizeof words, "not YAML, but %s", cfr_view_mistake(r->text, CFR_FORM_TEXT));
        return refuse(r, 1, words);
    }

    while (i < r->text.n) {
        size_t k = cfr_view_utf8_len((struct cfr_view){r->text.p + i, r->text.n - i});

        if (k == 0)
            return refuse(r, line_at(r->text, i), "not UTF-8; save the file in that encoding");
        i += k;
    }
    return 0;
}

/* libyaml frees them as they are. What it held in between besides, longer texts while they grew, is out of reach. */
static void wipe_buffers(yaml_parser_t *p)
{
    cfr_secret_wipe(p->raw_buffer.start, (size_t)(p->raw_buffer.end - p->raw_buffer.start));
    cfr_secret_wipe(p->buffer.start, (size_t)(p->buffer.end - p->buffer.start));
}

enum how { PLAIN, LIMITED, FOREIGN };

static int parse(struct cfr_view text, enum how how, cfr_yaml_map_fn *fn, void *ctx, struct cfr_yaml **out, int *line,
                 struct cfr_err *err)
{
    struct reader r = {.text = text,
                       .fn = fn,
                       .ctx = ctx,
                       .foreign = how == FOREIGN,
                       .limited = how == LIMITED,
                       .line = line,
                       .err = err};
    int rc = check_encoding(&r);

    *out = NULL;
    if (cfr_view_starts(text, "\xef\xbb\xbf")) {
        /* libyaml drops a byte order mark only where it has to guess the encoding. */
        text.p += 3;
        text.n -= 3;
    }
    if (rc != 0)
        return rc;
    r.doc = calloc(1, sizeof *r.doc);
    if (r.doc == NULL)
        return out_of_memory(&r);
    if (yaml_parser_initialize(&r.parser) == 0) {
        cfr_yaml_free(r.doc);
        return out_of_memory(&r);
    }
    yaml_parser_set_encoding(&r.parser, YAML_UTF8_ENCODING);
    yaml_parser_set_input_string(&r.parser, (const unsigned char *)(text.n != 0 ? text.p : ""), text.n);
    rc = read_events(&r);
    wipe_buffers(&r.parser);
    yaml_parser_delete(&r.parser);
    if (rc != 0) {
        cfr_yaml_free(r.doc);
        return rc;
    }
    *out = r.doc;
    return 0;
}

int cfr_yaml_parse(struct cfr_view text, struct cfr_yaml **out, int *line, struct cfr_err *err)
{
    return parse(text, PLAIN, NULL, NULL, out, line, err);
}

int cfr_yaml_parse_limited(struct cfr_view text, struct cfr_yaml **out, int *line, struct cfr_err *err)
{
    return parse(text, LIMITED, NULL, NULL, out, line, err);
}

int cfr_yaml_parse_foreign(struct cfr_view text, cfr_yaml_map_fn *fn, void *ctx, struct cfr_yaml **out, int *line,
                           struct cfr_err *err)
{
    return parse(text, FOREIGN, fn, ctx, out, line, err);
}

const char *cfr_yaml_library(void)
{
    return yaml_get_version_string();
}
