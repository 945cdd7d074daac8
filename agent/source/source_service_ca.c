/* SPDX-License-Identifier: MIT */
/* Source: the service CA, which issues a certificate or the bundle. */
#include "agent/pki/service_ca.h"
#include "agent/source/source.h"

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
    (void)m;
    if (!env->in_agent)
        return cfr_err_set(err, CFR_E_CONFIG, "what the service CA issues is published by a running agent alone");
    return cfr_service_ca_grant(env->service_ca, c, env->now, out, err);
}

const struct cfr_source_ops cfr_source_service_ca = {
    .name = "service_ca",
    .ages = true,
    .replaces = true,
    .matches = cfr_config_is_issued,
    .describe = describe,
    .may_send = send_nothing,
    .read = read_mark,
    .grant = issue,
};
