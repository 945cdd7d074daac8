/* SPDX-License-Identifier: MIT */
/* Registry of the kinds that later rooms bring: their keys are in the configuration, their rows are not here. */
#include "agent/config/schema_private.h"
#include "agent/config/kinds.h"

#include <stdio.h>

static const struct cfr_config_source_kind *(*source_at)(size_t index);
static const struct cfr_config_hook_kind *(*hook_at)(size_t index);
static const struct cfr_config_target_kind *(*target_at)(size_t index);

static struct cfr_variant with_row(struct cfr_variant v, const void *row)
{
    v.row = row;
    return v;
}

void cfr_config_register_hooks(const struct cfr_config_hook_kind *(*at)(size_t index))
{
    hook_at = at;
}

struct cfr_variant cfr_config_hook_variant(size_t index)
{
    const struct cfr_config_hook_kind *kind = hook_at != NULL ? hook_at(index) : NULL;

    return kind != NULL ? with_row(kind->variant, kind) : (struct cfr_variant){.key = NULL};
}

const struct cfr_config_hook_kind *cfr_config_hook_kind(const struct cfr_config_hook *h, const void **kind_config)
{
    const struct cfr_one_of *one = h->kind.items;

    *kind_config = one != NULL ? one->config : NULL;
    return one != NULL ? one->variant.row : NULL;
}

void cfr_config_register_targets(const struct cfr_config_target_kind *(*at)(size_t index))
{
    target_at = at;
}

struct cfr_variant cfr_config_target_variant(size_t index)
{
    const struct cfr_config_target_kind *kind = target_at != NULL ? target_at(index) : NULL;

    return kind != NULL ? with_row(kind->variant, kind) : (struct cfr_variant){.key = NULL};
}

const struct cfr_config_target_kind *cfr_config_target_kind(const struct cfr_config_publish *t,
                                                            const void **kind_config)
{
    const struct cfr_one_of *one = t->kind.items;

    *kind_config = one != NULL ? one->config : NULL;
    return one != NULL ? one->variant.row : NULL;
}

void cfr_config_register_sources(const struct cfr_config_source_kind *(*at)(size_t index))
{
    source_at = at;
}

struct cfr_variant cfr_config_source_variant(size_t index)
{
    const struct cfr_config_source_kind *kind = source_at != NULL ? source_at(index) : NULL;

    return kind != NULL ? with_row(kind->variant, kind) : (struct cfr_variant){.key = NULL};
}

const struct cfr_config_source_kind *cfr_config_source_kind(const struct cfr_config_credential *c,
                                                            const void **kind_config)
{
    const struct cfr_one_of *all = c->source.items;

    *kind_config = NULL;
    for (size_t i = 0; i < c->source.count; i++) {
        const struct cfr_config_source_kind *kind = all[i].variant.row;

        if (kind->key(all[i].config) == NULL)
            continue;
        *kind_config = all[i].config;
        return kind;
    }
    return NULL;
}

const char *cfr_config_keys(struct cfr_variant (*variant)(size_t index), const char *word,
                            char buf[CFR_CONFIG_KEYS_MAX])
{
    size_t used = 0;

    buf[0] = '\0';
    for (size_t i = 0; variant(i).key != NULL && used < CFR_CONFIG_KEYS_MAX; i++) {
        bool last = i != 0 && variant(i + 1).key == NULL;

        used += (size_t)snprintf(buf + used, CFR_CONFIG_KEYS_MAX - used, "%s%s%s`%s`",
                                 last     ? " "
                                 : i != 0 ? ", "
                                          : "",
                                 last ? word : "", last ? " " : "", variant(i).key);
    }
    return buf;
}
