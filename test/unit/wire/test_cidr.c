/* SPDX-License-Identifier: MIT */
/* Networks of IP addresses. */
#include "wire/cidr.h"

#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>

#include <arpa/inet.h>
#include <string.h>

static bool has(const char *network, const char *address)
{
    struct cfr_cidr c;
    unsigned char bytes[16];
    bool six = strchr(address, ':') != NULL;

    assert_int_equal(cfr_cidr_parse(network, &c, NULL), 0);
    assert_int_equal(inet_pton(six ? AF_INET6 : AF_INET, address, bytes), 1);
    return cfr_cidr_has(&c, bytes, six ? 16 : 4);
}

static void test_addresses_in_and_out(void **state)
{
    (void)state;
    assert_true(has("10.244.0.0/16", "10.244.255.255"));
    assert_false(has("10.244.0.0/16", "10.245.0.0"));
    assert_true(has("10.0.0.128/25", "10.0.0.128"));
    assert_false(has("10.0.0.128/25", "10.0.0.127"));
    assert_true(has("192.0.2.7", "192.0.2.7"));
    assert_false(has("192.0.2.7/32", "192.0.2.6"));
    assert_true(has("128.0.0.0/1", "255.0.0.1"));
    assert_true(has("fd00:10::/64", "fd00:10::ffff"));
    assert_false(has("fd00:10::/64", "fd00:10:0:1::"));
    assert_true(has("::1", "::1"));
    assert_false(has("0.0.0.0/1", "::1"));
    assert_false(has("::/1", "10.0.0.1"));
}

static void check_refused(const char *network, const char *words)
{
    struct cfr_cidr c;
    struct cfr_err err = {0};

    assert_int_equal(cfr_cidr_parse(network, &c, &err), CFR_E_CONFIG);
    if (strstr(err.text, words) == NULL)
        fail_msg("%s: %s", network, err.text);
}

static void test_what_is_no_network(void **state)
{
    (void)state;
    check_refused("", "not a network");
    check_refused("pods", "not a network");
    check_refused("10.244/16", "not a network");
    check_refused("[::1]/128", "not a network");
    check_refused("10.244.0.0/", "from 1 to 32");
    check_refused("10.244.0.0/33", "from 1 to 32");
    check_refused("10.244.0.0/-1", "from 1 to 32");
    check_refused("10.244.0.0/ 8", "from 1 to 32");
    check_refused("fd00::/129", "from 1 to 128");
    check_refused("0.0.0.0/0", "every address");
    check_refused("::/0", "every address");
    check_refused("10.244.3.0/16", "write 10.244.0.0/16, or 10.244.3.0 for");
    check_refused("fd00::1/64", "write fd00::/64");
    check_refused("1111:2222:3333:4444:5555:6666:7777:8888:9999:aaaa:bbbb:cccc/64", "not a network");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_addresses_in_and_out),
        cmocka_unit_test(test_what_is_no_network),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
