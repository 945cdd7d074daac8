/* SPDX-License-Identifier: MIT */
/* Loading the configuration. */
#include "agent/config/config_private.h"

#include "agent/bind/bind.h"
#include "agent/bind/variables.h"
#include "agent/config/crosscheck_private.h"
#include "agent/config/schema_private.h"
#include "agent/config/from_environment.h"
#include "base/hash.h"
#include "base/log.h"
#include "base/str.h"
#include "base/yaml.h"
#include "files/file.h"

#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define DIRECTORY_MODE  0755
#define FILES_MODE      0600
#define SOCKET_PATH_MAX 107
#define LARGE_BYTES     65536

void cfr_config_free(struct cfr_config *config)
{
    if (config == NULL)
        return;
    cfr_field_free(&cfr_config_table, config);
    free(config);
}

int cfr_config_need_credentials(const char *path, const struct cfr_config *config, struct cfr_err *err)
{
    if (config->credentials.count != 0)
        return 0;
    return cfr_err_set(err, CFR_E_CONFIG,
                       "%s: credentials: is missing; the file has only image_credentials, which `credfresh "
                       "image-credential-provider` uses",
                       path != NULL ? path : "environment");
}

static void default_socket(struct cfr_config *config, struct cfr_config_diagnostics *ps)
{
    struct cfr_str path = {.limit = 8192};

    if (config->control_socket != NULL || config->state_dir == NULL)
        return;
    cfr_str_addf(&path, "%s/" CFR_CONFIG_SOCKET_NAME, config->state_dir);
    if (path.failed)
        ps->nomem = true;
    else if (path.len > SOCKET_PATH_MAX)
        cfr_config_diagnostics_add(ps, config->node.line,
                                   "control_socket: by default it is %s in state_dir, which is longer than the %d "
                                   "bytes that a socket can have; write a shorter path",
                                   CFR_CONFIG_SOCKET_NAME, SOCKET_PATH_MAX);
    config->control_socket = path.p;
}

static void default_log(struct cfr_config *config, struct cfr_config_diagnostics *ps)
{
    if (config->log != NULL)
        return;
    config->log = calloc(1, sizeof *config->log);
    if (config->log == NULL) {
        ps->nomem = true;
        return;
    }
    config->log->level = CFR_LOG_INFO;
    config->log->format = CFR_LOG_TEXT;
}

static void mark_served(void *ctx, const struct cfr_sdk_use *use)
{
    struct cfr_config_credential *c = use->credential != NULL ? cfr_config_find(ctx, use->credential) : NULL;

    if (c != NULL)
        c->served = true;
}

static void default_endpoints(struct cfr_config *config, struct cfr_config_diagnostics *ps)
{
    for (size_t i = 0; i < config->endpoints.count; i++) {
        const struct cfr_config_endpoint *e = cfr_config_endpoint_at(config, i);
        const struct cfr_sdk_shape *shape;
        void *found;

        for (size_t k = 0; (shape = cfr_config_shape_at(e, k, &found)) != NULL; k++) {
            ps->nomem = ps->nomem || (shape->complete != NULL && shape->complete(found, NULL) != 0);
            shape->each_use(found, mark_served, config);
        }
    }
}

/* What rotates the keys of others is kept in memory for them. */
static void mark_admins(struct cfr_config *config)
{
    for (size_t i = 0; i < config->credentials.count; i++) {
        const struct cfr_config_mint *mint = cfr_config_at(config, i)->mint;
        struct cfr_config_credential *with =
            mint != NULL && mint->with != NULL ? cfr_config_find(config, mint->with) : NULL;

        if (with == NULL || with->admin)
            continue;
        with->admin = true;
        with->admin_only = !with->served && with->publish.count == 0;
        with->served = true;
    }
}

/* Defaults that the tables cannot express, because they depend on other keys. */
static void set_defaults(struct cfr_config *config, struct cfr_config_diagnostics *ps)
{
    default_socket(config, ps);
    default_log(config, ps);
    default_endpoints(config, ps);
    for (size_t i = 0; i < config->credentials.count; i++) {
        struct cfr_config_credential *c = cfr_config_at(config, i);
        struct cfr_config_publish *targets = c->publish.items;

        c->served = c->served || c->allow != NULL;
        for (size_t j = 0; j < c->publish.count; j++) {
            if (targets[j].directory != NULL && targets[j].directory_mode == -1)
                targets[j].directory_mode = DIRECTORY_MODE;
            if (targets[j].directory != NULL && targets[j].files.count == 0 && targets[j].files_mode == -1)
                targets[j].files_mode = FILES_MODE;
        }
    }
    mark_admins(config);
}

/* Whose keys they are decides the published bytes; when and how they are rotated does not. */
static uint64_t add_mint(uint64_t h, const struct cfr_config_mint *mint)
{
    char subject[CFR_ROTATION_SUBJECT_MAX];

    if (mint == NULL)
        return h;
    cfr_config_mint_subject(mint, subject);
    return cfr_hash_add(h, subject, strlen(subject) + 1);
}

static void set_digests(struct cfr_config *config)
{
    const unsigned hooks = CFR_FIELD_REDO_NOTHING;
    const unsigned material = hooks | CFR_FIELD_REDO_HOOKS;
    const unsigned source = material | CFR_FIELD_REDO_PUBLISH;

    for (size_t i = 0; i < config->credentials.count; i++) {
        struct cfr_config_credential *c = cfr_config_at(config, i);

        c->digest = cfr_config_digest(&cfr_config_credential_table, c, hooks);
        c->digest_material = add_mint(cfr_config_digest(&cfr_config_credential_table, c, material), c->mint);
        c->digest_source = add_mint(cfr_config_digest(&cfr_config_credential_table, c, source), c->mint);
    }
}

static void read_text(struct cfr_view text, const char *(*env)(const char *), struct cfr_config *config,
                      struct cfr_config_diagnostics *ps)
{
    struct cfr_yaml *doc;
    struct cfr_err err = {0};
    int line = 0;
    int rc = cfr_yaml_parse(text, &doc, &line, &err);

    if (rc == CFR_E_NOMEM)
        ps->nomem = true;
    else if (rc != 0)
        cfr_config_diagnostics_add(ps, line, "%s", err.text);
    if (rc != 0)
        return;
    cfr_config_bind(&cfr_config_table, cfr_yaml_root(doc), config, ps);
    cfr_yaml_free(doc);
    if (config->node.line == 0) /* no mapping with keys of a configuration */
        return;
    if (!ps->nomem)
        set_defaults(config, ps);
    if (!ps->nomem)
        cfr_config_check_conflicts(config, ps);
    if (!ps->nomem)
        cfr_config_check_sources(config, env, ps);
}

/* The document is read once more, because it was not kept for a configuration without mistakes. */
static void locate_problems(struct cfr_view text, struct cfr_config_diagnostics *ps)
{
    struct cfr_yaml *doc;
    int line;
    int rc = cfr_yaml_parse(text, &doc, &line, NULL);

    ps->nomem = rc == CFR_E_NOMEM;
    if (rc != 0)
        return;
    cfr_config_diagnostics_locate(ps, cfr_yaml_root(doc));
    cfr_yaml_free(doc);
}

/* A configuration that was made from the environment has no lines that a user could look up. */
static void name_variables(const char *(*env)(const char *), struct cfr_config_diagnostics *ps)
{
    for (size_t i = 0; i < ps->count && i < CFR_CONFIG_DIAGNOSTICS_MAX; i++) {
        ps->items[i].line = 0;
        cfr_config_diagnostics_name_variables(env, NULL, ps->items[i].text, sizeof ps->items[i].text);
    }
}

/* PATH is NULL for a configuration that was made from the environment. */
static int parse(const char *path, struct cfr_view text, const char *(*env)(const char *), bool look_at_files,
                 struct cfr_config **out, struct cfr_str *all, struct cfr_err *err)
{
    struct cfr_config *config = calloc(1, sizeof *config);
    struct cfr_config_diagnostics *ps = calloc(1, sizeof *ps);
    int rc;

    if (config == NULL || ps == NULL) {
        free(config);
        free(ps);
        return cfr_err_nomem(err);
    }
    read_text(text, env, config, ps);
    if (look_at_files && !ps->nomem)
        cfr_config_check_files(config, ps);
    if (look_at_files && !ps->nomem)
        cfr_config_resolve_ids(config, ps);
    if (!ps->nomem && ps->count != 0 && path != NULL)
        locate_problems(text, ps);
    else if (path == NULL)
        name_variables(env, ps);
    rc = cfr_config_diagnostics_report(ps, path != NULL ? path : "environment", all, err);
    free(ps);
    if (rc != 0) {
        cfr_config_free(config);
        return rc;
    }
    set_digests(config);
    for (size_t i = 0; i < config->credentials.count; i++)
        cfr_config_at(config, i)->from_environment = path == NULL;
    *out = config;
    return 0;
}

/* An error that is about the whole file goes to ALL as well. */
static int refuse(struct cfr_str *all, const struct cfr_err *err)
{
    if (all != NULL && err->code != CFR_E_NOMEM)
        cfr_str_addf(all, "%s\n", err->text);
    return err->code;
}

static int check_size(const char *path, size_t n, struct cfr_str *all, struct cfr_err *err)
{
    if (n <= CFR_CONFIG_FILE_MAX)
        return 0;
    (void)cfr_err_set(err, CFR_E_LIMIT, "%s: is larger than %d MiB, the limit for a configuration", path,
                      CFR_CONFIG_FILE_MAX / 1048576);
    return refuse(all, err);
}

int cfr_config_parse(const char *path, struct cfr_view text, const char *(*env)(const char *), struct cfr_config **out,
                     struct cfr_str *all, struct cfr_err *err)
{
    struct cfr_err local = {0};
    int rc;

    *out = NULL;
    if (err == NULL)
        err = &local;
    rc = check_size(path, text.n, all, err);
    return rc != 0 ? rc : parse(path, text, env, false, out, all, err);
}

static int load_environment(const char *(*env)(const char *), struct cfr_config **out, struct cfr_str *all,
                            struct cfr_err *err)
{
    struct cfr_str text = {.limit = CFR_CONFIG_FILE_MAX};
    int rc = cfr_config_environment_yaml(env, &text, err);

    rc = rc != 0 ? refuse(all, err) : parse(NULL, cfr_str_view(&text), env, true, out, all, err);
    cfr_str_free(&text);
    return rc;
}

int cfr_config_load(const char *path, const char *(*env)(const char *), struct cfr_config **out, struct cfr_str *all,
                    struct cfr_err *err)
{
    struct cfr_secret content;
    struct cfr_err local = {0};
    bool large;
    int rc;

    *out = NULL;
    if (err == NULL)
        err = &local;
    if (path == NULL)
        return load_environment(env, out, all, err);
    cfr_secret_init(&content, CFR_CONFIG_FILE_MAX);
    rc = cfr_file_read(path, &content, err);
    if (rc == CFR_E_LIMIT)
        rc = check_size(path, (size_t)CFR_CONFIG_FILE_MAX + 1, all, err);
    else if (rc != 0)
        rc = refuse(all, err);
    else
        rc = parse(path, cfr_secret_view(&content), env, true, out, all, err);
    large = content.len > LARGE_BYTES;
    cfr_secret_free(&content);
    /* What reading a large document took would otherwise stay with the process for good. */
    if (large)
        (void)malloc_trim(0);
    return rc;
}
