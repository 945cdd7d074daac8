/* SPDX-License-Identifier: MIT */
/* Refuses a key that a mapping of a kubeconfig has twice. */
#include "agent/kube/kubeconfig_parse_private.h"

#include "agent/kube/yaml_mask_private.h"

#include <stdlib.h>

struct key {
    uint64_t hash;
    const struct cfr_yaml_node *node;
};

/* FNV-1a of the original text: equal keys may have different marks. */
static uint64_t hash_of(const struct cfr_kube_reader *r, const struct cfr_yaml_node *key)
{
    struct cfr_view rest = key->text;
    struct cfr_view piece;
    uint64_t hash = UINT64_C(0xcbf29ce484222325);

    while (cfr_kube_yaml_mask_next(&rest, r->original, &piece)) {
        for (size_t i = 0; i < piece.n; i++)
            hash = (hash ^ (unsigned char)piece.p[i]) * UINT64_C(0x100000001b3);
    }
    return hash;
}

static int compare_keys(const void *a, const void *b)
{
    const struct key *x = a;
    const struct key *y = b;

    if (x->hash != y->hash)
        return x->hash < y->hash ? -1 : 1;
    return x->node->line < y->node->line ? -1 : x->node->line > y->node->line;
}

/* Compares A, the earlier one, with B, whose hash is the same. */
static int check_pair(const struct cfr_kube_reader *r, const struct cfr_yaml_node *a, const struct cfr_yaml_node *b,
                      int *line)
{
    struct cfr_secret text;
    int rc;

    cfr_secret_init(&text, CFR_KUBE_VALUE_MAX);
    rc = cfr_kube_text(r, a, "a key", &text);
    if (rc == 0 && cfr_kube_is(r, b, text.len != 0 ? text.p : "")) {
        *line = b->line;
        rc = cfr_err_set(r->err, CFR_E_CONFIG, "the key \"%.64s\" occurs twice in one mapping; remove one",
                         text.len != 0 ? text.p : "");
    }
    cfr_secret_free(&text);
    return rc;
}

int cfr_kube_check_keys(void *ctx, const struct cfr_yaml_node *map, int *line)
{
    const struct cfr_kube_reader *r = ctx;
    struct key *keys = calloc(map->count, sizeof *keys);
    size_t n = 0;
    int rc = 0;

    if (keys == NULL)
        return map->count != 0 ? cfr_kube_no_memory(r) : 0;
    for (const struct cfr_yaml_node *k = map->child; k != NULL; k = k->next->next) {
        if (k->kind == CFR_YAML_SCALAR)
            keys[n++] = (struct key){hash_of(r, k), k};
    }
    qsort(keys, n, sizeof *keys, compare_keys);
    for (size_t i = 0; rc == 0 && i < n; i++) {
        for (size_t j = i + 1; rc == 0 && j < n && keys[j].hash == keys[i].hash; j++)
            rc = check_pair(r, keys[i].node, keys[j].node, line);
    }
    free(keys);
    return rc;
}
