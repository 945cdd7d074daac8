/* SPDX-License-Identifier: MIT */
/* What can be read of the GCE metadata shape beside tokens: listings, values, and whole subtrees as JSON or text. */
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

/* True if TEXT stands in JSON as the number that it is. */
static bool is_number(struct cfr_view text)
{
    for (size_t i = 0; i < text.n; i++) {
        if (text.p[i] < '0' || text.p[i] > '9')
            return false;
    }
    return text.n == 1 || (text.n > 1 && text.p[0] != '0');
}

static void add_value(const struct cfr_sdk_gce_node *n, struct cfr_sdk_endpoint_answer *out)
{
    if (n->kind == CFR_SDK_GCE_NUMBER && is_number(n->value)) {
        cfr_sdk_endpoint_add(out, n->value);
    } else if (n->kind != CFR_SDK_GCE_LINES) {
        cfr_sdk_endpoint_add_json(out, n->value);
    } else {
        cfr_sdk_endpoint_text(out, "[");
        for (size_t i = 0; i < n->line_count; i++) {
            cfr_sdk_endpoint_text(out, i != 0 ? "," : "");
            cfr_sdk_endpoint_add_json(out, n->lines[i]);
        }
        cfr_sdk_endpoint_text(out, "]");
    }
}

/* "numeric-project-id" becomes "numericProjectId". */
static void add_key(const struct cfr_sdk_gce_node *n, struct cfr_sdk_endpoint_answer *out)
{
    char text[64];
    size_t len = 0;

    if (n->verbatim || n->name.n > sizeof text) {
        cfr_sdk_endpoint_add_json(out, n->name);
        return;
    }
    for (size_t i = 0; i < n->name.n; i++) {
        char c = n->name.p[i];

        if (c == '-' && i + 1 < n->name.n && n->name.p[i + 1] >= 'a' && n->name.p[i + 1] <= 'z')
            c = (char)(n->name.p[++i] - 'a' + 'A');
        text[len++] = c;
    }
    cfr_sdk_endpoint_add_json(out, (struct cfr_view){text, len});
}

static bool left_out(const struct cfr_sdk_gce_node *n)
{
    return n->hidden || n->kind == CFR_SDK_GCE_TOKEN || n->kind == CFR_SDK_GCE_IDENTITY;
}

void cfr_sdk_gce_list_json(const struct cfr_sdk_gce_tree *t, size_t node, struct cfr_sdk_endpoint_answer *out)
{
    size_t end = after(t, node);
    unsigned open = t->nodes[node].depth; /* depth of the innermost object that is open */
    bool comma = false;

    cfr_sdk_endpoint_text(out, "{");
    for (size_t i = node + 1; i < end;) {
        const struct cfr_sdk_gce_node *n = &t->nodes[i];

        if (left_out(n)) {
            i = after(t, i);
            continue;
        }
        for (; open >= n->depth; open--, comma = true)
            cfr_sdk_endpoint_text(out, "}");
        cfr_sdk_endpoint_text(out, comma ? "," : "");
        add_key(n, out);
        comma = n->kind != CFR_SDK_GCE_DIRECTORY;
        cfr_sdk_endpoint_text(out, comma ? ":" : ":{");
        if (comma)
            add_value(n, out);
        else
            open = n->depth;
        i++;
    }
    for (; open > t->nodes[node].depth; open--)
        cfr_sdk_endpoint_text(out, "}");
    cfr_sdk_endpoint_text(out, "}");
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
    if (json) {
        add_value(n, out);
        return;
    }
    /* Single values end without a line end: clients take them as they come. */
    cfr_sdk_endpoint_add(out, n->value);
    for (size_t i = 0; i < n->line_count; i++) {
        cfr_sdk_endpoint_add(out, n->lines[i]);
        cfr_sdk_endpoint_text(out, "\n");
    }
}
