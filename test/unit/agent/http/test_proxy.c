/* SPDX-License-Identifier: MIT */
/* Proxy variables that have no effect are reported. */
#include "unit.h"

#include "agent/http/client.h"
#include "base/finding.h"
#include "base/str.h"

#include <stdlib.h>

static void take(void *ctx, const struct cfr_finding *f)
{
    cfr_str_addf(ctx, "%s\n", f->text);
}

static void expect(const char *https, const char *http, const char *lower, const char *upper, const char *lines)
{
    const char *const names[] = {"https_proxy", "HTTP_PROXY", "no_proxy", "NO_PROXY"};
    const char *const values[] = {https, http, lower, upper};
    struct cfr_str all = {.limit = 4096};
    const struct cfr_finding_sink sink = {take, &all};

    for (size_t i = 0; i < COUNT(names); i++) {
        if (values[i] != NULL)
            assert_int_equal(setenv(names[i], values[i], 1), 0);
        else
            assert_int_equal(unsetenv(names[i]), 0);
    }
    cfr_http_check_proxy(&sink);
    assert_string_equal(all.p != NULL ? all.p : "", lines);
    cfr_str_free(&all);
}

static void what_has_no_effect(void **state)
{
    (void)state;
    expect(NULL, NULL, "*.example.com", NULL, "");
    expect("http://p:1", NULL, "localhost,.svc, 10.0.0.0/8 ,::1,example.com", NULL, "");
    expect("p:3128", NULL, "*", NULL, "");
    expect(
        "http://p:1", NULL, "*.a.example,b.example:443,https://c.example", NULL,
        "no_proxy: \"*.a.example\" matches no host: a `*` is known only as the whole list; for a domain write .DOMAIN\n"
        "no_proxy: \"b.example:443\" matches no host: write the host without a port\n"
        "no_proxy: \"https://c.example\" matches no host: write the host, not a URL\n");
    expect("http://p:1", NULL, NULL, "a;b", "NO_PROXY: \"a;b\" matches no host: separate the hosts with commas\n");
    expect("http://p:1", NULL, "a", "b", "NO_PROXY differs from no_proxy, which is used: write the same into both\n");
    expect("quic://p:1", NULL, NULL, NULL, "https_proxy: a proxy must be http, https or socks\n");
    expect(NULL, "http://p:1", NULL, NULL,
           "HTTP_PROXY has no effect: requests to clouds are https, so write https_proxy\n");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_has_no_effect),
    };
    const char *const others[] = {"http_proxy", "HTTPS_PROXY", "all_proxy", "ALL_PROXY"};

    for (size_t i = 0; i < COUNT(others); i++)
        (void)unsetenv(others[i]);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
