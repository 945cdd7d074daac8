/* SPDX-License-Identifier: MIT */
/* What each output format writes, byte for byte, and what it refuses. */
#include "format_sample.h"

#define EXPIRES 1767326645 /* 2026-01-02T04:04:05Z */

static int setup_aws(void **state)
{
    (void)state;
    format_begin();
    set(CFR_FIELD_AWS_ACCESS_KEY_ID, "ASIAEXAMPLE000000000");
    set(CFR_FIELD_AWS_SECRET_ACCESS_KEY, "doc/only+secret");
    set(CFR_FIELD_AWS_SESSION_TOKEN, "FAKE//token==");
    grant.issued_s = EXPIRES - 3600;
    grant.expires_s = EXPIRES;
    assert_int_equal(cfr_grant_set_identity(&grant, cfr_view_of("arn:aws:sts::123456789012:assumed-role/r/s"), &err),
                     0);
    input = (struct cfr_format_input){.credential = "reg", .generation = 12, .grant = &grant, .section_header = true};
    return 0;
}

static int setup_token(void **state)
{
    (void)setup_aws(state);
    cfr_grant_free(&grant);
    set(CFR_FIELD_TOKEN, "e30.e30.c2ln");
    return 0;
}

static void table_and_names_agree(void **state)
{
    size_t i = 0;

    (void)state;
    for (; cfr_formats[i].name != NULL; i++) {
        assert_string_equal(cfr_formats[i].name, cfr_format_names[i]);
        assert_non_null(cfr_formats[i].render);
        assert_non_null(cfr_formats[i].doc);
        assert_ptr_equal(cfr_format_find(cfr_view_of(cfr_format_names[i])), &cfr_formats[i]);
    }
    assert_null(cfr_format_names[i]);
    assert_true(i >= 6);
    assert_null(cfr_format_find(cfr_view_of("yaml")));
    assert_null(cfr_format_find(cfr_view_of("")));
}

static void aws_credentials(void **state)
{
    (void)state;
    check("aws-credentials", "[default]\n"
                             "aws_access_key_id = ASIAEXAMPLE000000000\n"
                             "aws_secret_access_key = doc/only+secret\n"
                             "aws_session_token = FAKE//token==\n");
    input.profile = "team-a.prod";
    set(CFR_FIELD_AWS_SESSION_TOKEN, ""); /* an empty value opens a nested block for most SDKs */
    set(CFR_FIELD_AWS_ACCOUNT_ID, "123456789012");
    check("aws-credentials", "[team-a.prod]\n"
                             "aws_access_key_id = ASIAEXAMPLE000000000\n"
                             "aws_secret_access_key = doc/only+secret\n"
                             "aws_account_id = 123456789012\n");
    input.section_header = false;
    assert_int_equal(render("aws-credentials"), 0);
    assert_true(cfr_view_starts(cfr_secret_view(&out), "aws_access_key_id = "));
}

static void ini_values_that_are_read_differently_are_refused(void **state)
{
    static const char *const bad[] = {"a\nb", "a\rb", "a\tb",  "a b", " a",        "a ",    "\x01z", "a\x7f",
                                      "#a",   ";a",   "\"a\"", "'a'", "a\xc3\xa4", "[x]\n", "a #b"};

    (void)state;
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        set(CFR_FIELD_AWS_SESSION_TOKEN, bad[i]);
        assert_int_equal(render("aws-credentials"), CFR_E_ANSWER);
        assert_non_null(strstr(err.text, "aws_session_token"));
    }
    assert_int_equal(cfr_grant_set(&grant, CFR_FIELD_AWS_SESSION_TOKEN, (struct cfr_view){"a\0b", 3}, &err), 0);
    assert_int_equal(render("aws-credentials"), CFR_E_ANSWER);
    set(CFR_FIELD_AWS_SESSION_TOKEN, "a#b;c\"d");
    assert_int_equal(render("aws-credentials"), 0);
}

static void secrets_are_not_in_error_texts(void **state)
{
    static const char *const formats[] = {"aws-credentials", "env"};

    (void)state;
    set(CFR_FIELD_AWS_SECRET_ACCESS_KEY, "hush hush");
    for (size_t i = 0; i < sizeof formats / sizeof formats[0]; i++) {
        assert_int_equal(render(formats[i]), CFR_E_ANSWER);
        assert_null(strstr(err.text, "hush"));
    }
}

static void profile_names_are_those_that_all_take(void **state)
{
    static const char *const bad[] = {"", "a b", "a]", "a\n", "DEFAULT", "profile x", "\xc3\xa4", "a=b", "a#b", "a\\b"};
    char section[CFR_FORMAT_SECTION_MAX];

    (void)state;
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        input.profile = bad[i];
        assert_int_equal(render("aws-credentials"), CFR_E_CONFIG);
    }
    assert_int_equal(cfr_format_section(cfr_format_find(cfr_view_of("aws-config")), "x", section, &err), 0);
    assert_string_equal(section, "profile x");
    assert_int_equal(cfr_format_section(cfr_format_find(cfr_view_of("aws-config")), NULL, section, &err), 0);
    assert_string_equal(section, "default");
    assert_int_equal(cfr_format_section(cfr_format_find(cfr_view_of("aws-credentials")), "x", section, &err), 0);
    assert_string_equal(section, "x");
    assert_int_equal(cfr_format_section(cfr_format_find(cfr_view_of("aws-config")), "a/b%c@d:e+f", section, &err), 0);
    assert_string_equal(section, "profile a/b%c@d:e+f");
    assert_int_equal(cfr_format_section(cfr_format_find(cfr_view_of("json")), "x", section, &err), CFR_E_CONFIG);
}

static void aws_config(void **state)
{
    (void)state;
    assert_int_equal(render("aws-config"), CFR_E_CONFIG);
    input.token_path = "/run/creds/token";
    assert_int_equal(render("aws-config"), CFR_E_CONFIG);
    assert_non_null(strstr(err.text, "role_arn"));
    input.role_arn = "arn:aws:iam::123456789012:role/reporting";
    input.session_name = "ns-a.sa-b";
    input.region = "eu-west-1";
    input.profile = "x";
    check("aws-config", "[profile x]\n"
                        "role_arn = arn:aws:iam::123456789012:role/reporting\n"
                        "web_identity_token_file = /run/creds/token\n"
                        "role_session_name = ns-a.sa-b\n"
                        "region = eu-west-1\n");
    input.session_name = NULL;
    input.region = NULL;
    input.profile = NULL;
    input.sts_regional_endpoints = "regional";
    check("aws-config", "[default]\n"
                        "sts_regional_endpoints = regional\n"
                        "role_arn = arn:aws:iam::123456789012:role/reporting\n"
                        "web_identity_token_file = /run/creds/token\n");
    input.sts_regional_endpoints = NULL;
    check("aws-config", "[default]\n"
                        "role_arn = arn:aws:iam::123456789012:role/reporting\n"
                        "web_identity_token_file = /run/creds/token\n");
    input.token_path = NULL;
    input.command = "/usr/bin/cat \"/run/creds/a b.json\"";
    set(CFR_FIELD_AWS_REGION, "us-east-1");
    check("aws-config", "[default]\n"
                        "credential_process = /usr/bin/cat \"/run/creds/a b.json\"\n"
                        "region = us-east-1\n");
    input.command = "cat x # y";
    assert_int_equal(render("aws-config"), CFR_E_CONFIG);
}

static void aws_credential_process(void **state)
{
    (void)state;
    set(CFR_FIELD_AWS_ACCOUNT_ID, "123456789012");
    check("aws-credential-process",
          "{\"Version\":1,\"AccessKeyId\":\"ASIAEXAMPLE000000000\",\"SecretAccessKey\":\"doc/only+secret\","
          "\"SessionToken\":\"FAKE//"
          "token==\",\"Expiration\":\"2026-01-02T04:04:05Z\",\"AccountId\":\"123456789012\"}\n");
    set(CFR_FIELD_AWS_ACCOUNT_ID, "");
    set(CFR_FIELD_AWS_SESSION_TOKEN, "");
    set(CFR_FIELD_AWS_SECRET_ACCESS_KEY, "a\"b\\c\n");
    grant.expires_s = 0;
    check("aws-credential-process", "{\"Version\":1,\"AccessKeyId\":\"ASIAEXAMPLE000000000\","
                                    "\"SecretAccessKey\":\"a\\\"b\\\\c\\u000a\"}\n");
}

static void token(void **state)
{
    (void)state;
    check("token", "e30.e30.c2ln");
    check("env", "TOKEN=e30.e30.c2ln\n");
    assert_int_equal(render("aws-credentials"), CFR_E_CONFIG);
    assert_non_null(strstr(err.text, "aws_access_key_id"));
    assert_int_equal(render("aws-credential-process"), CFR_E_CONFIG);
}

static void what_a_service_ca_issues(void **state)
{
    (void)state;
    set(CFR_FIELD_SERVICE_BUNDLE, "-----BEGIN CERTIFICATE-----\n1\n-----END CERTIFICATE-----\n");
    check("ca-bundle", "-----BEGIN CERTIFICATE-----\n1\n-----END CERTIFICATE-----\n");
    assert_int_equal(render("certificate"), CFR_E_CONFIG);
    assert_int_equal(render("private-key"), CFR_E_CONFIG);
    set(CFR_FIELD_SERVICE_CERTIFICATE, "-----BEGIN CERTIFICATE-----\n2\n-----END CERTIFICATE-----\n");
    set(CFR_FIELD_SERVICE_KEY, "-----BEGIN PRIVATE KEY-----\n3\n-----END PRIVATE KEY-----\n");
    check("certificate", "-----BEGIN CERTIFICATE-----\n2\n-----END CERTIFICATE-----\n");
    check("private-key", "-----BEGIN PRIVATE KEY-----\n3\n-----END PRIVATE KEY-----\n");
    /* A key is for those who ask for it by its name. */
    assert_int_equal(render("json"), 0);
    assert_non_null(strstr(out.p, "BEGIN CERTIFICATE"));
    assert_null(strstr(out.p, "BEGIN PRIVATE KEY"));
}

static void env(void **state)
{
    static const char *const bad[] = {"a b",  "a\nb", "a'b", "a\"b", "a$b", "a`b",
                                      "a\\b", "a#b",  "~a",  "a;b",  "a&b", "a*"};

    (void)state;
    check("env", "AWS_ACCESS_KEY_ID=ASIAEXAMPLE000000000\n"
                 "AWS_SECRET_ACCESS_KEY=doc/only+secret\n"
                 "AWS_SESSION_TOKEN=FAKE//token==\n"
                 "AWS_CREDENTIAL_EXPIRATION=2026-01-02T04:04:05Z\n");
    set(CFR_FIELD_AWS_REGION, "us-east-1");
    set(CFR_FIELD_AWS_ACCOUNT_ID, "123456789012");
    set(CFR_FIELD_TOKEN, "e30.e30.c2ln"); /* only where it is all there is */
    grant.expires_s = 0;
    check("env", "AWS_ACCESS_KEY_ID=ASIAEXAMPLE000000000\n"
                 "AWS_SECRET_ACCESS_KEY=doc/only+secret\n"
                 "AWS_SESSION_TOKEN=FAKE//token==\n"
                 "AWS_ACCOUNT_ID=123456789012\n"
                 "AWS_REGION=us-east-1\n"
                 "AWS_DEFAULT_REGION=us-east-1\n");
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        set(CFR_FIELD_AWS_SESSION_TOKEN, bad[i]);
        assert_int_equal(render("env"), CFR_E_ANSWER);
        assert_non_null(strstr(err.text, "AWS_SESSION_TOKEN"));
    }
    assert_int_equal(cfr_grant_set(&grant, CFR_FIELD_AWS_SESSION_TOKEN, (struct cfr_view){"a\0", 2}, &err), 0);
    assert_int_equal(render("env"), CFR_E_ANSWER);
    cfr_grant_free(&grant);
    assert_int_equal(render("env"), CFR_E_CONFIG);
    assert_int_equal(render("token"), CFR_E_CONFIG);
}

static void json(void **state)
{
    (void)state;
    check("json", "{\"version\":1,\"credential\":\"reg\",\"generation\":12,"
                  "\"identity\":\"arn:aws:sts::123456789012:assumed-role/r/s\",\"issued\":\"2026-01-02T03:04:05Z\","
                  "\"expires\":\"2026-01-02T04:04:05Z\",\"fields\":{\"aws_access_key_id\":\"ASIAEXAMPLE000000000\","
                  "\"aws_secret_access_key\":\"doc/only+secret\",\"aws_session_token\":\"FAKE//token==\"}}\n");
    cfr_grant_free(&grant);
    input.generation = UINT64_MAX;
    check("json", "{\"version\":1,\"credential\":\"reg\",\"generation\":18446744073709551615,\"identity\":null,"
                  "\"issued\":null,\"expires\":null,\"fields\":{}}\n");
}

static void output_has_a_limit(void **state)
{
    (void)state;
    for (const struct cfr_format *f = cfr_formats; f->name != NULL; f++) {
        input.token_path = "/t";
        input.role_arn = "arn";
        input.azure_client_id = "client";
        input.azure_tenant_id = "tenant";
        input.field = "token";
        input.template_text = "${token}";
        input.server = "https://api.example.com";
        set(CFR_FIELD_TOKEN, "e30.e30.c2ln");
        if (f->needs != NULL && cfr_grant_get(&grant, f->needs).n == 0)
            continue; /* a cloud of its own, with a test of its own */
        cfr_secret_free(&out);
        cfr_secret_init(&out, 11);
        assert_int_equal(f->render(&input, &out, &err), CFR_E_LIMIT);
    }
}

#define AWS_TEST(f) cmocka_unit_test_setup_teardown(f, setup_aws, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(table_and_names_agree),
        AWS_TEST(aws_credentials),
        AWS_TEST(ini_values_that_are_read_differently_are_refused),
        AWS_TEST(secrets_are_not_in_error_texts),
        AWS_TEST(profile_names_are_those_that_all_take),
        AWS_TEST(aws_config),
        AWS_TEST(aws_credential_process),
        cmocka_unit_test_setup_teardown(token, setup_token, teardown),
        cmocka_unit_test_setup_teardown(what_a_service_ca_issues, setup_token, teardown),
        AWS_TEST(env),
        AWS_TEST(json),
        AWS_TEST(output_has_a_limit),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
