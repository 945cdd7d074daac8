/* SPDX-License-Identifier: MIT */
/* From the configuration to the environment of a program that uses a credential. */
#include "agent/config/sdk_environment.h"

#include "agent/config/config_private.h"
#include "agent/config/kinds.h"
#include "files/format/format.h"
#include "sts/aws/aws.h"
#include "sts/azure/azure.h"
#include "sts/azure/settings.h"
#include "sts/mounted/mounted.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>

#define AWS_WAYS   ((1U << CFR_SDK_ENV_AWS_CONTAINER) | (1U << CFR_SDK_ENV_AWS_IMDS))
#define GCP_WAYS   (1U << CFR_SDK_ENV_GCP_METADATA)
#define AZURE_WAYS ((1U << CFR_SDK_ENV_AZURE_APP_SERVICE) | (1U << CFR_SDK_ENV_AZURE_IMDS))

/* A file that is published. */
struct published {
    const char *path;
    const char *variable;   /* by which SDKs find it; NULL = none */
    bool is_token;          /* it holds the subject token alone */
    const char *profile;    /* NULL = default */
    const char *cloud;      /* clouds-yaml; NULL = the default */
    const char *token_path; /* azure-env: where its token is */
};

struct collect {
    const struct cfr_config_credential *credential;
    struct cfr_sdk_env *out;
    struct cfr_err *err;
    int rc;
    unsigned served; /* ways of endpoints */
};

static void set(struct collect *c, enum cfr_sdk_env_way way, const char *name, const char *value)
{
    if (c->rc == 0 && value != NULL)
        c->rc = cfr_sdk_env_set(c->out, way, name, value, c->err);
}

/* False, with a note, if endpoints serve those who would read the file PATH. */
static bool wanted(struct collect *c, unsigned ways, const char *name, const char *path)
{
    if ((c->served & ways) == 0)
        return c->rc == 0;
    if (c->rc == 0)
        c->rc = cfr_sdk_env_note(c->out, c->err,
                                 "%s=%s is left out: it would keep SDKs from the endpoint, which they ask again in "
                                 "time",
                                 name, path);
    return false;
}

static const char *or_else(const char *text, const char *otherwise)
{
    return text != NULL ? text : otherwise;
}

/* ---- files ---- */

/* A file that Go's or Rust's SDK may not read counts as none, and the node's role would be taken without a word. */
static void disable_imds(struct collect *c)
{
    set(c, CFR_SDK_ENV_AWS_FILE, "AWS_EC2_METADATA_DISABLED", "true");
}

static void aws_file(struct collect *c, const struct published *f)
{
    if (!wanted(c, AWS_WAYS, f->variable, f->path))
        return;
    set(c, CFR_SDK_ENV_AWS_FILE, f->variable, f->path);
    set(c, CFR_SDK_ENV_AWS_FILE, "AWS_PROFILE", or_else(f->profile, "default"));
    /* Older Go programs leave the config file alone otherwise. */
    if (strcmp(f->variable, "AWS_CONFIG_FILE") == 0)
        set(c, CFR_SDK_ENV_AWS_FILE, "AWS_SDK_LOAD_CONFIG", "1");
    disable_imds(c);
}

static void gcp_file(struct collect *c, const struct published *f)
{
    if (!wanted(c, GCP_WAYS, "GOOGLE_APPLICATION_CREDENTIALS", f->path))
        return;
    set(c, CFR_SDK_ENV_GCP_FILE, "GOOGLE_APPLICATION_CREDENTIALS", f->path);
    set(c, CFR_SDK_ENV_GCP_FILE, "CLOUDSDK_AUTH_CREDENTIAL_FILE_OVERRIDE", f->path);
}

static void gcloud_token(struct collect *c, const struct published *f)
{
    /* gcloud reads it once, and takes it before anything that it could renew by itself. */
    if (cfr_sdk_env_find(c->out, "CLOUDSDK_AUTH_CREDENTIAL_FILE_OVERRIDE") != NULL)
        return;
    if (wanted(c, GCP_WAYS, "CLOUDSDK_AUTH_ACCESS_TOKEN_FILE", f->path))
        set(c, CFR_SDK_ENV_GCP_FILE, "CLOUDSDK_AUTH_ACCESS_TOKEN_FILE", f->path);
}

static void openstack_file(struct collect *c, const struct published *f)
{
    set(c, CFR_SDK_ENV_OPENSTACK_FILE, "OS_CLIENT_CONFIG_FILE", f->path);
    set(c, CFR_SDK_ENV_OPENSTACK_FILE, "OS_CLOUD", or_else(f->cloud, "openstack"));
}

static void docker_file(struct collect *c, const struct published *f)
{
    const char *slash = strrchr(f->path, '/');
    char directory[PATH_MAX];

    set(c, CFR_SDK_ENV_DOCKER_FILE, "REGISTRY_AUTH_FILE", f->path);
    /* docker knows directories only, and one name in them. */
    if (slash == NULL || strcmp(slash, "/config.json") != 0)
        return;
    (void)snprintf(directory, sizeof directory, "%.*s", (int)(slash - f->path), f->path);
    set(c, CFR_SDK_ENV_DOCKER_FILE, "DOCKER_CONFIG", directory);
}

const char *cfr_config_sdk_role_arn(const struct cfr_config_credential *c)
{
    const struct cfr_aws *aws = cfr_config_exchange_of(c, &cfr_aws_provider);
    size_t steps = aws != NULL ? aws->then_assume.count : 0;

    if (aws == NULL)
        return NULL;
    return steps != 0 ? ((const struct cfr_aws_step *)aws->then_assume.items)[steps - 1].role_arn : aws->role_arn;
}

static const struct cfr_azure *azure_of(const struct cfr_config_credential *c)
{
    return cfr_config_exchange_of(c, &cfr_azure_provider);
}

static void azure_token(struct collect *c, const char *path)
{
    const struct cfr_azure *azure = azure_of(c->credential);
    char host[CFR_AZURE_AUTHORITY_MAX + 1];
    struct cfr_azure_settings place;

    if (path == NULL || !wanted(c, AZURE_WAYS, "AZURE_FEDERATED_TOKEN_FILE", path))
        return;
    set(c, CFR_SDK_ENV_AZURE_FILE, "AZURE_FEDERATED_TOKEN_FILE", path);
    if (azure == NULL)
        return;
    set(c, CFR_SDK_ENV_AZURE_FILE, "AZURE_CLIENT_ID", azure->client_id);
    set(c, CFR_SDK_ENV_AZURE_FILE, "AZURE_TENANT_ID", azure->tenant_id);
    /* Without an environment to look into it may not be known. */
    if (cfr_azure_settings_of(azure, NULL, &place, NULL) != 0)
        return;
    (void)snprintf(host, sizeof host, "%s/", place.authority);
    set(c, CFR_SDK_ENV_AZURE_FILE, "AZURE_AUTHORITY_HOST", host);
}

static void azure_file(struct collect *c, const struct published *f)
{
    azure_token(c, f->token_path);
}

/* A token that the SDK itself can trade for the role, where nothing nearer to the SDK is published. */
static void aws_token(struct collect *c, const struct published *f)
{
    const struct cfr_aws *aws = cfr_config_exchange_of(c->credential, &cfr_aws_provider);

    if (aws == NULL || aws->role_arn == NULL || aws->then_assume.count != 0 || cfr_aws_has_keys(aws) ||
        (c->served & AWS_WAYS) != 0 || cfr_sdk_env_has_way(c->out, CFR_SDK_ENV_AWS_FILE))
        return;
    set(c, CFR_SDK_ENV_AWS_FILE, "AWS_WEB_IDENTITY_TOKEN_FILE", f->path);
    set(c, CFR_SDK_ENV_AWS_FILE, "AWS_ROLE_ARN", aws->role_arn);
    set(c, CFR_SDK_ENV_AWS_FILE, "AWS_ROLE_SESSION_NAME", aws->session_name);
    disable_imds(c);
}

static void token_file(struct collect *c, const struct published *f)
{
    aws_token(c, f);
    if (azure_of(c->credential) != NULL)
        azure_token(c, f->path);
}

/* A file of another variable. */
static void other_file(struct collect *c, const struct published *f)
{
    set(c, CFR_SDK_ENV_OTHER_FILE, f->variable, f->path);
}

/* The variables that take more than their name and a path; see struct cfr_format. */
static const struct sdk_file {
    const char *variable;
    bool last; /* after all others, because it depends on what else there is */
    void (*add)(struct collect *c, const struct published *f);
} sdk_files[] = {
    {"AWS_SHARED_CREDENTIALS_FILE", false, aws_file},    {"AWS_CONFIG_FILE", false, aws_file},
    {"GOOGLE_APPLICATION_CREDENTIALS", false, gcp_file}, {"CLOUDSDK_AUTH_ACCESS_TOKEN_FILE", true, gcloud_token},
    {"OS_CLIENT_CONFIG_FILE", false, openstack_file},    {"REGISTRY_AUTH_FILE", false, docker_file},
    {"AZURE_FEDERATED_TOKEN_FILE", false, azure_file},   {NULL, false, other_file},
};

static void add_file(struct collect *c, const struct published *f, bool last)
{
    const struct sdk_file *row = sdk_files;

    if (last && f->is_token)
        token_file(c, f);
    if (f->variable == NULL)
        return;
    while (row->variable != NULL && strcmp(row->variable, f->variable) != 0)
        row++;
    if (row->last == last)
        row->add(c, f);
}

/* The variable of a Secret's key that holds a whole file of some SDK, or NULL. */
static const char *variable_of_key(const char *key)
{
    if (strcmp(key, "credentials") == 0)
        return "AWS_SHARED_CREDENTIALS_FILE";
    if (strcmp(key, "service_account.json") == 0)
        return "GOOGLE_APPLICATION_CREDENTIALS";
    return strcmp(key, "clouds.yaml") == 0 ? "OS_CLIENT_CONFIG_FILE" : NULL;
}

static const struct cfr_config_file *file_at(const struct cfr_config_publish *t, size_t i)
{
    return (const struct cfr_config_file *)t->files.items + i;
}

static void add_target_file(struct collect *c, const struct cfr_config_publish *t, const struct cfr_config_file *f,
                            bool last)
{
    const struct cfr_format *format = &cfr_formats[f->format];
    const char *key = or_else(f->key, or_else(f->name, ""));
    char path[PATH_MAX];
    char token[PATH_MAX];
    struct published p = {.path = path,
                          .variable = format->sdk_variable,
                          .is_token = format->is_token,
                          .profile = f->profile,
                          .cloud = f->cloud,
                          .token_path = f->token_path};

    if (format->needs != NULL && strcmp(format->needs, CFR_FIELD_SECRET_PREFIX) == 0)
        p.variable = variable_of_key(key);
    (void)snprintf(path, sizeof path, "%s%s%s", or_else(t->directory, ""), t->directory != NULL ? "/" : "",
                   or_else(f->path, or_else(f->name, "")));
    for (size_t i = 0; p.token_path == NULL && i < t->files.count; i++) {
        if (cfr_formats[file_at(t, i)->format].is_token) {
            (void)snprintf(token, sizeof token, "%s/%s", t->directory, file_at(t, i)->name);
            p.token_path = token;
        }
    }
    add_file(c, &p, last);
}

/* Every key of a Secret, whose kind says which ones there are. */
static void add_keys(struct collect *c, const struct cfr_config_publish *t)
{
    static const char *const keys[] = {[CFR_MOUNTED_AWS] = "credentials",
                                       [CFR_MOUNTED_GCP] = "service_account.json",
                                       [CFR_MOUNTED_OPENSTACK] = "clouds.yaml"};
    const struct cfr_config_mounted *secret = c->credential->secret;
    const char *key = secret != NULL && (size_t)secret->kind < sizeof keys / sizeof keys[0] ? keys[secret->kind] : NULL;
    char path[PATH_MAX];

    if (key == NULL)
        return;
    (void)snprintf(path, sizeof path, "%s/%s", t->directory, key);
    add_file(c, &(struct published){.path = path, .variable = variable_of_key(key)}, false);
}

static void add_target(struct collect *c, const struct cfr_config_publish *t, bool last)
{
    struct cfr_config_target_use use = {.format = -1};
    const void *config;
    const struct cfr_config_target_kind *kind = cfr_config_target_kind(t, &config);

    if (t->directory != NULL && t->files.count == 0 && !last)
        add_keys(c, t);
    for (size_t i = 0; t->directory != NULL && i < t->files.count; i++)
        add_target_file(c, t, file_at(t, i), last);
    if (t->file != NULL)
        add_target_file(c, t, t->file, last);
    if (kind != NULL)
        kind->describe(config, &use);
    if (use.format >= 0 && use.path != NULL)
        add_file(c,
                 &(struct published){
                     .path = use.path, .variable = cfr_formats[use.format].sdk_variable, .profile = use.section},
                 last);
}

/* ---- endpoints ---- */

static void add_endpoint(struct collect *c, const struct cfr_config_endpoint *e)
{
    const struct cfr_azure *azure = azure_of(c->credential);
    const char *client_id = azure != NULL ? azure->client_id : NULL;
    const struct cfr_sdk_shape *shape;
    void *found;

    for (size_t i = 0; c->rc == 0 && (shape = cfr_config_shape_at(e, i, &found)) != NULL; i++)
        c->rc = shape->env(c->out, found, e->listen, c->credential->name, client_id, c->err);
}

static void add_region(struct collect *c)
{
    const struct cfr_aws *aws = cfr_config_exchange_of(c->credential, &cfr_aws_provider);
    enum cfr_sdk_env_way way = (c->served & AWS_WAYS) != 0 ? CFR_SDK_ENV_AWS_CONTAINER : CFR_SDK_ENV_AWS_FILE;

    if (aws == NULL || aws->region == NULL || cfr_sdk_env_find(c->out, "AWS_REGION") != NULL ||
        ((c->served & AWS_WAYS) == 0 && !cfr_sdk_env_has_way(c->out, CFR_SDK_ENV_AWS_FILE)))
        return;
    set(c, way, "AWS_REGION", aws->region);
    set(c, way, "AWS_DEFAULT_REGION", aws->region);
}

/* Clients of Kubernetes find a token by no variable, and most of them read a `tokenFile` once. */
static int note_kube(struct collect *c)
{
    const struct cfr_config_credential *k = c->credential;

    if (k->token == NULL || k->exchange != NULL || k->secret != NULL || c->out->count != 0)
        return 0;
    return cfr_sdk_env_note(
        c->out, c->err,
        "write an exec user in the kubeconfig, because most clients of Kubernetes read a `tokenFile` only once: {name: "
        "%s, user: {exec: {apiVersion: client.authentication.k8s.io/v1, command: credfresh, args: [get, kube, %s], "
        "interactiveMode: Never}}}",
        k->name, k->name);
}

int cfr_config_sdk_environment(const struct cfr_config *config, const struct cfr_config_credential *credential,
                               struct cfr_sdk_env *out, struct cfr_err *err)
{
    struct collect c = {.credential = credential, .out = out, .err = err};

    *out = (struct cfr_sdk_env){0};
    for (size_t i = 0; i < config->endpoints.count; i++)
        add_endpoint(&c, cfr_config_endpoint_at(config, i));
    for (size_t i = 0; i < out->count; i++)
        c.served |= 1U << out->items[i].way;
    for (int pass = 0; pass < 2; pass++) {
        for (size_t i = 0; i < credential->publish.count; i++)
            add_target(&c, (const struct cfr_config_publish *)credential->publish.items + i, pass == 1);
    }
    add_region(&c);
    cfr_sdk_env_sort(out);
    if (c.rc == 0)
        c.rc = note_kube(&c);
    if (c.rc == 0 && out->count == 0 && out->note_count == 0)
        c.rc = cfr_sdk_env_note(
            out, err,
            "no endpoint serves it, and none of the files that it publishes is found by a variable: name it "
            "under `endpoints`, or publish a format that an SDK reads");
    return c.rc;
}
