/* SPDX-License-Identifier: MIT */
/* The formats of single fields, field and template: every key of OpenShift's Secrets by golden data, the syntax, and
 * what is refused. */
#include "format_sample.h"

#include "data_file.h"

#define PEM "-----BEGIN CERTIFICATE-----\nAA==\n-----END CERTIFICATE-----\n"

static const struct {
    const char *field;
    const char *value;
} sample[] = {
    {CFR_FIELD_AWS_ACCESS_KEY_ID, "AKIAEXAMPLE000000000"},
    {CFR_FIELD_AWS_SECRET_ACCESS_KEY, "doc/only+secret"},
    {CFR_FIELD_AZURE_CLIENT_ID, "99999999-8888-7777-6666-555555555555"},
    {CFR_FIELD_AZURE_CLIENT_SECRET, "abc~DEF.0_1-2"},
    {CFR_FIELD_AZURE_TENANT_ID, "11111111-2222-3333-4444-555555555555"},
    {CFR_FIELD_AZURE_ACCESS_TOKEN, "first"},
    {CFR_FIELD_AZURE_ACCESS_TOKEN ":https://vault.azure.net/.default", "second"},
    {CFR_FIELD_GCP_SERVICE_ACCOUNT, "robot@project.iam.gserviceaccount.com"},
    {CFR_FIELD_GCP_SERVICE_ACCOUNT_KEY, "{\"type\":\"service_account\",\"private_key\":\"-----BEGIN PRIVATE "
                                        "KEY-----\\nAA==\\n-----END PRIVATE KEY-----\\n\"}\n"},
    {CFR_FIELD_OPENSTACK_AUTH_URL, "https://keystone.example.com:5000/v3"},
    {CFR_FIELD_OPENSTACK_APPLICATION_CREDENTIAL_ID, "0123456789abcdef0123456789abcdef"},
    {CFR_FIELD_OPENSTACK_APPLICATION_CREDENTIAL_SECRET, "s-#:\"x\\"},
    {CFR_FIELD_OPENSTACK_REGION_NAME, "RegionOne"},
    {"secret:ovirt_url", "https://ovirt.example.com/ovirt-engine/api"},
    {"secret:ovirt_username", "admin@internal"},
    {"secret:ovirt_password", "p\xc3\xa4ss word"},
    {"secret:ovirt_insecure", "false"},
    {"secret:ovirt_ca_bundle", PEM},
    {"secret:vc1.example.com.username", "admin@vsphere.local"},
    {"secret:vc1.example.com.password", "p\"a\\s\ns"},
    {"secret:kubeconfig", "apiVersion: v1\n"},
    {"secret:ibmcloud_api_key", "ibm-key_0"},
};

static int setup(void **state)
{
    (void)state;
    format_begin();
    for (size_t i = 0; i < sizeof sample / sizeof sample[0]; i++)
        set(sample[i].field, sample[i].value);
    grant.issued_s = 1767323045;
    grant.expires_s = 1767326645;
    input = (struct cfr_format_input){.credential = "reg", .generation = 12, .grant = &grant, .section_header = true};
    return 0;
}

static int values_of(struct cfr_view name)
{
    int i = 0;

    while (cfr_format_values_names[i] != NULL && !cfr_view_is(name, cfr_format_values_names[i]))
        i++;
    return cfr_format_values_names[i] != NULL ? i : 0;
}

static void keys_of_openshift(void **state)
{
    struct cfr_view table = data_file_read("openshift/layouts.tsv");
    struct cfr_view rest = table;
    struct cfr_view row[4];
    size_t rows = 0;

    (void)state;
    for (; data_file_row(&rest, row, 4); rows++) {
        bool is_template = cfr_view_is(row[1], "template");
        struct cfr_view want = data_file_case("openshift", "wants", row[0]);
        struct cfr_view text = is_template ? data_file_case("openshift", "templates", row[0]) : row[3];
        char *argument = strndup(text.p, text.n);

        assert_non_null(argument);
        input.field = is_template ? NULL : argument;
        input.template_text = is_template ? argument : NULL;
        input.values = values_of(row[2]);
        if (is_template)
            assert_int_equal(cfr_format_template_check(argument, &err), 0);
        if (render(is_template ? "template" : "field") != 0)
            fail_msg("%.*s: %s", (int)row[0].n, row[0].p, err.text);
        if (!cfr_view_eq(cfr_secret_view(&out), want))
            fail_msg("%.*s: is %.*s", (int)row[0].n, row[0].p, (int)out.len, out.p);
        free(argument);
        data_file_free(want);
        if (is_template)
            data_file_free(text);
    }
    assert_int_equal(rows, 27);
    data_file_free(table);
}

static void syntax(void **state)
{
    (void)state;
    input.template_text = "${credential} ${generation} ${issued} ${expires} ${expires_at}";
    check("template", "reg 12 2026-01-02T03:04:05Z 2026-01-02T04:04:05Z 1767326645");
    input.template_text = "$ $$ {} $${credential} $$${x}${credential}$";
    check("template", "$ $$ {} ${credential} $${x}reg$");
    input.template_text = "${azure_access_token:https://vault.azure.net/.default}/${azure_access_token}";
    check("template", "second/first");
}

static void mistakes_are_found_before_anything_is_published(void **state)
{
    static const struct {
        const char *text;
        const char *want;
    } bad[] = {
        {"a ${aws_acess_key_id}", "line 1 of it: there is no field aws_acess_key_id; did you mean aws_access_key_id?"},
        {"a\nb\n ${quite_else}", "line 3 of it: there is no field quite_else; `credfresh reference fields` lists them"},
        {"a\n${token", "line 2 of it: a field begins with ${ and does not end with }"},
        {"${}", "line 1 of it: ${} names no field"},
        {"${ token }", "line 1 of it: there is no field"},
        {"${.azure_client_secret}", "line 1 of it: there is no field .azure_client_secret"},
        {"${secret:}", "there is no field secret:"},
        {"${aws_region:x}", "there is no field aws_region:x"},
        {"${credential}\n${if x}", "line 2 of it: there is no field if x"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        assert_int_equal(cfr_format_template_check(bad[i].text, &err), CFR_E_CONFIG);
        if (strstr(err.text, bad[i].want) == NULL)
            fail_msg("%s: %s", bad[i].text, err.text);
        input.template_text = bad[i].text;
        assert_int_equal(render("template"), CFR_E_CONFIG);
    }
    assert_int_equal(cfr_format_field_check("azure_client_secret", &err), 0);
    assert_int_equal(cfr_format_field_check("azure_secret_client", &err), CFR_E_CONFIG);
}

static void an_empty_key_is_a_value(void **state)
{
    (void)state;
    set("secret:empty", "");
    input.key = "empty";
    assert_int_equal(render("secret-key"), 0);
    assert_int_equal(out.len, 0);
    input.key = NULL;
    input.field = "secret:empty";
    assert_int_equal(render("field"), 0);
    assert_int_equal(out.len, 0);
    input.field = NULL;
    input.template_text = "<${secret:empty}>";
    assert_int_equal(render("template"), 0);
    assert_true(cfr_view_is(cfr_secret_view(&out), "<>"));
}

static void what_has_no_value_is_refused(void **state)
{
    (void)state;
    input.field = "aws_session_token";
    assert_int_equal(render("field"), CFR_E_CONFIG);
    assert_string_equal(err.text, "this credential has no value for aws_session_token");
    input.template_text = "${secret:other}";
    assert_int_equal(render("template"), CFR_E_CONFIG);
    assert_string_equal(err.text, "this credential has no value for secret:other");
    grant.expires_s = 0;
    input.template_text = "${expires}";
    assert_int_equal(render("template"), CFR_E_CONFIG);
    input.field = NULL;
    input.template_text = NULL;
    assert_int_equal(render("field"), CFR_E_CONFIG);
    assert_int_equal(render("template"), CFR_E_CONFIG);
}

static void values_do_not_break_out(void **state)
{
    static const char *const bad[] = {"a\nb = c", "a\r", "a\x01", "a\x7f", "\xff", "a\xe2\x80\xa8z"};

    (void)state;
    input.template_text = "x=${aws_session_token}\n";
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        set(CFR_FIELD_AWS_SESSION_TOKEN, bad[i]);
        assert_int_equal(render("template"), CFR_E_ANSWER);
        assert_null(strstr(err.text, "b = c"));
    }
    set(CFR_FIELD_AWS_SESSION_TOKEN, "a\"\\\n\x01");
    input.values = CFR_FORMAT_VALUES_JSON;
    check("template", "x=a\\\"\\\\\\u000a\\u0001\n");
    set(CFR_FIELD_AWS_SESSION_TOKEN, "\xff");
    assert_int_equal(render("template"), CFR_E_ANSWER);
    set(CFR_FIELD_AWS_SESSION_TOKEN, "a\nb\xff");
    input.values = CFR_FORMAT_VALUES_RAW;
    check("template", "x=a\nb\xff\n");
    assert_int_equal(cfr_grant_set(&grant, CFR_FIELD_AWS_SESSION_TOKEN, (struct cfr_view){"a\0b", 3}, &err), 0);
    input.values = CFR_FORMAT_VALUES_LINE;
    assert_int_equal(render("template"), CFR_E_ANSWER);
}

static void names_are_found(void **state)
{
    struct cfr_view rest = cfr_view_of("a${credential}b$${token}${aws_region}c${secret:x}${expires}");
    struct cfr_view name;

    (void)state;
    assert_true(cfr_format_template_field(&rest, &name));
    assert_true(cfr_view_is(name, "aws_region"));
    assert_true(cfr_format_template_field(&rest, &name));
    assert_true(cfr_view_is(name, "secret:x"));
    assert_false(cfr_format_template_field(&rest, &name));
    assert_string_equal(cfr_grant_find_name(cfr_view_of("secret:x"))->field, CFR_FIELD_SECRET_PREFIX);
    assert_string_equal(cfr_grant_find_name(cfr_view_of("service_key"))->field, CFR_FIELD_SERVICE_KEY);
    assert_null(cfr_grant_find_name(cfr_view_of("secret")));
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(keys_of_openshift),
        TEST(syntax),
        TEST(mistakes_are_found_before_anything_is_published),
        TEST(an_empty_key_is_a_value),
        TEST(what_has_no_value_is_refused),
        TEST(values_do_not_break_out),
        TEST(names_are_found),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
