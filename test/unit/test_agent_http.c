/* SPDX-License-Identifier: MIT */
/* The HTTP client engine against a server of its own, right and wrong answers, TLS included. */
#include "agent/http.h"

#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define LIMIT_S    20
#define ANSWER_MAX 16384

/* The linker sends every allocation of our code, and so of libcurl, through these. */
void *__real_malloc(size_t n);
void *__real_calloc(size_t count, size_t size);
void __real_free(void *p);
void *__wrap_malloc(size_t n);
void *__wrap_calloc(size_t count, size_t size);
void __wrap_free(void *p);

static long fail_in; /* the allocation that fails, counted down; 0 = none */
static bool failed;
static const char *hunted; /* bytes that must not be in freed memory */
static int found;

static bool fails(void)
{
    if (fail_in == 0 || --fail_in != 0)
        return false;
    failed = true;
    return true;
}

void *__wrap_malloc(size_t n)
{
    return fails() ? NULL : __real_malloc(n);
}

void *__wrap_calloc(size_t count, size_t size)
{
    return fails() ? NULL : __real_calloc(count, size);
}

void __wrap_free(void *p)
{
    if (p != NULL && hunted != NULL && memmem(p, malloc_usable_size(p), hunted, strlen(hunted)) != NULL)
        found++;
    __real_free(p);
}

static struct {
    char dir[64];
    pid_t pid;
    int in;
    int plain, good, elsewhere, expired, early, close, many, gone;
    char ca[96];
    char other[96];
    char sock[96];
} srv;

struct got {
    int calls;
    int error;
    char err[CFR_ERR_TEXT_MAX];
    long status;
    char type[64];
    char id[64];
    int64_t retry_after_s;
    int64_t date_s;
    size_t body_n;
    char body[ANSWER_MAX + 1];
    double duration_s;
};

static void on_done(void *ctx, const struct cfr_http_answer *a)
{
    struct got *g = ctx;

    g->calls++;
    g->error = a->error;
    assert_int_equal(a->error, a->err.code);
    (void)snprintf(g->err, sizeof g->err, "%s", a->err.text);
    g->status = a->status;
    (void)snprintf(g->type, sizeof g->type, "%.*s", (int)a->content_type.n, a->content_type.p);
    (void)snprintf(g->id, sizeof g->id, "%.*s", (int)a->request_id.n, a->request_id.p);
    g->retry_after_s = a->retry_after_s;
    g->date_s = a->date_s;
    g->body_n = a->body.n;
    assert_true(a->body.n <= ANSWER_MAX);
    if (a->body.n != 0)
        memcpy(g->body, a->body.p, a->body.n);
    g->body[a->body.n] = '\0';
    g->duration_s = a->duration_s;
}

static int64_t now_ms(void)
{
    struct timespec ts;

    (void)clock_gettime(CLOCK_MONOTONIC, &ts);
    return (int64_t)ts.tv_sec * 1000 + ts.tv_nsec / 1000000;
}

/* Steps until *CALLS reaches WANTED. */
static void run_until(struct cfr_http *h, const int *calls, int wanted)
{
    int64_t end = now_ms() + LIMIT_S * 1000;

    while (*calls < wanted) {
        struct cfr_err err = {0};

        if (now_ms() > end)
            fail_msg("no answer within %d s", LIMIT_S);
        assert_int_equal(cfr_http_step(h, NULL, 0, 1000, &err), 0);
    }
}

static struct cfr_http *engine(void)
{
    struct cfr_http *h;
    struct cfr_err err = {0};

    assert_int_equal(cfr_http_open(&h, &err), 0);
    return h;
}

static char *url_of(char buf[256], const char *scheme, int port, const char *path)
{
    (void)snprintf(buf, 256, "%s://127.0.0.1:%d%s", scheme, port, path);
    return buf;
}

static struct cfr_http_request get(const char *url)
{
    return (struct cfr_http_request){
        .method = "GET", .url = url, .ca_file = srv.ca, .answer_max = ANSWER_MAX, .timeout_ms = 10000};
}

static struct got fetch(struct cfr_http *h, const struct cfr_http_request *r)
{
    struct got g = {0};
    struct cfr_err err = {0};
    int rc = cfr_http_start(h, r, on_done, &g, NULL, &err);

    if (rc != 0)
        fail_msg("not started: %s", err.text);
    assert_int_equal(g.calls, 0);
    run_until(h, &g.calls, 1);
    return g;
}

static struct got fetch_plain(struct cfr_http *h, const char *path)
{
    char url[256];
    struct cfr_http_request r = get(url_of(url, "http", srv.plain, path));

    return fetch(h, &r);
}

static struct got fetch_tls(struct cfr_http *h, int port, const char *ca)
{
    char url[256];
    struct cfr_http_request r = get(url_of(url, "https", port, "/echo"));

    r.ca_file = ca;
    return fetch(h, &r);
}

static struct cfr_secret secret_of(const char *text)
{
    struct cfr_secret s;

    cfr_secret_init(&s, 1 << 22);
    assert_int_equal(cfr_secret_append_str(&s, text, NULL), 0);
    return s;
}

static void assert_has(const char *text, const char *part)
{
    if (strstr(text, part) == NULL)
        fail_msg("\"%s\" is not in: %s", part, text);
}

static void assert_lacks(const char *text, const char *part)
{
    if (strcasestr(text, part) != NULL)
        fail_msg("\"%s\" is in: %s", part, text);
}

/* ---- what is sent ---- */

static void test_sends_only_what_is_given(void **state)
{
    struct cfr_http *h = engine();
    struct cfr_secret headers[2] = {secret_of("X-One: 1"), secret_of("Accept: application/json")};
    struct cfr_secret body = secret_of("Action=Something&x=%20");
    char url[256];
    struct cfr_http_request r = get(url_of(url, "http", srv.plain, "/echo?a=b"));
    struct got g;

    (void)state;
    r.method = "POST";
    r.headers = headers;
    r.header_count = 2;
    r.body = &body;
    g = fetch(h, &r);
    assert_int_equal(g.error, 0);
    assert_int_equal(g.status, 200);
    assert_string_equal(g.type, "application/json");
    assert_has(g.body, "\"method\": \"POST\", \"target\": \"/echo?a=b\"");
    assert_has(g.body, "\"body\": \"Action=Something&x=%20\"");
    assert_has(g.body, "\"User-Agent: credfresh/" CFR_VERSION "\"");
    assert_has(g.body, "\"X-One: 1\"");
    assert_has(g.body, "\"Accept: application/json\"");
    assert_has(g.body, "\"Content-Length: 22\"");
    assert_lacks(g.body, "content-type");
    assert_lacks(g.body, "expect:");
    assert_lacks(g.body, "*/*");
    assert_lacks(g.body, "encoding");
    assert_true(g.duration_s > 0);
    for (int i = 0; i < 2; i++)
        cfr_secret_free(&headers[i]);
    cfr_secret_free(&body);
    cfr_http_close(h);
}

static void test_methods(void **state)
{
    static const char *const methods[] = {"GET", "POST", "PUT", "PATCH", "DELETE"};
    struct cfr_http *h = engine();
    char url[256];
    struct cfr_http_request r = get(url_of(url, "http", srv.plain, "/echo"));
    struct got g;

    (void)state;
    for (size_t i = 0; i < sizeof methods / sizeof methods[0]; i++) {
        char want[64];

        r.method = methods[i];
        g = fetch(h, &r);
        (void)snprintf(want, sizeof want, "\"method\": \"%s\"", methods[i]);
        assert_has(g.body, want);
        assert_lacks(g.body, "content-type");
        assert_lacks(g.body, "accept:");
    }
    r.method = "HEAD";
    g = fetch(h, &r);
    assert_int_equal(g.error, 0);
    assert_int_equal(g.status, 200);
    assert_int_equal(g.body_n, 0);
    cfr_http_close(h);
}

static void test_large_body_goes_without_expect(void **state)
{
    struct cfr_http *h = engine();
    struct cfr_secret body;
    char url[256];
    struct cfr_http_request r = get(url_of(url, "http", srv.plain, "/echo"));
    struct got g;
    char *to;

    (void)state;
    cfr_secret_init(&body, 3 << 20);
    to = cfr_secret_reserve(&body, 3 << 20, NULL);
    assert_non_null(to);
    memset(to, 'b', 3 << 20);
    cfr_secret_grown(&body, 3 << 20);
    r.method = "POST";
    r.body = &body;
    g = fetch(h, &r);
    assert_has(g.body, "\"length\": 3145728");
    assert_lacks(g.body, "expect");
    cfr_secret_free(&body);
    cfr_http_close(h);
}

static void test_bad_requests_do_not_start(void **state)
{
    static const char *const urls[] = {"http://sts.example.com/?Token=SESAME",
                                       "http://169.254.169.254/latest/?x=SESAME",
                                       "ftp://127.0.0.1/SESAME",
                                       "https://user:SESAME@127.0.0.1/",
                                       "https://",
                                       "file:///etc/SESAME",
                                       "http://127.0.0.1.example.com/SESAME",
                                       "http://[::2]/SESAME",
                                       "not a url SESAME",
                                       "http://128.0.0.1/",
                                       "http://localhost.example.com/",
                                       ""};
    static const char *const headers[] = {"NoColon SESAME", "X: a\r\nSESAME: b", ": SESAME",
                                          "Name:", "X: a\nSESAME"};
    struct cfr_http *h = engine();
    struct got g = {0};
    char url[256];

    (void)state;
    for (size_t i = 0; i < sizeof urls / sizeof urls[0]; i++) {
        struct cfr_http_request r = get(urls[i]);
        struct cfr_err err = {0};
        void *handle = &r;

        assert_int_equal(cfr_http_start(h, &r, on_done, &g, &handle, &err), CFR_E_CONFIG);
        assert_null(handle);
        assert_lacks(err.text, "SESAME");
    }
    for (size_t i = 0; i < sizeof headers / sizeof headers[0]; i++) {
        struct cfr_http_request r = get(url_of(url, "http", srv.plain, "/echo"));
        struct cfr_secret header = secret_of(headers[i]);
        struct cfr_err err = {0};

        r.headers = &header;
        r.header_count = 1;
        assert_int_equal(cfr_http_start(h, &r, on_done, &g, NULL, &err), CFR_E_CONFIG);
        assert_lacks(err.text, "SESAME");
        cfr_secret_free(&header);
    }
    cfr_http_close(h);
    assert_int_equal(g.calls, 0);
}

/* ---- what comes back ---- */

static void test_reads_the_head(void **state)
{
    struct cfr_http *h = engine();
    struct got g = fetch_plain(h, "/busy");

    (void)state;
    assert_int_equal(g.error, 0);
    assert_int_equal(g.status, 503);
    assert_int_equal(g.retry_after_s, 17);
    assert_string_equal(g.id, "abc-123");
    g = fetch_plain(h, "/busy-long");
    assert_int_equal(g.status, 429);
    assert_int_equal(g.retry_after_s, 86400);
    g = fetch_plain(h, "/busy-until");
    assert_int_equal(g.retry_after_s, 90);
    assert_int_equal(g.date_s, 1000000000);
    g = fetch_plain(h, "/interim");
    assert_string_equal(g.body, "final");
    assert_int_equal(g.retry_after_s, -1);
    cfr_http_close(h);
}

static void test_redirects_are_not_followed(void **state)
{
    struct cfr_http *h = engine();
    struct got g = fetch_plain(h, "/redirect");

    (void)state;
    assert_int_equal(g.error, 0);
    assert_int_equal(g.status, 302);
    assert_int_equal(g.body_n, 0);
    cfr_http_close(h);
}

static void test_broken_answers(void **state)
{
    static const struct {
        const char *path;
        int error;
        const char *words;
    } cases[] = {
        {"/announced", CFR_E_LIMIT, "larger than the 16384 bytes"},
        {"/endless", CFR_E_LIMIT, "larger than the 16384 bytes"},
        {"/endless-head", CFR_E_LIMIT, "head is larger than 65536 bytes"},
        {"/partial", CFR_E_ANSWER, "ends too early"},
        {"/partial-chunk", CFR_E_ANSWER, "ends too early"},
        {"/garbage", CFR_E_ANSWER, "not HTTP"},
        {"/nothing", CFR_E_NET, "without an answer"},
    };
    struct cfr_http *h = engine();

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char path[64];
        struct got g;

        (void)snprintf(path, sizeof path, "%s?x=SESAME", cases[i].path);
        g = fetch_plain(h, path);
        if (g.error != cases[i].error)
            fail_msg("%s: %s: %s", path, cfr_err_name(g.error), g.err);
        assert_has(g.err, cases[i].words);
        assert_has(g.err, "127.0.0.1:");
        assert_lacks(g.err, "SESAME");
        assert_true(g.body_n <= ANSWER_MAX);
    }
    cfr_http_close(h);
}

static void test_answer_exactly_at_the_limit(void **state)
{
    struct cfr_http *h = engine();
    char url[256];
    struct cfr_http_request r = get(url_of(url, "http", srv.plain, "/secret"));
    struct got g;

    (void)state;
    r.answer_max = 6 + 12 * 700 + 3;
    g = fetch(h, &r);
    assert_int_equal(g.error, 0);
    assert_int_equal(g.body_n, r.answer_max);
    r.answer_max--;
    g = fetch(h, &r);
    assert_int_equal(g.error, CFR_E_LIMIT);
    cfr_http_close(h);
}

static void test_slow_and_absent_servers(void **state)
{
    struct cfr_http *h = engine();
    char url[256];
    struct cfr_http_request r = get(url_of(url, "http", srv.plain, "/slow?x=SESAME"));
    struct got g;

    (void)state;
    r.timeout_ms = 100;
    g = fetch(h, &r);
    assert_int_equal(g.error, CFR_E_TIMEOUT);
    assert_has(g.err, "no complete answer within 100 ms");
    assert_lacks(g.err, "SESAME");
    r = get(url_of(url, "http", srv.gone, "/"));
    g = fetch(h, &r);
    assert_int_equal(g.error, CFR_E_NET);
    assert_has(g.err, "Connection refused");
    r.unix_socket = "/nonexistent/socket";
    g = fetch(h, &r);
    assert_int_equal(g.error, CFR_E_NET);
    assert_has(g.err, "the socket /nonexistent/socket");
    cfr_http_close(h);
}

static void test_unix_socket(void **state)
{
    struct cfr_http *h = engine();
    struct cfr_http_request r = get("http://control/echo");
    struct got g;

    (void)state;
    r.unix_socket = srv.sock;
    g = fetch(h, &r);
    assert_int_equal(g.error, 0);
    assert_has(g.body, "\"Host: control\"");
    cfr_http_close(h);
}

/* ---- TLS ---- */

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
        {srv.plain, srv.ca, CFR_E_TLS, "no TLS connection"},
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

static long connections(struct cfr_http *h, int port, const char *ca, long *most)
{
    char url[256];
    struct cfr_http_request r = get(url_of(url, ca != NULL ? "https" : "http", port, "/count"));
    struct got g;
    char *end;
    long total;

    r.ca_file = ca;
    g = fetch(h, &r);
    assert_int_equal(g.error, 0);
    total = strtol(g.body, &end, 10);
    if (most != NULL)
        *most = strtol(end, NULL, 10);
    return total;
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

/* ---- proxies ---- */

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

/* ---- many at once, and ending them ---- */

static void test_many_share_few_connections(void **state)
{
    enum { MANY = 300 };
    struct cfr_http *h = engine();
    static struct got all;
    char url[256];
    struct cfr_http_request r = get(url_of(url, "https", srv.many, "/nap"));
    long most;
    long before = connections(h, srv.many, srv.ca, NULL);

    (void)state;
    all = (struct got){0};
    for (int i = 0; i < MANY; i++)
        assert_int_equal(cfr_http_start(h, &r, on_done, &all, NULL, NULL), 0);
    run_until(h, &all.calls, MANY);
    assert_int_equal(all.error, 0);
    assert_true(connections(h, srv.many, srv.ca, &most) - before <= 8);
    assert_true(most <= 8);
    cfr_http_close(h);
}

struct chain {
    struct cfr_http *h;
    struct got got;
    void *victim;
    void *self;
    int left;
};

static void on_chain(void *ctx, const struct cfr_http_answer *a)
{
    struct chain *c = ctx;
    char url[256];
    struct cfr_http_request r = get(url_of(url, "http", srv.plain, "/echo"));

    on_done(&c->got, a);
    cfr_http_cancel(c->h, c->self);
    cfr_http_cancel(c->h, c->victim);
    c->victim = NULL;
    if (c->left-- > 0)
        assert_int_equal(cfr_http_start(c->h, &r, on_chain, c, &c->self, NULL), 0);
}

static void test_done_may_start_and_cancel(void **state)
{
    struct chain c = {.h = engine(), .left = 3};
    struct got victim = {0};
    char url[256];
    struct cfr_http_request r = get(url_of(url, "http", srv.plain, "/slow"));

    (void)state;
    assert_int_equal(cfr_http_start(c.h, &r, on_done, &victim, &c.victim, NULL), 0);
    r.url = url_of(url, "http", srv.plain, "/echo");
    assert_int_equal(cfr_http_start(c.h, &r, on_chain, &c, &c.self, NULL), 0);
    run_until(c.h, &c.got.calls, 4);
    if (victim.calls != 0)
        fail_msg("%d %s", victim.error, victim.err);
    assert_int_equal(victim.calls, 0);
    cfr_http_cancel(c.h, NULL);
    cfr_http_close(c.h);
}

static void test_close_ends_what_is_under_way(void **state)
{
    struct cfr_http *h = engine();
    struct got g = {0};
    char url[256];
    struct cfr_http_request r = get(url_of(url, "https", srv.good, "/slow"));

    (void)state;
    for (int i = 0; i < 20; i++)
        assert_int_equal(cfr_http_start(h, &r, on_done, &g, NULL, NULL), 0);
    assert_int_equal(cfr_http_step(h, NULL, 0, 100, NULL), 0);
    cfr_http_close(h);
    assert_int_equal(g.calls, 0);
}

/* ---- the wait ---- */

static void test_wait_sees_descriptors(void **state)
{
    struct cfr_http *h = engine();
    int a[2];
    int b[2];
    struct pollfd fds[2];

    (void)state;
    assert_int_equal(pipe(a), 0);
    assert_int_equal(pipe(b), 0);
    fds[0] = (struct pollfd){.fd = a[0], .events = POLLIN};
    fds[1] = (struct pollfd){.fd = b[0], .events = POLLIN};
    assert_int_equal(cfr_http_step(h, fds, 2, 0, NULL), 0);
    assert_int_equal(fds[0].revents | fds[1].revents, 0);
    assert_int_equal(write(b[1], "x", 1), 1);
    assert_int_equal(cfr_http_step(h, fds, 2, -1, NULL), 0);
    assert_int_equal(fds[0].revents, 0);
    assert_int_equal(fds[1].revents, POLLIN);
    assert_int_equal(close(a[1]), 0);
    assert_int_equal(cfr_http_step(h, fds, 1, -1, NULL), 0);
    assert_int_equal(fds[0].revents, POLLHUP);
    assert_int_equal(close(a[0]) | close(b[0]) | close(b[1]), 0);
    cfr_http_close(h);
}

/* ---- memory ---- */

static void test_secrets_are_wiped(void **state)
{
    struct cfr_http *h = engine();
    struct cfr_secret header = secret_of("Authorization: Bearer SESAME-HEAD-SESAME-HEAD-SESAME-HEAD");
    struct cfr_secret body = secret_of("token=SESAME-BODY-SESAME-BODY-SESAME-BODY");
    char url[256];
    struct cfr_http_request r = get(url_of(url, "https", srv.good, "/secret"));
    struct got g;

    (void)state;
    hunted = "SESAME-";
    found = 0;
    r.method = "POST";
    r.headers = &header;
    r.header_count = 1;
    r.body = &body;
    g = fetch(h, &r);
    assert_int_equal(g.error, 0);
    assert_has(g.body, "SESAME-OPEN");
    cfr_secret_free(&header);
    cfr_secret_free(&body);
    cfr_http_close(h);
    assert_int_equal(found, 0);
    /* The hunter itself must be able to find. */
    {
        char *p = strdup("SESAME-SEED");

        assert_non_null(p);
        free(p);
        assert_int_equal(found, 1);
    }
    hunted = NULL;
}

/* Whichever allocation fails, a request ends with an error or well, and nothing leaks or crashes. */
static void test_every_allocation_may_fail(void **state)
{
    char url[256];
    struct cfr_secret header = secret_of("X-One: 1");
    struct cfr_http_request r = get(url_of(url, "http", srv.plain, "/echo"));
    long n = 0;

    (void)state;
    r.headers = &header;
    r.header_count = 1;
    r.timeout_ms = 3000;
    do {
        struct cfr_http *h = NULL;
        struct got g = {0};
        int64_t end = now_ms() + LIMIT_S * 1000;
        int rc;

        failed = false;
        fail_in = ++n;
        rc = cfr_http_open(&h, NULL);
        if (rc == 0)
            rc = cfr_http_start(h, &r, on_done, &g, NULL, NULL);
        while (rc == 0 && g.calls == 0 && now_ms() < end)
            (void)cfr_http_step(h, NULL, 0, 100, NULL);
        fail_in = 0;
        if (rc == 0)
            assert_int_equal(g.calls, 1);
        if (rc == 0 && g.error == 0)
            assert_int_equal(g.status, 200);
        cfr_http_close(h);
    } while (failed && n < 5000);
    assert_true(n > 50 && n < 5000);
    cfr_secret_free(&header);
}

/* ---- the server ---- */

static int read_ports(FILE *f)
{
    char line[512];

    if (fgets(line, sizeof line, f) == NULL)
        return -1;
    return sscanf(line, "plain=%d close=%d good=%d elsewhere=%d expired=%d early=%d many=%d gone=%d",
                  &srv.plain, &srv.close, &srv.good, &srv.elsewhere, &srv.expired, &srv.early, &srv.many,
                  &srv.gone) == 8
               ? 0
               : -1;
}

static int start_server(void **state)
{
    static char script[] = CFR_TEST_SOURCE "/http_server.py";
    int in[2];
    int out[2];
    FILE *f;
    int rc;

    (void)state;
    (void)snprintf(srv.dir, sizeof srv.dir, "/tmp/credfresh-http-XXXXXX");
    if (mkdtemp(srv.dir) == NULL || pipe2(in, O_CLOEXEC) != 0 || pipe2(out, O_CLOEXEC) != 0)
        return -1;
    srv.pid = fork();
    if (srv.pid == 0) {
        (void)dup2(in[0], 0);
        (void)dup2(out[1], 1);
        (void)execl("/usr/bin/python3", "python3", script, srv.dir, (char *)NULL);
        _exit(127);
    }
    (void)close(in[0]);
    (void)close(out[1]);
    srv.in = in[1];
    f = fdopen(out[0], "r");
    rc = f != NULL ? read_ports(f) : -1;
    if (f != NULL)
        (void)fclose(f);
    (void)snprintf(srv.ca, sizeof srv.ca, "%s/ca.pem", srv.dir);
    (void)snprintf(srv.other, sizeof srv.other, "%s/other.pem", srv.dir);
    (void)snprintf(srv.sock, sizeof srv.sock, "%s/sock", srv.dir);
    (void)unsetenv("SSL_CERT_FILE");
    return rc;
}

static int stop_server(void **state)
{
    int status;
    pid_t pid;

    (void)state;
    (void)close(srv.in); /* it ends when its input does */
    (void)waitpid(srv.pid, &status, 0);
    pid = fork();
    if (pid == 0) {
        (void)execlp("rm", "rm", "-rf", srv.dir, (char *)NULL);
        _exit(127);
    }
    (void)waitpid(pid, &status, 0);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_sends_only_what_is_given),
        cmocka_unit_test(test_methods),
        cmocka_unit_test(test_large_body_goes_without_expect),
        cmocka_unit_test(test_bad_requests_do_not_start),
        cmocka_unit_test(test_reads_the_head),
        cmocka_unit_test(test_redirects_are_not_followed),
        cmocka_unit_test(test_broken_answers),
        cmocka_unit_test(test_answer_exactly_at_the_limit),
        cmocka_unit_test(test_slow_and_absent_servers),
        cmocka_unit_test(test_unix_socket),
        cmocka_unit_test(test_certificates),
        cmocka_unit_test(test_missing_ca_file),
        cmocka_unit_test(test_connections_are_kept_per_ca),
        cmocka_unit_test(test_changed_ca_file_counts_at_once),
        cmocka_unit_test(test_proxy_from_the_environment),
        cmocka_unit_test(test_many_share_few_connections),
        cmocka_unit_test(test_done_may_start_and_cancel),
        cmocka_unit_test(test_close_ends_what_is_under_way),
        cmocka_unit_test(test_wait_sees_descriptors),
        cmocka_unit_test(test_secrets_are_wiped),
        cmocka_unit_test(test_every_allocation_may_fail),
    };

    return cmocka_run_group_tests(tests, start_server, stop_server);
}
