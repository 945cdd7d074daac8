/* SPDX-License-Identifier: MIT */
/* Rules across the fields of what the kubelet is answered for images. */
#include "agent/config/validate_private.h"

#include "agent/config/config.h"
#include "kube/image_match.h"
#include "kube/name.h"

#include <string.h>

#define LABEL_MAX  63
#define PREFIX_MAX 253

static int check_match(const struct cfr_strings *match, struct cfr_err *err)
{
    for (size_t i = 0; i < match->count; i++) {
        int rc = cfr_k8s_image_match_check(match->items[i], err);

        if (rc != 0)
            return cfr_err_prefix(err, "match: element %zu", i + 1);
        for (size_t k = 0; k < i; k++) {
            if (strcmp(match->items[k], match->items[i]) == 0)
                return cfr_err_set(err, CFR_E_CONFIG, "match: elements %zu and %zu are the same; leave one out", k + 1,
                                   i + 1);
        }
    }
    return 0;
}

/* As Kubernetes wants the key of an annotation: PREFIX/NAME, or NAME. */
static bool is_annotation(const char *text)
{
    const char *slash = strchr(text, '/');
    const char *name = slash != NULL ? slash + 1 : text;
    size_t n = strlen(name);
    char prefix[PREFIX_MAX + 1] = "";

    if (slash != NULL && (size_t)(slash - text) > PREFIX_MAX)
        return false;
    if (slash != NULL)
        memcpy(prefix, text, (size_t)(slash - text));
    if (slash != NULL && !cfr_k8s_name_is_subdomain(prefix))
        return false;
    if (n == 0 || n > LABEL_MAX || !cfr_view_is_alnum(name[0]) || !cfr_view_is_alnum(name[n - 1]))
        return false;
    for (size_t i = 0; i < n; i++) {
        if (!cfr_view_is_alnum(name[i]) && strchr("-_.", name[i]) == NULL)
            return false;
    }
    return true;
}

/* True for what says where requests, and with them tokens, go: that is not for the author of annotations. */
static bool names_server(const char *key)
{
    static const char *const ends[] = {"endpoint", "_host", "_domain", "url"};
    size_t n = strlen(key);

    for (size_t i = 0; i < sizeof ends / sizeof ends[0]; i++) {
        size_t m = strlen(ends[i]);

        if (n >= m && strcmp(key + n - m, ends[i]) == 0)
            return true;
    }
    return false;
}

static int check_annotation(const struct cfr_sts_provider *provider, const struct cfr_pair *p, struct cfr_err *err)
{
    const struct cfr_field *f = cfr_field_find(provider->table, cfr_view_of(p->key));
    const char *like = f == NULL ? cfr_field_suggest(provider->table, cfr_view_of(p->key)) : NULL;

    if (f == NULL)
        return cfr_err_set(err, CFR_E_CONFIG, "annotations: %s has no key %.64s; %s%s%s", provider->name, p->key,
                           like != NULL ? "did you mean " : "write one of its keys that hold a text",
                           like != NULL ? like : "", like != NULL ? "?" : "");
    if (f->type != CFR_FIELD_STRING)
        return cfr_err_set(err, CFR_E_CONFIG,
                           "annotations: %s of %s is not a single text, and an annotation gives nothing else; write "
                           "it in `exchange`",
                           f->key, provider->name);
    if ((f->flags & (CFR_FIELD_PATH | CFR_FIELD_FILE_NAME | CFR_FIELD_CONTENT)) != 0 || names_server(f->key))
        return cfr_err_set(err, CFR_E_CONFIG,
                           "annotations: %s %s, which is not for a service account to say; write it in `exchange`",
                           f->key, names_server(f->key) ? "says where requests go" : "names a file of the node");
    if (!is_annotation(p->value))
        return cfr_err_set(err, CFR_E_CONFIG,
                           "annotations: \"%.64s\" cannot be the name of an annotation; write one such as "
                           "eks.amazonaws.com/role-arn",
                           p->value);
    return 0;
}

int cfr_config_rules_image(const void *node, struct cfr_err *err)
{
    const struct cfr_config_image *c = node;
    const struct cfr_sts_provider *provider = NULL;
    void *config;
    int rc = cfr_config_rules_name(c->name, err);

    if (rc == 0)
        rc = check_match(&c->match, err);
    /* An exchange that is wrong in itself has been reported already. */
    if (c->exchange != NULL)
        provider = cfr_config_exchange_provider(c->exchange, &config);
    if (rc != 0 || provider == NULL)
        return rc;
    if (provider->add_registry == NULL)
        return cfr_err_set(err, CFR_E_CONFIG,
                           "exchange: %s gives no logins to registries; write aws, aws_container, gcp or azure",
                           provider->name);
    for (size_t i = 0; rc == 0 && i < c->annotations.count; i++)
        rc = check_annotation(provider, &c->annotations.items[i], err);
    if (rc == 0 && c->cache_ms > 0 && c->cache_ms % 1000 != 0)
        rc = cfr_err_set(err, CFR_E_CONFIG, "cache: it must be in whole seconds");
    return rc;
}
