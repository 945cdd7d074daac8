/* SPDX-License-Identifier: MIT */
/* Golden requests to Keystone, byte for byte, and what cannot be requested. */
#include "openstack_sample.h"

#include "base/str.h"

/* The request as text: method, URL, headers, an empty line, and the body. */
static void compare(const char *name)
{
    char file[128];
    struct cfr_view want;
    struct cfr_str got = {.limit = 200000};
    struct cfr_sts_exchange x = sample_exchange(cfr_view_of(name));
    struct cfr_sts_input in = sample_input();
    struct cfr_wire_request r = {0};
    struct cfr_err err = {0};

    (void)snprintf(file, sizeof file, "openstack/requests/%s.txt", name);
    want = data_file_read(file);
    if (x.provider->build(&x, &in, &r, &err) != 0)
        fail_msg("%s: %s", file, err.text);
    cfr_str_addf(&got, "%s %s\n", r.method, r.url);
    for (size_t i = 0; i < r.header_count; i++)
        cfr_str_addf(&got, "%s\n", r.headers[i].p);
    cfr_str_addz(&got, "\n");
    if (r.body.len != 0)
        cfr_str_addf(&got, "%s\n", r.body.p);
    if (!cfr_view_eq(cfr_str_view(&got), want))
        fail_msg("%s: got\n%s\nexpected\n%.*s", file, got.p, (int)want.n, want.p);
    assert_string_equal(r.answer_header, "X-Subject-Token");
    if (strcmp(name, "project-name") == 0)
        assert_string_equal(r.ca_file, "/etc/ca.pem");
    else
        assert_null(r.ca_file);
    cfr_str_free(&got);
    cfr_wire_request_free(&r);
    cfr_sts_exchange_free(&x);
    data_file_free(want);
}

static void requests(void **state)
{
    static const char *const names[] = {"id",     "name",   "password",   "project-name",
                                        "domain", "system", "federation", "scope"};

    (void)state;
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        compare(names[i]);
}

static void needs_token(void **state)
{
    (void)state;
    assert_false(cfr_sts_needs_token(&cfr_openstack_provider, &sample_id));
    assert_false(cfr_sts_needs_token(&cfr_openstack_provider, &sample_password));
    assert_true(cfr_sts_needs_token(&cfr_openstack_provider, &sample_federation));
}

static void secrets_that_cannot_be(void **state)
{
    static const struct {
        const char *bytes;
        size_t n;
        int code;
        const char *text;
    } cases[] = {
        {"", 0, CFR_E_MISSING, "application_credential_secret_file: it is empty"},
        {"one\ntwo", 7, CFR_E_CONFIG, "more than one line"},
        {"a\0b", 3, CFR_E_CONFIG, "not text (UTF-8)"},
        {"a\xff", 2, CFR_E_CONFIG, "not text (UTF-8)"},
        {"a\x7f", 2, CFR_E_CONFIG, "not text (UTF-8)"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct cfr_sts_exchange x = sample_exchange(cfr_view_of("id"));
        struct cfr_sts_content content = {"application_credential_secret_file", {cases[i].bytes, cases[i].n}};
        struct cfr_sts_input in = sample_input();
        struct cfr_wire_request r = {0};
        struct cfr_err err = {0};

        in.contents = &content;
        in.content_count = 1;
        assert_int_equal(x.provider->build(&x, &in, &r, &err), cases[i].code);
        assert_non_null(strstr(err.text, cases[i].text));
        cfr_wire_request_free(&r);
    }
}

static void steps_that_do_not_exist(void **state)
{
    struct cfr_sts_exchange x = sample_exchange(cfr_view_of("id"));
    struct cfr_wire_reply reply = {.status = 201};
    struct cfr_sts_input in = sample_input();
    struct cfr_wire_request r = {0};

    (void)state;
    x.step = 1;
    assert_int_equal(x.provider->build(&x, &in, &r, NULL), CFR_E_INTERNAL);
    assert_int_equal(x.provider->parse(&x, &in, &reply, NULL), CFR_E_INTERNAL);
    cfr_wire_request_free(&r);
    x = sample_exchange(cfr_view_of("federation"));
    x.step = 1;
    assert_int_equal(x.provider->build(&x, &in, &r, NULL), CFR_E_INTERNAL);
    cfr_wire_request_free(&r);
    x.step = 2;
    assert_int_equal(x.provider->build(&x, &in, &r, NULL), CFR_E_INTERNAL);
    cfr_wire_request_free(&r);
    x.step = 0;
    in.token = (struct cfr_view){NULL, 0};
    assert_int_equal(x.provider->build(&x, &in, &r, NULL), CFR_E_INTERNAL);
    cfr_wire_request_free(&r);
}

/* Characters that JSON escapes arrive as they were. */
static void a_secret_of_any_text(void **state)
{
    static const char secret[] = "p\xc3\xa4ss \"w\\rd\" </script>";
    struct cfr_sts_exchange x = sample_exchange(cfr_view_of("password"));
    struct cfr_sts_content content = {"password_file", cfr_view_of(secret)};
    struct cfr_sts_input in = sample_input();
    struct cfr_wire_request r = {0};
    struct cfr_json *doc;
    struct cfr_view back;

    (void)state;
    in.contents = &content;
    in.content_count = 1;
    assert_int_equal(x.provider->build(&x, &in, &r, NULL), 0);
    assert_int_equal(cfr_json_parse(cfr_secret_view(&r.body), &doc, NULL), 0);
    assert_true(cfr_json_string(
        cfr_json_path(doc, (const char *const[]){"auth", "identity", "password", "user", "password", NULL}), &back));
    assert_true(cfr_view_is(back, secret));
    cfr_json_free(doc);
    cfr_wire_request_free(&r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(requests),
        cmocka_unit_test(needs_token),
        cmocka_unit_test(secrets_that_cannot_be),
        cmocka_unit_test(steps_that_do_not_exist),
        cmocka_unit_test(a_secret_of_any_text),
    };

    cfr_json_setup();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
