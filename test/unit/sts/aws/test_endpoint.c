/* SPDX-License-Identifier: MIT */
/* Hosts of STS: every partition and mode, and custom endpoints. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "sts/aws/settings_private.h"

#include <stdio.h>
#include <string.h>

static int resolve(const struct cfr_aws_settings *place, const char *partition, struct cfr_wire_aws_endpoint *out,
                   struct cfr_err *err)
{
    struct cfr_aws_settings p = *place;

    p.region_from = "region";
    p.endpoint_from = "endpoint";
    p.fips_from = "fips";
    p.dual_stack_from = "dual_stack";
    return cfr_aws_endpoint_resolve(&p, cfr_view_of(partition), out, err);
}

static void expect(struct cfr_aws_settings place, const char *partition, const char *host, const char *region)
{
    struct cfr_wire_aws_endpoint e;
    struct cfr_err err = {0};

    if (resolve(&place, partition, &e, &err) != 0)
        fail_msg("%s: %s", host, err.text);
    assert_string_equal(e.host, host);
    assert_string_equal(e.region, region);
    if (!e.custom) {
        assert_true(e.tls);
        assert_string_equal(e.path, "/");
    }
}

static void refuse(struct cfr_aws_settings place, const char *partition, const char *why)
{
    struct cfr_wire_aws_endpoint e;
    struct cfr_err err = {0};

    assert_int_equal(resolve(&place, partition, &e, &err), CFR_E_CONFIG);
    if (strstr(err.text, why) == NULL)
        fail_msg("expected \"%s\" in \"%s\"", why, err.text);
}

static void partitions(void **state)
{
    static const struct {
        const char *partition, *region, *suffix, *dual;
    } rows[] = {
        {"aws", "eu-west-1", "amazonaws.com", "api.aws"},
        {"aws", "us-east-1", "amazonaws.com", "api.aws"},
        {"aws", "ap-southeast-7", "amazonaws.com", "api.aws"},
        {"aws", "mx-central-1", "amazonaws.com", "api.aws"},
        {"aws", "il-central-1", "amazonaws.com", "api.aws"},
        {"aws", "me-south-1", "amazonaws.com", "api.aws"},
        {"aws", "af-south-1", "amazonaws.com", "api.aws"},
        {"aws", "ca-west-1", "amazonaws.com", "api.aws"},
        {"aws", "sa-east-1", "amazonaws.com", "api.aws"},
        {"aws-cn", "cn-north-1", "amazonaws.com.cn", "api.amazonwebservices.com.cn"},
        {"aws-eusc", "eusc-de-east-1", "amazonaws.eu", "api.amazonwebservices.eu"},
        {"aws-iso", "us-iso-east-1", "c2s.ic.gov", "api.aws.ic.gov"},
        {"aws-iso-b", "us-isob-east-1", "sc2s.sgov.gov", "api.aws.scloud"},
        {"aws-iso-e", "eu-isoe-west-1", "cloud.adc-e.uk", "api.cloud-aws.adc-e.uk"},
        {"aws-iso-f", "us-isof-south-1", "csp.hci.ic.gov", "api.aws.hci.ic.gov"},
    };
    char host[256];

    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        const char *r = rows[i].region;

        (void)snprintf(host, sizeof host, "sts.%s.%s", r, rows[i].suffix);
        expect((struct cfr_aws_settings){.region = r}, rows[i].partition, host, r);
        (void)snprintf(host, sizeof host, "sts-fips.%s.%s", r, rows[i].suffix);
        expect((struct cfr_aws_settings){.region = r, .fips = true}, rows[i].partition, host, r);
        (void)snprintf(host, sizeof host, "sts.%s.%s", r, rows[i].dual);
        expect((struct cfr_aws_settings){.region = r, .dual_stack = true}, rows[i].partition, host, r);
        (void)snprintf(host, sizeof host, "sts-fips.%s.%s", r, rows[i].dual);
        expect((struct cfr_aws_settings){.region = r, .fips = true, .dual_stack = true}, rows[i].partition, host, r);
    }
}

static void govcloud_fips_is_the_ordinary_host(void **state)
{
    const char *r = "us-gov-west-1";

    (void)state;
    expect((struct cfr_aws_settings){.region = r}, "aws-us-gov", "sts.us-gov-west-1.amazonaws.com", r);
    expect((struct cfr_aws_settings){.region = r, .fips = true}, "aws-us-gov", "sts.us-gov-west-1.amazonaws.com", r);
    expect((struct cfr_aws_settings){.region = r, .dual_stack = true}, "aws-us-gov", "sts.us-gov-west-1.api.aws", r);
    expect((struct cfr_aws_settings){.region = r, .fips = true, .dual_stack = true}, "aws-us-gov",
           "sts-fips.us-gov-west-1.api.aws", r);
}

static void global(void **state)
{
    (void)state;
    expect((struct cfr_aws_settings){.region = "aws-global"}, "aws", "sts.amazonaws.com", "us-east-1");
    refuse((struct cfr_aws_settings){.region = "aws-global", .fips = true}, "aws", "aws-global has no FIPS");
}

static void regions(void **state)
{
    (void)state;
    refuse((struct cfr_aws_settings){0}, "aws", "region: is missing");
    refuse((struct cfr_aws_settings){.region = "eu-west-1.evil.example/"}, "aws", "region: a region has only");
    refuse((struct cfr_aws_settings){.region = ""}, "aws", "region: a region has only");
    refuse((struct cfr_aws_settings){.region = "EU-WEST-1"}, "aws", "region: a region has only");
    refuse((struct cfr_aws_settings){.region = "-eu"}, "aws", "region: a region has only");
    refuse((struct cfr_aws_settings){.region = "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"},
           "aws", "region: a region has only");
    refuse((struct cfr_aws_settings){.region = "cn-north-1"}, "aws",
           "role_arn: its partition is aws, but the region "
           "cn-north-1 (from region) is in the partition aws-cn");
    refuse((struct cfr_aws_settings){.region = "us-gov-west-1"}, "aws", "partition aws-us-gov");
    refuse((struct cfr_aws_settings){.region = "eu-west-1"}, "minio", "partition aws;");
    /* A region newer than the table belongs to the role's partition. */
    expect((struct cfr_aws_settings){.region = "xx-new-1"}, "aws", "sts.xx-new-1.amazonaws.com", "xx-new-1");
    expect((struct cfr_aws_settings){.region = "xx-new-1"}, "aws-cn", "sts.xx-new-1.amazonaws.com.cn", "xx-new-1");
}

static void custom(void **state)
{
    const char *vpc = "https://vpce-0a1b-2c3d.sts.eu-west-1.vpce.amazonaws.com";

    (void)state;
    expect((struct cfr_aws_settings){.endpoint = "https://sts.internal.example:8443/x", .region = "eu-west-1"}, "minio",
           "sts.internal.example:8443", "eu-west-1");
    /* The pseudo region is no region to sign for. */
    expect((struct cfr_aws_settings){.endpoint = "https://sts.internal.example", .region = "aws-global"}, "aws",
           "sts.internal.example", "us-east-1");
    expect((struct cfr_aws_settings){.endpoint = "https://sts.internal.example:443"}, "aws", "sts.internal.example",
           "");
    expect((struct cfr_aws_settings){.endpoint = "https://STS.Eu-West-3.amazonaws.com/"}, "aws",
           "sts.eu-west-3.amazonaws.com", "eu-west-3");
    expect((struct cfr_aws_settings){.endpoint = vpc}, "aws", vpc + 8, "eu-west-1");
    expect((struct cfr_aws_settings){.endpoint = vpc, .region = "eu-west-1"}, "aws", vpc + 8, "eu-west-1");
    refuse((struct cfr_aws_settings){.endpoint = vpc, .region = "eu-west-2"}, "aws",
           "region: eu-west-2 is not the region of the VPC endpoint, which is eu-west-1");
    refuse((struct cfr_aws_settings){.endpoint = vpc, .fips = true}, "aws", "endpoint cannot be combined with fips");
    refuse((struct cfr_aws_settings){.endpoint = vpc, .dual_stack = true}, "aws", "cannot be combined with dual_stack");
    refuse((struct cfr_aws_settings){.endpoint = "ftp://x"}, "aws", "endpoint: it must be a URL");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(partitions), cmocka_unit_test(govcloud_fips_is_the_ordinary_host),
        cmocka_unit_test(global),     cmocka_unit_test(regions),
        cmocka_unit_test(custom),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
