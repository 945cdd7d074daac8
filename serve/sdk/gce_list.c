/* SPDX-License-Identifier: MIT */
/* The GCE metadata shape except tokens: listings, values, and whole subtrees as JSON or text. */
#include "serve/sdk/gce_private.h"

#define DEPTH_MAX 8

/* The node after everything that is below NODE. */
static size_t after(const struct cfr_sdk_gce_tree *t, size_t node)
{
    unsigned depth = t->nodes[node].depth;

    do {
        node++;
    } while (node < t->count && t->nodes[node].depth > depth);
    return node;
}

void cfr_sdk_gce_list_names(const struct cfr_sdk_gce_tree *t, size_t node, struct cfr_sdk_endpoint_answer *out)
{
    size_t end = after(t, node);

    for (size_t i = node + 1; i < end; i = after(t, i)) {
        if (t->nodes[i].hidden)
            continue;
        cfr_sdk_endpoint_add(out, t->nodes[i].name);
        cfr_sdk_endpoint_text(out, t->nodes[i].kind == CFR_SDK_GCE_DIRECTORY ? "/\n" : "\n");
    }
}

/* True if TEXT is written to JSON as a number. */
static bool is_number(struct cfr_view text)
{
    for (size_t i = 0; i < text.n; i++) {
        if (text.p[i] < '0' || text.p[i] > '9')
            return false;
    }
    return text.n == 1 || (text.n > 1 && text.p[0] != '0');
}

static void write_value(const struct cfr_sdk_gce_node *n, struct cfr_writer *w)
{
    if (n->kind == CFR_SDK_GCE_NUMBER && is_number(n->value)) {
        cfr_writer_raw(w, NULL, n->value);
    } else if (n->kind != CFR_SDK_GCE_LINES) {
        cfr_writer_string(w, NULL, n->value.n != 0 ? n->value : cfr_view_of(""));
    } else {
        cfr_writer_array(w, NULL);
        for (size_t i = 0; i < n->line_count; i++)
            cfr_writer_string(w, NULL, n->lines[i]);
        cfr_writer_close(w);
    }
}

/* "numeric-project-id" becomes "numericProjectId". */
static void write_key(const struct cfr_sdk_gce_node *n, struct cfr_writer *w)
{
    char text[64];
    size_t len = 0;

    if (n->verbatim || n->name.n > sizeof text) {
        cfr_writer_key(w, n->name);
        return;
    }
    for (size_t i = 0; i < n->name.n; i++) {
        char c = n->name.p[i];

        if (c == '-' && i + 1 < n->name.n && n->name.p[i + 1] >= 'a' && n->name.p[i + 1] <= 'z')
            c = (char)(n->name.p[++i] - 'a' + 'A');
        text[len++] = c;
    }
    cfr_writer_key(w, (struct cfr_view){text, len});
}

static bool left_out(const struct cfr_sdk_gce_node *n)
{
    return n->hidden || n->kind == CFR_SDK_GCE_TOKEN || n->kind == CFR_SDK_GCE_IDENTITY;
}

void cfr_sdk_gce_list_json(const struct cfr_sdk_gce_tree *t, size_t node, struct cfr_sdk_endpoint_answer *out)
{
    struct cfr_writer w = {.secret = &out->body};
    size_t end = after(t, node);
    unsigned open = t->nodes[node].depth; /* depth of the innermost object that is open */

    cfr_writer_object(&w, NULL);
    for (size_t i = node + 1; i < end;) {
        const struct cfr_sdk_gce_node *n = &t->nodes[i];

        if (left_out(n)) {
            i = after(t, i);
            continue;
        }
        for (; open >= n->depth; open--)
            cfr_writer_close(&w);
        write_key(n, &w);
        if (n->kind == CFR_SDK_GCE_DIRECTORY) {
            cfr_writer_object(&w, NULL);
            open = n->depth;
        } else {
            write_value(n, &w);
        }
        i++;
    }
    for (; open > t->nodes[node].depth; open--)
        cfr_writer_close(&w);
    cfr_writer_close(&w);
    cfr_sdk_endpoint_end(out, &w);
}

static void add_path(const struct cfr_sdk_gce_tree *t, const size_t *way, size_t n, struct cfr_view value,
                     struct cfr_sdk_endpoint_answer *out)
{
    for (size_t i = 0; i < n; i++) {
        cfr_sdk_endpoint_text(out, i != 0 ? "/" : "");
        cfr_sdk_endpoint_add(out, t->nodes[way[i]].name);
    }
    cfr_sdk_endpoint_text(out, " ");
    cfr_sdk_endpoint_add(out, value);
    cfr_sdk_endpoint_text(out, "\n");
}

void cfr_sdk_gce_list_text(const struct cfr_sdk_gce_tree *t, size_t node, struct cfr_sdk_endpoint_answer *out)
{
    size_t end = after(t, node);
    size_t way[DEPTH_MAX] = {0};

    for (size_t i = node + 1; i < end;) {
        const struct cfr_sdk_gce_node *n = &t->nodes[i];
        size_t level = n->depth - t->nodes[node].depth - 1;

        if (left_out(n) || level >= DEPTH_MAX) {
            i = after(t, i);
            continue;
        }
        way[level] = i++;
        for (size_t k = 0; n->kind == CFR_SDK_GCE_LINES && k < n->line_count; k++)
            add_path(t, way, level + 1, n->lines[k], out);
        if (n->kind == CFR_SDK_GCE_TEXT || n->kind == CFR_SDK_GCE_NUMBER)
            add_path(t, way, level + 1, n->value, out);
    }
}

void cfr_sdk_gce_list_leaf(const struct cfr_sdk_gce_node *n, bool json, struct cfr_sdk_endpoint_answer *out)
{
    struct cfr_writer w = {.secret = &out->body};

    if (json) {
        write_value(n, &w);
        cfr_sdk_endpoint_end(out, &w);
        return;
    }
    /* Single values end without a line end: clients take them as they come. */
    cfr_sdk_endpoint_add(out, n->value);
    for (size_t i = 0; i < n->line_count; i++) {
        cfr_sdk_endpoint_add(out, n->lines[i]);
        cfr_sdk_endpoint_text(out, "\n");
    }
}
