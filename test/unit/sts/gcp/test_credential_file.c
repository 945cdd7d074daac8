/* SPDX-License-Identifier: MIT */
/* Google's credential files: what is read out of each kind, and what each objection says. */
#include "unit.h"

#include "base/json.h"
#include "base/str.h"
#include "data_file.h"
#include "sts/gcp/credential_file.h"
#include "sts/gcp/gcp.h"

static struct cfr_view text;
static struct cfr_gcp_file file;

static void open_file(const char *name)
{
    struct cfr_err err = {0};

    text = data_file_read(name);
    if (cfr_gcp_file_read(text, &file, &err) != 0)
        fail_msg("%s: %s", name, err.text);
}

static void close_file(void)
{
    cfr_gcp_file_free(&file);
    data_file_free(text);
}

static void external_accounts(void **state)
{
    (void)state;
    open_file("gcp/files/external.json");
    assert_int_equal(file.type, CFR_GCP_FILE_EXTERNAL_ACCOUNT);
    assert_int_equal(file.source, CFR_GCP_SOURCE_FILE);
    assert_true(cfr_view_starts(file.audience, "//iam.googleapis.com/projects/123456789/"));
    assert_view(file.token_path, "/var/run/secrets/openshift/serviceaccount/token");
    assert_int_equal(file.token_field.n, 0);
    assert_int_equal(file.service_account.n, 0);
    assert_int_equal(file.lifetime_s, 0);
    close_file();
    open_file("gcp/files/external-impersonated.json");
    assert_view(file.service_account, "deployer@example-project.iam.gserviceaccount.com");
    assert_view(file.iam_url, "https://iamcredentials.googleapis.com");
    assert_int_equal(file.lifetime_s, 7200);
    close_file();
    open_file("gcp/files/external-workforce.json");
    assert_view(file.token_field, "id_token");
    assert_view(file.user_project, "123456789");
    assert_view(file.quota_project_id, "billing-project");
    close_file();
    open_file("gcp/files/external-certificate.json");
    assert_int_equal(file.source, CFR_GCP_SOURCE_CERTIFICATE);
    assert_view(file.certificate_config, "/etc/cert.json");
    assert_view(file.trust_chain_path, "/etc/chain.pem");
    close_file();
}

static void keys(void **state)
{
    (void)state;
    open_file("gcp/files/key.json");
    assert_int_equal(file.type, CFR_GCP_FILE_SERVICE_ACCOUNT);
    assert_view(file.client_email, "builder@example-project.iam.gserviceaccount.com");
    assert_view(file.private_key_id, "0123456789abcdef0123456789abcdef01234567");
    assert_view(file.token_uri, "https://oauth2.googleapis.com/token");
    assert_view(file.project_id, "example-project");
    assert_true(cfr_view_starts(file.private_key, "-----BEGIN PRIVATE KEY-----\n"));
    assert_view(file.universe_domain, "googleapis.com");
    close_file();
    open_file("gcp/files/key-universe.json");
    assert_view(file.universe_domain, "other.example");
    close_file();
}

#define A "\"//iam.googleapis.com/projects/1/locations/global/workloadIdentityPools/p/providers/x\""
#define EXTERNAL                                                                                                       \
    "{\"type\":\"external_account\",\"audience\":" A ",\"subject_token_type\":\"urn:ietf:params:oauth:token-type:"     \
    "jwt\""
#define SOURCE ",\"credential_source\":{\"file\":\"/t\"}"
#define KEY                                                                                                            \
    "{\"type\":\"service_account\",\"client_email\":\"a@b.iam.gserviceaccount.com\",\"private_key\":\"k\","            \
    "\"private_key_id\":\"i\""
#define WITH_SOURCE(source) EXTERNAL ",\"credential_source\":" source "}"
#define IMPERSONATE(url)    EXTERNAL SOURCE ",\"service_account_impersonation_url\":\"" url "\"}"
#define GOOD_URL            "https://iam.example/v1/projects/-/serviceAccounts/a@b.c:generateAccessToken"

static const struct {
    const char *json;
    const char *why; /* NULL: it is good */
} cases[] = {
    {EXTERNAL SOURCE "}", NULL},
    {KEY "}", NULL},
    {IMPERSONATE(GOOD_URL), NULL},
    {EXTERNAL SOURCE ",\"token_url\":null,\"client_id\":null}", NULL},
    {WITH_SOURCE("{\"certificate\":{\"use_default_certificate_config\":true}}"), NULL},
    {WITH_SOURCE("{\"file\":\"/t\",\"format\":{}}"), NULL},
    {"", "it is no JSON object"},
    {"[]", "it is no JSON object"},
    {"{\"type\":", "it is no JSON object"},
    {"{}", "it has no `type`"},
    {"{\"type\":5}", "it has no `type`"},
    {"{\"type\":\"authorized_user\"}", "a person's login"},
    {"{\"type\":\"external_account_authorized_user\"}", "a person's login"},
    {"{\"type\":\"impersonated_service_account\"}", "source_credentials"},
    {"{\"type\":\"gdch_service_account\"}",
     "must be external_account or service_account, not \"gdch_service_account\""},
    {EXTERNAL SOURCE ",\"trust_boundary\":{}}", "trust_boundary: credfresh does not know this member"},
    {EXTERNAL SOURCE ",\"audience\":\"x\"}", "audience: it occurs twice"},
    {EXTERNAL SOURCE ",\"token_url\":5}", "token_url: it must be text"},
    {EXTERNAL SOURCE ",\"token_url\":\"http://x.example\"}", "token_url: plain http is only"},
    {EXTERNAL SOURCE ",\"client_id\":\"a\\tb\"}", "client_id: it has a character that is not printable"},
    {EXTERNAL SOURCE ",\"client_id\":\"a:b\"}", "client_id: it must not have a colon"},
    {EXTERNAL SOURCE ",\"client_secret\":\"x\"}", "client_secret: it has no effect without client_id"},
    {EXTERNAL SOURCE ",\"workforce_pool_user_project\":\"p\"}",
     "workforce_pool_user_project: it is for workforce pools"},
    {EXTERNAL SOURCE ",\"universe_domain\":\"x\"}", "universe_domain: it must be a domain name"},
    {"{\"type\":\"external_account\",\"subject_token_type\":\"x\"" SOURCE "}", "audience: it is missing"},
    {"{\"type\":\"external_account\",\"audience\":" A SOURCE "}", "subject_token_type: it is missing"},
    {"{\"type\":\"external_account\",\"audience\":\"projects/x\",\"subject_token_type\":\"x\"" SOURCE "}",
     "audience: it must begin with //iam"},
    {EXTERNAL "}", "credential_source: it is missing or no object"},
    {WITH_SOURCE("{}"), "credential_source: exactly one of file and certificate"},
    {WITH_SOURCE("{\"file\":\"t\"}"), "credential_source.file: it must be an absolute path"},
    {WITH_SOURCE("{\"file\":\"/t\",\"certificate\":{}}"), "credential_source: exactly one of file and certificate"},
    {WITH_SOURCE("{\"file\":\"/t\",\"more\":1}"), "credential_source: more: credfresh does not know this member"},
    {WITH_SOURCE("{\"url\":\"http://x\",\"headers\":{}}"), "credential_source: it asks for a token from a URL"},
    {WITH_SOURCE("{\"executable\":{\"command\":\"/x\"}}"), "credential_source: it asks for a program to be run"},
    {WITH_SOURCE("{\"environment_id\":\"aws1\"}"), "credential_source: it asks for the keys of an AWS machine"},
    {WITH_SOURCE("{\"file\":\"/t\",\"format\":5}"), "credential_source: it must be an object"},
    {WITH_SOURCE("{\"file\":\"/t\",\"format\":{\"type\":\"xml\"}}"),
     "credential_source: its type must be text or json"},
    {WITH_SOURCE("{\"file\":\"/t\",\"format\":{\"type\":\"json\"}}"), "needs subject_token_field_name"},
    {WITH_SOURCE("{\"file\":\"/t\",\"format\":{\"subject_token_field_name\":\"x\"}}"), "no effect with the type text"},
    {WITH_SOURCE("{\"certificate\":{}}"), "credential_source: exactly one of use_default_certificate_config"},
    {WITH_SOURCE("{\"certificate\":5}"), "credential_source: it must be an object"},
    {WITH_SOURCE("{\"certificate\":{\"use_default_certificate_config\":true},\"format\":{}}"),
     "no effect with a certificate"},
    {IMPERSONATE("https://iam.example/v1/projects/p/serviceAccounts/a@b.c:generateAccessToken"),
     "service_account_impersonation_url: it must be https://iamcredentials"},
    {IMPERSONATE("https://iam.example/v1/projects/-/serviceAccounts/a@b.c:generateIdToken"),
     "service_account_impersonation_url: it must be https://iamcredentials"},
    {IMPERSONATE("https://iam.example/v1/projects/-/serviceAccounts/a/b@b.c:generateAccessToken"),
     "service_account_impersonation_url: it must be an email address (or the numeric id) of a service account"},
    {IMPERSONATE("https://iam.example/v1/projects/-/serviceAccounts/:generateAccessToken"),
     "service_account_impersonation_url: it must be an email address (or the numeric id) of a service account"},
    {IMPERSONATE("https://iam.example/v1/projects/-/serviceAccounts/generateAccessToken"),
     "service_account_impersonation_url: it must be https://iamcredentials"},
    {IMPERSONATE("http://x/v1/projects/-/serviceAccounts/a@b.c:generateAccessToken"),
     "service_account_impersonation_url: plain http"},
    {EXTERNAL SOURCE ",\"service_account_impersonation\":{\"token_lifetime_seconds\":3600}}",
     "no effect without service_account_impersonation_url"},
    {EXTERNAL SOURCE ",\"service_account_impersonation\":5}", "service_account_impersonation: it must be an object"},
    {EXTERNAL SOURCE ",\"service_account_impersonation\":{\"x\":1}}",
     "service_account_impersonation: x: credfresh does not know"},
    {EXTERNAL SOURCE ",\"service_account_impersonation_url\":\"" GOOD_URL
                     "\",\"service_account_impersonation\":{\"token_lifetime_seconds\":599}}",
     "it must be a number from 600 to 43200"},
    {KEY ",\"scopes\":[]}", "scopes: credfresh does not know this member"},
    {KEY ",\"token_uri\":\"file:///x\"}", "token_uri: it must be a URL"},
    {"{\"type\":\"service_account\",\"private_key\":\"k\",\"private_key_id\":\"i\"}", "client_email: it is missing"},
    {"{\"type\":\"service_account\",\"client_email\":\"a@b.c\",\"private_key_id\":\"i\"}",
     "private_key: it is missing"},
    {"{\"type\":\"service_account\",\"client_email\":\"a@b.c\",\"private_key\":\"k\"}",
     "private_key_id: it is missing"},
    {"{\"type\":\"service_account\",\"client_email\":\"a\",\"private_key\":\"k\",\"private_key_id\":\"i\"}",
     "client_email: it must be an email address (or the numeric id) of a service account"},
};

static void objections(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        struct cfr_err err = {0};
        int rc = cfr_gcp_file_read(cfr_view_of(cases[i].json), &file, &err);

        if (cases[i].why == NULL ? rc != 0 : rc != CFR_E_CONFIG || strstr(err.text, cases[i].why) == NULL)
            fail_msg("%s: expected \"%s\", got %d \"%s\"", cases[i].json, cases[i].why != NULL ? cases[i].why : "", rc,
                     err.text);
        cfr_gcp_file_free(&file);
        assert_int_equal(cfr_gcp_file_read(cfr_view_of(cases[i].json), &file, NULL), rc);
        cfr_gcp_file_free(&file);
    }
}

static void too_large(void **state)
{
    struct cfr_str s = {.limit = 100000};
    struct cfr_err err = {0};

    (void)state;
    cfr_str_addz(&s, "{");
    while (s.len < 70000)
        cfr_str_addz(&s, "\"a\":1,");
    assert_int_equal(cfr_gcp_file_read(cfr_str_view(&s), &file, &err), CFR_E_CONFIG);
    assert_contains(err.text, "more than 65536");
    cfr_gcp_file_free(&file);
    cfr_str_free(&s);
}

#define GO "/v1/projects/-/serviceAccounts/a@b.c:generateAccessToken"

static const struct {
    const char *member;
    const char *url;
    bool good;
} hosts[] = {
    {"token_url", "https://sts.googleapis.com/v1/token", true},
    {"token_url", "https://STS.googleapis.com/v1/token", false},
    {"token_url", "https://sts.mtls.googleapis.com/v1/token", true},
    {"token_url", "https://sts.eu.rep.googleapis.com/v1/token", true},
    {"token_url", "https://sts-mine.p.googleapis.com/v1/token", true},
    {"token_url", "https://us-east1-sts.googleapis.com/v1/token", true},
    {"token_url", "https://us-east1.sts.googleapis.com/v1/token", true},
    {"token_url", "https://sts.us-east1.googleapis.com/v1/token", true},
    {"token_url", "https://collector.example/v1/token", false},
    {"token_url", "https://127.0.0.1:8443/v1/token", false},
    {"token_url", "http://127.0.0.1:8443/v1/token", false},
    {"token_url", "http://localhost/v1/token", false},
    {"token_url", "https://sts.googleapis.com.collector.example/v1/token", false},
    {"token_url", "https://stsgoogleapis.com/v1/token", false},
    {"token_url", "https://sts.collector-googleapis.com/v1/token", false},
    {"token_url", "https://googleapis.com/v1/token", false},
    {"token_url", "https://.googleapis.com/v1/token", false},
    {"token_url", "https://storage.googleapis.com/bucket", false},
    {"token_url", "https://sts.storage.x.googleapis.com/bucket", false},
    {"token_url", "https://x.y.sts.googleapis.com/bucket", false},
    {"token_url", "https://bucket.storage.googleapis.com/", false},
    {"token_url", "https://iamcredentials.googleapis.com/v1/token", false},
    {"token_url", "https://p.googleapis.com/v1/token", false},
    {"token_url", "https://sts.other.example/v1/token", false},
    {"service_account_impersonation_url", "https://iamcredentials.googleapis.com" GO, true},
    {"service_account_impersonation_url", "https://iamcredentials.mtls.googleapis.com" GO, true},
    {"service_account_impersonation_url", "https://collector.example" GO, false},
    {"service_account_impersonation_url", "https://iamcredentials.googleapis.com:444@x.example" GO, false},
    {"service_account_impersonation_url", "http://[::1]" GO, false},
    {"token_uri", "https://oauth2.googleapis.com/token", true},
    {"token_uri", "https://oauth2.mtls.googleapis.com/token", true},
    {"token_uri", "https://accounts.google.com/o/oauth2/token", true},
    {"token_uri", "https://www.googleapis.com/oauth2/v4/token", true},
    {"token_uri", "https://collector.example/token", false},
    {"token_uri", "http://127.0.0.1/token", false},
};

/* What a credential file names, unless the configuration sets the key that takes precedence. */
static void hosts_are_googles_own(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof hosts / sizeof hosts[0]; i++) {
        bool key = strcmp(hosts[i].member, "token_uri") == 0;
        bool iam = strncmp(hosts[i].member, "service", 7) == 0;
        char own[] = "https://own.example";
        struct cfr_gcp config = {.audience = NULL};
        struct cfr_err err = {0};
        char json[2048];
        int rc;

        (void)snprintf(json, sizeof json, "%s,\"%s\":\"%s\"}", key ? KEY : EXTERNAL SOURCE, hosts[i].member,
                       hosts[i].url);
        rc = cfr_gcp_file_read(cfr_view_of(json), &file, &err);
        if (rc == 0)
            rc = cfr_gcp_file_check_hosts(&config, &file, &err);
        if (rc != (hosts[i].good ? 0 : CFR_E_CONFIG))
            fail_msg("%s: %d \"%s\"", hosts[i].url, rc, err.text);
        if (rc != 0 && file.type == CFR_GCP_FILE_EXTERNAL_ACCOUNT && strstr(err.text, "does not decide") != NULL) {
            assert_contains(err.text, iam ? "set `iam_endpoint`" : "set `sts_endpoint`");
            *(iam ? &config.iam_endpoint : &config.sts_endpoint) = own;
            assert_int_equal(cfr_gcp_file_check_hosts(&config, &file, &err), 0);
        }
        cfr_gcp_file_free(&file);
    }
}

/* A universe is one that the configuration names, too, and its hosts are then the cloud's own. */
static void universes_are_named_by_the_configuration(void **state)
{
    static const char json[] = EXTERNAL SOURCE ",\"universe_domain\":\"other.example\",\"token_url\":"
                                               "\"https://sts.other.example/v1/token\"}";
    char other[] = "other.example";
    char third[] = "third.example";
    struct cfr_gcp config = {.audience = NULL};
    struct cfr_err err = {0};

    (void)state;
    assert_int_equal(cfr_gcp_file_read(cfr_view_of(json), &file, &err), 0);
    assert_int_equal(cfr_gcp_file_check_hosts(&config, &file, &err), CFR_E_CONFIG);
    assert_contains(err.text, "set `universe_domain`");
    config.universe_domain = third;
    assert_int_equal(cfr_gcp_file_check_hosts(&config, &file, &err), CFR_E_CONFIG);
    config.universe_domain = other;
    assert_int_equal(cfr_gcp_file_check_hosts(&config, &file, &err), 0);
    cfr_gcp_file_free(&file);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(external_accounts),
        cmocka_unit_test(keys),
        cmocka_unit_test(objections),
        cmocka_unit_test(too_large),
        cmocka_unit_test(hosts_are_googles_own),
        cmocka_unit_test(universes_are_named_by_the_configuration),
    };

    cfr_json_setup();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
