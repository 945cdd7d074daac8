/* SPDX-License-Identifier: MIT */
#include "agent/publish/keys_private.h"

#include <stdlib.h>
#include <string.h>

int cfr_publish_keys_add(struct cfr_publish_keys *keys, const char *name, size_t limit, struct cfr_err *err)
{
    struct cfr_publish_key *items = realloc(keys->items, (keys->count + 1) * sizeof *items);
    char *copy = strdup(name);

    if (items != NULL)
        keys->items = items;
    if (items == NULL || copy == NULL) {
        free(copy);
        return cfr_err_nomem(err);
    }
    items[keys->count].name = copy;
    cfr_secret_init(&items[keys->count].value, limit);
    cfr_secret_init(&items[keys->count].merged, 0);
    keys->count++;
    return 0;
}

void cfr_publish_keys_wipe(struct cfr_publish_keys *keys)
{
    for (size_t i = 0; i < keys->count; i++) {
        cfr_secret_free(&keys->items[i].value);
        cfr_secret_free(&keys->items[i].merged);
    }
}

void cfr_publish_keys_cut(struct cfr_publish_keys *keys, size_t count)
{
    for (size_t i = count; i < keys->count; i++) {
        cfr_secret_free(&keys->items[i].value);
        cfr_secret_free(&keys->items[i].merged);
        free(keys->items[i].name);
    }
    keys->count = count < keys->count ? count : keys->count;
    if (keys->count == 0) {
        free(keys->items);
        keys->items = NULL;
    }
}
