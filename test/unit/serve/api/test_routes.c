/* SPDX-License-Identifier: MIT */
/* Requests to the health address and the control socket, and their answers. */
#include "serve/api/status_private.h"

#include "base/json.h"
#include "serve/api/routes.h"
#include "serve_sample.h"

#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct cfr_api_status status;
static struct cfr_httpd_response out;
static struct cfr_action action;

/* TARGET is path?query. */
static struct cfr_httpd_request request(const char *method, const char *target, const char *body)
{
    const char *mark = strchr(target, '?');
    size_t n = mark != NULL ? (size_t)(mark - target) : strlen(target);

    return (struct cfr_httpd_request){.method = cfr_view_of(method),
                                      .path = {target, n},
                                      .query = cfr_view_of(mark != NULL ? mark + 1 : NULL),
                                      .body = cfr_view_of(body)};
}

static void health(const char *method, const char *target)
{
    struct cfr_httpd_request r = request(method, target, NULL);

    cfr_str_free(&out.body);
    cfr_api_routes_health(&r, &status, &out);
    assert_non_null(out.body.p);
    assert_false(out.body.failed);
}

static void control(const char *method, const char *target, const char *body)
{
    struct cfr_httpd_request r = request(method, target, body);

    cfr_str_free(&out.body);
    memset(&action, 0x55, sizeof action);
    cfr_api_routes_control(&r, &status, &action, &out);
    if (action.kind == CFR_API_ACTION_NONE) {
        assert_true(out.status >= 200);
        assert_non_null(out.body.p);
    } else {
        assert_int_equal(out.status, 0);
    }
}

static void assert_body_has(const char *part)
{
    if (strstr(out.body.p, part) == NULL)
        fail_msg("\"%s\" is not in: %s", part, out.body.p);
}

/* The body must be an error document with this code. */
static void assert_error(int code, const char *name)
{
    static const char *const path[] = {"error", "code", NULL};
    static const char *const message[] = {"error", "message", NULL};
    struct cfr_json *doc = NULL;
    struct cfr_view v = {0};

    if (out.status != code)
        fail_msg("%d instead of %d: %s", out.status, code, out.body.p);
    assert_string_equal(out.content_type, "application/json");
    assert_int_equal(cfr_json_parse(cfr_str_view(&out.body), &doc, NULL), 0);
    assert_true(cfr_json_string(cfr_json_path(doc, path), &v));
    assert_string_equal(v.p, name);
    assert_true(cfr_json_string(cfr_json_path(doc, message), &v));
    assert_true(v.n > 10);
    cfr_json_free(doc);
}

static void test_health_pages(void **state)
{
    (void)state;
    status = sample_status(1);
    health("GET", "/livez");
    assert_int_equal(out.status, 200);
    assert_string_equal(out.body.p, "ok\n");
    status.stopping = true;
    health("GET", "/livez");
    assert_int_equal(out.status, 200);
    health("GET", "/readyz");
    assert_int_equal(out.status, 503);
    assert_string_equal(out.body.p, "the agent is stopping\n");
    status.stopping = false;
    health("GET", "/readyz");
    assert_int_equal(out.status, 200);
    assert_string_equal(out.body.p, "ok\n");
    health("HEAD", "/readyz?verbose");
    assert_int_equal(out.status, 200);
    assert_body_has("[+]registry ok");
    health("GET", "/readyz?timeout=1s&verbose=1&x");
    assert_body_has("[+]registry ok");
    health("GET", "/readyz?verbosely");
    assert_string_equal(out.body.p, "ok\n");
    health("GET", "/metrics");
    assert_int_equal(out.status, 200);
    assert_string_equal(out.content_type, "text/plain; version=0.0.4; charset=utf-8");
    assert_body_has("credfresh_build_info");
    health("GET", "/");
    assert_int_equal(out.status, 200);
    assert_string_equal(out.content_type, "text/html; charset=utf-8");
    assert_string_equal(out.policy, cfr_api_status_page_policy);
    assert_body_has("href=\"/readyz?verbose\"");
    health("HEAD", "/?x=1");
    assert_int_equal(out.status, 200);
    status = sample_status(4);
    health("GET", "/readyz");
    assert_int_equal(out.status, 503);
    assert_body_has("not published yet");
}

static void test_health_refuses(void **state)
{
    static const char *const unknown[] = {
        "/livez/",         "/LIVEZ",     "",        "livez",
        "/v1/credentials", "/metrics/x", "//livez", "/v1/credentials/registry/rotate"};
    static const char *const methods[] = {"POST", "PUT", "DELETE", "OPTIONS", "TRACE", "get", ""};

    (void)state;
    status = sample_status(4);
    for (size_t i = 0; i < sizeof unknown / sizeof unknown[0]; i++) {
        health("POST", unknown[i]);
        assert_error(404, "not-found");
    }
    for (size_t i = 0; i < sizeof methods / sizeof methods[0]; i++) {
        health(methods[i], "/livez");
        assert_error(405, "method");
        assert_string_equal(out.allow, "GET, HEAD");
    }
}

static void test_control_shows(void **state)
{
    (void)state;
    status = sample_status(4);
    control("GET", "/v1/credentials", NULL);
    assert_int_equal(out.status, 200);
    assert_string_equal(out.content_type, "application/json");
    assert_body_has("\"name\":\"registry\"");
    assert_body_has("\"name\":\"cache\"");
    control("HEAD", "/v1/credentials/cache", NULL);
    assert_int_equal(out.status, 200);
    assert_body_has("\"name\":\"cache\"");
    assert_null(strstr(out.body.p, "\"name\":\"registry\""));
    control("GET", "/v1/credentials/t%C3%b6ken", NULL);
    assert_int_equal(out.status, 200);
    control("GET", "/v1/credentials/%63ache", NULL);
    assert_int_equal(out.status, 200);
    control("GET", "/readyz?verbose", NULL);
    assert_int_equal(out.status, 503);
    control("GET", "/", NULL);
    assert_body_has("/v1/reload");
    assert_body_has("/v1/quit");
    assert_body_has("/readyz");
}

static void test_control_refuses(void **state)
{
    static const struct {
        const char *method;
        const char *target;
        int status;
        const char *code;
    } cases[] = {
        {"GET", "/v1/credentials/none", 404, "not-found"},
        {"GET", "/v1/credentials/", 404, "not-found"},
        {"GET", "/v1/credentials//rotate", 404, "not-found"},
        {"GET", "/v1/credentials/registry/", 404, "not-found"},
        {"POST", "/v1/credentials/registry/rotate/", 404, "not-found"},
        {"POST", "/v1/credentials/registry/rotatex", 404, "not-found"},
        {"POST", "/v1/credentials/none/rotate", 404, "not-found"},
        {"GET", "/v1", 404, "not-found"},
        {"GET", "/v2/credentials", 404, "not-found"},
        {"GET", "/v1/credentials/a%2", 400, "bad-request"},
        {"GET", "/v1/credentials/a%zz", 400, "bad-request"},
        {"GET", "/v1/credentials/a%", 400, "bad-request"},
        {"GET", "/v1/credentials/a%00", 400, "bad-request"},
        {"GET", "/v1/credentials/registry%00", 400, "bad-request"},
        {"GET", "/v1/credentials/a%0a", 400, "bad-request"},
        {"GET", "/v1/credentials/%ff", 400, "bad-request"},
        {"GET", "/v1/credentials/a b", 400, "bad-request"},
        {"GET", "/v1/credentials/t\xc3\xb6ken", 400, "bad-request"},
        {"GET", "/v1/credentials/%2e%2e%2fregistry", 404, "not-found"},
        {"GET", "/v1/credentials?x=1", 400, "bad-request"},
        {"POST", "/v1/reload?now", 400, "bad-request"},
        {"POST", "/v1/credentials", 405, "method"},
        {"GET", "/v1/credentials/registry/rotate", 405, "method"},
        {"DELETE", "/v1/credentials/registry", 405, "method"},
        {"GET", "/v1/reload", 405, "method"},
        {"GET", "/v1/quit", 405, "method"},
        {"POST", "/v1/quit?now", 400, "bad-request"},
        {"POST", "/v1/quit/", 404, "not-found"},
        {"POST", "/livez", 405, "method"},
    };

    (void)state;
    status = sample_status(4);
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        control(cases[i].method, cases[i].target, NULL);
        assert_int_equal(action.kind, CFR_API_ACTION_NONE);
        assert_error(cases[i].status, cases[i].code);
        assert_int_equal(out.allow != NULL, cases[i].status == 405);
    }
    control("GET", "/v1/credentials/registry/rotate", NULL);
    assert_string_equal(out.allow, "POST");
    control("GET", "/v1/credentials/%22none%22", NULL);
    assert_body_has("GET /v1/credentials lists them");
}

static void test_long_names(void **state)
{
    char target[400] = "/v1/credentials/";
    size_t n = strlen(target);

    (void)state;
    status = sample_status(4);
    for (size_t len = 120; len < 300; len++) {
        memset(target + n, 'a', len);
        target[n + len] = '\0';
        control("GET", target, NULL);
        assert_int_equal(out.status, len < 128 ? 404 : 400);
    }
}

static void test_rotate(void **state)
{
    (void)state;
    status = sample_status(4);
    control("POST", "/v1/credentials/registry/rotate", NULL);
    assert_int_equal(action.kind, CFR_API_ACTION_ROTATE);
    assert_string_equal(action.name, "registry");
    assert_string_equal(action.reason, "");
    control("POST", "/v1/credentials/t%C3%B6ken/rotate", " \r\n");
    assert_int_equal(action.kind, CFR_API_ACTION_ROTATE);
    assert_string_equal(action.name, "t\xc3\xb6ken");
    control("POST", "/v1/credentials/cache/rotate", "{}");
    assert_int_equal(action.kind, CFR_API_ACTION_ROTATE);
    assert_string_equal(action.reason, "");
    control("POST", "/v1/credentials/cache/rotate", " {\"reason\": \"leak, ticket \\u00e4 12\"} \n");
    assert_int_equal(action.kind, CFR_API_ACTION_ROTATE);
    assert_string_equal(action.reason, "leak, ticket \xc3\xa4 12");
    control("POST", "/v1/reload", "{\"reason\":\"x\"}");
    assert_int_equal(action.kind, CFR_API_ACTION_RELOAD);
    assert_string_equal(action.name, "");
    assert_string_equal(action.reason, "x");
    control("POST", "/v1/quit", NULL);
    assert_int_equal(action.kind, CFR_API_ACTION_QUIT);
    control("GET", "/v1/quit", NULL);
    assert_int_equal(action.kind, CFR_API_ACTION_NONE);
}

static void test_bad_bodies(void **state)
{
    static const char *const bodies[] = {"reason",
                                         "[]",
                                         "\"x\"",
                                         "null",
                                         "1",
                                         "{\"reason\":1}",
                                         "{\"reason\":null}",
                                         "{\"reason\":\"\"}",
                                         "{\"Reason\":\"x\"}",
                                         "{\"reason\":\"x\",\"more\":1}",
                                         "{\"reason\":\"x\",\"reason\":\"y\"}",
                                         "{\"reason\":\"x\"",
                                         "{\"reason\":\"x\"} x",
                                         "{\"reason\":\"a\\nb\"}",
                                         "{\"reason\":\"a\\u0000b\"}",
                                         "{\"reason\":\"a\\u001fb\"}",
                                         "{\"reason\":\"a\x7f\"}",
                                         "{\"reason\":\"\xff\"}",
                                         "{\"reason\":\"\xc0\x80\"}",
                                         "{\"reason\":\"\xed\xa0\x80\"}"};

    (void)state;
    status = sample_status(4);
    for (size_t i = 0; i < sizeof bodies / sizeof bodies[0]; i++) {
        control("POST", "/v1/credentials/registry/rotate", bodies[i]);
        if (action.kind != CFR_API_ACTION_NONE)
            fail_msg("taken: %s", bodies[i]);
        assert_error(400, "bad-request");
        assert_body_has("reason");
    }
}

static void test_length_of_reason(void **state)
{
    (void)state;
    status = sample_status(4);
    for (int n = 250; n < 262; n++) {
        char body[400];

        (void)snprintf(body, sizeof body, "{\"reason\":\"%0*d\"}", n, 0);
        control("POST", "/v1/credentials/registry/rotate", body);
        assert_int_equal(action.kind == CFR_API_ACTION_ROTATE, n <= CFR_API_ROUTES_REASON_MAX);
        if (n <= CFR_API_ROUTES_REASON_MAX)
            assert_int_equal(strlen(action.reason), n);
    }
}

static void test_answers_of_the_agent(void **state)
{
    (void)state;
    cfr_api_routes_accepted("a\"b", 7, &out);
    assert_int_equal(out.status, 202);
    assert_string_equal(out.body.p, "{\"credential\":\"a\\\"b\",\"replaces\":7}\n");
    cfr_api_routes_accepted("a", 0, &out);
    assert_string_equal(out.body.p, "{\"credential\":\"a\",\"replaces\":null}\n");
    cfr_api_routes_error(409, "conflict", "this reason was \"used\"", &out);
    assert_int_equal(out.status, 409);
    assert_string_equal(out.body.p,
                        "{\"error\":{\"code\":\"conflict\",\"message\":\"this reason was \\\"used\\\"\"}}\n");
    cfr_api_routes_stopping(&out);
    assert_int_equal(out.status, 202);
    assert_string_equal(out.body.p, "{\"stopping\":true}\n");
}

static int end(void **state)
{
    (void)state;
    cfr_str_free(&out.body);
    return 0;
}

static void test_hosts(void **state)
{
    char one[] = "node.example";
    char *names[] = {one};
    static const char *const yes[] = {
        "",         "127.0.0.1", "10.1.2.3:80",  "[::1]:80", "localhost",   "Localhost.:80",
        "m1.local", "M1",        "m1.local.:80", "m1:80",    "Node.example"};
    static const char *const no[] = {"evil.local",    "m1.locals",      "m1.loca",        "m",
                                     "m11",           "m2.local",       "evil",           "evil.svc",
                                     "evil.internal", "evil.localhost", "x.node.example", "."};

    (void)state;
    for (size_t i = 0; i < sizeof yes / sizeof yes[0]; i++)
        if (!cfr_api_routes_is_host(cfr_view_of(yes[i]), "m1.local", names, 1))
            fail_msg("%s is refused", yes[i]);
    for (size_t i = 0; i < sizeof no / sizeof no[0]; i++)
        if (cfr_api_routes_is_host(cfr_view_of(no[i]), "m1.local", names, 1))
            fail_msg("%s is accepted", no[i]);
    /* A machine without a name. */
    assert_false(cfr_api_routes_is_host(cfr_view_of("m1"), "", NULL, 0));
    assert_false(cfr_api_routes_is_host(cfr_view_of("."), "", NULL, 0));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_health_pages),         cmocka_unit_test(test_health_refuses),
        cmocka_unit_test(test_control_shows),        cmocka_unit_test(test_control_refuses),
        cmocka_unit_test(test_long_names),           cmocka_unit_test(test_rotate),
        cmocka_unit_test(test_bad_bodies),           cmocka_unit_test(test_length_of_reason),
        cmocka_unit_test(test_answers_of_the_agent), cmocka_unit_test(test_hosts),
    };

    cfr_json_setup();
    return cmocka_run_group_tests(tests, NULL, end);
}
