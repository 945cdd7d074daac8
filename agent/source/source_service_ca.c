/* SPDX-License-Identifier: MIT */
/* Source: the service CA, which issues a certificate or the bundle. */
#include "agent/pki/service_ca.h"
#include "agent/source/source.h"

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

/* Outside a running agent there is no service CA, and no fingerprint. */
static int read_mark(const struct cfr_source_env *env, const struct cfr_config_credential *c,
                     struct cfr_source_inputs *out, int64_t *wait_ms, struct cfr_err *err)
{
    (void)c;
    (void)wait_ms;
    return env->in_agent ? cfr_service_ca_fingerprint(env->service_ca, env->now, &out->mark, err) : 0;
}

static int issue(const struct cfr_source_env *env, const struct cfr_config_credential *c,
                 const struct cfr_source_inputs *m, struct cfr_grant *out, struct cfr_err *err)
{
    int rc;

    (void)m;
    if (!env->in_agent)
        return cfr_err_set(err, CFR_E_CONFIG, "what the service CA issues is published by a running agent alone");
    rc = cfr_service_ca_grant(env->service_ca, cfr_service_ca_issued(c), env->now, out, err);
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
    return (c == NULL || c->certificate != NULL) &&
           (strcmp(field, CFR_FIELD_SERVICE_CERTIFICATE) == 0 || strcmp(field, CFR_FIELD_SERVICE_KEY) == 0);
}

const struct cfr_source_ops cfr_source_service_ca = {
    .kind = {.variant = {.key = "certificate", .table = &cfr_service_ca_issued_table, .flat = true},
             .origin = "the service CA",
             .needs_service_ca = true,
             .key = key_of,
             .grants = grants},
    .name = "service_ca",
    .ages = true,
    .replaces = true,
    .describe = describe,
    .may_send = send_nothing,
    .read = read_mark,
    .grant = issue,
};
