/* SPDX-License-Identifier: MIT */
/* What the OpenStack formats write, byte for byte, and what they refuse. */
#include "format_sample.h"

/* What every way of authentication has. */
static int setup(void **state)
{
    (void)state;
    format_begin();
    set(CFR_FIELD_OPENSTACK_TOKEN, "gAAAAABtoken");
    set(CFR_FIELD_OPENSTACK_AUTH_URL, "https://keystone.test:5000/v3");
    set(CFR_FIELD_OPENSTACK_USER_ID, "u1");
    set(CFR_FIELD_OPENSTACK_PROJECT_ID, "p1");
    set(CFR_FIELD_OPENSTACK_INTERFACE, "public");
    input = (struct cfr_format_input){.credential = "reg", .generation = 12, .grant = &grant, .section_header = true};
    return 0;
}

static int setup_application(void **state)
{
    (void)setup(state);
    set(CFR_FIELD_OPENSTACK_APPLICATION_CREDENTIAL_ID, "1e3");
    set(CFR_FIELD_OPENSTACK_APPLICATION_CREDENTIAL_SECRET, "-s#: x");
    return 0;
}

static int setup_password(void **state)
{
    (void)setup(state);
    set(CFR_FIELD_OPENSTACK_PASSWORD, "p\"w\\d");
    return 0;
}

static int setup_federation(void **state)
{
    (void)setup(state);
    set(CFR_FIELD_OPENSTACK_IDENTITY_PROVIDER, "k8s");
    set(CFR_FIELD_OPENSTACK_PROTOCOL, "openid");
    set(CFR_FIELD_TOKEN, "e30.e30.c2ln");
    return 0;
}

static void expect_refusal(const char *format, int code, const char *why)
{
    assert_int_equal(render(format), code);
    if (strstr(err.text, why) == NULL)
        fail_msg("%s: %s", format, err.text);
}

static void application_credential(void **state)
{
    (void)state;
    check("clouds-yaml", "clouds:\n"
                         "  \"openstack\":\n"
                         "    auth_type: \"v3applicationcredential\"\n"
                         "    auth:\n"
                         "      auth_url: \"https://keystone.test:5000/v3\"\n"
                         "      application_credential_id: \"1e3\"\n"
                         "      application_credential_secret: \"-s#: x\"\n"
                         "    interface: \"public\"\n"
                         "    identity_api_version: 3\n");
    check("clouds-conf", "[Global]\n"
                         "auth-url = \"https://keystone.test:5000/v3\"\n"
                         "application-credential-id = \"1e3\"\n"
                         "application-credential-secret = \"-s#: x\"\n"
                         "os-endpoint-type = \"public\"\n");
    check("openstack-token", "gAAAAABtoken");
    set(CFR_FIELD_OPENSTACK_REGION_NAME, "RegionOne");
    set(CFR_FIELD_OPENSTACK_CACERT, "/etc/ca.pem");
    input.cloud = "a: b";
    check("clouds-yaml", "clouds:\n"
                         "  \"a: b\":\n"
                         "    auth_type: \"v3applicationcredential\"\n"
                         "    auth:\n"
                         "      auth_url: \"https://keystone.test:5000/v3\"\n"
                         "      application_credential_id: \"1e3\"\n"
                         "      application_credential_secret: \"-s#: x\"\n"
                         "    region_name: \"RegionOne\"\n"
                         "    interface: \"public\"\n"
                         "    identity_api_version: 3\n"
                         "    cacert: \"/etc/ca.pem\"\n");
    input.region = "RegionTwo";
    input.cacert = "/ca";
    check("clouds-conf", "[Global]\n"
                         "auth-url = \"https://keystone.test:5000/v3\"\n"
                         "application-credential-id = \"1e3\"\n"
                         "application-credential-secret = \"-s#: x\"\n"
                         "region = \"RegionTwo\"\n"
                         "os-endpoint-type = \"public\"\n"
                         "ca-file = \"/ca\"\n");
}

/* A client would ask for another token with it, which Keystone refuses. */
static void an_application_credentials_token_is_of_no_use_in_clouds_yaml(void **state)
{
    (void)state;
    input.token_only = true;
    expect_refusal("clouds-yaml", CFR_E_CONFIG, "clouds_auth: credential");
}

static void password(void **state)
{
    (void)state;
    check("clouds-yaml", "clouds:\n"
                         "  \"openstack\":\n"
                         "    auth_type: \"v3password\"\n"
                         "    auth:\n"
                         "      auth_url: \"https://keystone.test:5000/v3\"\n"
                         "      user_id: \"u1\"\n"
                         "      password: \"p\\\"w\\\\d\"\n"
                         "      project_id: \"p1\"\n"
                         "    interface: \"public\"\n"
                         "    identity_api_version: 3\n");
    check("clouds-conf", "[Global]\n"
                         "auth-url = \"https://keystone.test:5000/v3\"\n"
                         "user-id = \"u1\"\n"
                         "password = \"p\\\"w\\\\d\"\n"
                         "tenant-id = \"p1\"\n"
                         "os-endpoint-type = \"public\"\n");
    input.token_only = true;
    check("clouds-yaml", "clouds:\n"
                         "  \"openstack\":\n"
                         "    auth_type: \"v3token\"\n"
                         "    auth:\n"
                         "      auth_url: \"https://keystone.test:5000/v3\"\n"
                         "      token: \"gAAAAABtoken\"\n"
                         "      project_id: \"p1\"\n"
                         "    interface: \"public\"\n"
                         "    identity_api_version: 3\n");
}

static void federation(void **state)
{
    (void)state;
    check("clouds-yaml", "clouds:\n"
                         "  \"openstack\":\n"
                         "    auth_type: \"v3oidcaccesstoken\"\n"
                         "    auth:\n"
                         "      auth_url: \"https://keystone.test:5000/v3\"\n"
                         "      identity_provider: \"k8s\"\n"
                         "      protocol: \"openid\"\n"
                         "      access_token: \"e30.e30.c2ln\"\n"
                         "      project_id: \"p1\"\n"
                         "    interface: \"public\"\n"
                         "    identity_api_version: 3\n");
    expect_refusal("clouds-conf", CFR_E_CONFIG, "has neither");
}

static void other_scopes(void **state)
{
    (void)state;
    set(CFR_FIELD_OPENSTACK_PROJECT_ID, "");
    set(CFR_FIELD_OPENSTACK_DOMAIN_ID, "d9");
    assert_int_equal(render("clouds-yaml"), 0);
    assert_non_null(strstr(out.p, "      domain_id: \"d9\"\n"));
    assert_null(strstr(out.p, "project_id"));
    assert_int_equal(render("clouds-conf"), 0);
    assert_non_null(strstr(out.p, "domain-id = \"d9\"\n"));
    set(CFR_FIELD_OPENSTACK_DOMAIN_ID, "");
    set(CFR_FIELD_OPENSTACK_SYSTEM_SCOPE, "all");
    assert_int_equal(render("clouds-yaml"), 0);
    assert_non_null(strstr(out.p, "      system_scope: \"all\"\n"));
    expect_refusal("clouds-conf", CFR_E_CONFIG, "has neither");
}

/* Everything but printable ASCII is escaped in YAML; gcfg has no escape for control characters. */
static void escapes(void **state)
{
    static const struct {
        const char *value;
        const char *yaml;
        const char *conf; /* NULL: it cannot be written */
    } cases[] = {
        {"a\nb", "\"a\\u000Ab\"", NULL},
        {"\t", "\"\\u0009\"", NULL},
        {"\x7f", "\"\\u007F\"", NULL},
        {"\xc2\x85", "\"\\u0085\"", "\"\xc2\x85\""},
        {"\xc3\xa9", "\"\\u00E9\"", "\"\xc3\xa9\""},
        {"\xe2\x80\xa8", "\"\\u2028\"", "\"\xe2\x80\xa8\""},
        {"\xef\xbf\xbf", "\"\\uFFFF\"", "\"\xef\xbf\xbf\""},
        {"\xf0\x9f\x94\x91", "\"\\U0001F511\"", "\"\xf0\x9f\x94\x91\""},
        {"%{$`'!&*|>@?,[]~", "\"%{$`'!&*|>@?,[]~\"", "\"%{$`'!&*|>@?,[]~\""},
        {"# ;", "\"# ;\"", "\"# ;\""},
    };
    char want[64];

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        set(CFR_FIELD_OPENSTACK_PASSWORD, cases[i].value);
        assert_int_equal(render("clouds-yaml"), 0);
        (void)snprintf(want, sizeof want, "\n      password: %s\n", cases[i].yaml);
        if (strstr(out.p, want) == NULL)
            fail_msg("%s not in %s", want, out.p);
        if (cases[i].conf == NULL) {
            expect_refusal("clouds-conf", CFR_E_ANSWER, "the value of password has a control character");
            continue;
        }
        assert_int_equal(render("clouds-conf"), 0);
        (void)snprintf(want, sizeof want, "\npassword = %s\n", cases[i].conf);
        if (strstr(out.p, want) == NULL)
            fail_msg("%s not in %s", want, out.p);
    }
    set(CFR_FIELD_OPENSTACK_PASSWORD, "se\xff\x01ret");
    expect_refusal("clouds-yaml", CFR_E_ANSWER, "the value of password is not text");
    assert_null(strstr(err.text, "ret\""));
    expect_refusal("clouds-conf", CFR_E_ANSWER, "the value of password has a control character or is not text");
    input.cloud = "\xff";
    expect_refusal("clouds-yaml", CFR_E_CONFIG, "the value of cloud is not text");
}

static void nothing_to_write(void **state)
{
    (void)state;
    teardown(NULL);
    cfr_secret_init(&out, CFR_FORMAT_OUTPUT_MAX);
    expect_refusal("clouds-yaml", CFR_E_CONFIG, "openstack_auth_url");
    expect_refusal("clouds-conf", CFR_E_CONFIG, "openstack_auth_url");
    expect_refusal("openstack-token", CFR_E_CONFIG, "openstack_token");
    set(CFR_FIELD_OPENSTACK_AUTH_URL, "https://k/v3");
    expect_refusal("clouds-yaml", CFR_E_CONFIG, "openstack_identity_provider");
    set(CFR_FIELD_OPENSTACK_IDENTITY_PROVIDER, "k8s");
    expect_refusal("clouds-yaml", CFR_E_CONFIG, "needs token");
}

/* What lives long goes only where it is meant to go. */
static void private_fields(void **state)
{
    (void)state;
    set(CFR_FIELD_OPENSTACK_APPLICATION_CREDENTIAL_SECRET, "long-lived");
    assert_int_equal(render("json"), 0);
    assert_null(strstr(out.p, "long-lived"));
    assert_null(strstr(out.p, "p\\\"w"));
    assert_non_null(strstr(out.p, "\"openstack_token\":\"gAAAAABtoken\""));
    assert_int_equal(render("env"), 0);
    assert_null(strstr(out.p, "long-lived"));
    assert_non_null(strstr(out.p, "OPENSTACK_TOKEN=gAAAAABtoken\n"));
}

static void output_has_a_limit(void **state)
{
    static const char *const formats[] = {"clouds-yaml", "clouds-conf", "openstack-token"};

    (void)state;
    for (size_t i = 0; i < 3; i++) {
        assert_int_equal(render(formats[i]), 0);
        for (size_t n = 0, whole = out.len; n < whole; n += 5) {
            cfr_secret_free(&out);
            cfr_secret_init(&out, n);
            assert_int_equal(render(formats[i]), CFR_E_LIMIT);
        }
        cfr_secret_free(&out);
        cfr_secret_init(&out, CFR_FORMAT_OUTPUT_MAX);
    }
}

#define TEST(f, setup) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(application_credential, setup_application),
        TEST(an_application_credentials_token_is_of_no_use_in_clouds_yaml, setup_application),
        TEST(password, setup_password),
        TEST(federation, setup_federation),
        TEST(other_scopes, setup_password),
        TEST(escapes, setup_password),
        TEST(nothing_to_write, setup),
        TEST(private_fields, setup_password),
        TEST(output_has_a_limit, setup_password),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
