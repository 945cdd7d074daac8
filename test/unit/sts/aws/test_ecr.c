/* SPDX-License-Identifier: MIT */
/* Logins to ECR: names of registries, requests, answers, rules, and a whole exchange that ends with them. */
#include "sts_golden.h"

#include "sts/aws/aws.h"
#include "sts/aws/ecr_private.h"

#define ONE "123456789012.dkr.ecr.eu-west-1.amazonaws.com"
#define TWO "210987654321.dkr.ecr.eu-west-1.amazonaws.com"

static char *private_hosts[] = {(char[]){ONE}, (char[]){TWO}};
static char *own_hosts[] = {(char[]){"registry.example:5000"}};
static struct cfr_aws_ecr private_ecr = {.registries = {private_hosts, 2}};
static struct cfr_aws_ecr public_ecr = {.with_public = true};
static struct cfr_aws_ecr own_ecr = {
    .registries = {own_hosts, 1}, .region = (char[]){"eu-south-9"}, .endpoint = (char[]){"http://127.0.0.1:4566/ecr"}};
static struct cfr_aws config = {.role_arn = (char[]){"arn:aws:iam::123456789012:role/reporting"},
                                .region = (char[]){"eu-west-1"},
                                .duration_ms = 3600000};

static void begin(struct cfr_view name, struct cfr_sts_exchange *x, struct cfr_sts_input *in)
{
    (void)in;
    config.ecr = cfr_view_is(name, "public") ? &public_ecr : cfr_view_is(name, "endpoint") ? &own_ecr : &private_ecr;
    *x = (struct cfr_sts_exchange){.provider = &cfr_aws_provider, .config = &config, .step = 1};
    golden_session(&x->grant);
}

static void errors(void **state)
{
    (void)state;
    golden_errors("ecr", "errors", begin, 43);
}

static void grants(void **state)
{
    (void)state;
    golden_grants("ecr", "grants", begin, 5);
}

static void request(const char *name, const char *host, const char *file)
{
    char *hosts[] = {(char *)(uintptr_t)host};
    struct cfr_aws_ecr ecr = {.registries = {hosts, 1}};
    struct cfr_sts_exchange x;
    struct cfr_sts_input in = golden_input();

    begin(cfr_view_of(name), &x, &in);
    if (host != NULL)
        config.ecr = &ecr;
    golden_request(&x, &in, file);
    cfr_sts_exchange_free(&x);
}

static void requests(void **state)
{
    (void)state;
    request("private", NULL, "ecr/requests/private.txt");
    request("public", NULL, "ecr/requests/public.txt");
    request("endpoint", NULL, "ecr/requests/endpoint.txt");
    request("private", "123456789012.dkr.ecr-fips.us-east-1.amazonaws.com", "ecr/requests/fips.txt");
    request("private", "123456789012.dkr.ecr.cn-north-1.amazonaws.com.cn", "ecr/requests/china.txt");
    config.dual_stack = CFR_AWS_TRUE;
    request("private", "123456789012.dkr-ecr.eu-west-1.on.aws", "ecr/requests/dual-stack.txt");
    config.dual_stack = CFR_AWS_ENVIRONMENT;
}

static void hosts(void **state)
{
    static const char *const good[] = {ONE,
                                       "123456789012.dkr.ecr-fips.us-gov-west-1.amazonaws.com",
                                       "123456789012.dkr-ecr.eu-west-1.on.aws",
                                       "123456789012.dkr-ecr-fips.us-east-1.on.aws",
                                       "123456789012.dkr.ecr.cn-north-1.amazonaws.com.cn",
                                       "123456789012.dkr-ecr.cn-north-1.on.amazonwebservices.com.cn",
                                       "123456789012.dkr.ecr.eusc-de-east-1.amazonaws.eu",
                                       "123456789012.dkr.ecr.us-isob-east-1.sc2s.sgov.gov",
                                       "123456789012.dkr.ecr.us-iso-east-1.c2s.ic.gov",
                                       "123456789012.dkr.ecr.eu-isoe-west-1.cloud.adc-e.uk",
                                       "123456789012.dkr.ecr.us-isof-south-1.csp.hci.ic.gov",
                                       "123456789012.dkr.ecr.zz-new-1.amazonaws.eu"};
    static const char *const bad[] = {"",
                                      "public.ecr.aws",
                                      "12345678901.dkr.ecr.eu-west-1.amazonaws.com",
                                      "1234567890123.dkr.ecr.eu-west-1.amazonaws.com",
                                      "123456789012.dkr.ecr.eu-west-1.amazonaws.com.evil.example",
                                      "123456789012.dkr.ecr.eu-west-1.amazonaws.com.cn",
                                      "123456789012.dkr-ecr.cn-north-1.on.aws",
                                      "123456789012.dkr.ecr.zz-new-1.amazonaws.example",
                                      "123456789012.dkr.ecr.eu-west-1.amazonaws.com/image",
                                      "https://123456789012.dkr.ecr.eu-west-1.amazonaws.com",
                                      "123456789012.dkr.ecr.amazonaws.com",
                                      "123456789012.dkr.ecr..amazonaws.com",
                                      "123456789012.dkr.ecr.EU.amazonaws.com",
                                      "123456789012.dkr.ecr",
                                      "123456789012.dkr.ecrx.eu-west-1.amazonaws.com",
                                      "123456789012"};
    struct cfr_aws_ecr_host h;

    (void)state;
    for (size_t i = 0; i < COUNT(good); i++) {
        if (!cfr_aws_ecr_host_parse(cfr_view_of(good[i]), &h))
            fail_msg("%s", good[i]);
        assert_view(h.account, "123456789012");
        assert_int_equal(h.fips, strstr(good[i], "fips") != NULL);
        assert_non_null(strstr(good[i], h.region));
    }
    for (size_t i = 0; i < COUNT(bad); i++) {
        if (cfr_aws_ecr_host_parse(cfr_view_of(bad[i]), &h))
            fail_msg("%s", bad[i]);
    }
    assert_false(cfr_aws_ecr_host_parse((struct cfr_view){NULL, 0}, &h));
}

static void answers(struct cfr_sts_exchange *x, const struct cfr_sts_input *in, const char *body, int outcome)
{
    struct cfr_wire_reply reply = {.status = 200, .body = cfr_view_of(body)};
    struct cfr_wire_request r = {0};
    struct cfr_err err = {0};
    int rc = x->provider->build(x, in, &r, &err);

    cfr_wire_request_free(&r);
    if (rc == 0)
        rc = x->provider->parse(x, in, &reply, &err);
    if (rc != outcome)
        fail_msg("step %u: %d %s", x->step, rc, err.text);
}

#define TOKEN_ANSWER(data) "{\"authorizationData\":" data "}"

/* Session, check, two regions, the public registry: all in one grant, whose end is the earliest. */
static void whole_exchange(void **state)
{
    char *registries[] = {(char[]){ONE}, (char[]){"123456789012.dkr.ecr.us-east-1.amazonaws.com"}, (char[]){TWO}};
    struct cfr_aws_ecr ecr = {.registries = {registries, 3}, .with_public = true};
    struct cfr_aws c = config;
    struct cfr_sts_exchange x = {.provider = &cfr_aws_provider, .config = &c};
    struct cfr_sts_input in = golden_input();

    (void)state;
    c.ecr = &ecr;
    c.verify = true;
    answers(&x, &in,
            "<AssumeRoleWithWebIdentityResponse><AssumeRoleWithWebIdentityResult><AssumedRoleUser><"
            "Arn>" GOLDEN_ARN "</Arn></AssumedRoleUser><Credentials><AccessKeyId>A</"
            "AccessKeyId><SecretAccessKey>S</SecretAccessKey>"
            "<SessionToken>T</SessionToken><Expiration>2026-01-02T12:04:05Z</Expiration></Credentials>"
            "</AssumeRoleWithWebIdentityResult></AssumeRoleWithWebIdentityResponse>",
            CFR_STS_MORE);
    answers(&x, &in,
            "<GetCallerIdentityResponse><GetCallerIdentityResult><Arn>" GOLDEN_ARN
            "</Arn><Account>123456789012</Account></GetCallerIdentityResult></GetCallerIdentityResponse>",
            CFR_STS_MORE);
    answers(&x, &in, TOKEN_ANSWER("[{\"authorizationToken\":\"QVdTOmE=\",\"expiresAt\":1.767366245E9}]"), CFR_STS_MORE);
    answers(&x, &in, TOKEN_ANSWER("[{\"authorizationToken\":\"QVdTOmI=\",\"expiresAt\":1.767330245E9}]"), CFR_STS_MORE);
    answers(&x, &in, TOKEN_ANSWER("{\"authorizationToken\":\"QVdTOmM=\",\"expiresAt\":1.767366245E9}"), CFR_STS_DONE);
    assert_view(cfr_grant_get(&x.grant, CFR_FIELD_REGISTRY_AUTHS),
                "\"" ONE "\":{\"username\":\"AWS\",\"password\":\"a\",\"auth\":\"QVdTOmE=\"},"
                "\"" TWO "\":{\"username\":\"AWS\",\"password\":\"a\",\"auth\":\"QVdTOmE=\"},"
                "\"123456789012.dkr.ecr.us-east-1.amazonaws.com\":{\"username\":\"AWS\",\"password\":\"b\",\"auth\":"
                "\"QVdTOmI=\"},"
                "\"public.ecr.aws\":{\"username\":\"AWS\",\"password\":\"c\",\"auth\":\"QVdTOmM=\"},"
                "\"ecr-public.aws.com\":{\"username\":\"AWS\",\"password\":\"c\",\"auth\":\"QVdTOmM=\"}");
    assert_int_equal(x.grant.expires_s, 1767330245);
    assert_view(cfr_grant_get(&x.grant, CFR_FIELD_AWS_ACCESS_KEY_ID), "A");
    cfr_sts_exchange_free(&x);
}

/* The table's rules, then those that need a session, as S. */
static void rule_in(struct cfr_aws_ecr_session s, const char *why, const char *const *settings)
{
    struct cfr_aws_ecr c = {.node = {0}};
    struct cfr_err err = {0};
    int rc;

    s.config = &c;
    s.env = golden_no_env;
    golden_set(&cfr_aws_ecr_table, &c, settings);
    rc = cfr_aws_ecr_table.check(&c, &err);
    if (rc == 0)
        rc = cfr_aws_ecr_check(&s, &err);
    if (why == NULL ? rc != 0 : rc != CFR_E_CONFIG || strstr(err.text, why) == NULL)
        fail_msg("expected \"%s\", got %d \"%s\"", why != NULL ? why : "", rc, err.text);
    cfr_field_free(&cfr_aws_ecr_table, &c);
}

static void rule(const char *why, const char *region, const char *const *settings)
{
    rule_in((struct cfr_aws_ecr_session){.region = region}, why, settings);
}

#define HOST(region) "registries", "123456789012.dkr.ecr." region ".amazonaws.com"
#define ENDPOINT     "endpoint", "https://ecr.example"

static void rules(void **state)
{
    (void)state;
    rule(NULL, NULL, GOLDEN_LIST("registries", ONE, "registries", TWO, "public", "true"));
    rule(NULL, NULL, GOLDEN_LIST("registries", ONE, "region", "eu-west-1"));
    rule(NULL, NULL,
         GOLDEN_LIST(HOST("us-east-1"), HOST("us-east-2"), HOST("us-west-1"), HOST("us-west-2"), "public", "true"));
    rule(NULL, "eu-west-1", GOLDEN_LIST("registries", "r.example", ENDPOINT));
    rule(NULL, NULL, GOLDEN_LIST("registries", "r.example", ENDPOINT, "region", "eu-west-1"));
    rule(NULL, NULL, GOLDEN_LIST("public", "true", ENDPOINT));
    rule("registries: it is empty", NULL, GOLDEN_LIST("public", "false"));
    rule("element 1 is no host of ECR", NULL, GOLDEN_LIST("registries", "r.example"));
    rule("element 1 is no host of ECR", NULL, GOLDEN_LIST("registries", "https://r.example", ENDPOINT));
    rule("elements 1 and 2 are the same", NULL, GOLDEN_LIST("registries", ONE, "registries", ONE));
    rule("for public.ecr.aws write `public: true`", NULL, GOLDEN_LIST("registries", "public.ecr.aws"));
    rule("for ecr-public.aws.com write `public: true`", NULL,
         GOLDEN_LIST("registries", "ecr-public.aws.com", ENDPOINT));
    rule("region: it is us-east-1, but element 1", NULL, GOLDEN_LIST("registries", ONE, "region", "us-east-1"));
    rule("region: a region has only", NULL, GOLDEN_LIST("registries", ONE, "region", "Europe"));
    rule("region: the registry's name does not say it", NULL, GOLDEN_LIST("registries", "r.example", ENDPOINT));
    rule("endpoint: plain http", NULL, GOLDEN_LIST("registries", ONE, "endpoint", "http://ecr.example"));
    rule("endpoint: it cannot serve both", NULL, GOLDEN_LIST("registries", ONE, "public", "true", ENDPOINT));
    rule("endpoint: it serves one region", NULL, GOLDEN_LIST(HOST("us-east-1"), HOST("us-east-2"), ENDPOINT));
    rule("they are in 5 regions", NULL,
         GOLDEN_LIST(HOST("us-east-1"), HOST("us-east-2"), HOST("us-west-1"), HOST("us-west-2"), HOST("eu-west-1")));
    golden_table(&cfr_aws_ecr_table);
}

static void fips_and_partitions(void **state)
{
    const struct cfr_aws_ecr_session fips = {.fips = true, .fips_from = "AWS_USE_FIPS_ENDPOINT"};
    const struct cfr_aws_ecr_session aws = {.partition = cfr_view_of("aws")};
    const struct cfr_aws_ecr_session china = {.partition = cfr_view_of("aws-cn")};
    const char *const *in_china = GOLDEN_LIST("registries", "123456789012.dkr.ecr.cn-north-1.amazonaws.com.cn");

    (void)state;
    rule_in(fips, NULL, GOLDEN_LIST(HOST("us-east-1")));
    rule_in(fips, "public: ECR Public has no FIPS host, which AWS_USE_FIPS_ENDPOINT asks for",
            GOLDEN_LIST("public", "true"));
    rule_in(aws, NULL, GOLDEN_LIST(HOST("us-east-1"), "public", "true"));
    rule_in(aws, "registries: its region cn-north-1 is in the partition aws-cn, but the role's partition is aws",
            in_china);
    rule_in(china, NULL, in_china);
    rule_in(china, "public: its region us-east-1 is in the partition aws,", GOLDEN_LIST("public", "true"));
    rule_in(china, NULL, GOLDEN_LIST(HOST("us-east-1"), ENDPOINT));
}

static const char *env(const char *name)
{
    if (strcmp(name, "AWS_ENDPOINT_URL_ECR") == 0)
        return "https://one.example";
    if (strcmp(name, "AWS_ENDPOINT_URL") == 0)
        return "https://all.example";
    return strcmp(name, "AWS_REGION") == 0 ? "eu-west-1" : NULL;
}

static void goes_to(struct cfr_aws_ecr *ecr, const char *url)
{
    struct cfr_sts_exchange x;
    struct cfr_sts_input in = golden_input();
    struct cfr_wire_request r = {0};

    begin(cfr_view_of("private"), &x, &in);
    config.ecr = ecr;
    in.env = env;
    assert_int_equal(x.provider->build(&x, &in, &r, NULL), 0);
    assert_string_equal(r.url, url);
    cfr_wire_request_free(&r);
    cfr_sts_exchange_free(&x);
}

static void environment(void **state)
{
    (void)state;
    goes_to(&private_ecr, "https://one.example/");
    goes_to(&public_ecr, "https://all.example/");
    goes_to(&own_ecr, "http://127.0.0.1:4566/ecr");
}

static const char *fips_env(const char *name)
{
    return strcmp(name, "AWS_USE_FIPS_ENDPOINT") == 0 ? "true" : NULL;
}

/* The whole provider's check, as STS does it for its own endpoint. */
static void combination(struct cfr_aws c, const char *(*variables)(const char *), const char *why)
{
    struct cfr_err err = {0};
    int rc = cfr_aws_provider.check(&c, variables, &err);

    if (why == NULL ? rc != 0 : rc != CFR_E_CONFIG || strstr(err.text, why) == NULL)
        fail_msg("expected \"%s\", got %d \"%s\"", why != NULL ? why : "", rc, err.text);
}

static void no_endpoint_with_fips_or_dual_stack(void **state)
{
    struct cfr_aws c = config;

    (void)state;
    c.fips = c.dual_stack = CFR_AWS_FALSE;
    c.ecr = &own_ecr;
    combination(c, fips_env, NULL);
    c.dual_stack = CFR_AWS_TRUE;
    combination(c, golden_no_env,
                "ecr: endpoint cannot be combined with dual_stack: give the dual-stack host in the URL");
    c.fips = CFR_AWS_TRUE;
    combination(c, golden_no_env, "ecr: endpoint cannot be combined with fips: give the FIPS host in the URL itself");
    c.fips = CFR_AWS_ENVIRONMENT;
    c.dual_stack = CFR_AWS_FALSE;
    combination(c, fips_env, "ecr: endpoint cannot be combined with AWS_USE_FIPS_ENDPOINT");
    c.fips = CFR_AWS_TRUE;
    combination(c, env, "AWS_ENDPOINT_URL cannot be combined with fips");
    c.ecr = &private_ecr;
    combination(c, golden_no_env, NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(errors),
        cmocka_unit_test(grants),
        cmocka_unit_test(requests),
        cmocka_unit_test(hosts),
        cmocka_unit_test(whole_exchange),
        cmocka_unit_test(rules),
        cmocka_unit_test(fips_and_partitions),
        cmocka_unit_test(environment),
        cmocka_unit_test(no_endpoint_with_fips_or_dual_stack),
    };

    cfr_json_setup();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
