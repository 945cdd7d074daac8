/* SPDX-License-Identifier: MIT */
/* Sources: a token in a file, a requested token, or an exchange that needs none. */
#include "agent/source/inputs_private.h"

static bool has_file(const struct cfr_config_credential *c)
{
    return c->token != NULL && c->token->file != NULL;
}

static bool has_token(const struct cfr_config_credential *c)
{
    return c->token != NULL;
}

static bool always(const struct cfr_config_credential *c)
{
    (void)c;
    return true;
}

static const char *describe_file(const struct cfr_config_credential *c)
{
    return c->token->request != NULL ? "file or request" : "file";
}

static const char *describe_request(const struct cfr_config_credential *c)
{
    (void)c;
    return "request";
}

static const char *describe_provider(const struct cfr_config_credential *c)
{
    (void)c;
    return "provider";
}

static bool may_send(const struct cfr_config_credential *c)
{
    return c->exchange != NULL || (c->token != NULL && c->token->request != NULL);
}

static const char *fixed_file(const struct cfr_config_credential *c, bool final)
{
    (void) final;
    return c->exchange != NULL || c->token->request != NULL
               ? NULL
               : "publishes the token in a file, which another program renews: credfresh follows that "
                 "file, and has nothing to rotate";
}

static int read_token(const struct cfr_source_env *env, const struct cfr_config_credential *c,
                      struct cfr_source_inputs *out, int64_t *wait_ms, struct cfr_err *err)
{
    int rc;

    out->provider = cfr_config_provider(c, &out->config);
    rc = cfr_source_find_token(env, c, out, wait_ms, err);
    return rc != 0 ? rc : cfr_source_read_contents(out, err);
}

static void watch_files(const struct cfr_config_credential *c, const struct cfr_source_inputs *m,
                        struct cfr_source_watching *w)
{
    (void)m;
    if (has_file(c))
        cfr_source_watch_path(w, c->token->file);
    cfr_source_watch_contents(w, c);
}

static int grant_token(const struct cfr_source_env *env, const struct cfr_config_credential *c,
                       const struct cfr_source_inputs *m, struct cfr_grant *out, struct cfr_err *err)
{
    int rc = cfr_grant_set(out, CFR_FIELD_TOKEN, cfr_secret_view(&m->token), err);

    (void)env;
    (void)c;
    if (rc == 0)
        rc = cfr_grant_set_identity(out, cfr_view_of(m->subject), err);
    out->issued_s = m->issued_s;
    out->expires_s = m->expires_s;
    return rc;
}

const struct cfr_source_ops cfr_source_token_in_file = {
    .name = "token",
    .matches = has_file,
    .describe = describe_file,
    .may_send = may_send,
    .fixed = fixed_file,
    .read = read_token,
    .watch = watch_files,
    .grant = grant_token,
};

const struct cfr_source_ops cfr_source_token_requested = {
    .name = "token",
    .matches = has_token,
    .describe = describe_request,
    .may_send = may_send,
    .read = read_token,
    .watch = watch_files,
    .grant = grant_token,
};

const struct cfr_source_ops cfr_source_provider_only = {
    .name = "token",
    .matches = always,
    .describe = describe_provider,
    .may_send = may_send,
    .read = read_token,
    .watch = watch_files,
    .grant = grant_token,
};
