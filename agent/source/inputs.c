/* SPDX-License-Identifier: MIT */
/* Inputs of an exchange, read through a credential's source. */
#include "agent/source/inputs_private.h"

#include "agent/bind/variables.h"
#include "agent/loop/env.h"
#include "sts/core/config.h"

#include <stdlib.h>

int cfr_source_read(const struct cfr_source_env *env, const struct cfr_config_credential *c,
                    struct cfr_source_inputs *out, int64_t *wait_ms, struct cfr_err *err)
{
    int rc;

    *wait_ms = -1;
    *out = (struct cfr_source_inputs){.source = cfr_source_of(c)};
    rc = out->source->read(env, c, out, wait_ms, err);
    if (rc < 0 && err != NULL && c->from_environment)
        cfr_config_diagnostics_name_variables(cfr_env_get, c->name, err->text, sizeof err->text);
    return rc;
}

void cfr_source_name_origin(const struct cfr_config_credential *c, const struct cfr_source_inputs *m,
                            struct cfr_err *err)
{
    if (m->mounted.provider != NULL)
        cfr_mounted_name_keys(&m->mounted, err);
    else if (m->provider != NULL)
        cfr_sts_config_name_origin(m->provider, m->config, err->text, sizeof err->text);
    if (c->from_environment)
        cfr_config_diagnostics_name_variables(cfr_env_get, c->name, err->text, sizeof err->text);
}

int cfr_source_inputs_read(const struct cfr_config_credential *c, int64_t now_ms, bool trust,
                           struct cfr_source_inputs *out, int64_t *wait_ms, struct cfr_err *err)
{
    const struct cfr_source_env env = {.now = {.wall_ms = now_ms}, .trust = trust};

    return cfr_source_read(&env, c, out, wait_ms, err);
}

int cfr_source_inputs_with_token(const struct cfr_config_credential *c, struct cfr_source_token_file *token,
                                 struct cfr_source_inputs *out, struct cfr_err *err)
{
    *out = (struct cfr_source_inputs){
        .source = cfr_source_of(c), .issued_s = token->issued_s, .expires_s = token->expires_s};
    out->provider = cfr_config_provider(c, &out->config);
    cfr_source_move_token(out, token);
    return cfr_source_read_contents(out, err);
}

void cfr_source_inputs_free(struct cfr_source_inputs *m)
{
    cfr_secret_free(&m->token);
    free(m->subject);
    free(m->token_path);
    free(m->fallback_reason);
    cfr_mounted_free(&m->mounted);
    if (m->volume != NULL)
        cfr_volume_free(m->volume);
    free(m->volume);
    for (size_t i = 0; i < CFR_STS_CONTENTS_MAX; i++)
        cfr_secret_free(&m->files[i]);
    *m = (struct cfr_source_inputs){.provider = NULL};
}

void cfr_source_inputs_move(struct cfr_source_inputs *to, struct cfr_source_inputs *from)
{
    *to = *from;
    *from = (struct cfr_source_inputs){.provider = NULL};
}

bool cfr_source_inputs_is_final(const struct cfr_source_inputs *m)
{
    return m->provider == NULL && !m->requested;
}

int cfr_source_grant(const struct cfr_source_env *env, const struct cfr_config_credential *c,
                     const struct cfr_source_inputs *m, struct cfr_grant *out, struct cfr_err *err)
{
    return m->source->grant(env, c, m, out, err);
}

int cfr_source_inputs_grant(const struct cfr_source_inputs *m, struct cfr_grant *out, struct cfr_err *err)
{
    const struct cfr_source_env env = {.module = NULL};

    return m->source->grant(&env, NULL, m, out, err);
}

int cfr_source_inputs_watch(const struct cfr_config_credential *c, const struct cfr_source_inputs *m,
                            struct cfr_watch *watch, struct cfr_watcher *watcher, struct cfr_err *err)
{
    const struct cfr_source_ops *source = cfr_source_of(c);
    struct cfr_source_watching w = {watch, watcher, err, 0};

    if (source->watch != NULL)
        source->watch(c, m, &w);
    return w.rc;
}
