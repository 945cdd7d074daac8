/* SPDX-License-Identifier: MIT */
/* The HTTP client engine: certificates from memory, other names, proxies of one's own, link-local addresses,
 * and the header that is kept. */
#include "http_fixture.h"

#include "agent/http/transfer_private.h"

static char *made[6]; /* contents of the server's files, for as long as the tests run */

enum { CA, OTHER, CERT_A, KEY_A, CERT_B, KEY_B };

static int read_files(void **state)
{
    static const char *const names[] = {"ca.pem",       "other.pem",    "client-a.pem",
                                        "client-a.key", "client-b.pem", "client-b.key"};

    if (start_server(state) != 0)
        return -1;
    for (size_t i = 0; i < COUNT(names); i++) {
        struct cfr_secret s = read_made(names[i]);

        made[i] = strdup(s.p);
        cfr_secret_free(&s);
    }
    return 0;
}

static int free_files(void **state)
{
    for (size_t i = 0; i < COUNT(made); i++)
        free(made[i]);
    return stop_server(state);
}

static struct cfr_http_request get_pem(char buf[256], int port, const char *ca)
{
    struct cfr_http_request r = get(url_of(buf, "https", port, "/echo"));

    r.ca_file = NULL;
    r.ca_pem = cfr_view_of(ca);
    return r;
}

static struct got fetch_pem(struct cfr_http *h, int port, const char *ca)
{
    char url[256];
    struct cfr_http_request r = get_pem(url, port, ca);

    return fetch(h, &r);
}

static struct got fetch_as(struct cfr_http *h, const char *cert, const char *key)
{
    char url[256];
    struct cfr_http_request r = get_pem(url, srv.mutual, made[CA]);

    r.client_cert = cfr_view_of(cert);
    r.client_key = cfr_view_of(key);
    return fetch(h, &r);
}

static void test_ca_from_memory(void **state)
{
    struct cfr_http *h = engine();
    struct got g;

    (void)state;
    assert_int_equal(setenv("SSL_CERT_FILE", srv.ca, 1), 0);
    assert_int_equal(fetch_pem(h, srv.good, made[CA]).error, 0);
    g = fetch_pem(h, srv.good, made[OTHER]);
    assert_int_equal(g.error, CFR_E_TLS);
    assert_has(g.err, "not signed by any of the CA certificates given for it");
    g = fetch_pem(h, srv.good, "no certificate");
    assert_int_equal(g.error, CFR_E_TLS);
    assert_has(g.err, "the CA certificates given for it hold no certificate");
    assert_int_equal(unsetenv("SSL_CERT_FILE"), 0);
    /* None is needed on the system, and memory comes before a file. */
    {
        char url[256];
        struct cfr_http_request r = get_pem(url, srv.good, made[CA]);

        r.ca_file = "/nonexistent/ca.pem";
        assert_int_equal(fetch(h, &r).error, 0);
    }
    cfr_http_close(h);
}

/* Neither a kept connection nor the cache of CA files may carry one trust over to another. */
static void test_ca_from_memory_is_kept_apart(void **state)
{
    struct cfr_http *h = engine();
    char url[256];
    struct cfr_http_request r = get_pem(url, srv.good, made[CA]);
    struct got first;
    struct got second;

    (void)state;
    first = fetch(h, &r);
    second = fetch(h, &r);
    assert_string_equal(first.body, second.body); /* the connection, too, is in it */
    assert_int_equal(fetch_pem(h, srv.good, made[OTHER]).error, CFR_E_TLS);
    assert_int_equal(fetch_tls(h, srv.good, srv.other).error, CFR_E_TLS);
    assert_int_equal(fetch_tls(h, srv.good, srv.ca).error, 0);
    assert_int_equal(fetch_pem(h, srv.good, made[OTHER]).error, CFR_E_TLS);
    assert_int_equal(fetch_pem(h, srv.good, made[CA]).error, 0);
    assert_int_equal(fetch_tls(h, srv.good, srv.other).error, CFR_E_TLS);
    cfr_http_close(h);
}

static void test_client_certificate(void **state)
{
    struct cfr_http *h = engine();
    struct got g = fetch_as(h, made[CERT_A], made[KEY_A]);

    (void)state;
    assert_int_equal(g.error, 0);
    assert_has(g.body, "\"peer\": \"client-a\"");
    g = fetch_as(h, made[CERT_B], made[KEY_B]);
    assert_int_equal(g.error, 0);
    assert_has(g.body, "\"peer\": \"client-b\"");
    assert_has(fetch_as(h, made[CERT_A], made[KEY_A]).body, "\"peer\": \"client-a\"");
    g = fetch_pem(h, srv.mutual, made[CA]);
    if (g.error != CFR_E_TLS)
        fail_msg("%s", g.err);
    assert_has(g.err, "the client certificate, or the lack of one");
    cfr_http_close(h);
}

/* To a server that it does not know, a client shows no certificate. */
static void test_a_server_is_verified_before_it_gets_a_client_certificate(void **state)
{
    struct cfr_http *h = engine();
    char url[256];
    struct cfr_http_request r = get_pem(url, srv.mutual, made[OTHER]);
    struct got g;

    (void)state;
    r.client_cert = cfr_view_of(made[CERT_A]);
    r.client_key = cfr_view_of(made[KEY_A]);
    g = fetch(h, &r);
    assert_int_equal(g.error, CFR_E_TLS);
    assert_has(g.err, "not signed by any of the CA certificates given for it");
    r.ca_pem = cfr_view_of(made[CA]);
    r.server_name = "another.example.com";
    g = fetch(h, &r);
    assert_int_equal(g.error, CFR_E_TLS);
    assert_has(g.err, "its certificate is for another name");
    cfr_http_close(h);
}

static void test_connections_are_kept_per_client_certificate(void **state)
{
    struct cfr_http *h = engine();
    struct got a = fetch_as(h, made[CERT_A], made[KEY_A]);
    struct got b = fetch_as(h, made[CERT_B], made[KEY_B]);

    (void)state;
    assert_string_not_equal(a.body, b.body);
    assert_string_equal(a.body, fetch_as(h, made[CERT_A], made[KEY_A]).body);
    assert_string_equal(b.body, fetch_as(h, made[CERT_B], made[KEY_B]).body);
    cfr_http_close(h);
}

static void test_client_certificates_that_cannot_be_used(void **state)
{
    struct cfr_http *h = engine();
    const char *const cases[][2] = {
        {made[CERT_A], made[KEY_B]},
        {"garbage", made[KEY_A]},
        {made[CERT_A], "garbage"},
        {made[CERT_A], "-----BEGIN ENCRYPTED PRIVATE KEY-----\n"
                       "MIHsMFcGCSqGSIb3DQEFDTBKMCkGCSqGSIb3DQEFDDAcBAgZ2X0Ue9oPagICCAAw\n"
                       "DAYIKoZIhvcNAgkFADAdBglghkgBZQMEASoEENzU2D0FZ0dY0sHXbKQeOGUEgZDd\n"
                       "-----END ENCRYPTED PRIVATE KEY-----\n"},
    };

    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        struct got g = fetch_as(h, cases[i][0], cases[i][1]);

        if (g.error != CFR_E_TLS)
            fail_msg("case %zu: %s", i, g.err);
        assert_has(g.err, "the client certificate and its key cannot be used");
    }
    cfr_http_close(h);
}

static void test_other_name(void **state)
{
    struct cfr_http *h = engine();
    char url[256];
    char host[64];
    struct cfr_http_request r = get_pem(url, srv.elsewhere, made[CA]);
    struct got g;

    (void)state;
    assert_int_equal(fetch(h, &r).error, CFR_E_TLS);
    r.server_name = "elsewhere.example";
    g = fetch(h, &r);
    assert_int_equal(g.error, 0);
    assert_has(g.body, "\"sni\": \"elsewhere.example\"");
    (void)snprintf(host, sizeof host, "\"Host: 127.0.0.1:%d\"", srv.elsewhere);
    assert_has(g.body, host);
    assert_has(g.body, "\"target\": \"/echo\"");
    /* What was verified under one name is not used under another. */
    r.server_name = NULL;
    assert_int_equal(fetch(h, &r).error, CFR_E_TLS);
    r.server_name = "other.example";
    g = fetch(h, &r);
    assert_int_equal(g.error, CFR_E_TLS);
    assert_has(g.err, "for another name");
    r = get_pem(url, srv.good, made[CA]);
    r.server_name = "127.0.0.1";
    assert_int_equal(fetch(h, &r).error, 0);
    cfr_http_close(h);
}

static void test_names_that_are_none(void **state)
{
    static const char *const names[] = {"", "a b", "a/b", "a\nb", "a@b", "a:1"};
    struct cfr_http *h = engine();

    (void)state;
    for (size_t i = 0; i < COUNT(names); i++) {
        char url[256];
        struct cfr_http_request r = get_pem(url, srv.good, made[CA]);
        struct cfr_err err = {0};

        r.server_name = names[i];
        if (cfr_http_start(h, &r, on_done, NULL, NULL, &err) != CFR_E_CONFIG)
            fail_msg("\"%s\" was taken", names[i]);
    }
    cfr_http_close(h);
}

static void test_own_proxy(void **state)
{
    struct cfr_http *h = engine();
    char url[256];
    char proxy[128];
    struct cfr_http_request r = get_pem(url, srv.mutual, made[CA]);
    struct got g;

    (void)state;
    assert_int_equal(setenv("no_proxy", "*", 1), 0);
    (void)snprintf(proxy, sizeof proxy, "http://user:SESAME@127.0.0.1:%d", srv.proxy);
    r.proxy = proxy;
    r.client_cert = cfr_view_of(made[CERT_B]);
    r.client_key = cfr_view_of(made[KEY_B]);
    g = fetch(h, &r);
    assert_int_equal(g.error, 0);
    assert_has(g.body, "\"peer\": \"client-b\"");
    assert_lacks(g.body, "proxy-auth");
    (void)snprintf(proxy, sizeof proxy, "http://user:SESAMY@127.0.0.1:%d", srv.plain);
    g = fetch(h, &r);
    assert_int_equal(g.error, CFR_E_NET);
    assert_has(g.err, "the proxy refuses to connect (status 403)");
    assert_lacks(g.err, "SESAM");
    assert_lacks(g.err, "https_proxy");
    r.direct = true;
    assert_int_equal(fetch(h, &r).error, 0);
    assert_int_equal(unsetenv("no_proxy"), 0);
    cfr_http_close(h);
    /* The environment's never stands before loopback, under whatever name the server goes. */
    assert_int_equal(setenv("https_proxy", proxy, 1), 0);
    h = engine();
    r = get_pem(url, srv.elsewhere, made[CA]);
    r.server_name = "elsewhere.example";
    assert_int_equal(fetch(h, &r).error, 0);
    assert_int_equal(unsetenv("https_proxy"), 0);
    cfr_http_close(h);
}

/* no_proxy lists the hosts that are connected to, not the names in their certificates. */
static void test_the_environments_proxy_with_another_name(void **state)
{
    static const struct {
        const char *no_proxy;
        bool direct;
    } cases[] = {{"0.0.0.0", true},
                 {"a.example,0.0.0.0/8", true},
                 {"*", true},
                 {"elsewhere.example", false},
                 {".example, 10.0.0.0/8", false}};
    char proxy[64];

    (void)state;
    (void)snprintf(proxy, sizeof proxy, "http://127.0.0.1:%d", srv.plain);
    assert_int_equal(setenv("https_proxy", proxy, 1), 0);
    for (size_t i = 0; i < COUNT(cases); i++) {
        char url[256];
        struct cfr_http_request r = get_pem(url, srv.elsewhere, made[CA]);
        struct cfr_http *h;
        struct got g;

        assert_int_equal(setenv("no_proxy", cases[i].no_proxy, 1), 0);
        h = engine();
        /* This machine by an address that is not of loopback. */
        (void)snprintf(url, sizeof url, "https://0.0.0.0:%d/echo", srv.elsewhere);
        r.server_name = "elsewhere.example";
        g = fetch(h, &r);
        if (g.error != (cases[i].direct ? 0 : CFR_E_NET))
            fail_msg("%s: %d: %s", cases[i].no_proxy, g.error, g.err);
        cfr_http_close(h);
    }
    assert_int_equal(unsetenv("https_proxy"), 0);
    assert_int_equal(unsetenv("no_proxy"), 0);
}

static void test_proxies_that_are_none(void **state)
{
    static const char *const proxies[] = {
        "socks5://127.0.0.1:1080", "socks5h://user:SESAME@127.0.0.1", "ftp://127.0.0.1", "", "http://",
        "not a url SESAME"};
    struct cfr_http *h = engine();

    (void)state;
    for (size_t i = 0; i < COUNT(proxies); i++) {
        char url[256];
        struct cfr_http_request r = get_pem(url, srv.good, made[CA]);
        struct cfr_err err = {0};

        r.proxy = proxies[i];
        if (cfr_http_start(h, &r, on_done, NULL, NULL, &err) != CFR_E_CONFIG)
            fail_msg("\"%s\" was taken", proxies[i]);
        assert_has(err.text, "proxy");
        assert_lacks(err.text, "SESAME");
    }
    cfr_http_close(h);
}

/* Nothing is sent here: these addresses are not this machine's. */
static void test_link_local(void **state)
{
    static const struct {
        const char *url;
        bool allowed;
    } cases[] = {
        {"http://169.254.170.2/v2/credentials/x", true},
        {"http://169.254.170.23/v1/credentials", true},
        {"http://[fd00:ec2::23]/v1/credentials", true},
        {"http://[fd00:0ec2:0::0023]:80/v1/credentials", true},
        {"http://169.254.169.254/latest/", false},
        {"http://169.254.170.3/", false},
        {"http://[fd00:ec2::254]/", false},
        {"http://169.254.170.2.example.com/", false},
        {"ftp://169.254.170.2/", false},
    };

    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        struct cfr_http_request r = get(cases[i].url);
        struct cfr_http_transfer t = {0};
        struct cfr_http_target to = {.tls = false};

        assert_int_equal(cfr_http_target_check(&t, &r, &to, NULL), CFR_E_CONFIG);
        r.link_local = true;
        if ((cfr_http_target_check(&t, &r, &to, NULL) == 0) != cases[i].allowed)
            fail_msg("%s", cases[i].url);
        assert_int_equal(to.link_local, cases[i].allowed);
        assert_false(to.loopback);
    }
}

/* As a request with a key of the configuration says it, and no other. */
static void test_plain_http(void **state)
{
    struct cfr_http_request r = {.method = "POST", .url = "http://gateway.rook.svc:8080/"};
    struct cfr_http_transfer t = {0};
    struct cfr_http_target to = {.tls = false};

    (void)state;
    assert_int_equal(cfr_http_target_check(&t, &r, &to, NULL), CFR_E_CONFIG);
    r.plain_http = true;
    assert_int_equal(cfr_http_target_check(&t, &r, &to, NULL), 0);
    assert_false(to.tls || to.loopback || to.link_local);
}

static void test_header_is_kept(void **state)
{
    struct cfr_http *h = engine();
    char url[256];
    struct cfr_http_request r = get(url_of(url, "http", srv.plain, "/keep"));
    struct got g = fetch(h, &r);

    (void)state;
    assert_string_equal(g.header, "");
    r.keep_header = "X-SUBJECT-TOKEN";
    g = fetch(h, &r);
    assert_string_equal(g.header, "SESAME-KEPT-SESAME-KEPT");
    assert_string_equal(g.id, "req-1");
    r.keep_header = "X-Subject-Toke";
    assert_string_equal(fetch(h, &r).header, "");
    r = get(url_of(url, "http", srv.plain, "/keep-interim"));
    r.keep_header = "X-Subject-Token";
    g = fetch(h, &r);
    assert_string_equal(g.body, "final");
    assert_string_equal(g.header, "");
    cfr_http_close(h);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_ca_from_memory),
        cmocka_unit_test(test_ca_from_memory_is_kept_apart),
        cmocka_unit_test(test_client_certificate),
        cmocka_unit_test(test_a_server_is_verified_before_it_gets_a_client_certificate),
        cmocka_unit_test(test_connections_are_kept_per_client_certificate),
        cmocka_unit_test(test_client_certificates_that_cannot_be_used),
        cmocka_unit_test(test_other_name),
        cmocka_unit_test(test_names_that_are_none),
        cmocka_unit_test(test_own_proxy),
        cmocka_unit_test(test_the_environments_proxy_with_another_name),
        cmocka_unit_test(test_proxies_that_are_none),
        cmocka_unit_test(test_link_local),
        cmocka_unit_test(test_plain_http),
        cmocka_unit_test(test_header_is_kept),
    };

    return cmocka_run_group_tests(tests, read_files, free_files);
}
