/* SPDX-License-Identifier: MIT */
/* Accessors of the configuration: its lists, the chosen providers, and what follows from several keys together. */
#include "agent/config/config_private.h"
#include "agent/config/schema_private.h"
#include "agent/config/kinds.h"

#include "files/format/format.h"
#include "rotation/provider.h"
#include "sts/mounted/mounted.h"

#include <stdio.h>
#include <string.h>

struct cfr_config_credential *cfr_config_at(const struct cfr_config *config, size_t index)
{
    struct cfr_config_credential *all = config->credentials.items;

    return index < config->credentials.count ? &all[index] : NULL;
}

struct cfr_config_credential *cfr_config_find(const struct cfr_config *config, const char *name)
{
    for (size_t i = 0; i < config->credentials.count; i++) {
        struct cfr_config_credential *c = cfr_config_at(config, i);

        if (c->name != NULL && strcmp(c->name, name) == 0)
            return c;
    }
    return NULL;
}

struct cfr_config_image *cfr_config_image_at(const struct cfr_config *config, size_t index)
{
    struct cfr_config_image *all = config->image_credentials.items;

    return index < config->image_credentials.count ? &all[index] : NULL;
}

struct cfr_config_endpoint *cfr_config_endpoint_at(const struct cfr_config *config, size_t index)
{
    struct cfr_config_endpoint *all = config->endpoints.items;

    return index < config->endpoints.count ? &all[index] : NULL;
}

const struct cfr_sts_provider *cfr_config_exchange_provider(const struct cfr_config_exchange *x, void **provider_config)
{
    *provider_config = x->provider.config;
    return x->provider.variant.row;
}

const struct cfr_sts_provider *cfr_config_provider(const struct cfr_config_credential *c, const void **provider_config)
{
    void *found = NULL;
    const struct cfr_sts_provider *provider =
        c->exchange != NULL ? cfr_config_exchange_provider(c->exchange, &found) : NULL;

    if (provider_config != NULL)
        *provider_config = found;
    return provider;
}

const void *cfr_config_exchange_of(const struct cfr_config_credential *c, const struct cfr_sts_provider *provider)
{
    const void *config;

    return cfr_config_provider(c, &config) == provider ? config : NULL;
}

const struct cfr_rotation_provider *cfr_config_mint_provider(const struct cfr_config_mint *c,
                                                             const void **provider_config)
{
    *provider_config = c->provider.config;
    return c->provider.variant.row;
}

void cfr_config_mint_subject(const struct cfr_config_mint *c, char out[CFR_ROTATION_SUBJECT_MAX])
{
    const void *config;
    const struct cfr_rotation_provider *provider = cfr_config_mint_provider(c, &config);
    const char *whose = provider != NULL ? provider->subject(config) : "";

    if (provider == NULL) {
        out[0] = '\0';
        return;
    }
    (void)snprintf(out, CFR_ROTATION_SUBJECT_MAX, "%s/%s%.256s", provider->name, whose == NULL ? "the user of " : "",
                   whose != NULL ? whose : (c->with != NULL ? c->with : ""));
}

static bool list_holds_token(const struct cfr_list *files)
{
    const struct cfr_config_file *all = files->items;

    for (size_t i = 0; i < files->count; i++) {
        if (cfr_formats[all[i].format].holds_token)
            return true;
    }
    return false;
}

bool cfr_config_publishes_token(const struct cfr_config_credential *c)
{
    const struct cfr_config_publish *all = c->publish.items;

    for (size_t i = 0; i < c->publish.count; i++) {
        if (list_holds_token(&all[i].files) || (all[i].file != NULL && cfr_formats[all[i].file->format].holds_token) ||
            (all[i].secret != NULL && list_holds_token(&all[i].secret->keys)))
            return true;
    }
    return false;
}

enum cfr_config_fate cfr_config_secret_fate(const struct cfr_config_credential *c)
{
    if (c->secret == NULL)
        return CFR_CONFIG_UNDECIDED;
    if (c->secret->pass_on)
        return CFR_CONFIG_PASSED_ON;
    if (c->exchange != NULL)
        return CFR_CONFIG_EXCHANGED;
    return c->secret->kind == CFR_MOUNTED_UNKNOWN      ? CFR_CONFIG_UNDECIDED
           : cfr_mounted_is_exchanged(c->secret->kind) ? CFR_CONFIG_EXCHANGED
                                                       : CFR_CONFIG_PASSED_ON;
}

bool cfr_config_may_have(const struct cfr_config_credential *c, const char *needs)
{
    const struct cfr_sts_provider *provider = cfr_config_provider(c, NULL);
    const void *ignored;
    const char *family = c->mint != NULL            ? cfr_config_mint_provider(c->mint, &ignored)->name
                         : provider == NULL         ? NULL
                         : provider->family != NULL ? provider->family
                                                    : provider->name;
    const void *config;
    const struct cfr_config_source_kind *source = cfr_config_source_kind(c, &config);
    struct cfr_variant kind;
    size_t n;

    if (needs == NULL)
        return true;
    if (strcmp(needs, CFR_FIELD_SECRET_PREFIX) == 0)
        return c->secret != NULL && cfr_config_secret_fate(c) != CFR_CONFIG_EXCHANGED;
    if (cfr_config_secret_fate(c) == CFR_CONFIG_PASSED_ON)
        return c->token != NULL && strcmp(needs, CFR_FIELD_TOKEN) == 0;
    if (family == NULL && cfr_config_secret_fate(c) == CFR_CONFIG_EXCHANGED)
        family = cfr_mounted_kinds[c->secret->kind];
    n = family != NULL ? strlen(family) : 0;
    if (source != NULL)
        return source->grants(config, needs);
    for (size_t i = 0; (kind = cfr_config_source_variant(i)).key != NULL; i++) {
        /* What only such a source grants. */
        if (((const struct cfr_config_source_kind *)kind.row)->grants(NULL, needs))
            return false;
    }
    if (c->secret != NULL && family == NULL)
        return true;
    if (strcmp(needs, CFR_FIELD_TOKEN) == 0)
        return c->mint == NULL && (provider == NULL || c->token != NULL || c->secret != NULL);
    if (strcmp(needs, CFR_FIELD_REGISTRY_AUTHS) == 0)
        return provider != NULL || c->secret != NULL;
    if (needs[0] == CFR_FIELD_PRIVATE_PREFIX && c->mint == NULL)
        return false;
    needs += needs[0] == CFR_FIELD_PRIVATE_PREFIX ? 1 : 0;
    return family != NULL && strncmp(needs, family, n) == 0 && needs[n] == '_';
}

const struct cfr_sdk_shape *cfr_config_shape_at(const struct cfr_config_endpoint *e, size_t index, void **shape_config)
{
    const struct cfr_one_of *all = e->shapes.items;

    if (index >= e->shapes.count)
        return NULL;
    *shape_config = all[index].config;
    return all[index].variant.row;
}

void cfr_config_each_client_secret(const struct cfr_config *config,
                                   void (*each)(void *ctx, const struct cfr_config_endpoint *endpoint,
                                                const struct cfr_sdk_client_secret *secret),
                                   void *ctx)
{
    for (size_t i = 0; i < config->endpoints.count; i++) {
        const struct cfr_config_endpoint *e = cfr_config_endpoint_at(config, i);
        const struct cfr_sdk_shape *shape;
        void *found;

        for (size_t k = 0; (shape = cfr_config_shape_at(e, k, &found)) != NULL; k++) {
            const struct cfr_sdk_client_secret *secret =
                shape->client_secret != NULL ? shape->client_secret(found) : NULL;

            if (secret != NULL)
                each(ctx, e, secret);
        }
    }
}
