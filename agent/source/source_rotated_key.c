/* SPDX-License-Identifier: MIT */
/* Source: a long-lived key that agent/rotation makes and rotates. It begins with nothing that could be read. */
#include "agent/source/inputs_private.h"

static bool matches(const struct cfr_config_credential *c)
{
    return c->mint != NULL;
}

static const char *describe(const struct cfr_config_credential *c)
{
    (void)c;
    return "mint";
}

static bool send_nothing(const struct cfr_config_credential *c)
{
    (void)c;
    return false;
}

static int read_nothing(const struct cfr_source_env *env, const struct cfr_config_credential *c,
                        struct cfr_source_inputs *out, int64_t *wait_ms, struct cfr_err *err)
{
    (void)env;
    (void)c;
    (void)out;
    (void)wait_ms;
    (void)err;
    return 0;
}

static int refuse(const struct cfr_source_env *env, const struct cfr_config_credential *c,
                  const struct cfr_source_inputs *m, struct cfr_grant *out, struct cfr_err *err)
{
    (void)env;
    (void)c;
    (void)m;
    (void)out;
    return cfr_err_set(err, CFR_E_CONFIG, "only a running agent publishes a rotated key");
}

const struct cfr_source_ops cfr_source_rotated_key = {
    .name = "mint",
    .replaces = true,
    .matches = matches,
    .describe = describe,
    .may_send = send_nothing,
    .read = read_nothing,
    .grant = refuse,
};
