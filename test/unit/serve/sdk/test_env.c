/* SPDX-License-Identifier: MIT */
/* The variables of each shape, and the warnings of settings that take precedence: one row for each fact. */
#include "serve/sdk/shape_private.h"

#include "serve/sdk/env.h"
#include "heap_fuse.h"
#include "unit.h"

#define LIST(array)                                                                                                    \
    {                                                                                                                  \
        array, COUNT(array)                                                                                            \
    }

/* ---- what each shape sets ---- */

static struct cfr_sdk_gce_identity ids[] = {{.audience = (char[]){"aud"}, .credential = (char[]){"ids"}}};
static struct cfr_sdk_gce_account accounts[] = {
    {.credential = (char[]){"app"}, .email = (char[]){"app@p"}, .identities = LIST(ids)},
    {.credential = (char[]){"other"}, .email = (char[]){"other@p"}},
    {.credential = (char[]){"narrow"}, .email = (char[]){"app@p"}},
    {.credential = (char[]){"nameless"}},
};
static struct cfr_sdk_azure_identity identities[] = {
    {.credential = (char[]){"app"}},
    {.credential = (char[]){"other"}, .client_id = (char[]){"c-other"}},
    {.credential = (char[]){"narrow"}, .object_id = (char[]){"o-narrow"}},
};

static const struct cfr_sdk_aws_container container = {
    .credential = (char[]){"app"},
    .path = (char[]){"/creds/app"},
    .authorization = &(struct cfr_sdk_client_secret){.file = (char[]){"/run/auth"}}};
static const struct cfr_sdk_aws_container bare = {.credential = (char[]){"app"}};
static const struct cfr_sdk_ec2_imds ec2 = {.credential = (char[]){"app"}, .region = (char[]){"eu-west-1"}};
static const struct cfr_sdk_ec2_imds ec2_bare = {.credential = (char[]){"app"}};
static const struct cfr_sdk_gce_metadata gce = {.accounts = LIST(accounts)};
static const struct cfr_sdk_gce_metadata gce_project = {.project_id = (char[]){"shop"}, .accounts = LIST(accounts)};
static const struct cfr_sdk_azure imds = {.identities = LIST(identities)};
static const struct cfr_sdk_azure service = {
    .identities = LIST(identities), .header = &(struct cfr_sdk_client_secret){.file = (char[]){"/run/header"}}};

static int add(struct cfr_sdk_env *e, const char *shape, const char *credential)
{
    const char *v4 = "127.0.0.1:9911";

    if (strcmp(shape, "container") == 0)
        return cfr_sdk_aws_container_shape.env(e, &container, v4, credential, NULL, NULL);
    if (strcmp(shape, "container without") == 0)
        return cfr_sdk_aws_container_shape.env(e, &bare, "[::1]:80", credential, NULL, NULL);
    if (strcmp(shape, "ec2") == 0)
        return cfr_sdk_ec2_imds_shape.env(e, &ec2, v4, credential, NULL, NULL);
    if (strcmp(shape, "ec2 without") == 0)
        return cfr_sdk_ec2_imds_shape.env(e, &ec2_bare, "[fd00:ec2::254]:80", credential, NULL, NULL);
    if (strcmp(shape, "gce") == 0)
        return cfr_sdk_gce_metadata_shape.env(e, &gce, v4, credential, NULL, NULL);
    if (strcmp(shape, "gce project") == 0)
        return cfr_sdk_gce_metadata_shape.env(e, &gce_project, v4, credential, NULL, NULL);
    if (strcmp(shape, "azure imds") == 0)
        return cfr_sdk_azure_imds_shape.env(e, &imds, v4, credential, NULL, NULL);
    if (strcmp(shape, "azure imds client") == 0)
        return cfr_sdk_azure_imds_shape.env(e, &imds, v4, credential, "c-exchange", NULL);
    assert_string_equal(shape, "app service");
    return cfr_sdk_azure_app_service_shape.env(e, &service, v4, credential, NULL, NULL);
}

#define GCE                                                                                                            \
    "GCE_METADATA_HOST=127.0.0.1:9911\nGCE_METADATA_IP=127.0.0.1:9911\nGCE_METADATA_ROOT=127.0.0.1:9911\n"             \
    "METADATA_SERVER_DETECTION=assume-present\n"
#define CONTAINER                                                                                                      \
    "AWS_CONTAINER_CREDENTIALS_FULL_URI=http://127.0.0.1:9911/creds/app\nAWS_CONTAINER_AUTHORIZATION_TOKEN_FILE=/run/" \
    "auth\n"

static const struct {
    const char *shapes[3];
    const char *credential;
    const char *variables; /* `<` before a value that is a file's content */
    const char *note;      /* a part of the only one; NULL = there is none */
} shape_rows[] = {
    {{"container"}, "app", CONTAINER, NULL},
    {{"container"}, "other", "", NULL},
    {{"container without"}, "app", "AWS_CONTAINER_CREDENTIALS_FULL_URI=http://[::1]:80/aws/app\n", NULL},
    {{"container", "container without"}, "app", CONTAINER, "http://[::1]:80 serves it as well"},
    {{"ec2"},
     "app",
     "AWS_EC2_METADATA_SERVICE_ENDPOINT=http://127.0.0.1:9911/\nAWS_METADATA_ENDPOINT=http://"
     "127.0.0.1:9911\nAWS_REGION=eu-west-1\nAWS_DEFAULT_REGION=eu-west-1\n",
     NULL},
    {{"ec2 without"},
     "app",
     "AWS_EC2_METADATA_SERVICE_ENDPOINT=http://[fd00:ec2::254]:80/\nAWS_EC2_METADATA_SERVICE_ENDPOINT_MODE=IPv6\n"
     "AWS_METADATA_ENDPOINT=http://[fd00:ec2::254]:80\n",
     NULL},
    {{"ec2"}, "other", "", NULL},
    {{"container", "ec2"},
     "app",
     CONTAINER "AWS_EC2_METADATA_SERVICE_ENDPOINT=http://127.0.0.1:9911/\nAWS_METADATA_ENDPOINT=http://"
               "127.0.0.1:9911\nAWS_REGION=eu-west-1\nAWS_DEFAULT_REGION=eu-west-1\n",
     NULL},
    {{"gce"}, "app", GCE, NULL},
    {{"gce project"}, "app", GCE "GOOGLE_CLOUD_PROJECT=shop\n", NULL},
    {{"gce"}, "narrow", GCE, NULL},
    {{"gce"}, "ids", GCE, "access tokens there are those of the credential app"},
    {{"gce"}, "other", "", "as the account other@p, while SDKs ask for the default account"},
    {{"gce"}, "nameless", "", "that its identity names"},
    {{"gce"}, "none", "", NULL},
    {{"azure imds"}, "app", "AZURE_POD_IDENTITY_AUTHORITY_HOST=http://127.0.0.1:9911\n", NULL},
    {{"azure imds client"},
     "app",
     "AZURE_POD_IDENTITY_AUTHORITY_HOST=http://127.0.0.1:9911\nAZURE_CLIENT_ID=c-exchange\n",
     NULL},
    {{"azure imds client"},
     "other",
     "AZURE_POD_IDENTITY_AUTHORITY_HOST=http://127.0.0.1:9911\nAZURE_CLIENT_ID=c-other\n",
     NULL},
    {{"azure imds"}, "narrow", "", "select it by its object or resource ID"},
    {{"azure imds"}, "none", "", NULL},
    {{"app service"}, "app", "IDENTITY_ENDPOINT=http://127.0.0.1:9911/msi/token\nIDENTITY_HEADER=</run/header\n", NULL},
    {{"app service", "azure imds"},
     "other",
     "IDENTITY_ENDPOINT=http://127.0.0.1:9911/msi/token\nIDENTITY_HEADER=</run/header\nAZURE_CLIENT_ID=c-other\n"
     "AZURE_POD_IDENTITY_AUTHORITY_HOST=http://127.0.0.1:9911\n",
     NULL},
    {{"azure imds", "azure imds client"},
     "other",
     "AZURE_POD_IDENTITY_AUTHORITY_HOST=http://127.0.0.1:9911\nAZURE_CLIENT_ID=c-other\n",
     "serves it as well"},
};

static void test_shapes(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT(shape_rows); i++) {
        struct cfr_str text = {.limit = 65536};
        struct cfr_sdk_env e = {0};

        for (size_t k = 0; k < COUNT(shape_rows[i].shapes) && shape_rows[i].shapes[k] != NULL; k++)
            assert_int_equal(add(&e, shape_rows[i].shapes[k], shape_rows[i].credential), 0);
        for (size_t k = 0; k < e.count; k++)
            cfr_str_addf(&text, "%s=%s%s\n", e.items[k].name, e.items[k].from_file ? "<" : "", e.items[k].value);
        if (strcmp(text.p != NULL ? text.p : "", shape_rows[i].variables) != 0)
            fail_msg("row %zu:\n%s", i, text.p);
        if (e.note_count != (shape_rows[i].note != NULL ? 1 : 0))
            fail_msg("row %zu: note: %s", i, e.note_count != 0 ? e.notes[0] : "none");
        if (shape_rows[i].note != NULL)
            assert_contains(e.notes[0], shape_rows[i].note);
        cfr_str_free(&text);
        cfr_sdk_env_free(&e);
    }
}

/* ---- the list ---- */

static void test_list(void **state)
{
    static const char *const names[] = {"A", "B"};
    struct cfr_sdk_env e = {0};
    struct cfr_err err = {0};
    static char many[CFR_SDK_ENV_VARIABLES_MAX + 1][8];

    (void)state;
    assert_int_equal(cfr_sdk_env_set(&e, CFR_SDK_ENV_AWS_FILE, names[0], "1", NULL), 0);
    assert_int_equal(cfr_sdk_env_set(&e, CFR_SDK_ENV_AWS_FILE, "A", "1", NULL), 0);
    assert_int_equal(e.count, 1);
    assert_int_equal(e.note_count, 0);
    assert_int_equal(cfr_sdk_env_set(&e, CFR_SDK_ENV_GCP_FILE, "A", "2", NULL), 0);
    assert_int_equal(cfr_sdk_env_set_file(&e, CFR_SDK_ENV_GCP_FILE, "A", "1", NULL), 0);
    assert_string_equal(cfr_sdk_env_find(&e, "A")->value, "1");
    assert_int_equal(e.note_count, 2);
    assert_string_equal(e.notes[0], "A can name one of several only: it is 1, and 2 is left out");
    assert_true(cfr_sdk_env_has_way(&e, CFR_SDK_ENV_AWS_FILE));
    assert_false(cfr_sdk_env_has_way(&e, CFR_SDK_ENV_GCP_FILE));
    assert_int_equal(cfr_sdk_env_note(&e, NULL, "%s", e.notes[0]), 0);
    assert_int_equal(e.note_count, 2);
    for (size_t i = 0; i < COUNT(many); i++) {
        int rc;

        (void)snprintf(many[i], sizeof many[i], "V%zu", i);
        rc = cfr_sdk_env_set(&e, CFR_SDK_ENV_AWS_FILE, many[i], "x", &err);
        assert_int_equal(rc, i < CFR_SDK_ENV_VARIABLES_MAX - 1 ? 0 : CFR_E_LIMIT);
        assert_int_equal(cfr_sdk_env_note(&e, NULL, "note %zu", i), 0);
    }
    assert_int_equal(e.note_count, CFR_SDK_ENV_NOTES_MAX);
    cfr_sdk_env_free(&e);
    assert_int_equal(e.count, 0);
}

/* Whichever allocation fails, it is told, and nothing half-made stays. */
static void test_memory(void **state)
{
    static const char *const shapes[] = {"container", "ec2", "gce project", "azure imds client", "app service"};

    (void)state;
    for (size_t i = 0; i < COUNT(shapes); i++) {
        int rc = CFR_E_NOMEM;

        for (long n = 0; n < 20 && rc != 0; n++) {
            struct cfr_sdk_env e = {0};

            fuse = n;
            rc = add(&e, shapes[i], "app");
            fuse = -1;
            assert_true(rc == CFR_E_NOMEM || (rc == 0 && n > 0));
            assert_int_equal(e.count, (size_t)n);
            cfr_sdk_env_free(&e);
        }
        assert_int_equal(rc, 0);
    }
}

/* ---- what takes precedence ---- */

static const char *there; /* "NAME=VALUE" lines: the environment; a line with a slash first is a file */

static const char *environment(const char *name)
{
    static char values[4][128]; /* as many as are looked at together */
    static unsigned turn;
    char *value = values[turn++ % COUNT(values)];
    struct cfr_view rest = cfr_view_of(there);
    struct cfr_view line;
    size_t n = strlen(name);

    while (cfr_view_line(&rest, &line)) {
        if (line.n > n && line.p[n] == '=' && memcmp(line.p, name, n) == 0) {
            (void)snprintf(value, sizeof values[0], "%.*s", (int)(line.n - n - 1), line.p + n + 1);
            return value;
        }
    }
    return NULL;
}

static bool exists(const char *path)
{
    struct cfr_view rest = cfr_view_of(there);
    struct cfr_view line;

    while (cfr_view_line(&rest, &line)) {
        if (cfr_view_is(line, path))
            return true;
    }
    return false;
}

static const struct {
    const char *shapes[2];
    const char *place;
    const char *warning; /* what the only one begins with; NULL = there is none */
} warn_rows[] = {
    {{"container"}, "", NULL},
    {{"container"}, "HOME=/home/u\nPATH=/bin", NULL},
    {{"container"}, "AWS_ACCESS_KEY_ID=AKIA", "AWS_ACCESS_KEY_ID is set and takes precedence: "},
    {{"container"}, "AWS_ACCESS_KEY_ID=", NULL},
    {{"container"},
     "AWS_CONTAINER_CREDENTIALS_RELATIVE_URI=/x",
     "AWS_CONTAINER_CREDENTIALS_RELATIVE_URI is set and takes precedence: "},
    {{"container"},
     "AWS_CONTAINER_AUTHORIZATION_TOKEN=x",
     "AWS_CONTAINER_AUTHORIZATION_TOKEN is set and takes precedence: "},
    {{"container"}, "AWS_CONTAINER_CREDENTIALS_FULL_URI=http://old", NULL},
    {{"ec2"},
     "AWS_CONTAINER_CREDENTIALS_FULL_URI=http://old",
     "AWS_CONTAINER_CREDENTIALS_FULL_URI is set and takes precedence: "},
    {{"container", "ec2"}, "AWS_CONTAINER_CREDENTIALS_FULL_URI=http://old", NULL},
    {{"container"}, "AWS_WEB_IDENTITY_TOKEN_FILE=/x", "AWS_WEB_IDENTITY_TOKEN_FILE is set and takes precedence: "},
    {{"container"}, "AWS_PROFILE=x", "AWS_PROFILE is set and takes precedence: "},
    {{"container"}, "AWS_DEFAULT_PROFILE=x", "AWS_DEFAULT_PROFILE is set and takes precedence: "},
    {{"container"}, "AWS_SHARED_CREDENTIALS_FILE=/x", "AWS_SHARED_CREDENTIALS_FILE is set and takes precedence: "},
    {{"container"}, "AWS_CONFIG_FILE=/x", "AWS_CONFIG_FILE is set and takes precedence: "},
    {{"container"}, "AWS_EC2_METADATA_DISABLED=true", NULL},
    {{"ec2"}, "AWS_EC2_METADATA_DISABLED=True", "AWS_EC2_METADATA_DISABLED is set and takes precedence: "},
    {{"ec2"}, "AWS_EC2_METADATA_DISABLED=false", NULL},
    {{"container"}, "HOME=/h\n/h/.aws/credentials", "/h/.aws/credentials exists and may take precedence: "},
    {{"container"}, "HOME=/h\n/h/.aws/config", "/h/.aws/config exists and may take precedence: "},
    {{"gce"}, "HOME=/h\n/h/.aws/credentials", NULL},
    {{"gce"}, "AWS_ACCESS_KEY_ID=AKIA", NULL},
    {{"gce"}, "GOOGLE_APPLICATION_CREDENTIALS=/x", "GOOGLE_APPLICATION_CREDENTIALS is set and takes precedence: "},
    {{"gce"}, "NO_GCE_CHECK=true", "NO_GCE_CHECK is set and takes precedence: "},
    {{"gce"}, "GCE_METADATA_MTLS_MODE=strict", "GCE_METADATA_MTLS_MODE is set and takes precedence: "},
    {{"gce"}, "GCE_METADATA_MTLS_MODE=default", NULL},
    {{"gce"}, "GCE_METADATA_HOST=old", NULL},
    {{"gce"}, "CLOUDSDK_AUTH_ACCESS_TOKEN=x", "CLOUDSDK_AUTH_ACCESS_TOKEN is set and takes precedence: "},
    {{"gce"}, "CLOUDSDK_AUTH_ACCESS_TOKEN_FILE=/x", "CLOUDSDK_AUTH_ACCESS_TOKEN_FILE is set and takes precedence: "},
    {{"gce"},
     "HOME=/h\n/h/.config/gcloud/application_default_credentials.json",
     "/h/.config/gcloud/application_default_credentials.json exists and may take precedence: "},
    {{"gce"},
     "HOME=/h\nCLOUDSDK_CONFIG=/c\n/c/application_default_credentials.json",
     "/c/application_default_credentials.json exists and may take precedence: "},
    {{"gce"}, "HOME=/h\nCLOUDSDK_CONFIG=/c\n/h/.config/gcloud/application_default_credentials.json", NULL},
    {{"app service"}, "AZURE_FEDERATED_TOKEN_FILE=/x", "AZURE_FEDERATED_TOKEN_FILE is set and takes precedence: "},
    {{"azure imds"}, "AZURE_FEDERATED_TOKEN_FILE=/x", "AZURE_FEDERATED_TOKEN_FILE is set and takes precedence: "},
    {{"app service"}, "AZURE_CLIENT_SECRET=x", "AZURE_CLIENT_SECRET is set and takes precedence: "},
    {{"app service"}, "AZURE_CLIENT_CERTIFICATE_PATH=x", "AZURE_CLIENT_CERTIFICATE_PATH is set and takes precedence: "},
    {{"app service"}, "AZURE_USERNAME=x", "AZURE_USERNAME is set and takes precedence: "},
    {{"app service"}, "AZURE_TOKEN_CREDENTIALS=dev", "AZURE_TOKEN_CREDENTIALS is set and takes precedence: "},
    {{"app service"}, "AZURE_CLIENT_ID=x", "AZURE_CLIENT_ID is set and takes precedence: "},
    {{"azure imds client"}, "AZURE_CLIENT_ID=x", NULL},
    {{"app service"}, "IDENTITY_SERVER_THUMBPRINT=x", "IDENTITY_SERVER_THUMBPRINT is set and takes precedence: "},
    {{"azure imds"}, "IDENTITY_SERVER_THUMBPRINT=x", NULL},
    {{"azure imds"}, "IDENTITY_ENDPOINT=x", "IDENTITY_ENDPOINT is set and takes precedence: "},
    {{"app service"}, "IDENTITY_ENDPOINT=x", NULL},
    {{"azure imds", "app service"}, "IDENTITY_ENDPOINT=x", NULL},
    {{"azure imds"}, "MSI_ENDPOINT=x", "MSI_ENDPOINT is set and takes precedence: "},
    {{"gce"},
     "http_proxy=http://p:1",
     "http_proxy is set: some SDKs would ask the proxy for the endpoint; add 127.0.0.1 to "},
    {{"container"}, "HTTP_PROXY=http://p:1", "HTTP_PROXY is set: "},
    {{"container"}, "https_proxy=http://p:1", NULL},
    {{"container"}, "ALL_PROXY=http://p:1\nNO_PROXY=10.0.0.1,localhost", "ALL_PROXY is set: "},
    {{"container"}, "ALL_PROXY=http://p:1\nNO_PROXY=127.0.0.11", "ALL_PROXY is set: "},
    {{"container"}, "ALL_PROXY=http://p:1\nNO_PROXY=x, 127.0.0.1", NULL},
    {{"container"}, "ALL_PROXY=http://p:1\nno_proxy=127.0.0.0/8", NULL},
    {{"container"}, "ALL_PROXY=http://p:1\nno_proxy=*", NULL},
    {{"container without"}, "ALL_PROXY=http://p:1\nno_proxy=::1,a", NULL},
    {{"container without"},
     "ALL_PROXY=http://p:1\nno_proxy=127.0.0.1",
     "ALL_PROXY is set: some SDKs would ask the proxy for the endpoint; add ::1 "},
};

static void test_warnings(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT(warn_rows); i++) {
        const char *wanted = warn_rows[i].warning;
        struct cfr_str out = {.limit = 65536};
        struct cfr_sdk_env e = {0};

        there = warn_rows[i].place;
        for (size_t k = 0; k < COUNT(warn_rows[i].shapes) && warn_rows[i].shapes[k] != NULL; k++)
            assert_int_equal(add(&e, warn_rows[i].shapes[k], "app"), 0);
        cfr_sdk_env_warn(&e, &(struct cfr_sdk_env_place){environment, exists}, "unset it", &out);
        if (wanted == NULL ? out.len != 0 : out.p == NULL || strncmp(out.p, wanted, strlen(wanted)) != 0)
            fail_msg("%s: %s", warn_rows[i].place, out.p != NULL ? out.p : "no warning");
        if (out.p != NULL && strchr(out.p, '\n') != out.p + out.len - 1)
            fail_msg("%s: more than one: %s", warn_rows[i].place, out.p);
        cfr_str_free(&out);
        cfr_sdk_env_free(&e);
    }
}

/* No value of the environment is repeated: it may be a secret. */
static void test_no_values(void **state)
{
    struct cfr_str out = {.limit = 65536};
    struct cfr_sdk_env e = {0};

    (void)state;
    there = "AWS_ACCESS_KEY_ID=sesame\nAZURE_CLIENT_SECRET=sesame\nHTTP_PROXY=http://"
            "u:sesame@p\nCLOUDSDK_AUTH_ACCESS_TOKEN=sesame\n"
            "HOME=/h";
    assert_int_equal(add(&e, "container", "app"), 0);
    assert_int_equal(add(&e, "gce", "app"), 0);
    assert_int_equal(add(&e, "app service", "app"), 0);
    cfr_sdk_env_warn(&e, &(struct cfr_sdk_env_place){environment, exists}, "unset it", &out);
    assert_contains(out.p, "AWS_ACCESS_KEY_ID is set");
    assert_contains(out.p, "AZURE_CLIENT_SECRET is set");
    assert_contains(out.p, "CLOUDSDK_AUTH_ACCESS_TOKEN is set");
    assert_contains(out.p, "HTTP_PROXY is set");
    assert_null(strstr(out.p, "sesame"));
    cfr_str_free(&out);
    cfr_sdk_env_free(&e);
}

/* The variables to unset are those that are warned of; without a remedy they are left to the caller. */
static void test_overriding(void **state)
{
    const struct cfr_sdk_env_place place = {environment, exists};
    struct cfr_str out = {.limit = 65536};
    struct cfr_sdk_env e = {0};

    (void)state;
    there =
        "AWS_PROFILE=x\nAWS_ACCESS_KEY_ID=\nAWS_CONTAINER_CREDENTIALS_FULL_URI=y\nGOOGLE_APPLICATION_CREDENTIALS=z\n"
        "AWS_WEB_IDENTITY_TOKEN_FILE=/t\nHOME=/h\n/h/.aws/config";
    assert_int_equal(add(&e, "container", "app"), 0);
    cfr_sdk_env_overriding(&e, &place, &out);
    assert_string_equal(out.p, "AWS_WEB_IDENTITY_TOKEN_FILE\nAWS_PROFILE\n");
    cfr_str_free(&out);
    out.limit = 65536;
    cfr_sdk_env_warn(&e, &place, NULL, &out);
    assert_int_equal(strncmp(out.p, "/h/.aws/config exists and ", 26), 0);
    cfr_str_free(&out);
    cfr_sdk_env_free(&e);
}

/* What single SDKs do differently, only where their way is among the variables. */
static void test_exceptions(void **state)
{
    struct cfr_str out = {.limit = 65536};
    struct cfr_sdk_env e = {0};

    (void)state;
    assert_int_equal(add(&e, "container without", "app"), 0);
    assert_int_equal(add(&e, "app service", "app"), 0);
    assert_int_equal(add(&e, "azure imds", "app"), 0);
    cfr_sdk_env_hint(&e, &out);
    assert_null(strstr(out.p, "before 1.32"));
    assert_null(strstr(out.p, "169.254.169.254"));
    cfr_str_free(&out);
    cfr_sdk_env_free(&e);
    out.limit = 65536;
    assert_int_equal(add(&e, "container", "app"), 0);
    assert_int_equal(add(&e, "azure imds", "app"), 0);
    cfr_sdk_env_hint(&e, &out);
    assert_contains(out.p, "the content of /run/auth in AWS_CONTAINER_AUTHORIZATION_TOKEN instead\n");
    assert_contains(out.p, "azidentity asks 169.254.169.254");
    cfr_str_free(&out);
    cfr_sdk_env_free(&e);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_shapes),    cmocka_unit_test(test_list),       cmocka_unit_test(test_warnings),
        cmocka_unit_test(test_no_values), cmocka_unit_test(test_overriding), cmocka_unit_test(test_exceptions),
        cmocka_unit_test(test_memory),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
