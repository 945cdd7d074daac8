/* SPDX-License-Identifier: MIT */
/* Configurations of exchanges that are built in code. */
#include "sts/core/config.h"

#include <stdio.h>
#include <stdlib.h>

static const struct cfr_field *find_text(const struct cfr_sts_provider *provider, const char *key)
{
    const struct cfr_field *f = cfr_field_find(provider->table, cfr_view_of(key));

    return f != NULL && f->type == CFR_FIELD_STRING ? f : NULL;
}

static const char *get_text(const struct cfr_field *f, const void *config)
{
    return *(char *const *)(const void *)((const char *)config + f->offset);
}

int cfr_sts_config_new(const struct cfr_sts_provider *provider, const void *from, void **out, struct cfr_err *err)
{
    *out = calloc(1, provider->table->size);
    if (*out == NULL)
        return cfr_err_nomem(err);
    return from != NULL ? cfr_field_copy(provider->table, from, *out, err)
                        : cfr_field_defaults(provider->table, *out, err);
}

void cfr_sts_config_free(const struct cfr_sts_provider *provider, void *config)
{
    if (config != NULL)
        cfr_field_free(provider->table, config);
    free(config);
}

bool cfr_sts_config_has(const struct cfr_sts_provider *provider, const void *config, const char *key)
{
    const struct cfr_field *f = find_text(provider, key);

    return f != NULL && get_text(f, config) != NULL;
}

int cfr_sts_config_set(const struct cfr_sts_provider *provider, void *config, const char *key, struct cfr_view value,
                       struct cfr_err *err)
{
    const struct cfr_field *f = find_text(provider, key);

    if (f == NULL)
        return cfr_err_set(err, CFR_E_INTERNAL, "an exchange with %s has no text %s", provider->name, key);
    return cfr_field_store(f, config, value, true, err) != 0 ? cfr_err_prefix(err, "%s", key) : 0;
}

int cfr_sts_config_add_content(const struct cfr_sts_provider *provider, void *config, const char *key,
                               struct cfr_view bytes, struct cfr_sts_content *contents, size_t *count,
                               struct cfr_err *err)
{
    const struct cfr_field *f = find_text(provider, key);
    int rc;

    if (f == NULL || (f->flags & CFR_FIELD_CONTENT) == 0 || *count == CFR_STS_CONTENTS_MAX)
        return cfr_err_set(err, CFR_E_INTERNAL, "an exchange with %s has no room for the content %s", provider->name,
                           key);
    if (get_text(f, config) != NULL)
        return 0;
    rc = cfr_field_store(f, config, cfr_view_of(CFR_STS_CONFIG_GIVEN), true, err);
    if (rc == 0)
        contents[(*count)++] = (struct cfr_sts_content){key, bytes};
    return rc;
}

/* What an error is about. */
struct place {
    const struct cfr_sts_provider *provider;
    const void *config;
};

static const char *find_origin(const void *ctx, struct cfr_view key, char buf[CFR_STS_ORIGIN_MAX])
{
    const struct place *place = ctx;
    char name[64];

    (void)snprintf(name, sizeof name, "%.*s", (int)(key.n < sizeof name ? key.n : sizeof name - 1), key.p);
    return cfr_sts_config_has(place->provider, place->config, name) ? NULL
                                                                    : place->provider->origin(place->config, key, buf);
}

void cfr_sts_config_name_origin(const struct cfr_sts_provider *provider, const void *config, char *text, size_t size)
{
    const struct place place = {provider, config};

    if (provider->origin != NULL)
        cfr_sts_name_origin(text, size, find_origin, &place);
}
