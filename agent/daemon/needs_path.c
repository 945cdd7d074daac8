/* SPDX-License-Identifier: MIT */
/* Paths that a configuration names. */
#include "agent/daemon/needs_private.h"

#include "base/hash.h"

#include <stdlib.h>
#include <string.h>

struct visit {
    cfr_field_each_fn *each;
    void *ctx;
};

/* A content may also be `env:NAME`, which is not a path. */
static void visit_text(void *ctx, const struct cfr_field_text *text)
{
    const struct visit *v = ctx;

    if (text->text[0] == '/')
        v->each(v->ctx, text);
}

void cfr_daemon_each_path(const struct cfr_config *c, cfr_field_each_fn *each, void *ctx)
{
    struct visit v = {each, ctx};

    cfr_field_each(&cfr_config_table, c, CFR_FIELD_PATH, visit_text, &v);
}

struct cfr_kube_where cfr_daemon_kube_where(const struct cfr_field_text *kubeconfig)
{
    const struct cfr_field *f = cfr_field_find(kubeconfig->table, cfr_view_of("context"));
    const void *context = (const char *)kubeconfig->node + (f != NULL ? f->offset : 0);

    return (struct cfr_kube_where){kubeconfig->text, f != NULL ? *(char *const *)context : NULL};
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
