/* SPDX-License-Identifier: MIT */
/* Golden requests to STS, byte for byte, and a whole chain of three steps. */
#include "sts_golden.h"

#include "sts/aws/aws.h"

static void compare(const struct cfr_sts_exchange *x, const char *file)
{
    struct cfr_sts_input in = golden_input();
    char name[128];

    (void)snprintf(name, sizeof name, "aws/requests/%s", file);
    golden_request(x, &in, name);
}

static void smallest(void **state)
{
    struct cfr_aws c = {.role_arn = (char[]){"arn:aws:iam::123456789012:role/reporting"},
                        .region = (char[]){"eu-west-1"},
                        .duration_ms = 3600000};
    struct cfr_sts_exchange x = {.provider = &cfr_aws_provider, .config = &c};

    (void)state;
    compare(&x, "smallest.txt");
}

static void everything(void **state)
{
    char *arns[] = {(char[]){"arn:aws:iam::aws:policy/ReadOnlyAccess"},
                    (char[]){"arn:aws:iam::123456789012:policy/team/mine"}};
    struct cfr_aws c = {.role_arn = (char[]){"arn:aws-cn:iam::123456789012:role/team/a+b=c,d.e@f"},
                        .region = (char[]){"cn-north-1"},
                        .session_name = (char[]){"a+b=c,d.e@f-g_h"},
                        .duration_ms = 43200000,
                        .policy = (char[]){"{\"Version\": \"2012-10-17\",\n\t\"Statement\": [] }"},
                        .policy_arns = {arns, 2},
                        .dual_stack = CFR_AWS_TRUE,
                        .fips = CFR_AWS_TRUE};
    struct cfr_sts_exchange x = {.provider = &cfr_aws_provider, .config = &c};

    (void)state;
    compare(&x, "everything.txt");
}

static void set_keys(struct cfr_grant *g)
{
    assert_int_equal(cfr_grant_set(g, CFR_FIELD_AWS_ACCESS_KEY_ID, cfr_view_of("AKIDEXAMPLE0000000AA"), NULL), 0);
    assert_int_equal(cfr_grant_set(g, CFR_FIELD_AWS_SECRET_ACCESS_KEY,
                                   cfr_view_of("c2VjcmV0LWtleS1mb3ItZG9jLW9ubHktMDAwMDAw"), NULL),
                     0);
    assert_int_equal(cfr_grant_set(g, CFR_FIELD_AWS_SESSION_TOKEN, cfr_view_of("FAKESESSIONTOKEN//=="), NULL), 0);
}

static void chained(void **state)
{
    struct cfr_pair tags[] = {{(char[]){"Team"}, (char[]){"a b"}}, {(char[]){"Cost"}, (char[]){""}}};
    char *transitive[] = {(char[]){"Team"}};
    struct cfr_aws_step steps[] = {
        {.role_arn = (char[]){"arn:aws:iam::210987654321:role/second"}, .duration_ms = 900000},
        {.role_arn = (char[]){"arn:aws:iam::210987654322:role/third"},
         .session_name = (char[]){"third"},
         .duration_ms = 3600000,
         .external_id = (char[]){"ext/id:1"},
         .policy = (char[]){"{}"},
         .tags = {tags, 2},
         .transitive_tag_keys = {transitive, 1},
         .source_identity = (char[]){"me@here"},
         .region = (char[]){"us-gov-west-1"},
         .endpoint = (char[]){"http://127.0.0.1:4566/sts"}}};
    struct cfr_aws c = {.role_arn = (char[]){"arn:aws:iam::123456789012:role/first"},
                        .region = (char[]){"eu-west-1"},
                        .duration_ms = 3600000,
                        .then_assume = {steps, 2}};
    struct cfr_sts_exchange x = {.provider = &cfr_aws_provider, .config = &c, .step = 1};

    (void)state;
    set_keys(&x.grant);
    compare(&x, "chained-1.txt");
    x.step = 2;
    compare(&x, "chained-2.txt");
    cfr_sts_exchange_free(&x);
}

/* From the token to the third role's keys; each request is signed with the keys of the answer before. */
static void whole_chain(void **state)
{
    struct cfr_aws_step steps[] = {
        {.role_arn = (char[]){"arn:aws:iam::210987654321:role/second"}, .duration_ms = 900000},
        {.role_arn = (char[]){"arn:aws:iam::210987654322:role/third"}, .duration_ms = 900000}};
    struct cfr_aws c = {.role_arn = (char[]){"arn:aws:iam::123456789012:role/first"},
                        .region = (char[]){"eu-west-1"},
                        .duration_ms = 3600000,
                        .then_assume = {steps, 2}};
    struct cfr_sts_exchange x = {.provider = &cfr_aws_provider, .config = &c};
    struct cfr_sts_input in = golden_input();

    (void)state;
    for (unsigned step = 0; step < 3; step++) {
        const char *op = step == 0 ? "AssumeRoleWithWebIdentity" : "AssumeRole";
        struct cfr_wire_reply reply = {.status = 200};
        struct cfr_wire_request r = {0};
        char body[1024];
        char want[64];

        assert_int_equal(x.provider->build(&x, &in, &r, NULL), 0);
        assert_int_equal(r.header_count, step == 0 ? 2 : 5);
        if (step != 0) {
            (void)snprintf(want, sizeof want, "X-Amz-Security-Token: token%u", step - 1);
            assert_string_equal(r.headers[3].p, want);
            (void)snprintf(want, sizeof want, "Credential=ASIA%u/20260102/eu-west-1/sts/", step - 1);
            assert_non_null(strstr(r.headers[4].p, want));
        }
        cfr_wire_request_free(&r);
        (void)snprintf(body, sizeof body,
                       "<%sResponse><%sResult><AssumedRoleUser><Arn>arn:aws:sts::123456789012:assumed-role/r%u/n</Arn>"
                       "</AssumedRoleUser><Credentials><AccessKeyId>ASIA%u</AccessKeyId><SecretAccessKey>s%u"
                       "</SecretAccessKey><SessionToken>token%u</SessionToken><Expiration>2026-01-02T0%u:04:05Z"
                       "</Expiration></Credentials></%sResult></%sResponse>",
                       op, op, step, step, step, step, 4 + step, op, op);
        reply.body = cfr_view_of(body);
        assert_int_equal(x.provider->parse(&x, &in, &reply, NULL), step == 2 ? CFR_STS_DONE : CFR_STS_MORE);
        assert_int_equal(x.grant.expires_s, 1767326645 + 3600 * (int)step);
    }
    assert_true(cfr_view_is(cfr_grant_get(&x.grant, CFR_FIELD_AWS_ACCESS_KEY_ID), "ASIA2"));
    assert_string_equal(x.grant.identity, "arn:aws:sts::123456789012:assumed-role/r2/n");
    cfr_sts_exchange_free(&x);
}

static void refusals(void **state)
{
    struct cfr_aws_step step = {.role_arn = (char[]){"arn:aws:iam::210987654321:role/second"}, .duration_ms = 900000};
    struct cfr_aws c = {.role_arn = (char[]){"arn:aws:iam::123456789012:role/first"},
                        .duration_ms = 3600000,
                        .then_assume = {&step, 1}};
    struct cfr_sts_exchange x = {.provider = &cfr_aws_provider, .config = &c};
    struct cfr_wire_reply reply = {.status = 200};
    struct cfr_sts_input in = golden_input();
    struct cfr_wire_request r = {0};

    (void)state;
    assert_int_equal(x.provider->build(&x, &in, &r, NULL), CFR_E_CONFIG);
    cfr_wire_request_free(&r);
    c.region = (char[]){"eu-west-1"};
    in.token = cfr_view_of("abc");
    assert_int_equal(x.provider->build(&x, &in, &r, NULL), CFR_E_TOKEN);
    cfr_wire_request_free(&r);
    x.step = 1;
    assert_int_equal(x.provider->build(&x, &in, &r, NULL), CFR_E_INTERNAL);
    cfr_wire_request_free(&r);
    x.step = 2;
    assert_int_equal(x.provider->build(&x, &in, &r, NULL), CFR_E_INTERNAL);
    assert_int_equal(x.provider->parse(&x, &in, &reply, NULL), CFR_E_INTERNAL);
    cfr_wire_request_free(&r);
}

static void headers(void **state)
{
    struct cfr_wire_request r = {0};
    char name[16];

    (void)state;
    assert_int_equal(cfr_wire_request_header(&r, "A", cfr_view_of("x\r\nB: y"), NULL), CFR_E_INTERNAL);
    assert_int_equal(cfr_wire_request_header(&r, "A", cfr_view_of("x\nB: y"), NULL), CFR_E_INTERNAL);
    assert_int_equal(cfr_wire_request_header(&r, "A", cfr_view_of("x\rB: y"), NULL), CFR_E_INTERNAL);
    assert_int_equal(cfr_wire_request_header(&r, "A", (struct cfr_view){"x\0y", 3}, NULL), CFR_E_INTERNAL);
    for (int i = 0; i < CFR_WIRE_HEADERS_MAX; i++) {
        (void)snprintf(name, sizeof name, "N%d", i);
        assert_int_equal(cfr_wire_request_header(&r, name, cfr_view_of("v"), NULL), 0);
    }
    assert_string_equal(r.headers[7].p, "N7: v");
    assert_int_equal(cfr_wire_request_header(&r, "N8", cfr_view_of("v"), NULL), CFR_E_INTERNAL);
    cfr_wire_request_free(&r);
    assert_int_equal(r.header_count, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(smallest),    cmocka_unit_test(everything), cmocka_unit_test(chained),
        cmocka_unit_test(whole_chain), cmocka_unit_test(refusals),   cmocka_unit_test(headers),
    };

    cfr_json_setup();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
