/* SPDX-License-Identifier: MIT */
/* Paths that a configuration names. */
#include "agent/daemon/needs_private.h"

#include "base/hash.h"

#include <stdlib.h>
#include <string.h>

struct visit {
    cfr_daemon_path_fn *each;
    void *ctx;
};

/* The text under KEY in NODE; NULL if there is none. */
static const char *text_of(const struct cfr_table *table, const void *node, const char *key)
{
    for (const struct cfr_field *f = table->fields; f->key != NULL; f++) {
        const void *value = (const char *)node + f->offset;

        if (f->type == CFR_FIELD_STRING && strcmp(f->key, key) == 0)
            return *(char *const *)value;
    }
    return NULL;
}

static void visit_node(const struct visit *v, const struct cfr_table *table, const void *node);

static void visit_list(const struct visit *v, const struct cfr_table *table, const struct cfr_list *list)
{
    for (size_t i = 0; i < list->count; i++)
        visit_node(v, table, (const char *)list->items + i * table->size);
}

static void visit_one_of(const struct visit *v, const struct cfr_one_of *one)
{
    if (one->config != NULL)
        visit_node(v, one->variant.table, one->config);
}

/* A content may also be `env:NAME`, which is no path. */
static void visit_string(const struct visit *v, const struct cfr_table *table, const void *node,
                         const struct cfr_field *f, const char *text)
{
    if ((f->flags & CFR_FIELD_PATH) != 0 && text != NULL && text[0] == '/')
        v->each(v->ctx, &(struct cfr_daemon_path){f, text, text_of(table, node, "context")});
}

static void visit_node(const struct visit *v, const struct cfr_table *table, const void *node)
{
    for (const struct cfr_field *f = table->fields; f->key != NULL; f++) {
        const void *value = (const char *)node + f->offset;
        const struct cfr_list *list = value;

        switch (f->type) {
        case CFR_FIELD_STRING:
            visit_string(v, table, node, f, *(char *const *)value);
            break;
        case CFR_FIELD_MAP:
            if (*(void *const *)value != NULL)
                visit_node(v, f->table, *(void *const *)value);
            break;
        case CFR_FIELD_LIST:
        case CFR_FIELD_ONE_OR_LIST:
            visit_list(v, f->table, list);
            break;
        case CFR_FIELD_ONE_OF:
            visit_one_of(v, value);
            break;
        case CFR_FIELD_ANY_OF:
            for (size_t i = 0; i < list->count; i++)
                visit_one_of(v, (const struct cfr_one_of *)list->items + i);
            break;
        default:
            break;
        }
    }
}

void cfr_daemon_each_path(const struct cfr_config *c, cfr_daemon_path_fn *each, void *ctx)
{
    const struct visit v = {each, ctx};

    visit_node(&v, &cfr_config_table, c);
}

static uint64_t hash_of(const char *path)
{
    return cfr_hash_add(CFR_HASH_START, path, strlen(path)) | 1;
}

/* The slot of HASH, or the free one where it belongs. */
static uint64_t *find_slot(const struct cfr_daemon_known *k, uint64_t hash)
{
    size_t i = (size_t)(hash >> 1) & (k->room - 1);

    while (k->slots[i] != 0 && k->slots[i] != hash)
        i = (i + 1) & (k->room - 1);
    return &k->slots[i];
}

static bool grow(struct cfr_daemon_known *k)
{
    struct cfr_daemon_known more = {.count = k->count, .room = k->room == 0 ? 64 : 2 * k->room};

    more.slots = calloc(more.room, sizeof more.slots[0]);
    if (more.slots == NULL)
        return false;
    for (size_t i = 0; i < k->room; i++) {
        if (k->slots[i] != 0)
            *find_slot(&more, k->slots[i]) = k->slots[i];
    }
    free(k->slots);
    *k = more;
    return true;
}

bool cfr_daemon_known_add(struct cfr_daemon_known *k, const char *path)
{
    uint64_t hash = hash_of(path);
    uint64_t *slot;

    if (2 * (k->count + 1) > k->room && !grow(k))
        return true;
    slot = find_slot(k, hash);
    if (*slot == hash)
        return false;
    *slot = hash;
    k->count++;
    return true;
}

bool cfr_daemon_known_has(const struct cfr_daemon_known *k, const char *path)
{
    return k->room != 0 && *find_slot(k, hash_of(path)) != 0;
}

void cfr_daemon_known_free(struct cfr_daemon_known *k)
{
    free(k->slots);
    *k = (struct cfr_daemon_known){NULL, 0, 0};
}
