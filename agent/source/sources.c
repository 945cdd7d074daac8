/* SPDX-License-Identifier: MIT */
/* Table of sources. */
#include "agent/source/inputs_private.h"

/* In the order in which they are tried; the last one matches everything. */
static const struct cfr_source_ops *const rows[] = {
    &cfr_source_mounted,         &cfr_source_service_ca,    &cfr_source_token_in_file,
    &cfr_source_token_requested, &cfr_source_provider_only,
};

/* Rows of later rooms, without gaps. */
static const struct cfr_source_ops *added[4];

const struct cfr_source_ops *cfr_source_find(const struct cfr_source_ops *const *all, size_t count,
                                             const struct cfr_config_credential *c)
{
    const void *config;
    const struct cfr_config_source_kind *kind = cfr_config_source_kind(c, &config);

    for (size_t i = 0; i < count; i++) {
        if (all[i]->matches != NULL ? all[i]->matches(c) : kind == &all[i]->kind)
            return all[i];
    }
    return NULL;
}

static const struct cfr_config_source_kind *kind_at(size_t index)
{
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        if (rows[i]->kind.variant.key != NULL && index-- == 0)
            return &rows[i]->kind;
    }
    return NULL;
}

void cfr_source_register(void)
{
    cfr_config_register_sources(kind_at);
}

void cfr_source_add(const struct cfr_source_ops *row)
{
    size_t i = 0;

    while (added[i] != NULL && added[i] != row)
        i++;
    added[i] = row;
}

static size_t count_added(void)
{
    size_t count = 0;

    while (count < sizeof added / sizeof added[0] && added[count] != NULL)
        count++;
    return count;
}

const struct cfr_source_ops *cfr_source_of(const struct cfr_config_credential *c)
{
    const struct cfr_source_ops *later = cfr_source_find(added, count_added(), c);

    return later != NULL ? later : cfr_source_find(rows, sizeof rows / sizeof rows[0], c);
}
