/* SPDX-License-Identifier: MIT */
/* Golden answers of STS: what each grants, or which error it is and what its text says. */
#include "refusal_row.h"

#include "base/json.h"
#include "data_file.h"
#include "sts/aws/aws.h"

#define TOKEN "eyJhbGciOiJSUzI1NiJ9.eyJzdWIiOiJhIn0.c2lnbmF0dXJlc2lnbmF0dXJl"

static struct cfr_aws_step second = {.role_arn = (char[]){"arn:aws:iam::210987654321:role/second"},
                                     .duration_ms = 3600000};
static struct cfr_aws config = {.role_arn = (char[]){"arn:aws:iam::123456789012:role/first"},
                                .region = (char[]){"eu-west-1"},
                                .duration_ms = 3600000,
                                .then_assume = {&second, 1}};

static const char *no_env(const char *name)
{
    (void)name;
    return NULL;
}

static struct cfr_sts_input input(void)
{
    return (struct cfr_sts_input){.credential = "registry",
                                  .token = cfr_view_of(TOKEN),
                                  .subject = cfr_view_of("system:serviceaccount:ns-a:sa-b"),
                                  .now_s = 1767323045,
                                  .env = no_env};
}

/* An exchange that has arrived at STEP. */
static struct cfr_sts_exchange exchange(unsigned step)
{
    struct cfr_sts_exchange x = {.provider = &cfr_aws_provider, .config = &config, .step = step};

    if (step == 0)
        return x;
    assert_int_equal(cfr_grant_set(&x.grant, CFR_FIELD_AWS_SECRET_ACCESS_KEY,
                                   cfr_view_of("previous/secret+of/the+first/step"), NULL),
                     0);
    assert_int_equal(
        cfr_grant_set_identity(&x.grant, cfr_view_of("arn:aws:sts::123456789012:assumed-role/first/ns-a.sa-b"), NULL),
        0);
    return x;
}

static void check_error(const struct cfr_view col[7])
{
    struct cfr_view body = data_file_case("aws", "errors", col[0]);
    struct cfr_sts_exchange x = exchange((unsigned)data_file_number(col[2]));
    struct cfr_sts_input in = input();
    struct cfr_wire_reply reply = {.status = (long)data_file_number(col[1]), .body = body};
    struct cfr_err err = {0};
    int rc;

    reply.content_type = cfr_view_is(col[3], "-") ? (struct cfr_view){NULL, 0} : col[3];
    rc = x.provider->parse(&x, &in, &reply, &err);
    refusal_row(col[0], rc, &err, col[4], col[5], col[6]);
    /* Not even a piece of the token may be repeated. */
    assert_null(strstr(err.text, "eyJzdWIiOiJhIn0"));
    assert_null(strstr(err.text, "c2lnbmF0dXJlc2ln"));
    cfr_sts_exchange_free(&x);
    data_file_free(body);
}

static void errors(void **state)
{
    struct cfr_view table = data_file_read("aws/errors.tsv");
    struct cfr_view rest = table;
    struct cfr_view col[7];
    unsigned rows = 0;

    (void)state;
    for (; data_file_row(&rest, col, 7); rows++)
        check_error(col);
    assert_true(rows >= 80);
    data_file_free(table);
}

static void expect_field(const struct cfr_grant *g, const char *name, struct cfr_view want)
{
    struct cfr_view got = cfr_grant_get(g, name);

    if (!cfr_view_eq(got, want))
        fail_msg("%s: got \"%.*s\", expected \"%.*s\"", name, (int)got.n, got.p, (int)want.n, want.p);
}

static void check_grant(const struct cfr_view col[9])
{
    struct cfr_view body = data_file_case("aws", "grants", col[0]);
    unsigned step = (unsigned)data_file_number(col[2]);
    struct cfr_sts_exchange x = exchange(step);
    struct cfr_sts_input in = input();
    struct cfr_wire_reply reply = {.status = 200, .content_type = col[1], .body = body};
    struct cfr_err err = {0};
    int rc = x.provider->parse(&x, &in, &reply, &err);

    if (rc != (step == 0 ? CFR_STS_MORE : CFR_STS_DONE))
        fail_msg("%.*s: %d %s", (int)col[0].n, col[0].p, rc, err.text);
    assert_int_equal(x.step, 1);
    expect_field(&x.grant, CFR_FIELD_AWS_ACCESS_KEY_ID, col[3]);
    expect_field(&x.grant, CFR_FIELD_AWS_SECRET_ACCESS_KEY, col[4]);
    expect_field(&x.grant, CFR_FIELD_AWS_SESSION_TOKEN, col[5]);
    expect_field(&x.grant, CFR_FIELD_AWS_ACCOUNT_ID, col[6]);
    expect_field(&x.grant, CFR_FIELD_AWS_REGION, cfr_view_of("eu-west-1"));
    assert_true(cfr_view_is(col[7], x.grant.identity));
    assert_int_equal(x.grant.expires_s, data_file_number(col[8]));
    assert_int_equal(x.grant.issued_s, 0);
    cfr_sts_exchange_free(&x);
    data_file_free(body);
}

static void grants(void **state)
{
    struct cfr_view table = data_file_read("aws/grants.tsv");
    struct cfr_view rest = table;
    struct cfr_view col[9];
    unsigned rows = 0;

    (void)state;
    for (; data_file_row(&rest, col, 9); rows++)
        check_grant(col);
    assert_true(rows >= 8);
    data_file_free(table);
}

static void request_id_of_the_header(void **state)
{
    struct cfr_sts_exchange x = exchange(0);
    struct cfr_sts_input in = input();
    struct cfr_wire_reply reply = {.status = 403,
                                   .body = cfr_view_of("<Error><Code>AccessDenied</Code><Message>Not authorized to "
                                                       "perform sts:AssumeRoleWithWebIdentity</Message></Error>"),
                                   .request_id = cfr_view_of("8a0e-11")};
    struct cfr_err err = {0};

    (void)state;
    assert_int_equal(x.provider->parse(&x, &in, &reply, &err), CFR_E_DENIED);
    assert_string_equal(err.text,
                        "AccessDenied: Not authorized to perform sts:AssumeRoleWithWebIdentity (HTTP 403, request "
                        "8a0e-11): the role does not exist, or its trust policy does not accept subject "
                        "\"system:serviceaccount:ns-a:sa-b\": compare its provider, audience and conditions with "
                        "`credfresh inspect`. A server other than AWS may also mean the signature or `duration`");
    in.subject = (struct cfr_view){NULL, 0};
    reply.body = (struct cfr_view){NULL, 0};
    assert_int_equal(x.provider->parse(&x, &in, &reply, &err), CFR_E_DENIED);
    assert_string_equal(err.text, "HTTP 403 without an error code, request 8a0e-11: the server refuses; check "
                                  "`endpoint` and the role");
    cfr_sts_exchange_free(&x);
}

/* Whatever the server repeats, and in which place, no secret comes out. */
static void echoed_secrets(void **state)
{
    static const char *const places[] = {
        "<Error><Code>%s</Code></Error>",
        "<Error><Code>ValidationError</Code><Message>bad %s value</Message></Error>",
        "<Error><Code>ValidationError</Code><Message>'%s'</Message></Error>",
        "<Error><Code>ValidationError</Code><RequestId>%s</RequestId></Error>",
        "{\"Error\":{\"Code\":\"AccessDenied\",\"Message\":\"%s\"}}",
    };
    static const char *const secrets[] = {TOKEN, TOKEN "." TOKEN, "c2lnbmF0dXJlc2lnbmF0dXJl",
                                          "previous/secret+of/the+first/step"};
    char body[1024];

    (void)state;
    for (size_t i = 0; i < sizeof places / sizeof places[0]; i++) {
        for (size_t k = 0; k < sizeof secrets / sizeof secrets[0]; k++) {
            struct cfr_sts_exchange x = exchange(1);
            struct cfr_sts_input in = input();
            struct cfr_wire_reply reply = {.status = 400};
            struct cfr_err err = {0};
            const char *at = strstr(places[i], "%s");

            (void)snprintf(body, sizeof body, "%.*s%s%s", (int)(at - places[i]), places[i], secrets[k], at + 2);
            reply.body = cfr_view_of(body);
            assert_true(x.provider->parse(&x, &in, &reply, &err) < 0);
            assert_null(strstr(err.text, "c2lnbmF0"));
            assert_null(strstr(err.text, "secret+of"));
            cfr_sts_exchange_free(&x);
        }
    }
}

/* Every cut of a good answer is an error, and the exchange stays where it was. */
static void truncated_anywhere(void **state)
{
    struct cfr_view whole = data_file_read("aws/grants/web-identity.xml");

    (void)state;
    for (size_t n = 0; n + 2 < whole.n; n++) {
        struct cfr_sts_exchange x = exchange(0);
        struct cfr_sts_input in = input();
        struct cfr_wire_reply reply = {.status = 200, .body = {whole.p, n}};
        struct cfr_err err = {0};

        assert_int_equal(x.provider->parse(&x, &in, &reply, &err), CFR_E_ANSWER);
        assert_true(x.step == 0 && x.grant.field_count == 0);
        cfr_sts_exchange_free(&x);
    }
    data_file_free(whole);
}

static void every_status_without_a_body(void **state)
{
    (void)state;
    for (long status = 100; status < 600; status++) {
        struct cfr_sts_exchange x = exchange(0);
        struct cfr_sts_input in = input();
        struct cfr_wire_reply reply = {.status = status};
        struct cfr_err err = {0};
        int want = status < 300                                      ? CFR_E_ANSWER
                   : status < 400                                    ? CFR_E_REDIRECT
                   : status == 401 || status == 403 || status == 407 ? CFR_E_DENIED
                   : status == 429                                   ? CFR_E_THROTTLED
                   : status >= 500 || status == 408                  ? CFR_E_UNAVAILABLE
                                                                     : CFR_E_REJECTED;

        assert_int_equal(x.provider->parse(&x, &in, &reply, &err), want);
        cfr_sts_exchange_free(&x);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(errors),
        cmocka_unit_test(grants),
        cmocka_unit_test(request_id_of_the_header),
        cmocka_unit_test(echoed_secrets),
        cmocka_unit_test(truncated_anywhere),
        cmocka_unit_test(every_status_without_a_body),
    };

    cfr_json_setup();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
