/* SPDX-License-Identifier: MIT */
/* From environment variables to YAML. */
#include "agent/config/from_environment.h"

#include "files/file.h"
#include "sts/gcp/credential_file.h"
#include "sts/openstack/openstack.h"
#include "wire/url.h"

#include <stdio.h>
#include <string.h>

#define FILE_MAX          262144
#define DEFAULT_DIRECTORY "/run/secrets/credfresh"
#define OPENSHIFT_TOKEN   "/var/run/secrets/openshift/serviceaccount/token" /* where operators mount theirs */

/* A configuration being written. */
struct draft {
    const char *(*env)(const char *);
    struct cfr_str *out;
    struct cfr_err *err;
    const char *directory;
    unsigned count;
};

typedef int draft_fn(struct draft *d);

static const char *get(const struct draft *d, const char *name)
{
    const char *value = d->env(name);

    return value != NULL && value[0] != '\0' ? value : NULL;
}

static const char *get_one_of(const struct draft *d, const char *name, const char *other)
{
    const char *value = get(d, name);

    return value != NULL ? value : get(d, other);
}

/* `KEY: "VALUE"`, or nothing for NULL. JSON's quoting is YAML's. */
static void put(struct draft *d, const char *key, const char *value)
{
    if (value == NULL)
        return;
    cfr_str_addf(d->out, "%s: ", key);
    cfr_str_add_json(d->out, cfr_view_of(value));
    cfr_str_addz(d->out, "\n");
}

static void begin(struct draft *d, const char *name, const char *from)
{
    cfr_str_addf(d->out, "  # from %s\n  - name: %s\n", from, name);
    d->count++;
}

static void put_file(struct draft *d, const char *name, const char *format)
{
    cfr_str_addf(d->out, "        - {name: %s, format: %s}\n", name, format);
}

static void put_publish(struct draft *d, const char *name)
{
    char path[4200];

    (void)snprintf(path, sizeof path, "%.4000s/%s", d->directory, name);
    cfr_str_addz(d->out, "    publish:\n");
    put(d, "      directory", path);
    cfr_str_addz(d->out, "      files:\n");
}

static int report_missing(const struct draft *d, const char *there, const char *missing)
{
    return cfr_err_set(d->err, CFR_E_CONFIG, "the environment has %s but not %s", there, missing);
}

static void publish_aws(struct draft *d)
{
    put_publish(d, "aws");
    put_file(d, "credentials", "aws-credentials");
    put_file(d, "credential-process.json", "aws-credential-process");
    put_file(d, "token", "token");
}

/* The role, from the SDKs' variable or from that of OLM. */
static const char *aws_role(const struct draft *d)
{
    return get_one_of(d, "AWS_ROLE_ARN", "ROLEARN");
}

/* The order of the SDKs: a role with a token precedes a container endpoint. */
static int draft_aws(struct draft *d)
{
    const bool olm = get(d, "AWS_ROLE_ARN") == NULL && get(d, "ROLEARN") != NULL;
    const char *role = aws_role(d);
    const char *token = get(d, "AWS_WEB_IDENTITY_TOKEN_FILE");
    const char *from = "AWS_ROLE_ARN and AWS_WEB_IDENTITY_TOKEN_FILE";

    if (role == NULL && token == NULL)
        return 0;
    if (olm)
        from =
            token != NULL ? "ROLEARN and AWS_WEB_IDENTITY_TOKEN_FILE" : "ROLEARN, and where operators have their token";
    if (olm && token == NULL)
        token = OPENSHIFT_TOKEN;
    if (role == NULL || token == NULL)
        return report_missing(d, role != NULL ? "AWS_ROLE_ARN" : "AWS_WEB_IDENTITY_TOKEN_FILE",
                              role != NULL ? "AWS_WEB_IDENTITY_TOKEN_FILE" : "AWS_ROLE_ARN");
    begin(d, "aws", from);
    cfr_str_addz(d->out, "    token:\n");
    put(d, "      file", token);
    cfr_str_addz(d->out, "    exchange:\n      aws:\n");
    put(d, "        role_arn", role);
    put(d, "        session_name", get(d, "AWS_ROLE_SESSION_NAME"));
    put(d, "        region", get_one_of(d, "AWS_REGION", "AWS_DEFAULT_REGION"));
    publish_aws(d);
    return 0;
}

static int draft_aws_container(struct draft *d)
{
    const char *uri = get(d, "AWS_CONTAINER_CREDENTIALS_FULL_URI");
    const char *token = get(d, "AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE");

    if (uri == NULL || aws_role(d) != NULL)
        return 0;
    if (token == NULL)
        return report_missing(d, "AWS_CONTAINER_CREDENTIALS_FULL_URI", "AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE");
    begin(d, "aws", "AWS_CONTAINER_CREDENTIALS_FULL_URI and AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE");
    cfr_str_addz(d->out, "    token:\n");
    put(d, "      file", token);
    cfr_str_addz(d->out, "    exchange:\n      aws_container:\n");
    put(d, "        endpoint", uri);
    put(d, "        region", get_one_of(d, "AWS_REGION", "AWS_DEFAULT_REGION"));
    publish_aws(d);
    return 0;
}

static int put_azure_proof(struct draft *d, const char *token)
{
    const char *certificate = get(d, "AZURE_CLIENT_CERTIFICATE_PATH");

    if (token != NULL)
        return 0;
    if (get(d, "AZURE_CLIENT_SECRET") != NULL)
        put(d, "        client_secret_file", "env:AZURE_CLIENT_SECRET");
    else if (certificate != NULL)
        put(d, "        certificate_file", certificate);
    else
        return report_missing(d, "AZURE_CLIENT_ID",
                              "AZURE_FEDERATED_TOKEN_FILE, AZURE_CLIENT_SECRET or AZURE_CLIENT_CERTIFICATE_PATH");
    return 0;
}

/* OLM's variables have names that other programs may use too, so that one alone says nothing. */
static bool is_azure_of_olm(const struct draft *d)
{
    return get(d, "AZURE_CLIENT_ID") == NULL && get(d, "AZURE_TENANT_ID") == NULL && get(d, "CLIENTID") != NULL &&
           get(d, "TENANTID") != NULL;
}

static int draft_azure(struct draft *d)
{
    const bool olm = is_azure_of_olm(d);
    const char *client = get(d, olm ? "CLIENTID" : "AZURE_CLIENT_ID");
    const char *tenant = get(d, olm ? "TENANTID" : "AZURE_TENANT_ID");
    const char *token = get(d, "AZURE_FEDERATED_TOKEN_FILE");
    int rc;

    if (olm && token == NULL)
        token = OPENSHIFT_TOKEN;
    if (client == NULL && token == NULL)
        return 0;
    if (client == NULL)
        return report_missing(d, "AZURE_FEDERATED_TOKEN_FILE", "AZURE_CLIENT_ID");
    if (tenant == NULL)
        return report_missing(d, "AZURE_CLIENT_ID", "AZURE_TENANT_ID");
    if (olm)
        begin(d, "azure",
              get(d, "SUBSCRIPTIONID") != NULL ? "CLIENTID and TENANTID; a token needs no SUBSCRIPTIONID"
                                               : "CLIENTID and TENANTID");
    else
        begin(d, "azure",
              token != NULL ? "AZURE_CLIENT_ID, AZURE_TENANT_ID and AZURE_FEDERATED_TOKEN_FILE"
                            : "AZURE_CLIENT_ID and AZURE_TENANT_ID");
    if (token != NULL && get(d, "AZURE_KUBERNETES_TOKEN_PROXY") != NULL)
        cfr_str_addz(d->out, "    # for the proxy in AZURE_KUBERNETES_TOKEN_PROXY\n");
    if (token != NULL)
        cfr_str_addz(d->out, "    token:\n");
    put(d, "      file", token);
    cfr_str_addz(d->out, "    exchange:\n      azure:\n");
    put(d, "        tenant_id", tenant);
    put(d, "        client_id", client);
    put(d, "        authority_host", get(d, "AZURE_AUTHORITY_HOST"));
    rc = put_azure_proof(d, token);
    put_publish(d, "azure");
    put_file(d, "token.json", "azure-token-json");
    return rc;
}

static int read_google(const struct draft *d, const char *path, struct cfr_secret *text, struct cfr_gcp_file *file)
{
    int rc;

    cfr_secret_init(text, FILE_MAX);
    rc = cfr_file_read(path, text, d->err);
    if (rc == 0)
        rc = cfr_gcp_file_read(cfr_secret_view(text), file, d->err);
    return rc != 0 ? cfr_err_prefix(d->err, "GOOGLE_APPLICATION_CREDENTIALS: %s", path) : 0;
}

static void put_google_token(struct draft *d, const struct cfr_gcp_file *file)
{
    if (file->type != CFR_GCP_FILE_EXTERNAL_ACCOUNT || file->source != CFR_GCP_SOURCE_FILE)
        return;
    cfr_str_addz(d->out, "    token:\n      file: ");
    cfr_str_add_json(d->out, file->token_path);
    cfr_str_addz(d->out, "\n");
    if (file->token_field.n == 0)
        return;
    cfr_str_addz(d->out, "      json_field: ");
    cfr_str_add_json(d->out, file->token_field);
    cfr_str_addz(d->out, "\n");
}

/* What Google's tools know by these names: the file alone does not decide where tokens go. */
static void put_google_hosts(struct draft *d, const struct cfr_gcp_file *file)
{
    const char *sts = get(d, "CLOUDSDK_API_ENDPOINT_OVERRIDES_STS");
    char url[CFR_URL_MAX + 16];

    put(d, "        universe_domain", get(d, "GOOGLE_CLOUD_UNIVERSE_DOMAIN"));
    if (file->type == CFR_GCP_FILE_SERVICE_ACCOUNT) {
        put(d, "        sts_endpoint", get(d, "CLOUDSDK_AUTH_TOKEN_HOST"));
    } else if (sts != NULL) {
        size_t n = strlen(sts);

        while (n != 0 && sts[n - 1] == '/')
            n--;
        (void)snprintf(url, sizeof url, "%.*s/v1/token", (int)n, sts);
        put(d, "        sts_endpoint", url);
    }
    if (file->service_account.n != 0)
        put(d, "        iam_endpoint", get(d, "CLOUDSDK_API_ENDPOINT_OVERRIDES_IAMCREDENTIALS"));
}

static int draft_google(struct draft *d)
{
    const char *path = get(d, "GOOGLE_APPLICATION_CREDENTIALS");
    struct cfr_gcp_file file = {.doc = NULL};
    struct cfr_secret text;
    int rc;

    if (path == NULL)
        return 0;
    rc = read_google(d, path, &text, &file);
    if (rc == 0) {
        begin(d, "gcp", "GOOGLE_APPLICATION_CREDENTIALS");
        put_google_token(d, &file);
        cfr_str_addz(d->out, "    exchange:\n      gcp:\n");
        put(d, "        credentials_file", path);
        put_google_hosts(d, &file);
        put_publish(d, "gcp");
        put_file(d, "access-token", "gcp-access-token");
        put_file(d, "token.json", "gcp-token-json");
    }
    cfr_gcp_file_free(&file);
    cfr_secret_free(&text);
    return rc;
}

/* The first of two that is set: what an openrc file says twice, Keystone refuses. */
static bool put_one_of(struct draft *d, const char *key, const char *variable, const char *other_key,
                       const char *other_variable)
{
    const char *value = get(d, variable);

    if (value == NULL) {
        key = other_key;
        value = get(d, other_variable);
    }
    put(d, key, value);
    return value != NULL;
}

static void put_openstack_user(struct draft *d)
{
    if (get(d, "OS_USER_ID") != NULL) {
        put(d, "        user_id", get(d, "OS_USER_ID"));
        return;
    }
    put(d, "        username", get(d, "OS_USERNAME"));
    if (!put_one_of(d, "        user_domain_id", "OS_USER_DOMAIN_ID", "        user_domain_name",
                    "OS_USER_DOMAIN_NAME"))
        (void)put_one_of(d, "        user_domain_id", "OS_DEFAULT_DOMAIN_ID", "        user_domain_name",
                         "OS_DEFAULT_DOMAIN_NAME");
}

static void put_openstack_scope(struct draft *d)
{
    if (get(d, "OS_PROJECT_ID") != NULL) {
        put(d, "        project_id", get(d, "OS_PROJECT_ID"));
    } else if (get(d, "OS_PROJECT_NAME") != NULL) {
        put(d, "        project_name", get(d, "OS_PROJECT_NAME"));
        if (!put_one_of(d, "        project_domain_id", "OS_PROJECT_DOMAIN_ID", "        project_domain_name",
                        "OS_PROJECT_DOMAIN_NAME"))
            (void)put_one_of(d, "        project_domain_id", "OS_DEFAULT_DOMAIN_ID", "        project_domain_name",
                             "OS_DEFAULT_DOMAIN_NAME");
    } else if (!put_one_of(d, "        domain_id", "OS_DOMAIN_ID", "        domain_name", "OS_DOMAIN_NAME")) {
        put(d, "        system_scope", get(d, "OS_SYSTEM_SCOPE"));
    }
}

static int put_openstack_proof(struct draft *d)
{
    const char *id = get(d, "OS_APPLICATION_CREDENTIAL_ID");
    const char *name = get(d, "OS_APPLICATION_CREDENTIAL_NAME");

    if (id == NULL && name == NULL) {
        if (get(d, "OS_PASSWORD") == NULL)
            return report_missing(d, "OS_AUTH_URL", "OS_APPLICATION_CREDENTIAL_ID with its secret, nor OS_PASSWORD");
        put_openstack_user(d);
        put(d, "        password_file", "env:OS_PASSWORD");
        put_openstack_scope(d);
        return 0;
    }
    put(d, id != NULL ? "        application_credential_id" : "        application_credential_name",
        id != NULL ? id : name);
    if (id == NULL)
        put_openstack_user(d);
    if (get(d, "OS_APPLICATION_CREDENTIAL_SECRET") == NULL)
        return report_missing(d, id != NULL ? "OS_APPLICATION_CREDENTIAL_ID" : "OS_APPLICATION_CREDENTIAL_NAME",
                              "OS_APPLICATION_CREDENTIAL_SECRET");
    put(d, "        application_credential_secret_file", "env:OS_APPLICATION_CREDENTIAL_SECRET");
    return 0;
}

/* One that is not known is left to the check of the key. */
static void put_openstack_interface(struct draft *d)
{
    const char *value = get_one_of(d, "OS_INTERFACE", "OS_ENDPOINT_TYPE");
    int known = value != NULL ? cfr_openstack_interface_of(cfr_view_of(value)) : -1;

    put(d, "        interface", known >= 0 ? cfr_openstack_interfaces[known] : value);
}

/* What decides how to log in, and credfresh does not follow. */
static int refuse_openstack(const struct draft *d)
{
    const char *type = get(d, "OS_AUTH_TYPE");
    const char *version = get(d, "OS_IDENTITY_API_VERSION");
    char word[64];

    (void)snprintf(word, sizeof word, " %s ", type != NULL ? type : "");
    if (type != NULL && strstr(" password v3password v3applicationcredential ", word) == NULL)
        return cfr_err_set(d->err, CFR_E_CONFIG,
                           "OS_AUTH_TYPE: must be v3applicationcredential, v3password or password, got \"%.63s\"",
                           type);
    if (version != NULL && version[0] == '2')
        return cfr_err_set(d->err, CFR_E_CONFIG, "OS_IDENTITY_API_VERSION: must be 3, got \"%.63s\"", version);
    return get(d, "OS_TRUST_ID") == NULL
               ? 0
               : cfr_err_set(d->err, CFR_E_CONFIG,
                             "OS_TRUST_ID: is not supported: the session would not be limited to the trust");
}

static int draft_openstack(struct draft *d)
{
    const char *url = get(d, "OS_AUTH_URL");
    int rc;

    if (url == NULL)
        return 0;
    rc = refuse_openstack(d);
    if (rc != 0)
        return rc;
    begin(d, "openstack", "OS_AUTH_URL and what goes with it");
    cfr_str_addz(d->out, "    exchange:\n      openstack:\n");
    put(d, "        auth_url", url);
    put(d, "        region_name", get(d, "OS_REGION_NAME"));
    put_openstack_interface(d);
    put(d, "        ca_file", get(d, "OS_CACERT"));
    rc = put_openstack_proof(d);
    put_publish(d, "openstack");
    put_file(d, "clouds.yaml", "clouds-yaml");
    put_file(d, "token", "openstack-token");
    return rc;
}

int cfr_config_environment_yaml(const char *(*env)(const char *), struct cfr_str *out, struct cfr_err *err)
{
    static draft_fn *const drafts[] = {draft_aws, draft_aws_container, draft_azure, draft_google, draft_openstack};
    struct draft d = {.env = env, .out = out, .err = err};
    int rc = 0;

    d.directory = get(&d, "CREDFRESH_DIRECTORY");
    if (d.directory == NULL)
        d.directory = DEFAULT_DIRECTORY;
    cfr_str_addz(out, "# What credfresh understood of its environment. Keep it as a configuration file to change it.\n"
                      "version: 1\n");
    put(&d, "state_dir", get(&d, "CREDFRESH_STATE_DIR"));
    put(&d, "listen", get(&d, "CREDFRESH_LISTEN"));
    cfr_str_addz(out, "credentials:\n");
    for (size_t i = 0; rc == 0 && i < sizeof drafts / sizeof drafts[0]; i++)
        rc = drafts[i](&d);
    if (rc == 0 && out->failed)
        rc = cfr_err_nomem(err);
    if (rc == 0 && d.count == 0)
        rc = cfr_err_set(
            err, CFR_E_MISSING,
            "there is no configuration file, and nothing in the environment to work from: neither AWS_ROLE_ARN "
            "with AWS_WEB_IDENTITY_TOKEN_FILE, nor AWS_CONTAINER_CREDENTIALS_FULL_URI, AZURE_CLIENT_ID, "
            "GOOGLE_APPLICATION_CREDENTIALS, OS_AUTH_URL, ROLEARN, or CLIENTID with TENANTID");
    return rc;
}
