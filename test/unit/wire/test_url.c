/* SPDX-License-Identifier: MIT */
/* URLs: their parts, and what no URL of a configuration may have. */
#include "unit.h"

#include "wire/url.h"

static void parts(void **state)
{
    static const struct {
        const char *url;
        bool tls;
        const char *host;
        const char *authority;
        const char *path;
    } cases[] = {
        {"https://sts.googleapis.com", true, "sts.googleapis.com", "sts.googleapis.com", ""},
        {"https://sts.example:8443/v1/token", true, "sts.example", "sts.example:8443", "/v1/token"},
        {"https://a/b?c=d&e=%2F", true, "a", "a", "/b?c=d&e=%2F"},
        {"https://A.Example./", true, "A.Example.", "A.Example.", "/"},
        {"https://10.0.0.1:1/", true, "10.0.0.1", "10.0.0.1:1", "/"},
        {"https://[2001:db8::1]:65535/x:y@z", true, "[2001:db8::1]", "[2001:db8::1]:65535", "/x:y@z"},
        {"http://127.0.0.1:8080/", false, "127.0.0.1", "127.0.0.1:8080", "/"},
        {"http://127.255.255.255", false, "127.255.255.255", "127.255.255.255", ""},
        {"http://[::1]:80", false, "[::1]", "[::1]:80", ""},
        {"http://[0:0:0:0:0:0:0:1]/", false, "[0:0:0:0:0:0:0:1]", "[0:0:0:0:0:0:0:1]", "/"},
        {"http://localhost/x", false, "localhost", "localhost", "/x"},
        {"https://my_svc.ns-1.svc/", true, "my_svc.ns-1.svc", "my_svc.ns-1.svc", "/"},
        {"https://registry.1a", true, "registry.1a", "registry.1a", ""},
    };

    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        struct cfr_url u;
        struct cfr_err err = {0};

        if (cfr_url_parse(cases[i].url, &u, &err) != 0)
            fail_msg("%s: %s", cases[i].url, err.text);
        assert_int_equal(u.tls, cases[i].tls);
        assert_view(u.host, cases[i].host);
        assert_view(u.authority, cases[i].authority);
        assert_view(u.path, cases[i].path);
    }
}

static void objections(void **state)
{
    static const struct {
        const char *url;
        const char *why;
    } cases[] = {
        {"", "begins with https://"},
        {"sts.googleapis.com", "begins with https://"},
        {"HTTPS://a", "begins with https://"},
        {"ftp://a", "begins with https://"},
        {"https:/a", "begins with https://"},
        {"https://", "no valid host name"},
        {"https:///v1", "no valid host name"},
        {"https://:443/", "no valid host name"},
        {"https://-a/", "no valid host name"},
        {"https://a-/", "no valid host name"},
        {"https://a..b/", "no valid host name"},
        {"https://.a/", "no valid host name"},
        {"https://a b/", "no valid host name"},
        {"https://a%41/", "no valid host name"},
        {"https://a\\b/", "no valid host name"},
        {"https://127.1/", "no valid host name"},
        {"https://0x7f.1/", "no valid host name"},
        {"https://10.0.0.0x1/", "no valid host name"},
        {"https://2130706433/", "no valid host name"},
        {"https://256.0.0.1/", "no valid host name"},
        {"https://[::1/", "no valid host name"},
        {"https://[::1]x/", "no valid host name"},
        {"https://[]/", "no valid host name"},
        {"https://[fe80::1%25eth0]/", "no valid host name"},
        {"https://[127.0.0.1]/", "no valid host name"},
        {"https://a:/", "its port must be"},
        {"https://a:0/", "its port must be"},
        {"https://a:080/", "its port must be"},
        {"https://a:65536/", "its port must be"},
        {"https://a:+1/", "its port must be"},
        {"https://a:1:2/", "its port must be"},
        {"https://user@a/", "a user or password"},
        {"https://user:word@a/", "a user or password"},
        {"https://a/#x", "a fragment"},
        {"https://a#x", "a fragment"},
        {"https://a/b c", "without blanks"},
        {"https://a/\t", "without blanks"},
        {"https://a/%4", "without blanks"},
        {"https://a/%zz", "without blanks"},
        {"https://a/<x>", "without blanks"},
        {"https://a?b", "begins with /"},
        {"http://a/", "plain http is only for"},
        {"http://128.0.0.1/", "plain http is only for"},
        {"http://[::2]/", "plain http is only for"},
        {"http://localhost.example/", "plain http is only for"},
        {"http://127.0.0.1.example/", "plain http is only for"},
    };

    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        struct cfr_url u;
        struct cfr_err err = {0};

        if (cfr_url_parse(cases[i].url, &u, &err) != CFR_E_CONFIG || strstr(err.text, cases[i].why) == NULL)
            fail_msg("%s: \"%s\" is not in \"%s\"", cases[i].url, cases[i].why, err.text);
    }
}

static void lengths(void **state)
{
    char url[CFR_URL_MAX + 2] = "https://a/";
    struct cfr_url u;

    (void)state;
    memset(url + 10, 'x', CFR_URL_MAX - 10);
    assert_int_equal(cfr_url_parse(url, &u, NULL), 0);
    url[CFR_URL_MAX] = 'x';
    assert_int_equal(cfr_url_parse(url, &u, NULL), CFR_E_CONFIG);
    (void)snprintf(url, sizeof url, "https://%064d.example/", 0);
    assert_int_equal(cfr_url_parse(url, &u, NULL), CFR_E_CONFIG);
    (void)snprintf(url, sizeof url, "https://%063d.example/", 0);
    assert_int_equal(cfr_url_parse(url, &u, NULL), 0);
}

static void hosts(void **state)
{
    static const char *const good[] = {"a",  "europe-docker.pkg.dev", "a:5000", "10.1.2.3", "[::1]", "[::1]:5000",
                                       "x_y"};
    static const char *const bad[] = {"",   "a/b", "https://a", "a:",  "a:x", "a:70000", "::1", "u@a",
                                      "a?", "a#b", "a b",       "a%2", "[",   "[]:1",    ":1",  "1.2.3"};

    (void)state;
    for (size_t i = 0; i < COUNT(good); i++)
        assert_true(cfr_url_host_ok(cfr_view_of(good[i])));
    for (size_t i = 0; i < COUNT(bad); i++)
        assert_false(cfr_url_host_ok(cfr_view_of(bad[i])));
    assert_false(cfr_url_host_ok((struct cfr_view){NULL, 0}));
    assert_false(cfr_url_host_ok(LITERAL("a\0b")));
}

static void loopback(void **state)
{
    static const struct {
        const char *url;
        bool loopback;
        bool literal;
        const char *port;
    } cases[] = {
        {"http://localhost", true, false, ""},
        {"http://LocalHost:1/", true, false, "1"},
        {"https://127.9.8.7:65535", true, true, "65535"},
        {"https://[::1]/", true, true, ""},
        {"https://[0::0:1]:8", true, true, "8"},
        {"https://128.0.0.1", false, true, ""},
        {"https://[::ffff:127.0.0.1]/", false, true, ""},
        {"https://localhost./", false, false, ""},
        {"https://localhost.evil", false, false, ""},
        {"https://127.evil.example.com:7", false, false, "7"},
    };

    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        struct cfr_url u;

        assert_int_equal(cfr_url_parse(cases[i].url, &u, NULL), 0);
        if (u.loopback != cases[i].loopback || u.literal != cases[i].literal)
            fail_msg("%s: loopback %d, literal %d", cases[i].url, u.loopback, u.literal);
        assert_view(u.port, cases[i].port);
    }
}

static void exceptions(void **state)
{
    char url[CFR_URL_MAX + 2] = "https://a/";
    struct cfr_err err = {0};
    struct cfr_url u;

    (void)state;
    assert_int_equal(cfr_url_parse_as(CFR_URL_ANY_HTTP, "http://proxy.example:3128", &u, NULL), 0);
    assert_false(u.loopback);
    assert_int_equal(cfr_url_parse_as(CFR_URL_ANY_HTTP, "http://u@a", &u, NULL), CFR_E_CONFIG);
    assert_int_equal(cfr_url_parse_as(CFR_URL_USER, "https://user:SESAME@a.example:8/x", &u, NULL), 0);
    assert_view(u.authority, "a.example:8");
    assert_view(u.host, "a.example");
    /* What a client takes for the host must never be part of the password. */
    assert_int_equal(cfr_url_parse_as(CFR_URL_USER, "https://user:SESAME@a@b/", &u, &err), CFR_E_CONFIG);
    assert_null(strstr(err.text, "SESAME"));
    assert_int_equal(cfr_url_parse_as(CFR_URL_USER, "http://localhost@evil.example/", &u, NULL), CFR_E_CONFIG);
    memset(url + 10, 'a', sizeof url - 11);
    assert_int_equal(cfr_url_parse(url, &u, NULL), CFR_E_CONFIG);
    assert_int_equal(cfr_url_parse_as(CFR_URL_ANY_LENGTH, url, &u, NULL), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(loopback),   cmocka_unit_test(exceptions), cmocka_unit_test(parts),
        cmocka_unit_test(objections), cmocka_unit_test(lengths),    cmocka_unit_test(hosts),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
