/* SPDX-License-Identifier: MIT */
/* The exchange for an image. */
#include "agent/config/image.h"

#include "agent/config/schema_private.h"
#include "base/redact.h"

#include <string.h>

const struct cfr_config_image *cfr_config_image_find(const struct cfr_config *config, struct cfr_view image)
{
    for (size_t i = 0; i < config->image_credentials.count; i++) {
        const struct cfr_config_image *c = cfr_config_image_at(config, i);

        for (size_t k = 0; k < c->match.count; k++) {
            if (cfr_k8s_image_match(c->match.items[k], image))
                return c;
        }
    }
    return NULL;
}

bool cfr_config_image_by_path(const struct cfr_config *config, struct cfr_view image)
{
    for (size_t i = 0; i < config->image_credentials.count; i++) {
        const struct cfr_config_image *c = cfr_config_image_at(config, i);

        for (size_t k = 0; k < c->match.count; k++) {
            if (cfr_k8s_image_match_by_path(c->match.items[k], image))
                return true;
        }
    }
    return false;
}

static bool has_text(const struct cfr_field *f, const void *config)
{
    return *(char *const *)(const void *)((const char *)config + f->offset) != NULL;
}

/* One key of the provider's CONFIG from the annotation that P names. */
static int read_annotation(const struct cfr_sts_provider *provider, const struct cfr_pair *p,
                           const struct cfr_k8s_image_request *request, void *config, struct cfr_err *err)
{
    const struct cfr_field *f = cfr_field_find(provider->table, cfr_view_of(p->key));
    struct cfr_view value = cfr_k8s_image_request_annotation(request, p->value);
    struct cfr_err why = {0};
    int rc;

    if (f == NULL || f->type != CFR_FIELD_STRING)
        return cfr_err_set(err, CFR_E_INTERNAL, "annotations: %s is not a text key of %s", p->key, provider->name);
    if (value.n == 0 && has_text(f, config))
        return 0;
    if (value.n == 0)
        return cfr_err_set(err, CFR_E_CONFIG,
                           "the kubelet's request has no annotation %s for %s, and exchange.%s does not say it either: "
                           "annotate the service account, and let tokenAttributes in the kubelet's "
                           "CredentialProviderConfig name the annotation",
                           p->value, p->key, provider->name);
    rc = cfr_field_store(f, config, value, true, &why);
    return rc == 0 ? 0 : cfr_err_set(err, rc, "the annotation %s (for %s): %s", p->value, p->key, why.text);
}

/* Whether every key that an annotation may give has a value already. */
static bool is_whole(const struct cfr_config_image *item, const struct cfr_sts_provider *provider, const void *config)
{
    for (size_t i = 0; i < item->annotations.count; i++) {
        const struct cfr_field *f = cfr_field_find(provider->table, cfr_view_of(item->annotations.items[i].key));

        if (f == NULL || !has_text(f, config))
            return false;
    }
    return true;
}

static int add_registry(const struct cfr_sts_provider *provider, const struct cfr_k8s_image_request *request,
                        void *config, struct cfr_err *err)
{
    struct cfr_view host = {NULL, 0};
    char shown[CFR_REDACT_MAX];
    int rc;

    if (request != NULL)
        host = request->registry;
    rc = provider->add_registry(config, host, err);
    if (rc == CFR_E_CONFIG && request != NULL)
        (void)cfr_err_prefix(err, "the registry %.80s", cfr_redact(host, &request->token, 1, shown));
    return rc;
}

/* Prefixes ERR, about a key of the exchange, with the annotation that may have given it. */
static int name_annotation(const struct cfr_config_image *item, struct cfr_err *err)
{
    for (size_t i = 0; i < item->annotations.count; i++) {
        const struct cfr_pair *p = &item->annotations.items[i];
        size_t n = strlen(p->key);

        if (strncmp(err->text, p->key, n) == 0 && err->text[n] == ':')
            return cfr_err_prefix(err, "the annotation %s", p->value);
    }
    return err->code;
}

int cfr_config_image_resolve(const struct cfr_config_image *item, const struct cfr_k8s_image_request *request,
                             const char *(*env)(const char *), struct cfr_config_exchange *out, struct cfr_err *err)
{
    const struct cfr_sts_provider *provider;
    void *config;
    int rc;

    *out = (struct cfr_config_exchange){.provider = {.config = NULL}};
    rc = cfr_field_copy(&cfr_config_exchange_table, item->exchange, out, err);
    if (rc != 0)
        return rc;
    provider = cfr_config_exchange_provider(out, &config);
    if (provider == NULL || provider->add_registry == NULL)
        return cfr_err_set(err, CFR_E_INTERNAL, "image credential %s has no exchange for registries", item->name);
    for (size_t i = 0; rc == 0 && request != NULL && i < item->annotations.count; i++)
        rc = read_annotation(provider, &item->annotations.items[i], request, config, err);
    if (rc == 0)
        rc = add_registry(provider, request, config, err);
    if (rc != 0 || (request == NULL && !is_whole(item, provider, config)))
        return rc;
    rc = provider->table->check != NULL ? provider->table->check(config, err) : 0;
    if (rc == 0 && provider->check != NULL)
        rc = provider->check(config, env, err);
    return rc == CFR_E_CONFIG && request != NULL ? name_annotation(item, err) : rc;
}
