/* SPDX-License-Identifier: MIT */
/* Trust and route of the HTTP client engine: CA files, reused connections, proxies. */
#include "http_fixture.h"

#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static void test_certificates(void **state)
{
    const struct {
        int port;
        const char *ca;
        int error;
        const char *words;
    } cases[] = {
        {srv.good, srv.ca, 0, ""},
        {srv.good, srv.other, CFR_E_TLS, "not signed by a CA in"},
        {srv.good, NULL, CFR_E_TLS, "not signed by a CA in"},
        {srv.elsewhere, srv.ca, CFR_E_TLS, "for another name"},
        {srv.expired, srv.ca, CFR_E_TLS, "has expired"},
        {srv.early, srv.ca, CFR_E_TLS, "not valid yet"},
        {srv.good, "/etc/passwd", CFR_E_TLS, "holds no certificate"},
        {srv.plain, srv.ca, CFR_E_TLS, "; what answers there may be plain http, or a proxy"},
        {srv.close, srv.ca, CFR_E_NET, "no TLS connection"},
    };
    struct cfr_http *h = engine();

    (void)state;
    assert_int_equal(setenv("SSL_CERT_FILE", srv.other, 1), 0);
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct got g = fetch_tls(h, cases[i].port, cases[i].ca);

        if (g.error != cases[i].error)
            fail_msg("case %zu: %s: %s", i, cfr_err_name(g.error), g.err);
        assert_has(g.err, cases[i].words);
    }
    assert_int_equal(setenv("SSL_CERT_FILE", srv.ca, 1), 0);
    assert_int_equal(fetch_tls(h, srv.good, NULL).error, 0);
    assert_int_equal(unsetenv("SSL_CERT_FILE"), 0);
    cfr_http_close(h);
}

static void test_missing_ca_file(void **state)
{
    struct cfr_http *h = engine();
    struct cfr_http_request r = get("https://127.0.0.1/");
    struct cfr_err err = {0};

    (void)state;
    r.ca_file = "/nonexistent/ca.pem";
    assert_int_equal(cfr_http_start(h, &r, on_done, NULL, NULL, &err), CFR_E_MISSING);
    assert_has(err.text, "/nonexistent/ca.pem");
    cfr_http_close(h);
}

/* libcurl itself would open these, and some of them never end. */
static void test_files_that_never_end(void **state)
{
    static const char *const words[] = {"not a regular file", "not a regular file", "not a regular file", "allowed"};
    const char *paths[] = {NULL, "/dev/zero", "/", NULL};
    struct cfr_http *h = engine();
    struct cfr_http_request r = get("https://127.0.0.1/");
    char fifo[128];
    char large[128];
    FILE *f;

    (void)state;
    (void)snprintf(fifo, sizeof fifo, "%s/fifo", srv.dir);
    (void)snprintf(large, sizeof large, "%s/large.pem", srv.dir);
    assert_int_equal(mkfifo(fifo, 0600), 0);
    f = fopen(large, "w");
    assert_non_null(f);
    assert_int_equal(ftruncate(fileno(f), CFR_HTTP_CA_FILE_MAX + 1), 0);
    assert_int_equal(fclose(f), 0);
    paths[0] = fifo;
    paths[3] = large;
    for (size_t i = 0; i < sizeof paths / sizeof paths[0]; i++) {
        struct cfr_err err = {0};
        int64_t begun = now_ms();

        r.ca_file = paths[i];
        assert_int_not_equal(cfr_http_start(h, &r, on_done, NULL, NULL, &err), 0);
        assert_has(err.text, paths[i]);
        assert_has(err.text, words[i]);
        assert_true(now_ms() - begun < 100);
    }
    cfr_http_close(h);
    assert_int_equal(unlink(fifo), 0);
    assert_int_equal(unlink(large), 0);
}

/* A kept connection must not carry the trust of one CA over to a request that trusts another. */
static void test_connections_are_kept_per_ca(void **state)
{
    struct cfr_http *h = engine();
    long n = connections(h, srv.good, srv.ca, NULL);

    (void)state;
    assert_int_equal(fetch_tls(h, srv.good, srv.ca).error, 0);
    assert_int_equal(connections(h, srv.good, srv.ca, NULL), n);
    assert_int_equal(fetch_tls(h, srv.good, srv.other).error, CFR_E_TLS);
    cfr_http_forget(h);
    assert_int_equal(connections(h, srv.good, srv.ca, NULL), n + 2);
    cfr_http_close(h);
}

static void copy_file(const char *from, const char *to)
{
    char tmp[128];
    char buf[16384];
    FILE *f = fopen(from, "r");
    size_t n;

    assert_non_null(f);
    n = fread(buf, 1, sizeof buf, f);
    assert_int_equal(fclose(f), 0);
    (void)snprintf(tmp, sizeof tmp, "%s.tmp", to);
    f = fopen(tmp, "w");
    assert_non_null(f);
    assert_int_equal(fwrite(buf, 1, n, f), n);
    assert_int_equal(fclose(f), 0);
    assert_int_equal(rename(tmp, to), 0);
}

/* The file changes twice before the first request connects: the number of the first copy's descriptor must not come
 * back with the bytes of the third. */
static void test_a_copy_stays_while_it_is_used(void **state)
{
    struct cfr_http *h = engine();
    char ca[128];
    char url[256];
    struct cfr_http_request r = get(url_of(url, "https", srv.good, "/echo"));
    struct got g[3] = {{0}, {0}, {0}};

    (void)state;
    (void)snprintf(ca, sizeof ca, "%s/twice.pem", srv.dir);
    r.ca_file = ca;
    for (int i = 0; i < 3; i++) {
        copy_file(i == 0 ? srv.ca : srv.other, ca);
        assert_int_equal(cfr_http_start(h, &r, on_done, &g[i], NULL, NULL), 0);
    }
    for (int i = 0; i < 3; i++)
        run_until(h, &g[i].calls, 1);
    assert_int_equal(g[0].error, 0);
    assert_int_equal(g[1].error, CFR_E_TLS);
    assert_int_equal(g[2].error, CFR_E_TLS);
    cfr_http_close(h);
}

static void test_changed_ca_file_counts_at_once(void **state)
{
    struct cfr_http *h = engine();
    char ca[128];
    char url[256];
    struct cfr_http_request slow = get(url_of(url, "https", srv.good, "/slow"));
    struct got g = {0};

    (void)state;
    (void)snprintf(ca, sizeof ca, "%s/changing.pem", srv.dir);
    for (int under_way = 0; under_way < 2; under_way++) {
        void *handle = NULL;

        copy_file(srv.ca, ca);
        assert_int_equal(fetch_tls(h, srv.good, ca).error, 0);
        if (under_way)
            assert_int_equal(cfr_http_start(h, &slow, on_done, &g, &handle, NULL), 0);
        copy_file(srv.other, ca);
        assert_int_equal(fetch_tls(h, srv.good, ca).error, CFR_E_TLS);
        assert_int_equal(fetch_tls(h, srv.good, ca).error, CFR_E_TLS);
        copy_file(srv.ca, ca);
        assert_int_equal(fetch_tls(h, srv.good, ca).error, 0);
        cfr_http_cancel(h, handle);
    }
    assert_int_equal(g.calls, 0);
    cfr_http_close(h);
}

static void test_proxy_from_the_environment(void **state)
{
    char proxy[64];
    struct cfr_http *h;
    struct cfr_http_request r = get("https://sts.example.invalid/?x=SESAME");
    struct got g;
    char url[256];

    (void)state;
    (void)snprintf(proxy, sizeof proxy, "http://127.0.0.1:%d", srv.plain);
    assert_int_equal(setenv("https_proxy", proxy, 1), 0);
    assert_int_equal(setenv("http_proxy", proxy, 1), 0);
    assert_int_equal(setenv("no_proxy", "some.example", 1), 0);
    h = engine();
    g = fetch(h, &r);
    assert_int_equal(g.error, CFR_E_NET);
    assert_has(g.err, "proxy refuses to connect (status 403)");
    assert_lacks(g.err, "SESAME");
    assert_int_equal(fetch_tls(h, srv.good, srv.ca).error, 0);
    assert_has(fetch_plain(h, "/echo").body, "\"target\": \"/echo\"");
    r.direct = true;
    r.url = url_of(url, "http", srv.plain, "/echo");
    assert_int_equal(fetch(h, &r).status, 200);
    cfr_http_close(h);
    (void)unsetenv("https_proxy");
    (void)unsetenv("http_proxy");
    (void)unsetenv("no_proxy");
}

/* The error text names who refuses: the proxy, not the server behind it. */
static void test_proxy_that_does_not_serve(void **state)
{
    static const char *const dead = "http://127.0.0.1:1";
    char proxy[64];
    char url[256];
    struct cfr_http *h;
    struct cfr_http_request r = get("https://sts.example.invalid/");
    struct got g;

    (void)state;
    (void)snprintf(proxy, sizeof proxy, "http://127.0.0.1:%d", srv.proxy);
    assert_int_equal(setenv("https_proxy", proxy, 1), 0);
    h = engine();
    g = fetch(h, &r);
    assert_int_equal(g.error, CFR_E_DENIED);
    assert_has(g.err, "sts.example.invalid:443: a proxy requires a user and password (status 407): write them into the "
                      "proxy's URL, or name this server in no_proxy");
    assert_int_equal(setenv("https_proxy", dead, 1), 0);
    g = fetch(h, &r);
    assert_int_equal(g.error, CFR_E_NET);
    assert_has(g.err, "sts.example.invalid:443: cannot connect to the proxy 127.0.0.1:1: Connection refused; see "
                      "https_proxy and no_proxy");
    r.proxy = dead;
    g = fetch(h, &r);
    assert_has(g.err, "cannot connect to the proxy 127.0.0.1:1: Connection refused");
    assert_lacks(g.err, "no_proxy");
    /* The server itself. */
    r.proxy = NULL;
    r.direct = true;
    r.url = "http://127.0.0.1:1/";
    r.plain_http = true;
    g = fetch(h, &r);
    assert_has(g.err, "127.0.0.1:1: cannot connect: Connection refused; check its address and port");
    /* One that speaks TLS. */
    r.url = url_of(url, "http", srv.good, "/");
    g = fetch(h, &r);
    assert_has(g.err, "check whether its URL must begin with https");
    cfr_http_close(h);
    (void)unsetenv("https_proxy");
}

static int fetch_in_an_empty_root(void)
{
    struct cfr_http *h = engine();

    if (fetch_tls(h, srv.good, "/ca.pem").error != 0 || fetch_tls(h, srv.good, "/other.pem").error != CFR_E_TLS ||
        fetch_tls(h, srv.good, "/ca.pem").error != 0)
        return 1;
    cfr_http_close(h);
    return 0;
}

/* As the static program in an empty directory as its root. */
static void test_without_proc(void **state)
{
    pid_t child = fork();
    int status = 0;

    (void)state;
    assert_true(child >= 0);
    if (child == 0)
        _exit(chroot(srv.dir) != 0 || chdir("/") != 0 ? 77 : fetch_in_an_empty_root());
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status));
    if (WEXITSTATUS(status) == 77) {
        print_message("this user may not change its root directory\n");
        skip();
    }
    assert_int_equal(WEXITSTATUS(status), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_certificates),
        cmocka_unit_test(test_missing_ca_file),
        cmocka_unit_test(test_files_that_never_end),
        cmocka_unit_test(test_a_copy_stays_while_it_is_used),
        cmocka_unit_test(test_connections_are_kept_per_ca),
        cmocka_unit_test(test_changed_ca_file_counts_at_once),
        cmocka_unit_test(test_proxy_from_the_environment),
        cmocka_unit_test(test_proxy_that_does_not_serve),
        cmocka_unit_test(test_without_proc),
    };

    return cmocka_run_group_tests(tests, start_server, stop_server);
}
