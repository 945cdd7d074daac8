/* SPDX-License-Identifier: MIT */
/* Source: the service CA, which issues a certificate or the bundle. */
#include "agent/pki/service_ca_csr.h"
#include "agent/pki/service_ca_module.h"
#include "agent/source/inputs_private.h"
#include "base/hash.h"
#include "pki/key.h"

#include <string.h>

static const char *describe(const struct cfr_config_credential *c)
{
    (void)c;
    return "service_ca";
}

static bool send_nothing(const struct cfr_config_credential *c)
{
    (void)c;
    return false;
}

/* Another key in the consumer's request is another certificate; whatever else changes in it counts for nothing. */
static int add_request(const struct cfr_service_ca_certificate *c, struct cfr_source_inputs *out, struct cfr_err *err)
{
    struct cfr_str key = {.limit = CFR_KEY_PEM_MAX};
    int rc = c != NULL && c->csr != NULL ? cfr_service_ca_csr_read(c, &key, err) : 0;

    if (rc == 0 && key.len != 0)
        out->mark = cfr_hash_add(out->mark, key.p, key.len);
    cfr_str_free(&key);
    return rc;
}

/* Outside a running agent there is no service CA, and no fingerprint. */
static int read_mark(const struct cfr_source_env *env, const struct cfr_config_credential *c,
                     struct cfr_source_inputs *out, int64_t *wait_ms, struct cfr_err *err)
{
    int rc;

    (void)wait_ms;
    if (!env->in_agent)
        return 0;
    rc = cfr_service_ca_fingerprint(cfr_service_ca_of(env->module), env->now, &out->mark, err);
    return rc == 0 ? add_request(cfr_service_ca_issued(c)->certificate, out, err) : rc;
}

/* The consumer's request, which it may replace at any time. */
static void watch_request(const struct cfr_config_credential *c, const struct cfr_source_inputs *m,
                          struct cfr_source_watching *w)
{
    const struct cfr_service_ca_certificate *certificate = cfr_service_ca_issued(c)->certificate;

    (void)m;
    if (certificate != NULL)
        cfr_source_watch_path(w, certificate->csr);
}

static int issue(const struct cfr_source_env *env, const struct cfr_config_credential *c,
                 const struct cfr_source_inputs *m, struct cfr_grant *out, struct cfr_err *err)
{
    int rc;

    (void)m;
    if (!env->in_agent)
        return cfr_err_set(err, CFR_E_CONFIG, "only a running agent publishes what the service CA issues");
    rc = cfr_service_ca_grant(cfr_service_ca_of(env->module), cfr_service_ca_issued(c), env->now, out, err);
    return rc == CFR_SERVICE_CA_LATER ? CFR_SOURCE_LATER : rc;
}

static const char *key_of(const void *config)
{
    const struct cfr_service_ca_issued *c = config;

    return c->certificate != NULL ? "certificate" : c->ca_bundle ? "ca_bundle" : NULL;
}

static bool grants(const void *config, const char *field)
{
    const struct cfr_service_ca_issued *c = config;

    if (strcmp(field, CFR_FIELD_SERVICE_BUNDLE) == 0)
        return true;
    if (strcmp(field, CFR_FIELD_SERVICE_KEY) == 0)
        return c == NULL || (c->certificate != NULL && c->certificate->csr == NULL);
    return (c == NULL || c->certificate != NULL) && strcmp(field, CFR_FIELD_SERVICE_CERTIFICATE) == 0;
}

const struct cfr_source_ops cfr_source_service_ca = {
    .kind = {.variant = {.key = "certificate", .table = &cfr_service_ca_issued_table, .flat = true},
             .origin = "the service CA",
             .needs_service_ca = true,
             .key = key_of,
             .grants = grants},
    .module = &cfr_service_ca_module,
    .name = "service_ca",
    .ages = true,
    .replaces = true,
    .describe = describe,
    .may_send = send_nothing,
    .read = read_mark,
    .watch = watch_request,
    .grant = issue,
};
