/* SPDX-License-Identifier: MIT */
/* Container credentials: requests, answers, rules, and an exchange with its check. */
#include "sts_golden.h"

#include "base/str.h"
#include "sts/aws/container.h"
#include "sts/providers.h"

static struct cfr_aws_container eks = {.region = (char[]){"eu-west-1"}};
static struct cfr_aws_container expects = {
    .region = (char[]){"eu-west-1"}, .role_arn = (char[]){"arn:aws:iam::123456789012:role/reporting"}, .verify = true};

static void begin(struct cfr_view name, struct cfr_sts_exchange *x, struct cfr_sts_input *in)
{
    (void)in;
    x->provider = &cfr_aws_container_provider;
    x->config = cfr_view_is(name, "expects") ? &expects : &eks;
}

static void errors(void **state)
{
    (void)state;
    golden_errors("aws_container", "errors", begin, 36);
}

static void grants(void **state)
{
    (void)state;
    golden_grants("aws_container", "grants", begin, 5);
}

static const char *relative(const char *name)
{
    return strcmp(name, "AWS_CONTAINER_CREDENTIALS_RELATIVE_URI") == 0 ? "/v2/credentials/0000-11"
           : strcmp(name, "AWS_CONTAINER_CREDENTIALS_FULL_URI") == 0   ? "http://localhost/x"
                                                                       : NULL;
}

static const char *full(const char *name)
{
    return strcmp(name, "AWS_CONTAINER_CREDENTIALS_FULL_URI") == 0 ? "http://[fd00:ec2::23]/v1/credentials" : NULL;
}

static const char *full_bad(const char *name)
{
    return strcmp(name, "AWS_CONTAINER_CREDENTIALS_FULL_URI") == 0 ? "http://10.0.0.1/v1/credentials" : NULL;
}

static const char *relative_bad(const char *name)
{
    return strcmp(name, "AWS_CONTAINER_CREDENTIALS_RELATIVE_URI") == 0 ? "@evil.example/" : NULL;
}

static void request(const char *endpoint, int authorization, const char *(*env)(const char *), const char *file)
{
    struct cfr_aws_container c = {.endpoint = (char *)(uintptr_t)endpoint, .authorization = authorization};
    struct cfr_sts_exchange x = {.provider = &cfr_aws_container_provider, .config = &c};
    struct cfr_sts_input in = golden_input();

    in.env = env;
    golden_request(&x, &in, file);
}

static void requests(void **state)
{
    (void)state;
    request(NULL, CFR_AWS_CONTAINER_TOKEN, golden_no_env, "aws_container/requests/default.txt");
    request(NULL, CFR_AWS_CONTAINER_NONE, relative, "aws_container/requests/ecs.txt");
    request(NULL, CFR_AWS_CONTAINER_TOKEN, full, "aws_container/requests/full-uri.txt");
    request("https://agent.example:8443/c?role=a", CFR_AWS_CONTAINER_TOKEN, full,
            "aws_container/requests/endpoint.txt");
    request("http://127.0.0.1:9911/v1/credentials", CFR_AWS_CONTAINER_TOKEN, relative,
            "aws_container/requests/loopback.txt");
}

/* Keys, then who they belong to. */
static void checked(void **state)
{
    struct cfr_sts_exchange x = {.provider = &cfr_aws_container_provider, .config = &expects};
    struct cfr_view keys = data_file_read("aws_container/grants/eks.json");
    struct cfr_sts_input in = golden_input();
    struct cfr_wire_reply reply = {.status = 200, .body = keys};
    struct cfr_wire_request r = {0};

    (void)state;
    assert_int_equal(x.provider->parse(&x, &in, &reply, NULL), CFR_STS_MORE);
    assert_int_equal(x.provider->build(&x, &in, &r, NULL), 0);
    assert_string_equal(r.url, "https://sts.eu-west-1.amazonaws.com/");
    assert_string_equal(r.body.p, "Action=GetCallerIdentity&Version=2011-06-15");
    assert_int_equal(r.header_count, 5);
    cfr_wire_request_free(&r);
    reply.body =
        cfr_view_of("<GetCallerIdentityResponse><GetCallerIdentityResult><Arn>" GOLDEN_ARN
                    "</Arn><Account>123456789012</Account></GetCallerIdentityResult></GetCallerIdentityResponse>");
    assert_int_equal(x.provider->parse(&x, &in, &reply, NULL), CFR_STS_DONE);
    assert_string_equal(x.grant.identity, GOLDEN_ARN);
    x.step = 2;
    assert_int_equal(x.provider->parse(&x, &in, &reply, NULL), CFR_E_INTERNAL);
    assert_int_equal(x.provider->build(&x, &in, &r, NULL), CFR_E_INTERNAL);
    cfr_wire_request_free(&r);
    cfr_sts_exchange_free(&x);
    data_file_free(keys);
}

static void no_token(void **state)
{
    struct cfr_aws_container none = {.authorization = CFR_AWS_CONTAINER_NONE};
    struct cfr_sts_exchange x = {.provider = &cfr_aws_container_provider, .config = &eks};
    struct cfr_sts_input in = golden_input();
    struct cfr_wire_request r = {0};

    (void)state;
    assert_true(cfr_sts_needs_token(&cfr_aws_container_provider, &eks));
    assert_false(cfr_sts_needs_token(&cfr_aws_container_provider, &none));
    in.token.n = 0;
    assert_int_equal(x.provider->build(&x, &in, &r, NULL), CFR_E_TOKEN);
    cfr_wire_request_free(&r);
}

static void checks(const char *why, const char *(*env)(const char *), const char *const *settings)
{
    golden_check(&cfr_aws_container_provider, env, why, settings);
}

#define ROLE   "role_arn", "arn:aws:iam::123456789012:role/reporting"
#define REGION "region", "eu-west-1"

static void rules(void **state)
{
    (void)state;
    checks(NULL, golden_no_env, GOLDEN_LIST("authorization", "none"));
    checks(NULL, golden_no_env, GOLDEN_LIST(REGION, ROLE, "verify", "true"));
    checks(NULL, relative, GOLDEN_LIST(REGION));
    checks(NULL, golden_no_env, GOLDEN_LIST("endpoint", "http://169.254.170.23:8080/v1/credentials?x=y"));
    checks(NULL, golden_no_env, GOLDEN_LIST("endpoint", "http://[fd00:ec2::23]"));
    checks(NULL, golden_no_env, GOLDEN_LIST("endpoint", "https://agent.example", "ca_file", "/ca.pem"));
    checks("endpoint: ", golden_no_env, GOLDEN_LIST("endpoint", "http://169.254.170.24/"));
    checks("endpoint: ", golden_no_env, GOLDEN_LIST("endpoint", "http://169.254.170.23.evil.example/"));
    checks("endpoint: ", golden_no_env, GOLDEN_LIST("endpoint", "http://169.254.170.23:x/"));
    checks("endpoint: ", golden_no_env, GOLDEN_LIST("endpoint", "http://169.254.169.254/latest"));
    checks("endpoint: ", golden_no_env, GOLDEN_LIST("endpoint", "ftp://x.example/"));
    checks("AWS_CONTAINER_CREDENTIALS_FULL_URI: ", full_bad, GOLDEN_LIST(REGION));
    checks("AWS_CONTAINER_CREDENTIALS_RELATIVE_URI: it must begin with a slash", relative_bad, GOLDEN_LIST(REGION));
    checks(NULL, full_bad, GOLDEN_LIST("endpoint", "https://agent.example"));
    checks("role_arn: only `verify: true`", golden_no_env, GOLDEN_LIST(ROLE));
    checks("role_arn: it must be the ARN", golden_no_env, GOLDEN_LIST("role_arn", "arn:aws:iam::123456789012:user/x"));
    checks("sts_endpoint: it has no effect", golden_no_env, GOLDEN_LIST("sts_endpoint", "https://x.example"));
    checks("sts_endpoint: plain http", golden_no_env,
           GOLDEN_LIST("sts_endpoint", "http://x.example", "verify", "true"));
    checks("region: a region has only", golden_no_env, GOLDEN_LIST("region", "Europe"));
    checks("region: is missing", golden_no_env, GOLDEN_LIST("verify", "true"));
    checks("region: verify signs its request", golden_no_env,
           GOLDEN_LIST("verify", "true", "sts_endpoint", "https://x.example"));
    checks("ca_file: it has no effect with an http endpoint; leave it out, or write `endpoint`", golden_no_env,
           GOLDEN_LIST("ca_file", "/ca.pem"));
    checks("ca_file: it has no effect", golden_no_env,
           GOLDEN_LIST("endpoint", "http://127.0.0.1/", "ca_file", "/ca.pem"));
    golden_table(cfr_aws_container_provider.table);
    assert_string_equal(cfr_aws_container_provider.family, "aws");
    assert_ptr_equal(cfr_sts_find(cfr_view_of("aws_container")), &cfr_aws_container_provider);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(errors),  cmocka_unit_test(grants),   cmocka_unit_test(requests),
        cmocka_unit_test(checked), cmocka_unit_test(no_token), cmocka_unit_test(rules),
    };

    cfr_json_setup();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
