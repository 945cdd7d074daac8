/* SPDX-License-Identifier: MIT */
/* Accessors of the configuration: its lists, the chosen providers, and what follows from several keys together. */
#include "agent/config/config_private.h"
#include "agent/config/crosscheck_private.h"
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

const char *cfr_config_label(const char *name)
{
    return name != NULL ? name : "without name";
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
    /* Of a configuration with a mistake there may be the key alone. */
    return c->provider.config != NULL ? c->provider.variant.row : NULL;
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

const char *const cfr_config_sts_endpoints[] = {"unset", "regional", "legacy", NULL};

/* The row of a grant's FIELD; NULL for NULL. */
static const struct cfr_grant_name *row_of(const char *field)
{
    for (const struct cfr_grant_name *row = cfr_grant_names; field != NULL && row->field != NULL; row++) {
        if (strcmp(row->field, field) == 0)
            return row;
    }
    return NULL;
}

const struct cfr_grant_name *cfr_config_file_field(const struct cfr_config_file *file, size_t index)
{
    const struct cfr_grant_name *needs = row_of(cfr_formats[file->format].needs);
    struct cfr_view rest = cfr_view_of(file->template_text);
    struct cfr_view name = {NULL, 0};

    if (needs != NULL && index-- == 0)
        return needs;
    if (file->field != NULL)
        return index == 0 ? cfr_grant_find_name(cfr_view_of(file->field)) : NULL;
    while (cfr_format_template_field(&rest, &name)) {
        if (index-- == 0)
            return cfr_grant_find_name(name);
    }
    return NULL;
}

/* True if FILE is made of a field that begins with PREFIX. */
static bool file_has(const struct cfr_config_file *file, const char *prefix)
{
    const struct cfr_grant_name *row;

    for (size_t i = 0; (row = cfr_config_file_field(file, i)) != NULL; i++) {
        if (cfr_view_starts(cfr_view_of(row->field), prefix))
            return true;
    }
    return false;
}

static bool holds_token(const struct cfr_config_file *file)
{
    return cfr_formats[file->format].holds_token || file_has(file, CFR_FIELD_TOKEN);
}

static bool holds_cluster(const struct cfr_config_file *file)
{
    return (cfr_formats[file->format].options & CFR_FORMAT_SERVER) != 0 || file_has(file, CFR_FIELD_KUBERNETES_PREFIX);
}

static bool any_of_list(const struct cfr_list *files, bool (*is)(const struct cfr_config_file *file))
{
    const struct cfr_config_file *all = files->items;
    size_t i = 0;

    while (i < files->count && !is(&all[i]))
        i++;
    return i < files->count;
}

/* True if a file or a key of a Secret that C is published as is one that IS says. */
static bool any_file(const struct cfr_config_credential *c, bool (*is)(const struct cfr_config_file *file))
{
    const struct cfr_config_publish *all = c->publish.items;

    for (size_t i = 0; i < c->publish.count; i++) {
        if (any_of_list(&all[i].files, is) || (all[i].file != NULL && is(all[i].file)) ||
            (all[i].secret != NULL && any_of_list(&all[i].secret->keys, is)))
            return true;
    }
    return false;
}

bool cfr_config_publishes_token(const struct cfr_config_credential *c)
{
    return any_file(c, holds_token);
}

bool cfr_config_publishes_cluster(const struct cfr_config_credential *c)
{
    return any_file(c, holds_cluster);
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

/* What a rotated key has. */
static bool may_mint(const struct cfr_config_mint *mint, const char *needs)
{
    const void *config;
    const struct cfr_rotation_provider *provider = cfr_config_mint_provider(mint, &config);
    size_t i = 0;

    while (provider != NULL && provider->grants[i] != NULL && strcmp(provider->grants[i], needs) != 0)
        i++;
    return provider == NULL || provider->grants[i] != NULL;
}

const struct cfr_config_secret *cfr_config_cluster_object(const struct cfr_config_publish *p)
{
    return p->secret != NULL ? p->secret : p->configmap;
}

/* Whether the exchange with PROVIDER, whose configuration is CONFIG, logs in to registries. */
static bool has_registries(const struct cfr_sts_provider *provider, const void *config)
{
    const struct cfr_field *f =
        provider->registries != NULL ? cfr_field_find(provider->table, cfr_view_of(provider->registries)) : NULL;
    const void *p = f != NULL ? (const char *)config + f->offset : NULL;

    if (p == NULL)
        return false;
    return f->type == CFR_FIELD_MAP ? *(void *const *)p != NULL : ((const struct cfr_strings *)p)->count != 0;
}

bool cfr_config_may_have(const struct cfr_config_credential *c, const char *needs)
{
    const void *exchange;
    const struct cfr_sts_provider *provider = cfr_config_provider(c, &exchange);
    const char *family = provider == NULL ? NULL : provider->family != NULL ? provider->family : provider->name;
    const void *config;
    const struct cfr_config_source_kind *source = cfr_config_source_kind(c, &config);
    struct cfr_variant kind;
    size_t n;

    if (needs == NULL)
        return true;
    if (c->mint != NULL)
        return may_mint(c->mint, needs);
    if (strcmp(needs, CFR_FIELD_SECRET_PREFIX) == 0)
        return c->secret != NULL && cfr_config_secret_fate(c) != CFR_CONFIG_EXCHANGED;
    if (cfr_view_starts(cfr_view_of(needs), CFR_FIELD_KUBERNETES_PREFIX))
        return c->token != NULL && c->token->request != NULL && c->token->file == NULL;
    if (cfr_config_secret_fate(c) == CFR_CONFIG_PASSED_ON)
        return false;
    if (family == NULL && cfr_config_secret_fate(c) == CFR_CONFIG_EXCHANGED)
        family = cfr_mounted_kinds[c->secret->kind];
    n = family != NULL ? strlen(family) : 0;
    if (cfr_mounted_kind_of_fact(needs) != CFR_MOUNTED_UNKNOWN)
        return c->secret != NULL &&
               (family == NULL || strcmp(family, cfr_mounted_kinds[cfr_mounted_kind_of_fact(needs)]) == 0);
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
        return provider == NULL || c->token != NULL || c->secret != NULL;
    if (strcmp(needs, CFR_FIELD_REGISTRY_AUTHS) == 0)
        return provider != NULL && has_registries(provider, exchange);
    /* The long-lived secrets of the others come from rotated keys only. */
    if (needs[0] == CFR_FIELD_PRIVATE_PREFIX && strcmp(needs, CFR_FIELD_OPENSTACK_PASSWORD) != 0 &&
        strcmp(needs, CFR_FIELD_OPENSTACK_APPLICATION_CREDENTIAL_SECRET) != 0)
        return false;
    needs = cfr_grant_public_name(needs);
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
