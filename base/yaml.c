/* SPDX-License-Identifier: MIT */
/* YAML reader, by the events of libyaml. */
#include "base/yaml.h"

#include "base/secret.h"

#include <stdlib.h>
#include <string.h>
#include <yaml.h>

#define BLOCK_BYTES 16384

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

struct reader {
    yaml_parser_t parser;
    struct cfr_view text;
    struct cfr_yaml *doc;
    struct cfr_yaml_node *open[CFR_YAML_DEPTH_MAX]; /* collections that have not ended */
    struct cfr_yaml_node *last[CFR_YAML_DEPTH_MAX]; /* their latest children */
    size_t depth;
    unsigned documents;
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

/* libyaml's own words, with what helps in the commonest case. */
static int syntax_error(struct reader *r)
{
    const yaml_parser_t *p = &r->parser;
    int line = line_of(&p->problem_mark);

    if (p->error == YAML_MEMORY_ERROR)
        return out_of_memory(r);
    if (p->error == YAML_READER_ERROR) {
        *r->line = line_at(r->text, p->problem_offset);
        return cfr_err_set(r->err, CFR_E_CONFIG, "%s; remove the character", p->problem);
    }
    if (tab_indents(r->text, line))
        return refuse(r, line, "a tab indents this line; write spaces");
    *r->line = line;
    if (p->context != NULL && p->context_mark.line != p->problem_mark.line)
        return cfr_err_set(r->err, CFR_E_CONFIG, "not valid YAML: %s (%s that begins on line %d)", p->problem,
                           p->context, line_of(&p->context_mark));
    return cfr_err_set(r->err, CFR_E_CONFIG, "not valid YAML: %s", p->problem != NULL ? p->problem : "syntax error");
}

static int check_properties(struct reader *r, const yaml_char_t *anchor, const yaml_char_t *tag, int line)
{
    if (anchor != NULL)
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

static int open_collection(struct reader *r, enum cfr_yaml_kind kind, const yaml_char_t *anchor, const yaml_char_t *tag,
                           int line)
{
    struct cfr_yaml_node *node;
    int rc = check_properties(r, anchor, tag, line);

    if (rc != 0)
        return rc;
    if (r->depth == CFR_YAML_DEPTH_MAX)
        return refuse(r, line, "nested too deeply; no key of credfresh is at such a depth");
    node = add_node(r, kind, line);
    if (node == NULL)
        return out_of_memory(r);
    r->open[r->depth] = node;
    r->last[r->depth] = NULL;
    r->depth++;
    return 0;
}

static void close_collection(struct reader *r)
{
    struct cfr_yaml_node *node = r->open[--r->depth];

    if (node->kind == CFR_YAML_MAP)
        node->count /= 2;
}

static int add_scalar(struct reader *r, const yaml_event_t *e, int line)
{
    size_t n = e->data.scalar.length;
    struct cfr_yaml_node *node;
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
    return 0;
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
        return refuse(r, line, "aliases (*) are not supported; write the value out, or in quotes if it begins with *");
    case YAML_SCALAR_EVENT:
        return add_scalar(r, e, line);
    case YAML_SEQUENCE_START_EVENT:
        return open_collection(r, CFR_YAML_LIST, e->data.sequence_start.anchor, e->data.sequence_start.tag, line);
    case YAML_MAPPING_START_EVENT:
        return open_collection(r, CFR_YAML_MAP, e->data.mapping_start.anchor, e->data.mapping_start.tag, line);
    case YAML_SEQUENCE_END_EVENT:
    case YAML_MAPPING_END_EVENT:
        close_collection(r);
        return 0;
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
        end = e.type == YAML_STREAM_END_EVENT;
        rc = on_event(r, &e);
        if (e.type == YAML_SCALAR_EVENT)
            cfr_secret_wipe(e.data.scalar.value, e.data.scalar.length);
        yaml_event_delete(&e);
        if (rc != 0)
            return rc;
    }
    if (r->doc->root == NULL || cfr_yaml_is_null(r->doc->root))
        return refuse(r, 1, "there is no configuration in it; begin with `version: 1`");
    return 0;
}

static int check_encoding(struct reader *r)
{
    size_t i = 0;

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

int cfr_yaml_parse(struct cfr_view text, struct cfr_yaml **out, int *line, struct cfr_err *err)
{
    struct reader r = {.text = text, .line = line, .err = err};
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

const char *cfr_yaml_library(void)
{
    return yaml_get_version_string();
}
