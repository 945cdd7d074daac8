/* SPDX-License-Identifier: MIT */
/* Source: a mounted Secret, whose keys determine the provider and the method, or are passed on. */
#include "agent/source/inputs_private.h"

#include "agent/loop/env.h"
#include "agent/loop/slow_file.h"

#include <stdio.h>
#include <stdlib.h>

static int find_kind(const struct cfr_config_credential *c, struct cfr_source_inputs *m, struct cfr_err *err)
{
    struct cfr_mounted_key keys[CFR_VOLUME_FILES_MAX];
    struct cfr_mounted_options options = {
        .expect = c->secret->kind, .pass_on = c->secret->pass_on, .directory = c->secret->directory};
    int rc;

    options.provider = cfr_config_provider(c, &options.config);
    for (size_t i = 0; i < m->volume->count; i++)
        keys[i] = (struct cfr_mounted_key){m->volume->names[i], cfr_secret_view(&m->volume->values[i])};
    rc = cfr_mounted_read(keys, m->volume->count, &options, &m->mounted, err);
    if (rc == 0 && m->mounted.provider != NULL && m->mounted.provider->check != NULL) {
        rc = m->mounted.provider->check(m->mounted.config, cfr_env_get, err);
        if (rc != 0)
            cfr_mounted_name_keys(&m->mounted, err);
    }
    if (rc != 0)
        return cfr_err_prefix(err, "the Secret in %s", c->secret->directory);
    m->provider = m->mounted.provider;
    m->config = m->mounted.config;
    for (size_t i = 0; i < m->mounted.content_count && i < CFR_STS_CONTENTS_MAX; i++)
        m->contents[m->content_count++] = m->mounted.contents[i];
    return 0;
}

static int read_volume(const struct cfr_config_credential *c, struct cfr_source_inputs *m, struct cfr_err *err)
{
    int rc;

    m->volume = calloc(1, sizeof *m->volume);
    if (m->volume == NULL)
        return cfr_err_nomem(err);
    rc = cfr_slow_file_read_volume(c->secret->directory, m->volume, err);
    if (rc == CFR_E_MISSING)
        return cfr_err_set(err, rc, "waiting for the Secret in %s, which is not mounted yet", c->secret->directory);
    if (rc == 0)
        rc = find_kind(c, m, err);
    if (rc == 0)
        cfr_source_add_mark(m, m->volume->mark);
    return rc;
}

static bool matches(const struct cfr_config_credential *c)
{
    return c->secret != NULL;
}

static const char *describe(const struct cfr_config_credential *c)
{
    (void)c;
    return "secret";
}

static bool may_send(const struct cfr_config_credential *c)
{
    return !c->secret->pass_on;
}

/* Often the keys of the Secret decide. */
static const char *fixed(const struct cfr_config_credential *c, bool final)
{
    return cfr_config_secret_fate(c) != CFR_CONFIG_PASSED_ON && !final
               ? NULL
               : "passes a mounted Secret on: credfresh follows its keys, and has nothing to rotate; change the Secret";
}

static int read_mounted(const struct cfr_source_env *env, const struct cfr_config_credential *c,
                        struct cfr_source_inputs *out, int64_t *wait_ms, struct cfr_err *err)
{
    int rc = read_volume(c, out, err);

    if (rc == 0)
        rc = cfr_source_find_token(env, c, out, wait_ms, err);
    return rc != 0 ? rc : cfr_source_read_contents(out, err);
}

static void watch_mounted(const struct cfr_config_credential *c, const struct cfr_source_inputs *m,
                          struct cfr_source_watching *w)
{
    bool own_file = c->token != NULL && c->token->file != NULL;
    char path[4096 + 8];

    if (own_file)
        cfr_source_watch_path(w, c->token->file);
    cfr_source_watch_contents(w, c);
    (void)snprintf(path, sizeof path, "%s/..data", c->secret->directory);
    cfr_source_watch_path(w, path);
    if (m != NULL && !own_file)
        cfr_source_watch_path(w, m->token_path);
}

static int grant_keys(const struct cfr_source_env *env, const struct cfr_config_credential *c,
                      const struct cfr_source_inputs *m, struct cfr_grant *out, struct cfr_err *err)
{
    const struct cfr_volume *v = m->volume;
    int rc = 0;

    (void)env;
    (void)c;
    for (size_t i = 0; rc == 0 && i < v->count; i++) {
        char name[sizeof CFR_FIELD_SECRET_PREFIX + 256];

        (void)snprintf(name, sizeof name, CFR_FIELD_SECRET_PREFIX "%s", v->names[i]);
        rc = cfr_grant_set(out, name, cfr_secret_view(&v->values[i]), err);
    }
    return rc;
}

const struct cfr_source_ops cfr_source_mounted = {
    .name = "secret",
    .names_provider = true,
    .matches = matches,
    .describe = describe,
    .may_send = may_send,
    .fixed = fixed,
    .read = read_mounted,
    .watch = watch_mounted,
    .grant = grant_keys,
};
