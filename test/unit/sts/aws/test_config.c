/* SPDX-License-Identifier: MIT */
/* The configuration of the AWS provider: defaults, the table's own rules, and those that need the
 * environment. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "base/json.h"
#include "base/view.h"
#include "sts/aws/aws.h"
#include "sts/aws/settings_private.h"
#include "sts/providers.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The environment of a test: names and values in turn, up to a NULL. */
static const char *const *environment;

static const char *env(const char *name)
{
    for (const char *const *e = environment; e != NULL && *e != NULL; e += 2) {
        if (strcmp(e[0], name) == 0)
            return e[1];
    }
    return NULL;
}

/* Makes a configuration from keys and values in turn, up to a NULL; the caller frees it with drop. */
static struct cfr_aws make(const char *const *settings)
{
    struct cfr_aws c = {0};
    struct cfr_err err = {0};

    assert_int_equal(cfr_field_defaults(cfr_aws_provider.table, &c, &err), 0);
    for (; *settings != NULL; settings += 2) {
        const struct cfr_field *f = cfr_field_find(cfr_aws_provider.table, cfr_view_of(settings[0]));

        assert_non_null(f);
        if (cfr_field_store(f, &c, cfr_view_of(settings[1]), false, &err) != 0)
            fail_msg("%s: %s", settings[0], err.text);
    }
    return c;
}

static void drop(struct cfr_aws *c)
{
    cfr_field_free(cfr_aws_provider.table, c);
}

#define ROLE      "role_arn", "arn:aws:iam::123456789012:role/reporting"
#define LIST(...) ((const char *const[]){__VA_ARGS__, NULL})

/* Both checks; WHY NULL means that they must pass. HOST is then where the first request goes. */
static void checks(const char *const *settings, const char *const *variables, const char *why, const char *host)
{
    struct cfr_aws c = make(settings);
    struct cfr_wire_aws_endpoint e;
    struct cfr_err err = {0};
    int rc;

    environment = variables;
    rc = cfr_aws_provider.table->check(&c, &err);
    if (rc == 0)
        rc = cfr_aws_provider.check(&c, env, &err);
    if (why != NULL) {
        if (rc != CFR_E_CONFIG || strstr(err.text, why) == NULL)
            fail_msg("expected \"%s\", got %d \"%s\"", why, rc, err.text);
    } else if (rc != 0) {
        fail_msg("%s", err.text);
    } else {
        assert_int_equal(cfr_aws_settings_resolve(&c, 0, env, &e, &err), 0);
        assert_string_equal(e.host, host);
    }
    drop(&c);
}

static void defaults(void **state)
{
    struct cfr_aws c = make(LIST(ROLE));

    (void)state;
    assert_int_equal(c.duration_ms, -1);
    assert_int_equal(cfr_aws_duration_ms(&c), 3600000);
    assert_int_equal(c.fips, CFR_AWS_ENVIRONMENT);
    assert_int_equal(c.dual_stack, CFR_AWS_ENVIRONMENT);
    assert_null(c.region);
    drop(&c);
    assert_ptr_equal(cfr_sts_find(cfr_view_of("aws")), &cfr_aws_provider);
    assert_null(cfr_sts_find(cfr_view_of("awss")));
}

/* Every key has a type that its struct member has, a text for the reference page, and valid limits. */
static void the_table_is_whole(void **state)
{
    const struct cfr_table *tables[] = {cfr_aws_provider.table, NULL};

    (void)state;
    tables[1] = cfr_field_find(cfr_aws_provider.table, cfr_view_of("then_assume"))->table;
    for (size_t i = 0; i < 2; i++) {
        for (const struct cfr_field *f = tables[i]->fields; f->key != NULL; f++) {
            assert_true(f->doc != NULL && strlen(f->doc) > 40 && f->doc[strlen(f->doc) - 1] == '.');
            assert_true(f->offset >= sizeof(struct cfr_node) && f->offset < tables[i]->size);
            assert_true(f->min <= f->max);
        }
    }
}

static void regions(void **state)
{
    (void)state;
    checks(LIST(ROLE), NULL, "region: is missing", NULL);
    checks(LIST(ROLE, "region", "eu-west-1"), LIST("AWS_REGION", "us-east-1"), NULL, "sts.eu-west-1.amazonaws.com");
    checks(LIST(ROLE), LIST("AWS_REGION", "us-east-1", "AWS_DEFAULT_REGION", "us-east-2"), NULL,
           "sts.us-east-1.amazonaws.com");
    checks(LIST(ROLE), LIST("AWS_REGION", "", "AWS_DEFAULT_REGION", "us-east-2"), NULL, "sts.us-east-2.amazonaws.com");
    checks(LIST(ROLE), LIST("AWS_REGION", "x/../y"), "AWS_REGION: a region has only", NULL);
    checks(LIST(ROLE, "region", "Europe"), NULL, "region: a region has only", NULL);
    checks(LIST(ROLE, "region", "cn-north-1"), NULL, "role_arn: its partition is aws, but the region cn-north-1", NULL);
    checks(LIST(ROLE), LIST("AWS_REGION", "us-gov-west-1"), "(from AWS_REGION) is in the partition aws-us-gov", NULL);
    checks(LIST("role_arn", "arn:aws:iam:::role/reporting", "region", "eu-west-1"), NULL, "it has no account", NULL);
}

static void switches(void **state)
{
    const char *const *fips = LIST("AWS_USE_FIPS_ENDPOINT", "true", "AWS_USE_DUALSTACK_ENDPOINT", "TRUE");

    (void)state;
    checks(LIST(ROLE, "region", "us-east-1"), fips, NULL, "sts-fips.us-east-1.api.aws");
    checks(LIST(ROLE, "region", "us-east-1", "fips", "false"), fips, NULL, "sts.us-east-1.api.aws");
    checks(LIST(ROLE, "region", "us-east-1", "fips", "false", "dual_stack", "false"), fips, NULL,
           "sts.us-east-1.amazonaws.com");
    checks(LIST(ROLE, "region", "us-east-1", "fips", "true"), NULL, NULL, "sts-fips.us-east-1.amazonaws.com");
    checks(LIST(ROLE, "region", "us-east-1"), LIST("AWS_USE_FIPS_ENDPOINT", "yes"), "AWS_USE_FIPS_ENDPOINT: its value",
           NULL);
    checks(LIST(ROLE, "region", "us-east-1"), LIST("AWS_STS_REGIONAL_ENDPOINTS", "legacy"), NULL,
           "sts.us-east-1.amazonaws.com");
}

static void endpoints(void **state)
{
    (void)state;
    checks(LIST(ROLE, "endpoint", "https://one.example"), LIST("AWS_ENDPOINT_URL_STS", "https://two.example"), NULL,
           "one.example");
    checks(LIST(ROLE), LIST("AWS_ENDPOINT_URL", "https://three.example", "AWS_ENDPOINT_URL_STS", "https://two.example"),
           NULL, "two.example");
    checks(LIST(ROLE), LIST("AWS_ENDPOINT_URL", "https://three.example"), NULL, "three.example");
    checks(LIST(ROLE, "region", "eu-west-1"),
           LIST("AWS_ENDPOINT_URL", "https://three.example", "AWS_IGNORE_CONFIGURED_ENDPOINT_URLS", "true"), NULL,
           "sts.eu-west-1.amazonaws.com");
    checks(LIST(ROLE, "endpoint", "https://one.example"), LIST("AWS_IGNORE_CONFIGURED_ENDPOINT_URLS", "true"), NULL,
           "one.example");
    checks(LIST("role_arn", "arn:aws:iam:::role/reporting", "endpoint", "https://one.example"), NULL, NULL,
           "one.example");
    checks(LIST(ROLE), LIST("AWS_ENDPOINT_URL_STS", "http://two.example"), "AWS_ENDPOINT_URL_STS: plain http", NULL);
    checks(LIST(ROLE, "endpoint", "http://one.example"), NULL, "endpoint: plain http", NULL);
    checks(LIST(ROLE, "endpoint", "http://one.example", "plain_http", "true"), NULL, NULL, "one.example");
    checks(LIST(ROLE, "plain_http", "true"), LIST("AWS_ENDPOINT_URL_STS", "http://two.example"), NULL, "two.example");
    checks(LIST(ROLE, "endpoint", "ftp://one.example", "plain_http", "true"), NULL, "endpoint: ", NULL);
    checks(LIST(ROLE, "endpoint", "https://one.example", "fips", "true"), NULL, "endpoint: it cannot be combined",
           NULL);
    checks(LIST(ROLE, "endpoint", "https://one.example"), LIST("AWS_USE_FIPS_ENDPOINT", "true"),
           "endpoint cannot be combined with AWS_USE_FIPS_ENDPOINT", NULL);
    checks(LIST(ROLE, "endpoint", "https://one.example", "fips", "false"), LIST("AWS_USE_FIPS_ENDPOINT", "true"), NULL,
           "one.example");
    checks(LIST(ROLE, "endpoint", "http://127.0.0.1:1", "ca_file", "/ca.pem"), NULL, "ca_file: it has no effect", NULL);
    checks(LIST(ROLE, "ca_file", "/ca.pem"), LIST("AWS_ENDPOINT_URL", "http://localhost"), "ca_file: it has no effect",
           NULL);
}

static void the_rest(void **state)
{
    char policy[2100] = "{\"a\":\"";

    (void)state;
    checks(LIST(ROLE, "region", "eu-west-1", "duration", "15m1s"), NULL, NULL, "sts.eu-west-1.amazonaws.com");
    checks(LIST(ROLE, "region", "eu-west-1", "duration", "15m1ms"), NULL, "duration: it must be in whole seconds",
           NULL);
    checks(LIST(ROLE, "session_name", "a:b"), NULL, "session_name: character 2", NULL);
    checks(LIST("role_arn", "arn:aws:iam::123456789012:user/x"), NULL, "role_arn: it must be the ARN of a role", NULL);
    checks(LIST(ROLE, "policy", "Allow *"), NULL, "policy: it must be a policy document", NULL);
    memset(policy + 6, 'x', 2040);
    (void)snprintf(policy + 2046, 4, "\"}");
    checks(LIST(ROLE, "region", "eu-west-1", "policy", policy), NULL, NULL, "sts.eu-west-1.amazonaws.com");
    (void)snprintf(policy + 2046, 4, "y\"}");
    checks(LIST(ROLE, "region", "eu-west-1", "policy", policy), NULL, "it has 2049 characters", NULL);
}

static struct cfr_aws_step *add_steps(struct cfr_aws *c, size_t count)
{
    const struct cfr_table *t = cfr_field_find(cfr_aws_provider.table, cfr_view_of("then_assume"))->table;
    struct cfr_aws_step *steps = calloc(count, sizeof *steps);

    for (size_t i = 0; i < count; i++) {
        assert_int_equal(cfr_field_defaults(t, &steps[i], NULL), 0);
        steps[i].role_arn = strdup("arn:aws:iam::210987654321:role/second");
    }
    c->then_assume = (struct cfr_list){steps, count};
    return steps;
}

static void step_refused(struct cfr_aws_step *step, const char *why)
{
    struct cfr_err err = {0};
    const struct cfr_table *t = cfr_field_find(cfr_aws_provider.table, cfr_view_of("then_assume"))->table;

    assert_int_equal(t->check(step, &err), why == NULL ? 0 : CFR_E_CONFIG);
    if (why != NULL && strstr(err.text, why) == NULL)
        fail_msg("expected \"%s\" in \"%s\"", why, err.text);
}

static void steps(void **state)
{
    struct cfr_aws c = make(LIST(ROLE, "endpoint", "https://one.example"));
    struct cfr_aws_step *s = add_steps(&c, 2);
    struct cfr_err err = {0};

    (void)state;
    environment = NULL;
    step_refused(&s[0], NULL);
    assert_int_equal(s[0].duration_ms, 3600000);
    assert_int_equal(cfr_aws_provider.check(&c, env, &err), CFR_E_CONFIG);
    assert_non_null(strstr(err.text, "then_assume step 1: region: then_assume signs its requests"));
    environment = LIST("AWS_REGION", "eu-west-1");
    assert_int_equal(cfr_aws_provider.check(&c, env, &err), 0);
    s[0].duration_ms = 3601000;
    step_refused(&s[0], "duration: AWS limits a chained session to one hour");
    s[0].duration_ms = 3600000;
    s[0].source_identity = strdup("a:b");
    step_refused(&s[0], "source_identity: character 2");
    free(s[0].source_identity);
    s[0].source_identity = NULL;
    s[0].external_id = strdup("a b");
    step_refused(&s[0], "external_id: character 2");
    free(s[0].external_id);
    s[0].external_id = NULL;
    s[1].endpoint = strdup("ftp://two.example");
    step_refused(&s[1], "endpoint: ");
    free(s[1].endpoint);
    s[1].endpoint = strdup("http://two.example");
    step_refused(&s[1], NULL);
    assert_int_equal(cfr_aws_provider.check(&c, env, &err), CFR_E_CONFIG);
    assert_non_null(strstr(err.text, "then_assume step 2: endpoint: plain http"));
    c.plain_http = true;
    assert_int_equal(cfr_aws_provider.check(&c, env, &err), 0);
    free(s[1].endpoint);
    s[1].endpoint = NULL;
    s[1].region = strdup("cn-north-1");
    free(c.endpoint);
    c.endpoint = NULL;
    assert_int_equal(cfr_aws_provider.check(&c, env, &err), CFR_E_CONFIG);
    assert_non_null(strstr(err.text, "then_assume step 2: role_arn: its partition is aws"));
    drop(&c);
}

static void the_published_region(void **state)
{
    struct cfr_aws c = make(LIST(ROLE));
    char buf[CFR_AWS_REGION_MAX];

    (void)state;
    environment = NULL;
    assert_string_equal(cfr_aws_settings_region(&c, env, buf), "");
    environment = LIST("AWS_DEFAULT_REGION", "eu-west-3");
    assert_string_equal(cfr_aws_settings_region(&c, env, buf), "eu-west-3");
    environment = LIST("AWS_ENDPOINT_URL", "https://vpce-1-2.sts.eu-west-2.vpce.amazonaws.com");
    assert_string_equal(cfr_aws_settings_region(&c, env, buf), "eu-west-2");
    environment = LIST("AWS_REGION", "aws-global");
    assert_string_equal(cfr_aws_settings_region(&c, env, buf), "us-east-1");
    drop(&c);
}

static bool is_host_end(const char *suffix)
{
    for (const char *const *end = cfr_aws_provider.hosts; *end != NULL; end++) {
        if (strcmp(*end + 1, suffix) == 0)
            return true;
    }
    return false;
}

/* Those of a partition with certificates of public CAs. */
static void the_ends_of_hosts(void **state)
{
    static const char *const names[] = {"aws", "aws-cn", "aws-us-gov", "aws-eusc"};

    (void)state;
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        const struct cfr_wire_aws_partition *p = cfr_wire_aws_partition_named(cfr_view_of(names[i]));

        assert_true(is_host_end(p->dns_suffix));
        assert_true(is_host_end(p->dual_stack_suffix));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(defaults),
        cmocka_unit_test(the_table_is_whole),
        cmocka_unit_test(regions),
        cmocka_unit_test(switches),
        cmocka_unit_test(endpoints),
        cmocka_unit_test(the_rest),
        cmocka_unit_test(steps),
        cmocka_unit_test(the_published_region),
        cmocka_unit_test(the_ends_of_hosts),
    };

    cfr_json_setup();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
