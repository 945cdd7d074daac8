/* SPDX-License-Identifier: MIT */
/* The configuration of the GCP provider: defaults, and every rule of its table. */
#include "gcp_sample.h"

#include "base/json.h"
#include "base/view.h"
#include "sts/providers.h"

/* WHY NULL means that the check must pass. */
static void checks(const char *why, const char *const *settings)
{
    struct cfr_err err = {0};
    struct gcp_sample s;
    int rc;

    gcp_sample(&s, settings);
    rc = cfr_gcp_provider.table->check(&s.config, &err);
    if (why == NULL ? rc != 0 : rc != CFR_E_CONFIG || strstr(err.text, why) != err.text)
        fail_msg("expected \"%s\", got %d \"%s\"", why != NULL ? why : "", rc, err.text);
    gcp_sample_free(&s);
}

static void defaults(void **state)
{
    struct gcp_sample s;

    (void)state;
    gcp_sample(&s, LIST("audience", AUDIENCE));
    assert_true(s.config.access_token);
    assert_true(!s.config.include_email && !s.config.mtls && !s.config.self_signed);
    assert_int_equal(s.config.lifetime_ms, -1);
    gcp_sample_free(&s);
    assert_ptr_equal(cfr_sts_find(cfr_view_of("gcp")), &cfr_gcp_provider);
}

/* Every key has a text for the reference page, and valid limits. */
static void the_table_is_whole(void **state)
{
    (void)state;
    for (const struct cfr_field *f = cfr_gcp_provider.table->fields; f->key != NULL; f++) {
        assert_true(f->doc != NULL && strlen(f->doc) > 40 && f->doc[strlen(f->doc) - 1] == '.');
        assert_true(f->offset >= sizeof(struct cfr_node) && f->offset < sizeof(struct cfr_gcp));
        assert_true(f->min <= f->max);
        if ((f->flags & CFR_FIELD_CONTENT) != 0)
            assert_true(f->type == CFR_FIELD_STRING && (f->flags & CFR_FIELD_PATH) != 0);
    }
}

static void audiences(void **state)
{
    (void)state;
    checks(NULL, LIST("audience", AUDIENCE));
    checks(NULL, LIST("audience", WORKFORCE));
    checks(NULL, LIST("audience", "identitynamespace:example-project.svc.id.goog:https://gkehub.example/x"));
    checks("audience: it is missing", LIST("scopes", "openid"));
    checks("audience: after projects/ it must have the project's NUMBER, not its id \"example-project\"",
           LIST("audience", "//iam.googleapis.com/projects/example-project/locations/global/"
                            "workloadIdentityPools/p/providers/x"));
    checks("audience: it must be the provider's full name",
           LIST("audience", "//iam.googleapis.com/projects/1/locations/global/workloadIdentityPools/p"));
    checks("audience: it must be the provider's full name", LIST("audience", AUDIENCE "/more"));
    checks("audience: it must be the provider's full name",
           LIST("audience", "//iam.googleapis.com/locations/global/workforcePools/staff/providers/"));
    checks("audience: it must begin with //iam", LIST("audience", "https:" AUDIENCE));
    checks("audience: it must begin with //iam", LIST("audience", "projects/1/locations/global/x"));
    checks("audience: it has a blank", LIST("audience", AUDIENCE " "));
}

static void values(void **state)
{
    (void)state;
    checks(NULL, LIST("audience", AUDIENCE, "service_account", "100000000000000000001"));
    checks("service_account: it must be an email address (or the numeric id) of a service account",
           LIST("audience", AUDIENCE, "service_account", "deployer"));
    checks("service_account: it must be", LIST("audience", AUDIENCE, "service_account", "a/../b@c.d"));
    checks("service_account: it must be", LIST("audience", AUDIENCE, "service_account", "a@b@c"));
    checks("service_account: it must be",
           LIST("audience", AUDIENCE, "service_account", "projects/-/serviceAccounts/a@b.iam.gserviceaccount.com"));
    checks("delegates: it must be", LIST("audience", AUDIENCE, "service_account", ACCOUNT, "delegates", ACCOUNT " x"));
    checks("scopes: each scope is a separate URL", LIST("audience", AUDIENCE, "scopes", "openid cloud-platform"));
    checks("scopes: each scope is a separate URL", LIST("audience", AUDIENCE, "scopes", "https://a/b,https://c/d"));
    checks("universe_domain: it must be a domain", LIST("audience", AUDIENCE, "universe_domain", "https://x.example"));
    checks("universe_domain: it must be a domain", LIST("audience", AUDIENCE, "universe_domain", "localhost"));
    checks("universe_domain: it must be a domain", LIST("audience", AUDIENCE, "universe_domain", "x.example:80"));
    checks("subject_token_type: it must be a URN", LIST("audience", AUDIENCE, "subject_token_type", "jwt-x"));
    checks("subject_token_type: credfresh does not sign",
           LIST("audience", AUDIENCE, "subject_token_type", "urn:ietf:params:aws:token-type:aws4_request"));
    checks("subject_token_type: this one needs certificate_file",
           LIST("audience", AUDIENCE, "subject_token_type", CFR_GCP_TYPE_MTLS));
    checks("lifetime: it must be in whole seconds",
           LIST("audience", AUDIENCE, "service_account", ACCOUNT, "lifetime", "10m1ms"));
    checks("user_project: it is for workforce pools only", LIST("audience", AUDIENCE, "user_project", "p"));
    checks("user_project: it must be a project's", LIST("audience", WORKFORCE, "user_project", "p\"q"));
    checks("subject: it must be a user's", LIST("credentials_file", "/k", "subject", "user"));
    checks("artifact_registry: \"https://gcr.io\" is no",
           LIST("audience", AUDIENCE, "artifact_registry", "https://gcr.io"));
    checks("artifact_registry: gcr.io occurs twice", LIST("audience", AUDIENCE, "artifact_registry", "gcr.io gcr.io"));
}

#define CERTIFICATE "certificate_file", "/c", "key_file", "/k"
#define UNIVERSE    "universe_domain", "x.example"

static void hosts(void **state)
{
    (void)state;
    checks(NULL, LIST("audience", AUDIENCE, "location", "europe-west1"));
    checks(NULL, LIST("audience", AUDIENCE, "location", "global", "universe_domain", "x.example"));
    checks("location: it has only lower-case", LIST("audience", AUDIENCE, "location", "EU"));
    checks("location: it has only lower-case", LIST("audience", AUDIENCE, "location", "a.b"));
    checks("location: it has no effect with sts_endpoint",
           LIST("audience", AUDIENCE, "location", "eu", "sts_endpoint", "https://x"));
    checks("location: such hosts are known",
           LIST("audience", AUDIENCE, "location", "eu", "universe_domain", "x.example"));
    checks("location: there are no regional hosts",
           LIST("audience", AUDIENCE, "location", "eu", "mtls", "true", "certificate_file", "/c", "key_file", "/k"));
    checks("mtls: it needs certificate_file", LIST("audience", AUDIENCE, "mtls", "true"));
    checks("mtls: such hosts are known", LIST("audience", AUDIENCE, "mtls", "true", "certificate_file", "/c",
                                              "key_file", "/k", "universe_domain", "x.example"));
    checks("location: there are no regional hosts for a certificate",
           LIST("audience", AUDIENCE, CERTIFICATE, "location", "europe-west1"));
    checks("universe_domain: the hosts for a certificate", LIST("audience", AUDIENCE, CERTIFICATE, UNIVERSE));
    checks("universe_domain: the hosts for a certificate",
           LIST("audience", AUDIENCE, CERTIFICATE, UNIVERSE, "subject_token_type", CFR_GCP_TYPE_MTLS));
    checks(NULL, LIST("audience", AUDIENCE, CERTIFICATE, UNIVERSE, "sts_endpoint", "https://sts.x.example"));
    checks("universe_domain: the hosts for a certificate",
           LIST("audience", AUDIENCE, CERTIFICATE, UNIVERSE, "sts_endpoint", "https://sts.x.example", "service_account",
                ACCOUNT));
    checks(NULL, LIST("audience", AUDIENCE, CERTIFICATE, UNIVERSE, "sts_endpoint", "https://sts.x.example",
                      "service_account", ACCOUNT, "iam_endpoint", "https://iam.x.example"));
    checks(NULL, LIST("audience", AUDIENCE, CERTIFICATE, "location", "global"));
    checks("sts_endpoint: plain http is only", LIST("audience", AUDIENCE, "sts_endpoint", "http://x.example"));
    checks("sts_endpoint: it has a query", LIST("audience", AUDIENCE, "sts_endpoint", "https://x.example/?a"));
    checks("iam_endpoint: it must be a URL",
           LIST("audience", AUDIENCE, "service_account", ACCOUNT, "iam_endpoint", "iam.example"));
    checks("ca_file: it has no effect",
           LIST("audience", AUDIENCE, "sts_endpoint", "http://localhost", "ca_file", "/ca"));
    checks(NULL, LIST("audience", AUDIENCE, "sts_endpoint", "http://localhost", "ca_file", "/ca", "service_account",
                      ACCOUNT));
    checks("certificate_file: no certificate can be shown",
           LIST("audience", AUDIENCE, "sts_endpoint", "http://localhost", "certificate_file", "/c", "key_file", "/k"));
}

static void what_belongs_together(void **state)
{
    (void)state;
    checks("client_id: it needs client_secret_file", LIST("audience", WORKFORCE, "client_id", "a"));
    checks("client_secret_file: it needs client_id", LIST("audience", WORKFORCE, "client_secret_file", "/a"));
    checks("client_id: it must not have a colon",
           LIST("audience", WORKFORCE, "client_id", "a:b", "client_secret_file", "/a"));
    checks("user_project: it has no effect with client_id",
           LIST("audience", WORKFORCE, "client_id", "a", "client_secret_file", "/a", "user_project", "p"));
    checks("certificate_file: it needs key_file", LIST("audience", AUDIENCE, "certificate_file", "/c"));
    checks("key_file: it needs certificate_file", LIST("audience", AUDIENCE, "key_file", "/k"));
    checks(
        "certificate_file: with this subject_token_type",
        LIST("audience", AUDIENCE, "certificate_file", "/c", "key_file", "/k", "subject_token_type", CFR_GCP_TYPE_JWT));
    checks("delegates: it is for the impersonation", LIST("audience", AUDIENCE, "delegates", ACCOUNT));
    checks("lifetime: it is for the impersonation", LIST("audience", AUDIENCE, "lifetime", "1h"));
    checks("iam_endpoint: it is for the impersonation", LIST("audience", AUDIENCE, "iam_endpoint", "https://x"));
    checks("id_token_audience: it is for the impersonation", LIST("audience", AUDIENCE, "id_token_audience", "x"));
    checks("include_email: it has no effect",
           LIST("audience", AUDIENCE, "service_account", ACCOUNT, "include_email", "true"));
    checks("access_token: without it", LIST("audience", AUDIENCE, "service_account", ACCOUNT, "access_token", "false"));
    checks("artifact_registry: it has no effect",
           LIST("audience", AUDIENCE, "service_account", ACCOUNT, "access_token", "false", "id_token_audience", "x",
                "artifact_registry", "gcr.io"));
    checks("scopes: it has no effect", LIST("audience", AUDIENCE, "service_account", ACCOUNT, "access_token", "false",
                                            "id_token_audience", "x", "scopes", "openid"));
    checks("self_signed: it is for a service account's key", LIST("audience", AUDIENCE, "self_signed", "true"));
    checks("subject: it is for a service account's key", LIST("audience", AUDIENCE, "subject", "a@b"));
    checks("subject: a self-signed token cannot",
           LIST("credentials_file", "/k", "self_signed", "true", "subject", "a@b"));
    checks("sts_endpoint: it has no effect with self_signed",
           LIST("credentials_file", "/k", "self_signed", "true", "sts_endpoint", "https://x"));
}

static void beside_a_credentials_file(void **state)
{
    static const char *const keys[][2] = {{"audience", AUDIENCE},
                                          {"subject_token_type", CFR_GCP_TYPE_JWT},
                                          {"user_project", "p"},
                                          {"client_id", "a"},
                                          {"client_secret_file", "/s"},
                                          {"location", "eu"},
                                          {"mtls", "true"}};

    (void)state;
    checks(NULL, LIST("credentials_file", "/k", "service_account", ACCOUNT, "delegates", ACCOUNT, "lifetime", "12h",
                      "id_token_audience", "x", "iam_endpoint", "https://x", "scopes", "openid", "universe_domain",
                      "x.example"));
    for (size_t i = 0; i < COUNT(keys); i++) {
        char why[100];

        (void)snprintf(why, sizeof why, "%s: the file that credentials_file names says this", keys[i][0]);
        checks(why, LIST("credentials_file", "/k", keys[i][0], keys[i][1]));
    }
}

static bool needs(const char *const *settings)
{
    struct gcp_sample s;
    bool needed;

    gcp_sample(&s, settings);
    needed = cfr_sts_needs_token(&cfr_gcp_provider, &s.config);
    gcp_sample_free(&s);
    return needed;
}

static void whether_a_token_is_needed(void **state)
{
    (void)state;
    assert_true(needs(LIST("audience", AUDIENCE)));
    assert_false(needs(LIST("credentials_file", "/k")));
    assert_false(needs(LIST("audience", AUDIENCE, "certificate_file", "/c", "key_file", "/k")));
    assert_false(needs(LIST("audience", AUDIENCE, "certificate_file", "/c", "key_file", "/k", "subject_token_type",
                            CFR_GCP_TYPE_MTLS)));
    assert_true(needs(LIST("audience", AUDIENCE, "certificate_file", "/c", "key_file", "/k", "mtls", "true",
                           "subject_token_type", CFR_GCP_TYPE_JWT)));
}

static void expect_text(const char *got, const char *want)
{
    if (want == NULL)
        assert_null(got);
    else
        assert_string_equal(got, want);
}

static void what_an_sdk_is_told(void **state)
{
    struct gcp_sample s;
    struct cfr_gcp_sdk sdk;

    (void)state;
    gcp_sample(&s, LIST("audience", AUDIENCE, "service_account", ACCOUNT, "lifetime", "30m", "location", "eu"));
    assert_int_equal(cfr_gcp_sdk_make(&s.config, &s.in, &sdk, NULL), 0);
    expect_text(sdk.audience, AUDIENCE);
    expect_text(sdk.subject_token_type, CFR_GCP_TYPE_JWT);
    expect_text(sdk.token_url, "https://sts.eu.rep.googleapis.com/v1/token");
    expect_text(sdk.impersonation_url,
                "https://iamcredentials.googleapis.com/v1/projects/-/serviceAccounts/" ACCOUNT ":generateAccessToken");
    assert_int_equal(sdk.lifetime_s, 1800);
    expect_text(sdk.universe_domain, "googleapis.com");
    expect_text(sdk.user_project, NULL);
    expect_text(sdk.client_id, NULL);
    cfr_gcp_sdk_free(&sdk);
    gcp_sample_free(&s);
    gcp_sample(&s, LIST("credentials_file", DATA "gcp/files/external-client.json"));
    assert_int_equal(cfr_gcp_sdk_make(&s.config, &s.in, &sdk, NULL), 0);
    expect_text(sdk.client_id, "client-1");
    assert_view(cfr_secret_view(&sdk.client_secret), "hidden+secret/of the client");
    expect_text(sdk.user_project, "123456789");
    expect_text(sdk.quota_project_id, "billing-project");
    expect_text(sdk.impersonation_url, NULL);
    assert_int_equal(sdk.lifetime_s, 0);
    cfr_gcp_sdk_free(&sdk);
    gcp_sample_free(&s);
}

static void what_no_sdk_can_be_told(void **state)
{
    const char *const *const settings[] = {
        LIST("credentials_file", DATA "gcp/files/key.json"),
        LIST("audience", AUDIENCE, "certificate_file", DATA "jwt/chain.pem", "key_file", DATA "jwt/rsa.pem"),
        LIST("audience", AUDIENCE, "service_account", ACCOUNT, "delegates", ACCOUNT),
    };

    (void)state;
    for (size_t i = 0; i < COUNT(settings); i++) {
        struct cfr_err err = {0};
        struct gcp_sample s;
        struct cfr_gcp_sdk sdk;

        gcp_sample(&s, settings[i]);
        assert_int_equal(cfr_gcp_sdk_make(&s.config, &s.in, &sdk, &err), CFR_E_CONFIG);
        assert_contains(err.text, "gcp-access-token");
        cfr_gcp_sdk_free(&sdk);
        gcp_sample_free(&s);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(defaults),
        cmocka_unit_test(the_table_is_whole),
        cmocka_unit_test(audiences),
        cmocka_unit_test(values),
        cmocka_unit_test(hosts),
        cmocka_unit_test(what_belongs_together),
        cmocka_unit_test(beside_a_credentials_file),
        cmocka_unit_test(whether_a_token_is_needed),
        cmocka_unit_test(what_an_sdk_is_told),
        cmocka_unit_test(what_no_sdk_can_be_told),
    };

    cfr_json_setup();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
