/* SPDX-License-Identifier: MIT */
/* The HTTP client engine: what it sends, what it makes of answers right and wrong, many at once, and its
 * wait. */
#include "http_fixture.h"

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
    static const char *const headers[] = {
        "NoColon SESAME", "X: a\r\nSESAME: b", ": SESAME", "Name:",       "X: SESAME ", "X:  a",
        "X y: a",         "X: \x01",           "X: ",      "X: a\nSESAME"};
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
        {"/endless-extension", CFR_E_LIMIT, "it adds too much to it"},
        {"/endless-trailer", CFR_E_LIMIT, "head is larger than 65536 bytes"},
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

struct lines {
    size_t count;
    int ends;
    int error;
    long status;
};

/* Whole lines of 100 bytes. */
static size_t on_lines(void *ctx, struct cfr_view bytes)
{
    struct lines *l = ctx;

    assert_true(bytes.n <= 2 * ANSWER_MAX);
    l->count += bytes.n / 100;
    return bytes.n - bytes.n % 100;
}

static void on_end(void *ctx, const struct cfr_http_answer *a)
{
    struct lines *l = ctx;

    l->ends++;
    l->error = a->error;
    l->status = a->status;
}

static size_t on_nothing(void *ctx, struct cfr_view bytes)
{
    (void)ctx;
    (void)bytes;
    return 0;
}

/* More arrives at once than may wait to be read: it waits in the socket. What nobody reads is too large. */
static void test_parts_are_read_as_they_arrive(void **state)
{
    static const struct {
        const char *path;
        cfr_http_part_fn *part;
        int error;
        long status;
        size_t count;
    } cases[] = {
        {"/burst", on_lines, 0, 200, 30000},
        {"/burst", on_nothing, CFR_E_LIMIT, 200, 0},
        {"/refused", on_lines, CFR_E_LIMIT, 403, 0},
        {"/endless", on_nothing, CFR_E_LIMIT, 200, 0},
    };
    struct cfr_http *h = engine();

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char url[256];
        struct cfr_http_request r = get(url_of(url, "http", srv.plain, cases[i].path));
        struct lines l = {.count = 0};

        r.part = cases[i].part;
        assert_int_equal(cfr_http_start(h, &r, on_end, &l, NULL, NULL), 0);
        run_until(h, &l.ends, 1);
        assert_int_equal(l.error, cases[i].error);
        assert_int_equal(l.status, cases[i].status);
        assert_int_equal(l.count, cases[i].count);
    }
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
    assert_int_not_equal(fds[0].revents, 0); /* libcurl shows a hang-up as POLLIN */
    assert_int_equal(close(a[0]) | close(b[0]) | close(b[1]), 0);
    cfr_http_close(h);
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
        cmocka_unit_test(test_parts_are_read_as_they_arrive),
        cmocka_unit_test(test_slow_and_absent_servers),
        cmocka_unit_test(test_unix_socket),
        cmocka_unit_test(test_many_share_few_connections),
        cmocka_unit_test(test_done_may_start_and_cancel),
        cmocka_unit_test(test_close_ends_what_is_under_way),
        cmocka_unit_test(test_wait_sees_descriptors),
    };

    return cmocka_run_group_tests(tests, start_server, stop_server);
}
