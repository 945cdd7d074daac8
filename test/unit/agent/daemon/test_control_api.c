/* SPDX-License-Identifier: MIT */
/* The control socket and the health address: who may ask, what is carried out, and what is answered. */
#include "daemon_fixture.h"

#include <unistd.h>

static char *const names[] = {(char[]){"a"}, (char[]){"b"}};
static struct cfr_httpd_response response;
static struct cfr_err reload_error;

static int reload(struct cfr_daemon *a, struct cfr_err *err)
{
    (void)a;
    note("reload");
    *err = reload_error;
    return err->code;
}

static void quit(struct cfr_daemon *a)
{
    (void)a;
    note("quit");
}

static const struct cfr_daemon_actions actions = {reload, quit};

static struct cfr_daemon agent(void)
{
    struct cfr_daemon a = agent_with(names, 2);

    reload_error.code = 0;
    a.actions = &actions;
    a.options.config_path = "/etc/credfresh.yaml";
    return a;
}

static int end_response(void **state)
{
    (void)state;
    cfr_str_free(&response.body);
    response = (struct cfr_httpd_response){.status = 0};
    return 0;
}

/* Asks as the user UID; -1: not known. Returns the status. */
static int ask_as(struct cfr_daemon *a, int64_t uid, const char *method, const char *path, const char *body)
{
    const struct cfr_httpd_peer peer = {.known = uid >= 0, .uid = (uid_t)uid};
    const struct cfr_httpd_request request = {
        .method = cfr_view_of(method), .path = cfr_view_of(path), .body = cfr_view_of(body)};

    (void)end_response(NULL);
    cfr_daemon_on_control(a, &peer, &request, &response);
    return response.status;
}

static int ask(struct cfr_daemon *a, const char *method, const char *path, const char *body)
{
    return ask_as(a, 0, method, path, body);
}

static void test_who_may_ask(void **state)
{
    struct cfr_daemon a = agent();

    (void)state;
    assert_int_equal(ask_as(&a, 0, "GET", "/v1/credentials", ""), 200);
    assert_int_equal(ask_as(&a, geteuid(), "GET", "/v1/credentials", ""), 200);
    assert_int_equal(ask_as(&a, (int64_t)geteuid() + 1, "POST", "/v1/reload", ""), 403);
    assert_int_equal(ask_as(&a, (int64_t)geteuid() + 1, "GET", "/livez", ""), 403);
    assert_int_equal(ask_as(&a, -1, "POST", "/v1/quit", ""), 403);
    assert_string_equal(test_events, "");
}

static void test_status(void **state)
{
    struct cfr_daemon a = agent();

    (void)state;
    a.config_error = (char[]){"line 3: no"};
    a.clock_offset_ms = test_now.wall_ms - test_now.boot_ms;
    a.started_boot_ms = test_now.boot_ms - 60000;
    a.config_loaded_boot_ms = test_now.boot_ms - 30000;
    test_workers[1].is_ready = true;
    test_workers[1].generation = 4;
    assert_int_equal(ask(&a, "GET", "/v1/credentials", ""), 200);
    assert_contains(response.body.p, "\"now\":\"2026-01-02T04:04:05Z\",\"started\":\"2026-01-02T04:03:05Z\"");
    assert_contains(response.body.p, "\"config\":{\"file\":\"/etc/credfresh.yaml\",\"ok\":false,"
                                     "\"loaded\":\"2026-01-02T04:03:35Z\",\"error\":\"line 3: no\"}");
    assert_contains(response.body.p, "\"name\":\"b\",\"state\":\"fresh\"");
    assert_contains(response.body.p, "\"generation\":4");
    assert_int_equal(ask(&a, "GET", "/v1/credentials/b", ""), 200);
    assert_null(strstr(response.body.p, "\"name\":\"a\""));
    assert_int_equal(ask(&a, "GET", "/v1/credentials/c", ""), 404);
    assert_int_equal(ask(&a, "GET", "/readyz", ""), 503);
    assert_int_equal(ask(&a, "GET", "/metrics", ""), 200);
    assert_contains(response.body.p, "credfresh_credential_ready{credential=\"b\"} 1\n");
    /* Without endpoints there is nothing to count. */
    assert_null(strstr(response.body.p, "credfresh_endpoint_requests_total"));
}

static void test_rotate(void **state)
{
    struct cfr_daemon a = agent();

    (void)state;
    test_workers[1].generation = 7;
    assert_int_equal(ask(&a, "POST", "/v1/credentials/b/rotate", "{\"reason\":\"ticket 12\"}"), 202);
    assert_string_equal(response.body.p, "{\"credential\":\"b\",\"replaces\":7}\n");
    assert_string_equal(test_events, "rotate b, ");
    assert_string_equal(test_workers[1].reason, "ticket 12");
    assert_int_equal(ask(&a, "POST", "/v1/credentials/a/rotate", ""), 202);
    assert_string_equal(test_workers[0].reason, "");
    assert_int_equal(ask(&a, "POST", "/v1/credentials/c/rotate", ""), 404);
    assert_int_equal(ask(&a, "GET", "/v1/credentials/a/rotate", ""), 405);
    assert_string_equal(test_events, "rotate b, rotate a, ");
}

static void test_rotate_is_refused(void **state)
{
    static const struct {
        int rc;
        int status;
        const char *code;
    } cases[] = {{CFR_E_CONFLICT, 409, "conflict"},
                 {CFR_E_USAGE, 400, "usage"},
                 {CFR_E_UNAVAILABLE, 503, "unavailable"},
                 {CFR_E_IO, 500, "input-output"}};
    struct cfr_daemon a = agent();

    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        char want[128];

        test_workers[0].rotate_rc = cases[i].rc;
        assert_int_equal(ask(&a, "POST", "/v1/credentials/a/rotate", ""), cases[i].status);
        (void)snprintf(want, sizeof want, "{\"error\":{\"code\":\"%s\",\"message\":\"not now\"}}\n", cases[i].code);
        assert_string_equal(response.body.p, want);
    }
}

static void test_reload(void **state)
{
    struct cfr_daemon a = agent();

    (void)state;
    assert_int_equal(ask(&a, "POST", "/v1/reload", ""), 200);
    assert_string_equal(response.body.p, "{\"reloaded\":true}\n");
    (void)cfr_err_set(&reload_error, CFR_E_CONFIG, "line 3: no");
    assert_int_equal(ask(&a, "POST", "/v1/reload", ""), 400);
    assert_string_equal(response.body.p, "{\"error\":{\"code\":\"configuration\",\"message\":\"line 3: no\"}}\n");
    assert_string_equal(test_events, "reload, reload, ");
}

static void test_quit(void **state)
{
    struct cfr_daemon a = agent();

    (void)state;
    assert_int_equal(ask(&a, "POST", "/v1/quit", ""), 202);
    assert_string_equal(response.body.p, "{\"stopping\":true}\n");
    assert_string_equal(test_events, "quit, ");
    assert_string_equal(test_log, "INFO asked to end\n");
    assert_int_equal(ask(&a, "GET", "/v1/quit", ""), 405);
    assert_string_equal(test_events, "quit, ");
}

static int ask_health(struct cfr_daemon *a, const char *host, const char *path)
{
    const struct cfr_httpd_peer peer = {.known = false};
    const struct cfr_httpd_request request = {
        .method = cfr_view_of("GET"), .path = cfr_view_of(path), .host = cfr_view_of(host)};

    (void)end_response(NULL);
    cfr_daemon_on_health(a, &peer, &request, &response);
    return response.status;
}

/* Everyone on the network may ask, but not a page in a browser whose name leads here (DNS rebinding). */
static void test_health(void **state)
{
    char *items[] = {(char[]){"agent.example"}};
    struct cfr_daemon a = agent();

    (void)state;
    assert_int_equal(ask_health(&a, "127.0.0.1:9080", "/livez"), 200);
    assert_int_equal(ask_health(&a, "", "/livez"), 200);
    assert_int_equal(ask_health(&a, "agent.example:9080", "/livez"), 403);
    assert_contains(response.body.p, "write the name in `listen_hosts`");
    a.config->listen_hosts = (struct cfr_strings){items, 1};
    assert_int_equal(ask_health(&a, "agent.example:9080", "/livez"), 200);
    assert_int_equal(ask_health(&a, "127.0.0.1:9080", "/readyz"), 503);
    test_workers[0].is_ready = test_workers[1].is_ready = true;
    assert_int_equal(ask_health(&a, "127.0.0.1:9080", "/readyz"), 200);
    /* It has no control. */
    assert_int_equal(ask_health(&a, "127.0.0.1:9080", "/v1/credentials"), 404);
    a.config->listen_hosts.count = 0;
}

static void test_health_while_it_stops(void **state)
{
    struct cfr_daemon a = agent();

    (void)state;
    test_workers[0].is_ready = test_workers[1].is_ready = true;
    a.stopping = true;
    assert_int_equal(ask_health(&a, "localhost", "/readyz"), 503);
    assert_int_equal(ask_health(&a, "localhost", "/livez"), 200);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, begin_test, end_response)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_who_may_ask), TEST(test_status), TEST(test_rotate), TEST(test_rotate_is_refused),
        TEST(test_reload),      TEST(test_quit),   TEST(test_health), TEST(test_health_while_it_stops),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
