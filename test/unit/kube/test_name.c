/* SPDX-License-Identifier: MIT */
/* Names of Kubernetes objects. */
#include "unit.h"

#include "kube/name_private.h"

static void labels(void **state)
{
    static const char *const good[] = {"a",    "0",  "ns-a",
                                       "a--b", "1a", "a23456789012345678901234567890123456789012345678901234567890123"};
    static const char *const bad[] = {
        "",    "-a",  "a-", "A",        "a.b", "a_b",
        "a/b", "a b", "..", "\xc3\xa9", "a\n", "a234567890123456789012345678901234567890123456789012345678901234"};

    (void)state;
    for (size_t i = 0; i < COUNT(good); i++)
        assert_true(cfr_k8s_name_is_label(good[i]));
    for (size_t i = 0; i < COUNT(bad); i++)
        assert_false(cfr_k8s_name_is_label(bad[i]));
    assert_false(cfr_k8s_name_is_label(NULL));
}

static void subdomains(void **state)
{
    static const char *const good[] = {"a", "a.b", "ip-10-0-0-1.eu-west-1.compute.internal", "0.0"};
    static const char *const bad[] = {"", ".", "a.", ".a", "a..b", "a.-b", "a-.b", "a/b", "a%2fb", "?", "A.b"};
    char text[256];

    (void)state;
    for (size_t i = 0; i < COUNT(good); i++)
        assert_true(cfr_k8s_name_is_subdomain(good[i]));
    for (size_t i = 0; i < COUNT(bad); i++)
        assert_false(cfr_k8s_name_is_subdomain(bad[i]));
    assert_false(cfr_k8s_name_is_subdomain(NULL));
    memset(text, 'a', sizeof text);
    text[253] = '\0';
    assert_true(cfr_k8s_name_is_subdomain(text));
    memcpy(text + 253, "a", 2);
    assert_false(cfr_k8s_name_is_subdomain(text));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(labels),
        cmocka_unit_test(subdomains),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
