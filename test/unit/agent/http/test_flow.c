/* SPDX-License-Identifier: MIT */
/* How much, and how slowly, a server may send. */
#include "agent/http/flow_private.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include <string.h>

#define ANSWER_MAX 1000
#define MOST       (CFR_HTTP_FLOW_SPARE + CFR_HTTP_FLOW_FACTOR * ANSWER_MAX)

static struct cfr_http_flow flow;
static struct cfr_err err;

static int check(uint64_t received, bool answering, int64_t now_ms)
{
    return cfr_http_flow_check(&flow, received, answering, ANSWER_MAX, now_ms, &err);
}

static int forget(void **state)
{
    (void)state;
    flow = (struct cfr_http_flow){.known = false};
    return 0;
}

/* What the connection received for earlier answers does not count. */
static void bytes_are_limited(void **state)
{
    (void)state;
    assert_int_equal(check(5000, false, 0), 0);
    assert_int_equal(check(5000 + MOST, false, 1), 0);
    assert_int_equal(check(5000 + MOST + 1, false, 1), CFR_E_LIMIT);
    assert_non_null(strstr(err.text, "for an answer of at most 1000"));
}

static void another_connection_begins_again(void **state)
{
    (void)state;
    assert_int_equal(check(5000, false, 0), 0);
    assert_int_equal(check(5100, false, 0), 0);
    assert_int_equal(check(10, false, 1), 0);
    assert_int_equal(check(10 + MOST, false, 1), 0);
    assert_int_equal(check(11 + MOST, false, 1), CFR_E_LIMIT);
}

static void one_byte_a_second(void **state)
{
    int64_t ms = 0;

    (void)state;
    while (check(1 + (uint64_t)ms / 1000, true, ms) == 0 && ms < 60000)
        ms += 1000;
    assert_int_equal(err.code, CFR_E_TIMEOUT);
    assert_non_null(strstr(err.text, "comes too slowly"));
    assert_true(ms >= CFR_HTTP_FLOW_SLOW_MS && ms <= 2 * CFR_HTTP_FLOW_SLOW_MS);
}

/* A server may begin its answer at once and need long for the rest. */
static void late_is_not_slow(void **state)
{
    (void)state;
    assert_int_equal(check(0, true, 0), 0);
    for (int i = 1; i <= CFR_HTTP_FLOW_PIECES; i++)
        assert_int_equal(check((uint64_t)i * 10, true, i * INT64_C(7000)), 0);
}

static void slow_enough(void **state)
{
    (void)state;
    for (int i = 1; i <= 100; i++)
        assert_int_equal(check((uint64_t)i * 200, true, i * INT64_C(1000)), 0);
    /* While the request is worked on, nothing is slow. */
    for (int i = 101; i <= 200; i++)
        assert_int_equal(check(20000 + (uint64_t)i, false, i * INT64_C(1000)), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(bytes_are_limited, forget),
        cmocka_unit_test_setup(another_connection_begins_again, forget),
        cmocka_unit_test_setup(one_byte_a_second, forget),
        cmocka_unit_test_setup(late_is_not_slow, forget),
        cmocka_unit_test_setup(slow_enough, forget),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
