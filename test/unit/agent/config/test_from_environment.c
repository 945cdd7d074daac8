/* SPDX-License-Identifier: MIT */
/* The configuration that follows from the environment: each cloud, halves, several at once, and values that
 * try to be more than a value. What comes out is read again by the configuration's own parser. */
#include "agent/config/config_private.h"

#include "unit.h"

#include "agent/bind/variables.h"
#include "agent/config/config.h"
#include "agent/config/from_environment.h"
#include "base/json.h"
#include "sts/aws/aws.h"
#include "sts/aws/container.h"
#include "sts/azure/azure.h"
#include "sts/core/config.h"
#include "sts/gcp/gcp.h"
#include "sts/openstack/openstack.h"

#include <unistd.h>

#define VARS_MAX 24
#define ROLE     "arn:aws:iam::123456789012:role/demo"
#define TENANT   "11111111-2222-3333-4444-555555555555"
#define CLIENT   "66666666-7777-8888-9999-aaaaaaaaaaaa"

static const char *vars[VARS_MAX * 2];
static struct cfr_config *config;
static struct cfr_str yaml = {.limit = 65536};
static struct cfr_err err;

static const char *env(const char *name)
{
    for (size_t i = 0; vars[i] != NULL; i += 2) {
        if (strcmp(vars[i], name) == 0)
            return vars[i + 1];
    }
    return NULL;
}

static void forget(void)
{
    cfr_config_free(config);
    config = NULL;
    cfr_str_free(&yaml);
    yaml = (struct cfr_str){.limit = 65536};
    err = (struct cfr_err){0};
}

static int draft(const char *const *list)
{
    size_t i = 0;

    forget();
    for (; list[i] != NULL; i++)
        vars[i] = list[i];
    vars[i] = NULL;
    return cfr_config_environment_yaml(env, &yaml, &err);
}

/* The draft is a configuration that loads. */
static void must_load(const char *const *list)
{
    struct cfr_str all = {.limit = 65536};

    if (draft(list) != 0)
        fail_msg("%s", err.text);
    if (cfr_config_parse("env", cfr_str_view(&yaml), env, &config, &all, &err) != 0)
        fail_msg("%s\n%s", all.p, yaml.p);
    cfr_str_free(&all);
}

static void must_fail(int code, const char *text, const char *const *list)
{
    int rc = draft(list);

    if (rc != code || strstr(err.text, text) == NULL)
        fail_msg("expected \"%s\", got %d \"%s\"", text, rc, err.text);
}

static const void *exchange(size_t i, const struct cfr_sts_provider *provider)
{
    const void *found;

    assert_true(i < config->credentials.count);
    assert_ptr_equal(cfr_config_provider(cfr_config_at(config, i), &found), provider);
    return found;
}

static const struct cfr_config_publish *publish(size_t i)
{
    return cfr_config_at(config, i)->publish.items;
}

#define LIST(...) ((const char *const[]){__VA_ARGS__, NULL})

static void nothing(void **state)
{
    (void)state;
    must_fail(CFR_E_MISSING, "nothing in the environment to work from", (const char *const[]){NULL});
    must_fail(CFR_E_MISSING, "AWS_ROLE_ARN", LIST("AWS_ROLE_ARN", "", "OS_AUTH_URL", "", "AWS_REGION", "eu-west-1"));
}

static void aws(void **state)
{
    const struct cfr_aws *c;

    (void)state;
    must_load(LIST("AWS_ROLE_ARN", ROLE, "AWS_WEB_IDENTITY_TOKEN_FILE", "/t", "AWS_DEFAULT_REGION", "eu-west-1",
                   "AWS_ROLE_SESSION_NAME", "me", "CREDFRESH_DIRECTORY", "/out", "CREDFRESH_STATE_DIR", "/state"));
    c = exchange(0, &cfr_aws_provider);
    assert_string_equal(c->role_arn, ROLE);
    assert_string_equal(c->region, "eu-west-1");
    assert_string_equal(c->session_name, "me");
    assert_string_equal(cfr_config_at(config, 0)->token->file, "/t");
    assert_string_equal(cfr_config_at(config, 0)->name, "aws");
    assert_string_equal(publish(0)->directory, "/out/aws");
    assert_string_equal(config->state_dir, "/state");
    /* AWS_REGION goes before, and an endpoint of the environment is the provider's own affair. */
    must_load(LIST("AWS_ROLE_ARN", ROLE, "AWS_WEB_IDENTITY_TOKEN_FILE", "/t", "AWS_DEFAULT_REGION", "eu-west-1",
                   "AWS_REGION", "eu-west-2"));
    assert_string_equal(((const struct cfr_aws *)exchange(0, &cfr_aws_provider))->region, "eu-west-2");
    assert_string_equal(publish(0)->directory, "/run/secrets/credfresh/aws");
    must_load(
        LIST("AWS_ROLE_ARN", ROLE, "AWS_WEB_IDENTITY_TOKEN_FILE", "/t", "AWS_ENDPOINT_URL_STS", "http://127.0.0.1:1/"));
    assert_null(((const struct cfr_aws *)exchange(0, &cfr_aws_provider))->endpoint);
    must_fail(CFR_E_CONFIG, "AWS_ROLE_ARN but not AWS_WEB_IDENTITY_TOKEN_FILE", LIST("AWS_ROLE_ARN", ROLE));
    must_fail(CFR_E_CONFIG, "AWS_WEB_IDENTITY_TOKEN_FILE but not AWS_ROLE_ARN",
              LIST("AWS_WEB_IDENTITY_TOKEN_FILE", "/t"));
}

/* OLM's variables, with the token where OpenShift mounts an operator's. */
static void olm(void **state)
{
    const struct cfr_azure *a;

    (void)state;
    must_load(LIST("ROLEARN", ROLE, "AWS_REGION", "eu-west-1"));
    assert_string_equal(((const struct cfr_aws *)exchange(0, &cfr_aws_provider))->role_arn, ROLE);
    assert_string_equal(cfr_config_at(config, 0)->token->file, "/var/run/secrets/openshift/serviceaccount/token");
    must_load(LIST("ROLEARN", ROLE, "AWS_WEB_IDENTITY_TOKEN_FILE", "/t", "AWS_CONTAINER_CREDENTIALS_FULL_URI",
                   "http://169.254.170.23/v1/credentials", "AWS_REGION", "eu-west-1"));
    assert_int_equal(config->credentials.count, 1);
    assert_string_equal(cfr_config_at(config, 0)->token->file, "/t");
    /* The SDKs' own variables take precedence. */
    must_load(LIST("ROLEARN", "arn:aws:iam::123456789012:role/other", "AWS_ROLE_ARN", ROLE,
                   "AWS_WEB_IDENTITY_TOKEN_FILE", "/t", "AWS_REGION", "eu-west-1"));
    assert_string_equal(((const struct cfr_aws *)exchange(0, &cfr_aws_provider))->role_arn, ROLE);
    must_fail(CFR_E_CONFIG, "AWS_ROLE_ARN but not AWS_WEB_IDENTITY_TOKEN_FILE",
              LIST("AWS_ROLE_ARN", ROLE, "ROLEARN", ROLE));
    must_load(LIST("CLIENTID", CLIENT, "TENANTID", TENANT, "SUBSCRIPTIONID", "33333333-0000-4000-8000-000000000000"));
    a = exchange(0, &cfr_azure_provider);
    assert_string_equal(a->client_id, CLIENT);
    assert_string_equal(a->tenant_id, TENANT);
    assert_string_equal(cfr_config_at(config, 0)->token->file, "/var/run/secrets/openshift/serviceaccount/token");
    assert_non_null(strstr(yaml.p, "# from CLIENTID and TENANTID; a token needs no SUBSCRIPTIONID\n"));
    must_load(LIST("CLIENTID", "other", "TENANTID", TENANT, "AZURE_CLIENT_ID", CLIENT, "AZURE_TENANT_ID", TENANT,
                   "AZURE_FEDERATED_TOKEN_FILE", "/t"));
    assert_string_equal(((const struct cfr_azure *)exchange(0, &cfr_azure_provider))->client_id, CLIENT);
    assert_string_equal(cfr_config_at(config, 0)->token->file, "/t");
    must_fail(CFR_E_MISSING, "or CLIENTID with TENANTID", LIST("CLIENTID", CLIENT));
}

static void aws_container(void **state)
{
    const struct cfr_aws_container *c;

    (void)state;
    must_load(LIST("AWS_CONTAINER_CREDENTIALS_FULL_URI", "http://169.254.170.23/v1/credentials",
                   "AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE", "/t", "AWS_REGION", "eu-west-1"));
    c = exchange(0, &cfr_aws_container_provider);
    assert_string_equal(c->endpoint, "http://169.254.170.23/v1/credentials");
    /* A role with a token goes before it, as in the SDKs. */
    must_load(LIST("AWS_CONTAINER_CREDENTIALS_FULL_URI", "http://169.254.170.23/v1/credentials",
                   "AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE", "/t", "AWS_REGION", "eu-west-1", "AWS_ROLE_ARN", ROLE,
                   "AWS_WEB_IDENTITY_TOKEN_FILE", "/t2"));
    assert_int_equal(config->credentials.count, 1);
    (void)exchange(0, &cfr_aws_provider);
    must_fail(CFR_E_CONFIG, "but not AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE",
              LIST("AWS_CONTAINER_CREDENTIALS_FULL_URI", "http://169.254.170.23/v1/credentials"));
}

static void azure(void **state)
{
    const struct cfr_azure *c;

    (void)state;
    must_load(LIST("AZURE_CLIENT_ID", CLIENT, "AZURE_TENANT_ID", TENANT, "AZURE_FEDERATED_TOKEN_FILE", "/t",
                   "AZURE_AUTHORITY_HOST", "https://login.microsoftonline.us/"));
    c = exchange(0, &cfr_azure_provider);
    assert_string_equal(c->client_id, CLIENT);
    assert_string_equal(c->tenant_id, TENANT);
    assert_string_equal(c->authority_host, "https://login.microsoftonline.us/");
    assert_null(c->client_secret_file);
    must_load(LIST("AZURE_CLIENT_ID", CLIENT, "AZURE_TENANT_ID", TENANT, "AZURE_CLIENT_SECRET", "hunter2"));
    c = exchange(0, &cfr_azure_provider);
    assert_string_equal(c->client_secret_file, "env:AZURE_CLIENT_SECRET");
    assert_null(cfr_config_at(config, 0)->token);
    assert_null(strstr(yaml.p, "hunter2"));
    must_load(LIST("AZURE_CLIENT_ID", CLIENT, "AZURE_TENANT_ID", TENANT, "AZURE_CLIENT_CERTIFICATE_PATH", "/c.pem"));
    assert_string_equal(((const struct cfr_azure *)exchange(0, &cfr_azure_provider))->certificate_file, "/c.pem");
    must_fail(CFR_E_CONFIG, "but not AZURE_TENANT_ID", LIST("AZURE_CLIENT_ID", CLIENT));
    must_fail(CFR_E_CONFIG, "but not AZURE_CLIENT_ID", LIST("AZURE_FEDERATED_TOKEN_FILE", "/t"));
    must_fail(CFR_E_CONFIG, "but not AZURE_FEDERATED_TOKEN_FILE, AZURE_CLIENT_SECRET or",
              LIST("AZURE_CLIENT_ID", CLIENT, "AZURE_TENANT_ID", TENANT));
}

static const char *temporary(const char *text)
{
    static char path[64];
    FILE *f;
    int fd;

    (void)snprintf(path, sizeof path, "/tmp/cfr-test-XXXXXX");
    fd = mkstemp(path);
    assert_true(fd >= 0);
    f = fdopen(fd, "w");
    assert_non_null(f);
    assert_true(fputs(text, f) >= 0);
    assert_int_equal(fclose(f), 0);
    return path;
}

#define EXTERNAL                                                                                                       \
    "{\"type\":\"external_account\",\"audience\":\"//iam.googleapis.com/projects/1/locations/global/"                  \
    "workloadIdentityPools/p/providers/q\",\"subject_token_type\":\"urn:ietf:params:oauth:token-type:jwt\","           \
    "\"token_url\":\"https://sts.googleapis.com/v1/token\",\"credential_source\":{\"file\":\"/var/to: "                \
    "\\\"ken\"}}"

static void google(void **state)
{
    const char *path = temporary(EXTERNAL);

    (void)state;
    must_load(LIST("GOOGLE_APPLICATION_CREDENTIALS", path));
    assert_string_equal(((const struct cfr_gcp *)exchange(0, &cfr_gcp_provider))->credentials_file, path);
    assert_string_equal(cfr_config_at(config, 0)->token->file, "/var/to: \"ken");
    assert_null(((const struct cfr_gcp *)exchange(0, &cfr_gcp_provider))->sts_endpoint);
    must_load(LIST("GOOGLE_APPLICATION_CREDENTIALS", path, "CLOUDSDK_API_ENDPOINT_OVERRIDES_STS",
                   "https://sts-x.p.example/", "CLOUDSDK_AUTH_TOKEN_HOST", "https://oauth2.example/token",
                   "GOOGLE_CLOUD_UNIVERSE_DOMAIN", "other.example"));
    assert_string_equal(((const struct cfr_gcp *)exchange(0, &cfr_gcp_provider))->sts_endpoint,
                        "https://sts-x.p.example/v1/token");
    assert_string_equal(((const struct cfr_gcp *)exchange(0, &cfr_gcp_provider))->universe_domain, "other.example");
    assert_int_equal(unlink(path), 0);
    path = temporary("{\"type\":\"service_account\",\"client_email\":\"a@b.iam.gserviceaccount.com\","
                     "\"private_key\":\"k\",\"private_key_id\":\"i\"}");
    must_load(LIST("GOOGLE_APPLICATION_CREDENTIALS", path, "CLOUDSDK_AUTH_TOKEN_HOST", "https://oauth2.example/token"));
    assert_string_equal(((const struct cfr_gcp *)exchange(0, &cfr_gcp_provider))->sts_endpoint,
                        "https://oauth2.example/token");
    assert_int_equal(unlink(path), 0);
    must_fail(CFR_E_MISSING, "GOOGLE_APPLICATION_CREDENTIALS: ", LIST("GOOGLE_APPLICATION_CREDENTIALS", path));
    path = temporary("{\"type\":\"authorized_user\",\"refresh_token\":\"hunter2\"}");
    must_fail(CFR_E_CONFIG, "GOOGLE_APPLICATION_CREDENTIALS: ", LIST("GOOGLE_APPLICATION_CREDENTIALS", path));
    assert_null(strstr(err.text, "hunter2"));
    assert_int_equal(unlink(path), 0);
}

#define KEYSTONE "OS_AUTH_URL", "https://keystone.example.com:5000/v3"

static const struct cfr_openstack *openstack(const char *const *list)
{
    must_load(list);
    return exchange(0, &cfr_openstack_provider);
}

static void openstack_application_credentials(void **state)
{
    const struct cfr_openstack *c;

    (void)state;
    c = openstack(LIST(KEYSTONE, "OS_AUTH_TYPE", "v3applicationcredential", "OS_APPLICATION_CREDENTIAL_ID", "a1",
                       "OS_APPLICATION_CREDENTIAL_SECRET", "hunter2", "OS_REGION_NAME", "RegionOne", "OS_CACERT",
                       "/etc/passwd", "OS_PROJECT_ID", "ignored", "OS_USERNAME", "ignored"));
    assert_string_equal(c->application_credential_id, "a1");
    assert_string_equal(c->application_credential_secret_file, "env:OS_APPLICATION_CREDENTIAL_SECRET");
    assert_string_equal(c->region_name, "RegionOne");
    assert_string_equal(c->ca_file, "/etc/passwd");
    assert_null(strstr(yaml.p, "hunter2"));
    c = openstack(LIST(KEYSTONE, "OS_APPLICATION_CREDENTIAL_NAME", "n", "OS_APPLICATION_CREDENTIAL_SECRET", "s",
                       "OS_USERNAME", "robot", "OS_USER_DOMAIN_NAME", "Default"));
    assert_string_equal(c->application_credential_name, "n");
    assert_string_equal(c->username, "robot");
    must_fail(CFR_E_CONFIG, "but not OS_APPLICATION_CREDENTIAL_SECRET",
              LIST(KEYSTONE, "OS_APPLICATION_CREDENTIAL_ID", "a1"));
    must_fail(CFR_E_CONFIG, "nor OS_PASSWORD", LIST(KEYSTONE, "OS_USERNAME", "robot"));
    must_fail(CFR_E_CONFIG, "OS_AUTH_TYPE: must be v3applicationcredential, v3password or password, got \"v3totp\"",
              LIST(KEYSTONE, "OS_AUTH_TYPE", "v3totp", "OS_USERNAME", "robot", "OS_PASSWORD", "x"));
    must_fail(CFR_E_CONFIG, "got \"v3pass\"",
              LIST(KEYSTONE, "OS_AUTH_TYPE", "v3pass", "OS_USERNAME", "robot", "OS_PASSWORD", "x"));
    must_fail(CFR_E_CONFIG, "OS_IDENTITY_API_VERSION: must be 3, got \"2.0\"",
              LIST(KEYSTONE, "OS_IDENTITY_API_VERSION", "2.0", "OS_USERNAME", "robot", "OS_PASSWORD", "x"));
    must_fail(CFR_E_CONFIG, "OS_TRUST_ID: is not supported",
              LIST(KEYSTONE, "OS_TRUST_ID", "t", "OS_USERNAME", "robot", "OS_PASSWORD", "x"));
}

/* As the dashboard's openrc file has it, which says much of it twice. */
static void openstack_passwords(void **state)
{
    const struct cfr_openstack *c;

    (void)state;
    c = openstack(LIST(KEYSTONE, "OS_PROJECT_ID", "p1", "OS_PROJECT_NAME", "images", "OS_USER_DOMAIN_NAME", "Default",
                       "OS_PROJECT_DOMAIN_ID", "default", "OS_USERNAME", "robot", "OS_PASSWORD", "hunter2",
                       "OS_REGION_NAME", "RegionOne", "OS_INTERFACE", "internal", "OS_ENDPOINT_TYPE", "adminURL",
                       "OS_IDENTITY_API_VERSION", "3"));
    assert_int_equal(c->interface, CFR_OPENSTACK_INTERNAL);
    assert_string_equal(c->project_id, "p1");
    assert_null(c->project_name);
    assert_null(c->project_domain_id);
    assert_string_equal(c->user_domain_name, "Default");
    assert_string_equal(c->password_file, "env:OS_PASSWORD");
    assert_null(strstr(yaml.p, "hunter2"));
    c = openstack(LIST(KEYSTONE, "OS_PROJECT_NAME", "images", "OS_DEFAULT_DOMAIN_ID", "default", "OS_USERNAME", "robot",
                       "OS_PASSWORD", "x"));
    assert_string_equal(c->project_domain_id, "default");
    assert_string_equal(c->user_domain_id, "default");
    c = openstack(
        LIST(KEYSTONE, "OS_USER_ID", "u1", "OS_USERNAME", "robot", "OS_PASSWORD", "x", "OS_DOMAIN_NAME", "d"));
    assert_string_equal(c->user_id, "u1");
    assert_null(c->username);
    assert_string_equal(c->domain_name, "d");
    c = openstack(LIST(KEYSTONE, "OS_USER_ID", "u1", "OS_PASSWORD", "x", "OS_SYSTEM_SCOPE", "all"));
    assert_int_equal(c->system_scope, CFR_OPENSTACK_SYSTEM_ALL);
    assert_int_equal(c->interface, CFR_OPENSTACK_PUBLIC);
    c = openstack(LIST(KEYSTONE, "OS_USER_ID", "u1", "OS_PASSWORD", "x", "OS_SYSTEM_SCOPE", "all", "OS_ENDPOINT_TYPE",
                       "adminURL"));
    assert_int_equal(c->interface, CFR_OPENSTACK_ADMIN);
    /* One that is not known is refused as one of the configuration. */
    assert_int_equal(draft(LIST(KEYSTONE, "OS_USER_ID", "u1", "OS_PASSWORD", "x", "OS_INTERFACE", "xURL")), 0);
    assert_contains(yaml.p, "interface: \"xURL\"\n");
}

static void several_at_once(void **state)
{
    (void)state;
    must_load(LIST("AWS_ROLE_ARN", ROLE, "AWS_WEB_IDENTITY_TOKEN_FILE", "/t", "AWS_REGION", "eu-west-1",
                   "AZURE_CLIENT_ID", CLIENT, "AZURE_TENANT_ID", TENANT, "AZURE_FEDERATED_TOKEN_FILE", "/az", KEYSTONE,
                   "OS_APPLICATION_CREDENTIAL_ID", "a1", "OS_APPLICATION_CREDENTIAL_SECRET", "s"));
    assert_int_equal(config->credentials.count, 3);
    assert_string_equal(publish(2)->directory, "/run/secrets/credfresh/openstack");
    (void)exchange(1, &cfr_azure_provider);
}

/* Whatever stands in a variable ends up in one value, or is refused; it never becomes configuration. */
static void values_are_only_values(void **state)
{
    static const char *const tricks[] = {
        "x\"\n    publish: {directory: /etc}\n    x: \"",
        "x' # {[",
        "&a",
        "*a",
        "!!int 3",
        "a: b",
        "- a",
        "\\",
        "\\\"",
        "\t",
        "{}",
        "[x",
        "%x",
        "@",
        "`",
        "~",
        "null",
        "true",
        "a\nb",
        "\xff\xfe",
        "\xe2\x80\xa8",
        "---\nversion: 2",
    };

    (void)state;
    for (size_t i = 0; i < COUNT(tricks); i++) {
        const struct cfr_openstack *c;
        char path[512];

        if (draft(LIST(KEYSTONE, "OS_APPLICATION_CREDENTIAL_ID", tricks[i], "OS_APPLICATION_CREDENTIAL_SECRET", "s")) !=
            0)
            fail_msg("%zu: %s", i, err.text);
        if (cfr_config_parse("env", cfr_str_view(&yaml), env, &config, NULL, &err) == 0) {
            assert_int_equal(config->credentials.count, 1);
            assert_int_equal(cfr_config_at(config, 0)->publish.count, 1);
            c = exchange(0, &cfr_openstack_provider);
            if (i != 19) /* what is no UTF-8 cannot come back as it was */
                assert_string_equal(c->application_credential_id, tricks[i]);
        } else {
            /* As a value of that key, not as something else. */
            assert_contains(err.text, "application_credential_id");
        }
        (void)snprintf(path, sizeof path, "/%s", tricks[i]);
        assert_int_equal(
            draft(LIST("AWS_ROLE_ARN", ROLE, "AWS_REGION", "eu-west-1", "AWS_WEB_IDENTITY_TOKEN_FILE", path)), 0);
        if (cfr_config_parse("env", cfr_str_view(&yaml), env, &config, NULL, &err) == 0) {
            assert_int_equal(config->credentials.count, 1);
            if (i != 19)
                assert_string_equal(cfr_config_at(config, 0)->token->file, path);
        } else {
            assert_contains(err.text, "file");
        }
    }
    forget();
}

/* Without a file nobody wrote a key: errors name the variable that a value came from, or that is to be set. */
static void errors_name_variables(void **state)
{
#define AWS      "AWS_WEB_IDENTITY_TOKEN_FILE", "/t", "AWS_REGION", "eu-west-1"
#define PASSWORD KEYSTONE, "OS_PASSWORD", "x", "OS_USERNAME", "robot"
    static const struct {
        const char *text;
        const char *vars[14];
    } cases[] = {
        {"AWS_ROLE_ARN: it must be the ARN", {"AWS_ROLE_ARN", "x", AWS}},
        {"ROLEARN: it must be the ARN", {"ROLEARN", "x", AWS}},
        {"AWS_ROLE_SESSION_NAME: character 2", {"AWS_ROLE_ARN", ROLE, "AWS_ROLE_SESSION_NAME", "a b", AWS}},
        {"AWS_REGION: a region has only",
         {"AWS_ROLE_ARN", ROLE, "AWS_WEB_IDENTITY_TOKEN_FILE", "/t", "AWS_REGION", "A"}},
        {"AWS_DEFAULT_REGION: a region has only",
         {"AWS_ROLE_ARN", ROLE, "AWS_WEB_IDENTITY_TOKEN_FILE", "/t", "AWS_DEFAULT_REGION", "A"}},
        {"AWS_REGION: is missing; ", {"AWS_ROLE_ARN", ROLE, "AWS_WEB_IDENTITY_TOKEN_FILE", "/t"}},
        {"AWS_WEB_IDENTITY_TOKEN_FILE: must be an absolute path",
         {"AWS_ROLE_ARN", ROLE, "AWS_WEB_IDENTITY_TOKEN_FILE", "t", "AWS_REGION", "eu-west-1"}},
        {"AWS_ENDPOINT_URL_STS: it must be a URL", {"AWS_ROLE_ARN", ROLE, "AWS_ENDPOINT_URL_STS", "x", AWS}},
        {"AWS_CONTAINER_CREDENTIALS_FULL_URI: ",
         {"AWS_CONTAINER_CREDENTIALS_FULL_URI", "x", "AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE", "/t"}},
        {"https:// (with AWS_CA_BUNDLE for a private CA)",
         {"AWS_CONTAINER_CREDENTIALS_FULL_URI", "http://192.0.2.1/", "AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE", "/t"}},
        {"AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE: must be an absolute path",
         {"AWS_CONTAINER_CREDENTIALS_FULL_URI", "http://169.254.170.23/v1/credentials",
          "AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE", "t", "AWS_REGION", "eu-west-1"}},
        {"AZURE_TENANT_ID: is shorter",
         {"AZURE_CLIENT_ID", CLIENT, "AZURE_TENANT_ID", "x", "AZURE_FEDERATED_TOKEN_FILE", "/t"}},
        {"AZURE_CLIENT_ID: ", {"AZURE_CLIENT_ID", "x", "AZURE_TENANT_ID", TENANT, "AZURE_FEDERATED_TOKEN_FILE", "/t"}},
        {"CLIENTID: ", {"CLIENTID", "x", "TENANTID", TENANT}},
        {"TENANTID: ", {"CLIENTID", CLIENT, "TENANTID", "x"}},
        {"AZURE_AUTHORITY_HOST: it must be a URL",
         {"AZURE_CLIENT_ID", CLIENT, "AZURE_TENANT_ID", TENANT, "AZURE_FEDERATED_TOKEN_FILE", "/t",
          "AZURE_AUTHORITY_HOST", "x"}},
        {"AZURE_CLIENT_CERTIFICATE_PATH: must be an absolute path",
         {"AZURE_CLIENT_ID", CLIENT, "AZURE_TENANT_ID", TENANT, "AZURE_CLIENT_CERTIFICATE_PATH", "c"}},
        {"AZURE_FEDERATED_TOKEN_FILE: must be an absolute path",
         {"AZURE_CLIENT_ID", CLIENT, "AZURE_TENANT_ID", TENANT, "AZURE_FEDERATED_TOKEN_FILE", "t"}},
        {"OS_AUTH_URL: it must be a URL",
         {"OS_AUTH_URL", "x", "OS_APPLICATION_CREDENTIAL_ID", "a", "OS_APPLICATION_CREDENTIAL_SECRET", "s"}},
        {"OS_APPLICATION_CREDENTIAL_NAME: names are unique for a user only; add OS_USER_ID, or username with "
         "OS_USER_DOMAIN_NAME",
         {KEYSTONE, "OS_APPLICATION_CREDENTIAL_NAME", "n", "OS_APPLICATION_CREDENTIAL_SECRET", "s"}},
        {"OS_USERNAME: names are unique in a domain only; add OS_USER_DOMAIN_ID or OS_USER_DOMAIN_NAME, or write "
         "OS_USER_ID instead",
         {PASSWORD}},
        {"OS_PROJECT_NAME: names are unique in a domain only; add OS_PROJECT_DOMAIN_ID or OS_PROJECT_DOMAIN_NAME, or "
         "write OS_PROJECT_ID instead",
         {PASSWORD, "OS_USER_DOMAIN_ID", "d", "OS_PROJECT_NAME", "p"}},
        {"OS_PROJECT_ID: it is missing; a token that is for nothing is good for nothing: write OS_PROJECT_ID, "
         "OS_PROJECT_NAME with its domain, OS_DOMAIN_ID, OS_DOMAIN_NAME or `OS_SYSTEM_SCOPE=all`",
         {PASSWORD, "OS_USER_DOMAIN_ID", "d"}},
        {"OS_ENDPOINT_TYPE: x is not a valid value",
         {PASSWORD, "OS_USER_DOMAIN_ID", "d", "OS_PROJECT_ID", "p", "OS_ENDPOINT_TYPE", "x"}},
        {"OS_INTERFACE: x is not a valid value",
         {PASSWORD, "OS_USER_DOMAIN_ID", "d", "OS_PROJECT_ID", "p", "OS_INTERFACE", "x"}},
        {"OS_CACERT: cannot be used: cannot open /none/ca.pem",
         {PASSWORD, "OS_USER_DOMAIN_ID", "d", "OS_PROJECT_ID", "p", "OS_CACERT", "/none/ca.pem"}},
        {"OS_SYSTEM_SCOPE: x is not a valid value", {PASSWORD, "OS_USER_DOMAIN_ID", "d", "OS_SYSTEM_SCOPE", "x"}},
        {"CREDFRESH_DIRECTORY: must be an absolute path", {"CREDFRESH_DIRECTORY", "x", "AWS_ROLE_ARN", ROLE, AWS}},
        {"CREDFRESH_STATE_DIR: must be an absolute path", {"CREDFRESH_STATE_DIR", "x", "AWS_ROLE_ARN", ROLE, AWS}},
        {"CREDFRESH_LISTEN: x is not an address", {"CREDFRESH_LISTEN", "x", "AWS_ROLE_ARN", ROLE, AWS}},
    };

    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        struct cfr_str all = {.limit = 65536};

        assert_int_equal(draft(cases[i].vars), 0);
        assert_int_equal(cfr_config_load(NULL, env, &config, &all, &err), CFR_E_CONFIG);
        assert_contains(all.p, cases[i].text);
        if (strncmp(cases[i].text, "https", 5) != 0 &&
            strncmp(all.p + strlen("environment: "), cases[i].text, strlen(cases[i].text)) != 0)
            fail_msg("expected \"%s\", got \"%s\"", cases[i].text, all.p);
        assert_null(strstr(all.p, "exchange."));
        cfr_str_free(&all);
    }
}

/* The same for errors of a running agent; a server's own words remain. */
static void later_errors_name_variables(void **state)
{
    static const struct {
        const char *credential;
        const char *text;
        const char *expected;
    } cases[] = {
        {"azure", "certificate_file: cannot open /c: No such file or directory",
         "AZURE_CLIENT_CERTIFICATE_PATH: cannot open /c: No such file or directory"},
        {"azure",
         "invalid_client: a client_id of `client_id` (HTTP 401): write the right one to `client_secret_file`; it is "
         "used "
         "at once",
         "invalid_client: a client_id of `client_id` (HTTP 401): write the right one to `AZURE_CLIENT_SECRET`; restart "
         "credfresh"},
        {"azure", "no such application (HTTP 400): check `client_id`, `tenant_id` and `scopes`",
         "no such application (HTTP 400): check `CLIENTID`, `TENANTID` and `scopes`"},
        {"aws", "STS is not active (HTTP 403): activate it there, or set another `region`",
         "STS is not active (HTTP 403): activate it there, or set another `AWS_REGION`"},
        {"gcp", "unknown key (HTTP 400): give a new one in credentials_file",
         "unknown key (HTTP 400): give a new one in GOOGLE_APPLICATION_CREDENTIALS"},
        {"openstack", "password_file: the file is empty", "OS_PASSWORD: the file is empty"},
        {"aws", "waiting for the token file /var/role_arn/token", "waiting for the token file /var/role_arn/token"},
        {"other", "client_id: it is missing", "client_id: it is missing"},
    };
    char text[CFR_ERR_TEXT_MAX];

    (void)state;
    (void)draft(LIST("CLIENTID", CLIENT, "TENANTID", TENANT));
    for (size_t i = 0; i < COUNT(cases); i++) {
        (void)snprintf(text, sizeof text, "%s", cases[i].text);
        cfr_config_diagnostics_name_variables(env, cases[i].credential, text, sizeof text);
        assert_string_equal(text, cases[i].expected);
    }
}

/* What a credentials file has is named as its member. */
static void errors_name_members_of_a_credentials_file(void **state)
{
    struct cfr_gcp c = {.credentials_file = (char *)(uintptr_t) "/f.json"};
    char text[CFR_ERR_TEXT_MAX] = "unknown (HTTP 400): correct `audience`: or check `client_id` and the secret in "
                                  "`client_secret_file`, `service_account`, `scopes`";

    (void)state;
    cfr_sts_config_name_origin(&cfr_gcp_provider, &c, text, sizeof text);
    assert_string_equal(text, "unknown (HTTP 400): correct audience in credentials_file: or check client_id in "
                              "credentials_file and the secret in client_secret in credentials_file, "
                              "service_account_impersonation_url in credentials_file, `scopes`");
    c = (struct cfr_gcp){.audience = (char *)(uintptr_t) "a"};
    (void)strcpy(text, "unknown (HTTP 400): correct `audience`");
    cfr_sts_config_name_origin(&cfr_gcp_provider, &c, text, sizeof text);
    assert_string_equal(text, "unknown (HTTP 400): correct `audience`");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nothing),
        cmocka_unit_test(aws),
        cmocka_unit_test(olm),
        cmocka_unit_test(aws_container),
        cmocka_unit_test(azure),
        cmocka_unit_test(google),
        cmocka_unit_test(openstack_application_credentials),
        cmocka_unit_test(openstack_passwords),
        cmocka_unit_test(several_at_once),
        cmocka_unit_test(values_are_only_values),
        cmocka_unit_test(errors_name_variables),
        cmocka_unit_test(later_errors_name_variables),
        cmocka_unit_test(errors_name_members_of_a_credentials_file),
    };
    int failed;

    cfr_json_setup();
    failed = cmocka_run_group_tests(tests, NULL, NULL);
    forget();
    return failed;
}
