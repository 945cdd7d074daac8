/* SPDX-License-Identifier: MIT */
/* Parsing the head of an HTTP answer, line by line. */
#include "agent/http/header_private.h"

#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>

#include <string.h>

static struct cfr_http_head head_of(const char *const *lines)
{
    struct cfr_http_head h = {0};
    struct cfr_err err = {0};

    for (; *lines != NULL; lines++)
        assert_int_equal(cfr_http_head_line(&h, cfr_view_of(*lines), &err), 0);
    return h;
}

#define HEAD(...) head_of((const char *const[]){"HTTP/1.1 200 OK\r\n", __VA_ARGS__, "\r\n", NULL})

static void test_fields(void **state)
{
    struct cfr_http_head h = HEAD("content-TYPE:  text/xml; charset=utf-8 \r\n", "X-Amzn-RequestId: one\r\n",
                                  "Audit-Id: two\r\n", "Date: Fri, 02 Jan 2026 03:04:05 GMT\r\n", "nonsense\r\n");

    (void)state;
    assert_string_equal(h.content_type, "text/xml; charset=utf-8");
    assert_string_equal(h.request_id, "one");
    assert_int_equal(h.date_s, 1767323045);
    assert_int_equal(cfr_http_head_retry_after_s(&h, 0), -1);
    assert_string_equal(HEAD("audit-id: two\r\n").request_id, "two");
    assert_string_equal(HEAD("x-ms-request-id: three\r\n").request_id, "three");
    assert_string_equal(HEAD("x-openstack-request-id: req-4\r\n").request_id, "req-4");
}

static void test_values_that_are_left_out(void **state)
{
    char longest[200] = "Content-Type: ";

    (void)state;
    memset(longest + 14, 'x', 150);
    assert_string_equal(HEAD(longest).content_type, "");
    assert_string_equal(HEAD("Audit-Id: a\x1b[2Jb\r\n").request_id, "");
    assert_string_equal(HEAD("Audit-Id:\r\n").request_id, "");
    assert_int_equal(HEAD("Date: yesterday\r\n").date_s, 0);
}

static void test_warnings(void **state)
{
    char longest[400] = "Warning: 299 - \"";
    struct cfr_http_head h;

    (void)state;
    assert_string_equal(HEAD("warning: 299 - \"a life was shortened\"\r\n").warning, "a life was shortened");
    assert_string_equal(HEAD("Warning: 299 - \"one\"", "Warning: 299 agent \"t\\\"w\\\\o\" \"date\"").warning,
                        "one; t\"w\\o");
    assert_string_equal(HEAD("Warning: 110 - \"stale\"").warning, "");
    assert_string_equal(HEAD("Warning: 299 - words").warning, "");
    assert_string_equal(HEAD("Warning: 299 - \"open\\").warning, "open\\");
    memset(longest + strlen(longest), 'x', 300);
    h = HEAD(longest, "Warning: 299 - \"more\"");
    assert_int_equal(strlen(h.warning), sizeof h.warning - 1);
    assert_string_equal(h.warning + sizeof h.warning - 3, "xx");
}

static int64_t retry(const char *line, const char *date)
{
    struct cfr_http_head h = HEAD(line, date);

    return cfr_http_head_retry_after_s(&h, 1767323045);
}

static void test_retry_after(void **state)
{
    (void)state;
    assert_int_equal(retry("Retry-After: 0", "X: y"), 0);
    assert_int_equal(retry("Retry-After: 120\r\n", "X: y"), 120);
    assert_int_equal(retry("Retry-After: 86401", "X: y"), 86400);
    assert_int_equal(retry("Retry-After: 99999999999999999999", "X: y"), -1);
    assert_int_equal(retry("Retry-After: -1", "X: y"), -1);
    assert_int_equal(retry("Retry-After: soon", "X: y"), -1);
    assert_int_equal(retry("Retry-After:", "X: y"), -1);
    assert_int_equal(retry("Retry-After: Fri, 02 Jan 2026 03:05:05 GMT", "X: y"), 60);
    assert_int_equal(retry("Retry-After: Fri, 02 Jan 2026 03:05:05 GMT", "Date: Fri, 02 Jan 2026 03:05:00 GMT"), 5);
    assert_int_equal(retry("Retry-After: Fri, 02 Jan 2026 03:00:00 GMT", "X: y"), 0);
    assert_int_equal(retry("Retry-After: Fri, 02 Jan 2099 03:00:00 GMT", "X: y"), 86400);
}

static void test_interim_answers_are_forgotten(void **state)
{
    struct cfr_http_head h = HEAD("Retry-After: 3", "Audit-Id: x", "", "HTTP/2 503 ", "Audit-Id: y");

    (void)state;
    assert_string_equal(h.request_id, "y");
    assert_int_equal(cfr_http_head_retry_after_s(&h, 0), -1);
}

static void test_limit(void **state)
{
    struct cfr_http_head h = {0};
    struct cfr_err err = {0};
    char line[1024];
    int n = 0;

    (void)state;
    memset(line, 'x', sizeof line);
    while (cfr_http_head_line(&h, (struct cfr_view){line, sizeof line}, &err) == 0) {
        /* A new answer does not restart the count. */
        if (n++ == 10)
            assert_int_equal(cfr_http_head_line(&h, cfr_view_of("HTTP/1.1 103\r\n"), &err), 0);
        assert_true(n <= 64);
    }
    assert_int_equal(n, 63);
    assert_int_equal(err.code, CFR_E_LIMIT);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_fields),
        cmocka_unit_test(test_values_that_are_left_out),
        cmocka_unit_test(test_warnings),
        cmocka_unit_test(test_retry_after),
        cmocka_unit_test(test_interim_answers_are_forgotten),
        cmocka_unit_test(test_limit),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
