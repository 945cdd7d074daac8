/* SPDX-License-Identifier: MIT */
/* Subcommand get: a credential in the format of an SDK's plugin, from the running agent or by an exchange. */
#include "agent/cmd/commands_private.h"

#include "agent/cli/fetch.h"
#include "agent/loop/env.h"
#include "agent/source/exchange_sync.h"
#include "base/log.h"
#include "files/file.h"
#include "files/format/format.h"
#include "files/single.h"
#include "kube/exec_credential.h"
#include "serve/sdk/plugin_output.h"
#include "token/claims.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define AGENT_WAIT_MS    4000  /* an agent that is just being restarted; Google's SDKs wait 5 s at least */
#define EXCHANGE_WAIT_MS 25000 /* and 30 s where nothing else is written */
#define OUTPUT_MODE      0600

/* One call of the command. */
struct get {
    const struct cfr_cli_options *o;
    const char *name;
    int64_t end_boot_ms;
    struct cfr_grant grant;
    struct cfr_secret out;
    int status; /* what the command ends with if it fails */
};

/* ---- by an exchange of its own ---- */

static int exchange(struct get *g, struct cfr_err *err)
{
    struct cfr_config *config = NULL;
    const struct cfr_config_credential *c;
    int rc;

    /* What goes well is said by the answer alone. */
    cfr_log_setup(CFR_LOG_ERROR, CFR_LOG_TEXT, false);
    g->status = CFR_EXIT_CONFIG;
    rc = cfr_config_load(g->o->config, cfr_env_get, &config, NULL, err);
    if (rc != 0)
        return rc;
    c = cfr_config_find(config, g->name);
    if (c == NULL) {
        g->status = CFR_EXIT_REFUSED;
        rc = cfr_err_set(err, CFR_E_MISSING, "%s has no credential %s", g->o->config, g->name);
    } else {
        rc = cfr_source_sync_grant(c, g->end_boot_ms, &g->grant, err);
        g->status = rc == CFR_E_TIMEOUT ? CFR_EXIT_TIMEOUT : CFR_EXIT_FAILED;
    }
    cfr_config_free(config);
    return rc;
}

/* ---- what is printed ---- */

/* A token's own claim where it has one: what was granted for it may live longer or shorter. */
static int64_t expires_of(const struct get *g, struct cfr_view token)
{
    struct cfr_claims claims;
    int64_t expires_s = g->grant.expires_s;

    if (cfr_claims_decode(token, &claims, NULL) != 0)
        return expires_s;
    expires_s = cfr_claims_expires(&claims);
    cfr_claims_free(&claims);
    return expires_s;
}

static int64_t now_s(void)
{
    return cfr_clock_now().wall_ms / 1000;
}

static int print_aws(struct get *g, struct cfr_err *err)
{
    const struct cfr_format_input in = {.credential = g->name, .grant = &g->grant};

    return cfr_format_find(cfr_view_of("aws-credential-process"))->render(&in, &g->out, err);
}

static int print_token(struct get *g, struct cfr_err *err)
{
    const struct cfr_grant_field *f;
    int rc = cfr_sdk_plugin_field(&g->grant, CFR_SDK_PLUGIN_ANY, g->o->field, &f, err);

    if (rc == 0)
        rc = cfr_secret_append(&g->out, cfr_secret_view(&f->value), err);
    /* Only for people: programs take every byte. */
    return rc == 0 && isatty(STDOUT_FILENO) ? cfr_secret_append_str(&g->out, "\n", err) : rc;
}

/* The SDK looks there first the next time. It does without, if need be. */
static void keep_output(const struct get *g, const char *path)
{
    struct cfr_file file = {
        .content = cfr_secret_view(&g->out), .mode = OUTPUT_MODE, .uid = CFR_FILE_KEEP_ID, .gid = (gid_t)-1};
    struct cfr_err err = {0};
    bool changed;

    if (cfr_single_publish(path, &file, true, NULL, &changed, &err) != 0 &&
        cfr_env_get("GOOGLE_EXTERNAL_ACCOUNT_AUDIENCE") == NULL)
        cfr_cli_complain("%s: cannot keep the answer for the next time: %s", g->name, err.text);
}

static int print_gcp(struct get *g, struct cfr_err *err)
{
    const char *output = cfr_env_get("GOOGLE_EXTERNAL_ACCOUNT_OUTPUT_FILE");
    const struct cfr_grant_field *f;
    int64_t expires_s = 0;
    int rc = cfr_sdk_plugin_field(&g->grant, CFR_SDK_PLUGIN_SUBJECT, g->o->field, &f, err);

    if (rc == 0)
        expires_s = cfr_sdk_plugin_early(expires_of(g, cfr_secret_view(&f->value)), now_s());
    if (rc == 0 && output != NULL && expires_s == 0)
        rc = cfr_err_set(
            err, CFR_E_CONFIG,
            "the token's expiry is unknown, so it must not be cached: remove output_file from the credential file");
    if (rc == 0)
        rc = cfr_sdk_plugin_gcp(cfr_secret_view(&f->value), cfr_env_get("GOOGLE_EXTERNAL_ACCOUNT_TOKEN_TYPE"),
                                expires_s, &g->out, err);
    if (rc == 0 && output != NULL)
        keep_output(g, output);
    return rc;
}

static int copy(struct cfr_secret *to, struct cfr_view from, struct cfr_err *err)
{
    cfr_secret_init(to, from.n);
    return cfr_secret_append(to, from, err);
}

/* A certificate with its key where a Secret has them, else a token. */
static int fill_kube(const struct get *g, struct cfr_k8s_exec_credential *c, struct cfr_err *err)
{
    struct cfr_view cert = cfr_grant_get(&g->grant, CFR_FIELD_SECRET_PREFIX "tls.crt");
    struct cfr_view key = cfr_grant_get(&g->grant, CFR_FIELD_SECRET_PREFIX "tls.key");
    const struct cfr_grant_field *f;
    int rc;

    c->expires_s = cfr_sdk_plugin_early(g->grant.expires_s, now_s());
    if (g->o->field == NULL && cert.n != 0 && key.n != 0) {
        rc = copy(&c->cert, cert, err);
        return rc != 0 ? rc : copy(&c->key, key, err);
    }
    rc = cfr_sdk_plugin_field(&g->grant, CFR_SDK_PLUGIN_CLUSTER, g->o->field, &f, err);
    if (rc != 0)
        return rc;
    c->expires_s = cfr_sdk_plugin_early(expires_of(g, cfr_secret_view(&f->value)), now_s());
    return copy(&c->token, cfr_view_trim(cfr_secret_view(&f->value)), err);
}

static int print_kube(struct get *g, struct cfr_err *err)
{
    struct cfr_k8s_exec_credential c = {.expires_s = 0};
    const char *version;
    int rc = cfr_k8s_exec_credential_version_of(cfr_view_of(cfr_env_get("KUBERNETES_EXEC_INFO")), &version, err);

    if (rc == 0)
        rc = fill_kube(g, &c, err);
    if (rc == 0)
        rc = cfr_k8s_exec_credential_write(version, &c, &g->out, err);
    cfr_k8s_exec_credential_free(&c);
    return rc;
}

/* Google's SDKs show an error only in their own format. True if it was reported in that format. */
static bool report_gcp(struct get *g, const struct cfr_err *err)
{
    if (cfr_env_get("GOOGLE_EXTERNAL_ACCOUNT_AUDIENCE") == NULL)
        return false;
    cfr_secret_clear(&g->out);
    return cfr_sdk_plugin_gcp_failed(err, &g->out, NULL) == 0;
}

static const struct kind {
    const char *name;
    int (*print)(struct get *g, struct cfr_err *err);
} kinds[] = {{"aws", print_aws}, {"gcp", print_gcp}, {"kube", print_kube}, {"token", print_token}};

static const struct kind *find_kind(const char *name)
{
    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++) {
        if (strcmp(kinds[i].name, name) == 0)
            return &kinds[i];
    }
    return NULL;
}

/* Not by stdio, which would leave a copy. */
static int write_out(const struct cfr_secret *out, struct cfr_err *err)
{
    size_t done = 0;

    while (done < out->len) {
        ssize_t n = write(STDOUT_FILENO, out->p + done, out->len - done);

        if (n > 0)
            done += (size_t)n;
        else if (n < 0 && errno != EINTR)
            return cfr_err_sys(err, errno, "cannot write to standard output");
    }
    return 0;
}

static int obtain(struct get *g, const struct kind *kind, struct cfr_err *err)
{
    int rc;

    if (kind->print == print_gcp && cfr_view_is(cfr_view_of(cfr_env_get("GOOGLE_EXTERNAL_ACCOUNT_REVOKE")), "1"))
        return cfr_sdk_plugin_gcp_revoked(&g->out, err);
    rc = g->o->config_option != NULL ? exchange(g, err)
                                     : cfr_cli_fetch(g->o, g->name, g->end_boot_ms, &g->grant, &g->status, err);
    if (rc != 0)
        return rc;
    g->status = CFR_EXIT_FAILED;
    return kind->print(g, err);
}

int cfr_cmd_get(const struct cfr_cli_options *o)
{
    int64_t limit_ms = o->timeout_ms >= 0 ? o->timeout_ms : o->config_option != NULL ? EXCHANGE_WAIT_MS : AGENT_WAIT_MS;
    const struct kind *kind = find_kind(o->args[0]);
    struct get g = {.o = o, .name = o->args[1], .end_boot_ms = cfr_clock_now().boot_ms + limit_ms};
    struct cfr_err err = {0};
    int status = CFR_EXIT_OK;

    if (kind == NULL || !cfr_cli_is_plain_name(g.name)) {
        cfr_cli_complain(kind == NULL ? "unknown kind \"%s\": use aws, gcp, kube or token"
                                      : "invalid credential name \"%s\"",
                         kind == NULL ? o->args[0] : g.name);
        return CFR_EXIT_USAGE;
    }
    cfr_json_setup();
    cfr_secret_init(&g.out, CFR_SDK_PLUGIN_ANSWER_MAX);
    if (obtain(&g, kind, &err) != 0) {
        status = g.status;
        if (kind->print == print_gcp && report_gcp(&g, &err))
            status = CFR_EXIT_OK;
        else
            cfr_secret_clear(&g.out);
    }
    if (status == CFR_EXIT_OK && write_out(&g.out, &err) != 0)
        status = CFR_EXIT_FAILED;
    if (status != CFR_EXIT_OK)
        cfr_cli_complain("%s: %s", g.name, err.text);
    cfr_grant_free(&g.grant);
    cfr_secret_free(&g.out);
    return status;
}
