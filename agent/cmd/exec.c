/* SPDX-License-Identifier: MIT */
/* Subcommand exec: a command with its credentials, and the agent that keeps them fresh. */
#include "agent/cmd/commands_private.h"
#include "agent/config/sdk_environment.h"
#include "agent/daemon/daemon.h"
#include "agent/loop/env.h"
#include "agent/loop/process.h"
#include "base/json.h"
#include "serve/sdk/env.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define PUBLISH_MS   60000 /* as for once */
#define SPARE_MS     2000  /* what an agent may take to end, beyond what it may take to finish its work */
#define SOCKET       "CREDFRESH_SOCKET"
#define TOKEN_SOCKET "CREDFRESH_TOKEN_SOCKET"

enum cloud { AWS, GCP, AZURE, OPENSTACK, DOCKER, CLOUDS };

static const char *const cloud_names[CLOUDS] = {"AWS", "Google Cloud", "Azure", "OpenStack", "docker"};

/* One call of the command. */
struct launch {
    const struct cfr_cli_options *o;
    struct cfr_daemon_options agent;
    struct cfr_config *config;
    struct cfr_cli_names given;
    struct cfr_strings names;  /* of GIVEN, borrowed */
    struct cfr_sdk_env env;    /* what is set for the command */
    const char *owner[CLOUDS]; /* the credential that a cloud's SDKs are pointed at; NULL = none */
    char **environment;        /* for execve; the texts up to `own` are our own environment's */
    size_t own;
};

static bool exists(const char *path)
{
    return access(path, F_OK) == 0;
}

/* ---- the variables of each credential ---- */

static enum cloud cloud_of(enum cfr_sdk_env_way way)
{
    switch (way) {
    case CFR_SDK_ENV_AWS_CONTAINER:
    case CFR_SDK_ENV_AWS_IMDS:
    case CFR_SDK_ENV_AWS_FILE:
        return AWS;
    case CFR_SDK_ENV_GCP_METADATA:
    case CFR_SDK_ENV_GCP_FILE:
        return GCP;
    case CFR_SDK_ENV_OPENSTACK_FILE:
        return OPENSTACK;
    case CFR_SDK_ENV_DOCKER_FILE:
    case CFR_SDK_ENV_OTHER_FILE:
        return DOCKER;
    default:
        return AZURE;
    }
}

/* A way that wants a secret in the environment is not gone: others can read it there, and it is inherited. */
static bool wants_secret(const struct cfr_sdk_env *e, enum cfr_sdk_env_way way)
{
    for (size_t i = 0; i < e->count; i++) {
        if (e->items[i].way == way && e->items[i].from_file)
            return true;
    }
    return false;
}

/* The first credential of a cloud sets the variables of its SDKs; --name chooses another one. */
static bool is_ours(struct launch *l, const char *credential, enum cloud cloud)
{
    if (l->owner[cloud] == NULL)
        l->owner[cloud] = credential;
    return l->owner[cloud] == credential;
}

static int add_variables(struct launch *l, const char *credential, const struct cfr_sdk_env *from, struct cfr_err *err)
{
    bool reported[CLOUDS] = {false};
    int rc = 0;

    for (size_t i = 0; rc == 0 && i < from->count; i++) {
        const struct cfr_sdk_env_variable *v = &from->items[i];
        enum cloud cloud = cloud_of(v->way);

        if (v->from_file && !l->o->quiet)
            cfr_cli_complain(
                "%s: %s is not set, because the environment would then hold a secret: serve the credential in "
                "another shape, or publish it as a file",
                credential, v->name);
        if (wants_secret(from, v->way))
            continue;
        if (is_ours(l, credential, cloud)) {
            rc = cfr_sdk_env_set(&l->env, v->way, v->name, v->value, err);
        } else if (!reported[cloud] && !l->o->quiet) {
            reported[cloud] = true;
            cfr_cli_complain("%s: the variables of %s are those of %s already; choose with --name", credential,
                             cloud_names[cloud], l->owner[cloud]);
        }
    }
    return rc;
}

static int add_credential(struct launch *l, const struct cfr_config_credential *c, struct cfr_err *err)
{
    struct cfr_sdk_env env = {.count = 0};
    int rc = cfr_config_sdk_environment(l->config, c, &env, err);

    for (size_t i = 0; rc == 0 && !l->o->quiet && i < env.note_count; i++)
        cfr_cli_complain("%s: %s", c->name, env.notes[i]);
    if (rc == 0)
        rc = add_variables(l, c->name, &env, err);
    cfr_sdk_env_free(&env);
    return rc;
}

static int add_credentials(struct launch *l, struct cfr_err *err)
{
    int rc = 0;

    for (size_t i = 0; rc == 0 && i < l->names.count; i++) {
        const struct cfr_config_credential *c = cfr_config_find(l->config, l->names.items[i]);

        rc = c != NULL ? add_credential(l, c, err)
                       : cfr_err_set(err, CFR_E_CONFIG, "there is no credential %.63s in the configuration",
                                     l->names.items[i]);
    }
    for (size_t i = 0; rc == 0 && l->names.count == 0 && i < l->config->credentials.count; i++)
        rc = add_credential(l, cfr_config_at(l->config, i), err);
    return rc;
}

/* ---- the whole environment ---- */

/* Whether one of our own variables is handed on, and why not. */
static bool is_kept(const struct launch *l, const char *assignment)
{
    size_t n = strcspn(assignment, "=");
    char name[128];
    const char *why;

    if (n >= sizeof name || assignment[n] != '=')
        return true;
    memcpy(name, assignment, n);
    name[n] = '\0';
    if (strcmp(name, SOCKET) == 0 || strcmp(name, TOKEN_SOCKET) == 0 || cfr_sdk_env_find(&l->env, name) != NULL)
        return false;
    why = cfr_sdk_env_overrides(&l->env, name, assignment + n + 1);
    if (why != NULL)
        cfr_cli_complain("%s is removed from the environment: %s", name, why);
    return why == NULL;
}

static bool add_text(struct launch *l, size_t *count, const char *name, const char *value)
{
    char *text = NULL;

    if (asprintf(&text, "%s=%s", name, value) < 0)
        return false;
    l->environment[(*count)++] = text;
    return true;
}

static int make_environment(struct launch *l, struct cfr_err *err)
{
    size_t count = 0;
    bool good;

    while (environ[count] != NULL)
        count++;
    l->environment = calloc(count + l->env.count + 3, sizeof *l->environment);
    if (l->environment == NULL)
        return cfr_err_nomem(err);
    count = 0;
    for (char **e = environ; *e != NULL; e++) {
        if (is_kept(l, *e))
            l->environment[count++] = *e;
    }
    l->own = count;
    good = add_text(l, &count, SOCKET, l->config->control_socket);
    if (good && l->config->token_socket != NULL)
        good = add_text(l, &count, TOKEN_SOCKET, l->config->token_socket);
    for (size_t i = 0; good && i < l->env.count; i++)
        good = add_text(l, &count, l->env.items[i].name, l->env.items[i].value);
    return good ? 0 : cfr_err_nomem(err);
}

/* What is left: files that SDKs read first, proxies. */
static void warn(const struct launch *l)
{
    const struct cfr_sdk_env_place place = {cfr_env_get, exists};
    struct cfr_str text = {.limit = 16384};
    struct cfr_view rest;
    struct cfr_view line;

    cfr_sdk_env_warn(&l->env, &place, NULL, &text);
    rest = cfr_str_view(&text);
    while (cfr_view_line(&rest, &line))
        cfr_cli_complain("%.*s", (int)line.n, line.p);
    cfr_str_free(&text);
}

/* ---- the command ---- */

static int be_agent(void *ctx, int ready_fd)
{
    const struct launch *l = ctx;
    struct cfr_daemon_options options = l->agent;

    options.ready_fd = ready_fd;
    options.gate = &l->names;
    cfr_process_harden();
    return cfr_daemon_run(&options);
}

/* Complains itself. */
static int load(struct launch *l)
{
    struct cfr_str all = {.limit = 16384};
    struct cfr_err err = {0};
    int rc = cfr_config_load(l->o->config, cfr_env_get, &l->config, &all, &err);

    if (rc == 0)
        rc = cfr_config_need_credentials(l->o->config, l->config, &err);
    if (all.len != 0) {
        cfr_cli_complain("the configuration has mistakes:");
        cfr_cli_print_mistakes(cfr_str_view(&all));
    } else if (rc != 0) {
        cfr_cli_complain("%s", err.text);
    }
    cfr_str_free(&all);
    return rc;
}

static int launch(struct launch *l)
{
    struct cfr_cmd_supervise s = {
        .argv = l->o->args,
        .environment = l->environment,
        .agent = be_agent,
        .ctx = l,
        .timeout_ms = l->o->timeout_ms >= 0 ? l->o->timeout_ms : PUBLISH_MS,
        .grace_ms = l->config->stop_grace_ms + SPARE_MS,
    };

    return cfr_cmd_supervise_run(&s);
}

int cfr_cmd_exec(const struct cfr_cli_options *o)
{
    struct launch l = {.o = o, .given = o->names, .agent = {.config_path = o->config}};
    struct cfr_err err = {0};
    int status = CFR_EXIT_CONFIG;
    int rc;

    if (!cfr_cmd_log_options(o, &l.agent))
        return CFR_EXIT_USAGE;
    cfr_json_setup();
    l.names = (struct cfr_strings){l.given.items, l.given.count};
    rc = load(&l);
    if (rc == 0) {
        rc = add_credentials(&l, &err);
        if (rc == 0)
            rc = make_environment(&l, &err);
        if (rc != 0)
            cfr_cli_complain("%s", err.text);
    }
    if (rc == 0) {
        if (!o->quiet)
            warn(&l);
        status = launch(&l);
    }
    for (size_t i = l.own; l.environment != NULL && l.environment[i] != NULL; i++)
        free(l.environment[i]);
    free((void *)l.environment);
    cfr_sdk_env_free(&l.env);
    cfr_config_free(l.config);
    return status;
}
