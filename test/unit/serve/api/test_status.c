/* SPDX-License-Identifier: MIT */
/* The status document and the readiness page. */
#include "serve/api/status_private.h"

#include "base/json.h"
#include "serve_sample.h"

#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

static struct cfr_json *parse(const struct cfr_str *s)
{
    struct cfr_json *doc = NULL;
    struct cfr_err err = {0};

    assert_false(s->failed);
    if (cfr_json_parse(cfr_str_view(s), &doc, &err) != 0)
        fail_msg("%s in %s", err.text, s->p);
    return doc;
}

static const struct cfr_json *at(const struct cfr_json *doc, size_t i)
{
    return cfr_json_at(cfr_json_get(doc, "credentials"), i);
}

static void has_text(const struct cfr_json *object, const char *key, const char *want)
{
    struct cfr_view v = {0};
    const struct cfr_json *value = cfr_json_get(object, key);

    assert_non_null(value);
    assert_int_equal(cfr_json_string(value, &v), want != NULL);
    if (want != NULL)
        assert_string_equal(v.p, want);
}

static void has_number(const struct cfr_json *object, const char *key, int64_t want)
{
    int64_t n = 0;

    if (!cfr_json_integer(cfr_json_get(object, key), &n))
        fail_msg("%s is no number", key);
    assert_int_equal(n, want);
}

static void has_bool(const struct cfr_json *object, const char *key, bool want)
{
    bool b = !want;

    assert_true(cfr_json_bool(cfr_json_get(object, key), &b));
    assert_int_equal(b, want);
}

static void test_agent(void **state)
{
    struct cfr_api_status s = sample_status(0);
    struct cfr_str out = {.limit = CFR_API_STATUS_PAGE_MAX};
    struct cfr_json *doc;
    const struct cfr_json *agent;

    (void)state;
    s.config_ok = false;
    s.config_error = "line 3: \"x\"";
    cfr_api_status_json(&s, NULL, &out);
    doc = parse(&out);
    has_number(doc, "version", 1);
    agent = cfr_json_get(doc, "agent");
    has_text(agent, "version", "1.2.3");
    has_text(agent, "now", "2026-01-02T04:04:05Z");
    has_text(agent, "started", "2026-01-01T04:04:05Z");
    has_bool(agent, "stopping", false);
    has_bool(cfr_json_get(agent, "config"), "ok", false);
    has_text(cfr_json_get(agent, "config"), "file", "/etc/credfresh/credfresh.yaml");
    has_text(cfr_json_get(agent, "config"), "loaded", "2026-01-02T03:04:05Z");
    has_text(cfr_json_get(agent, "config"), "error", "line 3: \"x\"");
    assert_true(cfr_json_is_array(cfr_json_get(doc, "credentials")));
    assert_int_equal(cfr_json_count(cfr_json_get(doc, "credentials")), 0);
    cfr_json_free(doc);
    cfr_str_free(&out);
}

static void test_service_ca(void **state)
{
    struct cfr_api_status s = sample_status(0);
    struct cfr_str out = {.limit = CFR_API_STATUS_PAGE_MAX};
    struct cfr_json *doc;
    const struct cfr_json *ca;

    (void)state;
    s.get_authority = sample_authority;
    cfr_api_status_json(&s, NULL, &out);
    doc = parse(&out);
    ca = cfr_json_get(doc, "service_ca");
    has_number(ca, "number", 3);
    has_number(ca, "generations", 2);
    has_text(ca, "subject", "test \"CA\"");
    has_text(ca, "key_id", "0a1b");
    has_text(ca, "issued", "2026-01-01T04:04:05Z");
    has_text(ca, "rotates", "2026-01-02T05:04:05Z");
    has_text(ca, "expires", "2026-01-03T04:04:05Z");
    has_text(ca, "last_reason", "ticket 12");
    has_text(ca, "error", "the disk is full");
    cfr_json_free(doc);
    cfr_str_free(&out);
}

static void test_fresh_credential(void **state)
{
    struct cfr_api_status s = sample_status(4);
    struct cfr_str out = {.limit = CFR_API_STATUS_PAGE_MAX};
    struct cfr_json *doc;
    const struct cfr_json *c;
    const struct cfr_json *hook;

    (void)state;
    cfr_api_status_json(&s, NULL, &out);
    doc = parse(&out);
    assert_int_equal(cfr_json_count(cfr_json_get(doc, "credentials")), 4);
    c = at(doc, 0);
    assert_int_equal(cfr_json_members(c), 21);
    has_text(c, "name", "registry");
    has_text(c, "state", "fresh");
    has_text(c, "provider", "aws");
    has_text(c, "identity", "arn:aws:sts::123456789012:assumed-role/r/s");
    has_bool(c, "required", true);
    has_bool(c, "published", true);
    has_bool(c, "ready", true);
    has_number(c, "generation", 7);
    has_text(c, "issued", "2026-01-02T03:51:05Z");
    has_text(c, "expires", "2026-01-02T04:51:05Z");
    has_number(c, "expires_in_s", 2820);
    has_text(c, "next_refresh", "2026-01-02T04:29:05Z");
    has_text(c, "last_success", "2026-01-02T03:51:05Z");
    has_text(c, "last_error", NULL);
    has_number(c, "consecutive_failures", 0);
    has_text(c, "last_reason", "ticket 12");
    has_text(cfr_json_get(c, "token"), "issued", "2026-01-02T03:47:25Z");
    has_bool(cfr_json_get(c, "token"), "overdue", false);
    has_text(cfr_json_get(c, "token"), "note", NULL);
    assert_int_equal(cfr_json_count(cfr_json_get(c, "hooks")), 3);
    hook = cfr_json_at(cfr_json_get(c, "hooks"), 1);
    has_text(hook, "name", "exec \"a\\b\"\nc");
    has_text(hook, "result", "failed");
    has_text(hook, "error", "exit status 3");
    has_text(hook, "last_run", "2026-01-02T04:03:05Z");
    has_number(hook, "generation", 6);
    has_number(hook, "runs_ok", 6);
    has_number(hook, "runs_failed", 1);
    has_text(cfr_json_at(cfr_json_get(c, "hooks"), 2), "last_run", NULL);
    cfr_json_free(doc);
    cfr_str_free(&out);
}

static void test_consumers(void **state)
{
    struct cfr_api_status s = sample_status(4);
    struct cfr_str out = {.limit = CFR_API_STATUS_PAGE_MAX};
    struct cfr_json *doc;
    const struct cfr_json *list;

    (void)state;
    cfr_api_status_json(&s, NULL, &out);
    doc = parse(&out);
    list = cfr_json_get(at(doc, 0), "consumers");
    assert_int_equal(cfr_json_count(list), 3);
    has_text(cfr_json_at(list, 0), "name", "file /run/app/in-use");
    has_number(cfr_json_at(list, 0), "generation", 7);
    has_text(cfr_json_at(list, 0), "said", "2026-01-02T04:03:15Z");
    has_bool(cfr_json_at(list, 0), "current", true);
    has_bool(cfr_json_at(list, 0), "behind", false);
    has_number(cfr_json_at(list, 1), "generation", 6);
    has_text(cfr_json_at(list, 1), "said", NULL);
    has_bool(cfr_json_at(list, 1), "current", false);
    has_bool(cfr_json_at(list, 1), "behind", true);
    has_bool(at(doc, 0), "previous_held", true);
    assert_true(cfr_json_is_array(cfr_json_get(at(doc, 1), "consumers")));
    assert_int_equal(cfr_json_count(cfr_json_get(at(doc, 1), "consumers")), 0);
    has_bool(at(doc, 1), "previous_held", false);
    cfr_json_free(doc);
    cfr_str_free(&out);
}

static void test_waiting_and_expired(void **state)
{
    struct cfr_api_status s = sample_status(4);
    struct cfr_str out = {.limit = CFR_API_STATUS_PAGE_MAX};
    struct cfr_json *doc;
    const struct cfr_json *c;

    (void)state;
    cfr_api_status_json(&s, NULL, &out);
    doc = parse(&out);
    c = at(doc, 1);
    has_text(c, "name", "t\xc3\xb6ken");
    has_bool(c, "ready", false);
    has_text(c, "identity", NULL);
    has_text(c, "expires", NULL);
    has_text(c, "expires_in_s", NULL);
    has_text(c, "last_success", NULL);
    has_text(cfr_json_get(c, "last_error"), "code", "missing");
    has_text(cfr_json_get(c, "last_error"), "class", "local");
    has_text(cfr_json_get(c, "last_error"), "message", "waiting for the token file /var/run/token");
    has_text(cfr_json_get(c, "last_error"), "at", "2026-01-02T04:04:00Z");
    has_number(c, "consecutive_failures", 4);
    has_bool(cfr_json_get(c, "token"), "overdue", true);
    has_text(cfr_json_get(c, "token"), "note", "a subPath mount: it never changes");
    has_bool(at(doc, 2), "ready", false);
    has_number(at(doc, 2), "expires_in_s", -400);
    has_bool(at(doc, 3), "ready", true);
    has_text(at(doc, 3), "expires", NULL);
    cfr_json_free(doc);
    cfr_str_free(&out);
}

static void test_only_one(void **state)
{
    struct cfr_api_status s = sample_status(4);
    struct cfr_str out = {.limit = CFR_API_STATUS_PAGE_MAX};
    struct cfr_json *doc;

    (void)state;
    cfr_api_status_json(&s, "cache", &out);
    doc = parse(&out);
    assert_int_equal(cfr_json_count(cfr_json_get(doc, "credentials")), 1);
    has_text(at(doc, 0), "name", "cache");
    cfr_json_free(doc);
    cfr_str_free(&out);
}

static void test_page_too_small(void **state)
{
    struct cfr_api_status s = sample_status(4);

    (void)state;
    for (size_t limit = 0; limit < 4000; limit += 7) {
        struct cfr_str out = {.limit = limit};

        cfr_api_status_json(&s, NULL, &out);
        if (!out.failed)
            cfr_json_free(parse(&out));
        cfr_str_free(&out);
        cfr_api_status_metrics(&s, &out);
        cfr_str_free(&out);
        (void)cfr_api_status_ready(&s, true, &out);
        cfr_str_free(&out);
    }
}

static void ready_is(size_t count, bool verbose, bool ready, const char *want)
{
    struct cfr_api_status s = sample_status(count);
    struct cfr_str out = {.limit = 65536};

    assert_int_equal(cfr_api_status_ready(&s, verbose, &out), ready);
    assert_string_equal(out.p, want);
    cfr_str_free(&out);
}

static void test_ready(void **state)
{
    (void)state;
    ready_is(0, false, true, "ok\n");
    ready_is(1, false, true, "ok\n");
    ready_is(4, false, false, "t\xc3\xb6ken: not published yet: waiting for the token file /var/run/token\n");
    ready_is(4, true, false,
             "[+]registry ok, expires in 47 min\n"
             "[-]t\xc3\xb6ken failed: not published yet: waiting for the token file /var/run/token\n"
             "[-]cache failed (not required): expired 6 min 40 s ago: its state is backoff\n"
             "[+]static ok, never expires\n"
             "not ready\n");
    ready_is(1, true, true, "[+]registry ok, expires in 47 min\nok\n");
}

/* The second of expiry itself is too late. */
static void test_edge_of_expiry(void **state)
{
    struct cfr_api_status_credential from = {.published = true, .expires_s = 100};
    struct cfr_api_status s = {.now_s = 99, .count = 1, .get = sample_get, .ctx = &from};
    struct cfr_api_status_credential c;

    (void)state;
    cfr_api_status_get(&s, 0, &c);
    assert_true(c.ready);
    s.now_s = 100;
    cfr_api_status_get(&s, 0, &c);
    assert_false(c.ready);
    s.now_s = 99;
    from.published = false;
    cfr_api_status_get(&s, 0, &c);
    assert_false(c.ready);
}

static const char *key_state;

static void get_refused(void *ctx, size_t index, struct cfr_api_status_credential *out)
{
    (void)index;
    *out = (struct cfr_api_status_credential){.name = "robot",
                                              .state = "fresh",
                                              .required = true,
                                              .published = true,
                                              .error = *(const char **)ctx,
                                              .mint = {.state = "UPDATE_FAILED",
                                                       .role = "holder",
                                                       .holder = "node-a 1f",
                                                       .key_state = key_state,
                                                       .key_refused = "the key K was deleted in the cloud"}};
}

/* A long-lived key that its cloud no longer accepts does not expire, and is not ready. */
static void test_refused_key(void **state)
{
    const char *error = NULL;
    struct cfr_api_status s = {.count = 1, .get = get_refused, .ctx = &error};
    struct cfr_str out = {.limit = 65536};

    (void)state;
    key_state = "deleted";
    assert_false(cfr_api_status_ready(&s, false, &out));
    assert_string_equal(out.p, "robot: the key K was deleted in the cloud\n");
    cfr_str_free(&out);
    error = "there is no room";
    assert_false(cfr_api_status_ready(&s, false, &out));
    assert_string_equal(out.p, "robot: the key K was deleted in the cloud: there is no room\n");
    cfr_str_free(&out);
    cfr_api_status_metrics(&s, &out);
    assert_non_null(strstr(out.p, "credfresh_key_state{credential=\"robot\",state=\"deleted\"} 1\n"));
    assert_non_null(strstr(out.p, "credfresh_key_state{credential=\"robot\",state=\"active\"} 0\n"));
    assert_non_null(strstr(out.p, "credfresh_key_passed_on{credential=\"robot\"} 0\n"));
    assert_non_null(strstr(out.p, "credfresh_rotation_holder{credential=\"robot\"} 1\n"));
    cfr_str_free(&out);
    key_state = "expired";
    cfr_api_status_metrics(&s, &out);
    assert_non_null(strstr(out.p, "credfresh_key_state{credential=\"robot\",state=\"expired\"} 1\n"));
    assert_non_null(strstr(out.p, "credfresh_key_state{credential=\"robot\",state=\"deleted\"} 0\n"));
    cfr_str_free(&out);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_service_ca),          cmocka_unit_test(test_agent),
        cmocka_unit_test(test_fresh_credential),    cmocka_unit_test(test_only_one),
        cmocka_unit_test(test_waiting_and_expired), cmocka_unit_test(test_ready),
        cmocka_unit_test(test_page_too_small),      cmocka_unit_test(test_edge_of_expiry),
        cmocka_unit_test(test_consumers),           cmocka_unit_test(test_refused_key),
    };

    cfr_json_setup();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
