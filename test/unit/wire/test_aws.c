/* SPDX-License-Identifier: MIT */
/* Partitions of AWS by region, and custom endpoints, good and bad. */
#include "unit.h"

#include "wire/aws.h"

static void partitions(void **state)
{
    static const struct {
        const char *partition, *region;
    } rows[] = {
        {"aws", "eu-west-1"},
        {"aws", "us-east-1"},
        {"aws", "ap-southeast-7"},
        {"aws", "mx-central-1"},
        {"aws", "il-central-1"},
        {"aws", "me-south-1"},
        {"aws", "af-south-1"},
        {"aws", "ca-west-1"},
        {"aws", "sa-east-1"},
        {"aws-cn", "cn-north-1"},
        {"aws-eusc", "eusc-de-east-1"},
        {"aws-iso", "us-iso-east-1"},
        {"aws-iso-b", "us-isob-east-1"},
        {"aws-iso-e", "eu-isoe-west-1"},
        {"aws-iso-f", "us-isof-south-1"},
        {"aws-us-gov", "us-gov-west-1"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        const struct cfr_wire_aws_partition *p = cfr_wire_aws_partition(rows[i].region);

        if (p == NULL || strcmp(p->name, rows[i].partition) != 0)
            fail_msg("%s is not in %s", rows[i].region, rows[i].partition);
        assert_ptr_equal(cfr_wire_aws_partition_named(cfr_view_of(rows[i].partition)), p);
    }
    assert_null(cfr_wire_aws_partition("xx-new-1"));
    assert_null(cfr_wire_aws_partition("us-gov-west-1-extra"));
    assert_null(cfr_wire_aws_partition("eu-west-"));
    assert_null(cfr_wire_aws_partition("eu--1"));
}

static void loopback(void **state)
{
    static const char *const good[] = {"http://127.0.0.1:4566", "http://127.255.0.255/x/y", "http://[::1]:80",
                                       "http://localhost:9000/", "http://LOCALHOST"};
    static const struct {
        const char *url;
        const char *why;
    } bad[] = {
        {"http://127.1", "no valid host"},
        {"http://127.0.0.01", "no valid host"},
        {"http://127.0.0.256", "no valid host"},
        {"http://127.0.0.1.evil.example", "plain http"},
        {"http://128.0.0.1", "plain http"},
        {"http://0177.0.0.1", "no valid host"},
        {"http://2130706433", "no valid host"},
        {"http://10.0.0.1", "plain http"},
        {"http://localhost.evil.example", "plain http"},
        {"http://[::2]", "plain http"},
        {"http://[::ffff:127.0.0.1]", "plain http"},
        {"http://sts.eu-west-1.amazonaws.com", "plain http"},
    };
    struct cfr_wire_aws_endpoint e;
    struct cfr_err err = {0};

    (void)state;
    for (size_t i = 0; i < sizeof good / sizeof good[0]; i++) {
        if (cfr_wire_aws_endpoint_parse(good[i], &e, &err) != 0)
            fail_msg("%s: %s", good[i], err.text);
        assert_false(e.tls);
    }
    assert_string_equal(e.host, "localhost");
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        if (cfr_wire_aws_endpoint_parse(bad[i].url, &e, &err) != CFR_E_CONFIG || strstr(err.text, bad[i].why) == NULL)
            fail_msg("%s was not refused as it should: %s", bad[i].url, err.text);
    }
}

static void bad_urls(void **state)
{
    static const char *const bad[] = {
        "",
        "https://",
        "https:///x",
        "sts.eu-west-1.amazonaws.com",
        "HTTPS://x",
        "https://a b",
        "https://u@h",
        "https://h:0",
        "https://h:65536",
        "https://h:",
        "https://h:x",
        "https://h/a?b",
        "https://h/#f",
        "https://h/a//b",
        "https://h/../b",
        "https://h/.",
        "https://h/%2e",
        "https://h\\x",
        "https://[::1",
        "https://[]",
        "https://.h",
        "https://a..b",
        "https://-h",
        "https://h:80:80",
        "https://h/a b",
        "https://\xc3\xa9",
        "http://127.0.0.1@evil.example",
        "https://h/\n",
        "https://h\r\nX: y",
    };
    char long_url[600] = "https://";
    struct cfr_wire_aws_endpoint e;

    (void)state;
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        if (cfr_wire_aws_endpoint_parse(bad[i], &e, NULL) != CFR_E_CONFIG)
            fail_msg("%s was not refused", bad[i]);
    }
    memset(long_url + 8, 'a', 300);
    assert_int_equal(cfr_wire_aws_endpoint_parse(long_url, &e, NULL), CFR_E_CONFIG);
    memset(long_url + 8, 'a', 590);
    assert_int_equal(cfr_wire_aws_endpoint_parse(long_url, &e, NULL), CFR_E_CONFIG);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(partitions), cmocka_unit_test(loopback),
                                       cmocka_unit_test(bad_urls)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
