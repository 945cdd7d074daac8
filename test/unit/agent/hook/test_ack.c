/* SPDX-License-Identifier: MIT */
/* Acknowledgements: which consumer has which generation, and how long the previous one is kept. */
#include "unit.h"

#include "agent/hook/hook_private.h"

#define MINUTE INT64_C(60000)
#define HOUR   (60 * MINUTE)
#define NS     INT64_C(1000000000)
#define START  (5 * HOUR) /* boot time of the publish */

/* The first is waited for. */
static struct cfr_hook_ack two(void)
{
    struct cfr_hook_ack a = {.count = 2};

    a.consumers[0] = (struct cfr_hook_ack_consumer){.wait = true, .limit_ms = HOUR, .behind_after_ms = 5 * MINUTE};
    a.consumers[1] = (struct cfr_hook_ack_consumer){.limit_ms = HOUR, .behind_after_ms = 20 * MINUTE};
    return a;
}

static void nothing_published_is_nothing_to_acknowledge(void **state)
{
    struct cfr_hook_ack a = two();

    (void)state;
    assert_true(cfr_hook_ack_is_current(&a, 0));
    assert_false(cfr_hook_ack_said(&a, 0, 1, 1));
    assert_true(cfr_hook_ack_deadline(&a) == INT64_MAX);
    assert_int_equal(cfr_hook_ack_next_behind(&a, 100 * HOUR), 2);
    assert_true(cfr_hook_ack_retire_at(&a, INT64_MAX) == INT64_MAX);
}

static void takes_only_what_can_be(void **state)
{
    struct cfr_hook_ack a = two();

    (void)state;
    cfr_hook_ack_published(&a, 7, START);
    assert_false(cfr_hook_ack_said(&a, 0, 0, 1));
    assert_false(cfr_hook_ack_said(&a, 0, 8, 1));
    assert_int_equal(a.consumers[0].generation, 0);
    assert_true(cfr_hook_ack_said(&a, 0, 6, 11));
    assert_false(cfr_hook_ack_said(&a, 0, 6, 12));
    assert_int_equal(a.consumers[0].said_s, 11);
    assert_false(cfr_hook_ack_is_current(&a, 0));
    assert_true(cfr_hook_ack_said(&a, 0, 7, 13));
    assert_true(cfr_hook_ack_is_current(&a, 0));
    /* It was rolled back, and says so. */
    assert_true(cfr_hook_ack_said(&a, 0, 6, 14));
    assert_false(cfr_hook_ack_is_current(&a, 0));
}

static void tells_once_who_stays_behind(void **state)
{
    struct cfr_hook_ack a = two();

    (void)state;
    cfr_hook_ack_published(&a, 7, START);
    assert_int_equal(cfr_hook_ack_deadline(&a), START + 5 * MINUTE);
    assert_int_equal(cfr_hook_ack_next_behind(&a, START + 5 * MINUTE - 1), 2);
    assert_false(cfr_hook_ack_is_behind(&a, 0, START + 5 * MINUTE - 1));
    assert_int_equal(cfr_hook_ack_next_behind(&a, START + 5 * MINUTE), 0);
    assert_int_equal(cfr_hook_ack_next_behind(&a, START + 6 * MINUTE), 2);
    assert_true(cfr_hook_ack_is_behind(&a, 0, START + 6 * MINUTE));
    assert_int_equal(cfr_hook_ack_deadline(&a), START + 20 * MINUTE);
    assert_true(cfr_hook_ack_said(&a, 1, 7, 1));
    assert_true(cfr_hook_ack_deadline(&a) == INT64_MAX);
    assert_int_equal(cfr_hook_ack_next_behind(&a, START + 9 * HOUR), 2);
    /* The next generation is news again. */
    cfr_hook_ack_published(&a, 8, START + HOUR);
    assert_int_equal(cfr_hook_ack_next_behind(&a, START + 2 * HOUR), 0);
    assert_int_equal(cfr_hook_ack_next_behind(&a, START + 2 * HOUR), 1);
    assert_int_equal(cfr_hook_ack_next_behind(&a, START + 2 * HOUR), 2);
    assert_true(cfr_hook_ack_said(&a, 0, 8, 1));
    assert_false(cfr_hook_ack_is_behind(&a, 0, START + 9 * HOUR));
}

static void keeps_the_previous_generation_for_those_it_waits_for(void **state)
{
    struct cfr_hook_ack a = two();
    int64_t planned = START + 10 * MINUTE;

    (void)state;
    cfr_hook_ack_published(&a, 7, START);
    assert_int_equal(cfr_hook_ack_retire_at(&a, planned), START + HOUR);
    /* A longer plan is not cut short, and what was wiped already stays so. */
    assert_int_equal(cfr_hook_ack_retire_at(&a, START + 2 * HOUR), START + 2 * HOUR);
    assert_true(cfr_hook_ack_retire_at(&a, INT64_MAX) == INT64_MAX);
    /* Nobody waits for the other one. */
    assert_true(cfr_hook_ack_said(&a, 0, 7, 1));
    assert_int_equal(cfr_hook_ack_retire_at(&a, planned), planned);
    cfr_hook_ack_published(&a, 8, START + 2 * HOUR);
    assert_int_equal(cfr_hook_ack_retire_at(&a, planned), START + 3 * HOUR);
}

static void numbers(void **state)
{
    static const char *const bad[] = {
        "", " \n", "0", "-1", "+1", "1 2", "0x1", "1e3", "7a", "18446744073709551616", "99999999999999999999999"};
    uint64_t n = 5;

    (void)state;
    assert_true(cfr_hook_ack_number(LITERAL("7\n"), &n));
    assert_int_equal(n, 7);
    assert_true(cfr_hook_ack_number(LITERAL(" 007\r\n"), &n));
    assert_int_equal(n, 7);
    assert_true(cfr_hook_ack_number(LITERAL("18446744073709551615"), &n));
    assert_true(n == UINT64_MAX);
    for (size_t i = 0; i < COUNT(bad); i++) {
        if (cfr_hook_ack_number(cfr_view_of(bad[i]), &n))
            fail_msg("\"%s\" is taken for a number", bad[i]);
    }
}

static void reads_a_file(void **state)
{
    static const struct {
        const char *text;
        bool whole;
        int64_t mtime_s;
        uint64_t want;
        bool again;
    } rows[] = {
        /* A number counts whenever it was written, and for what it says. */
        {"6\n", true, 100, 6, false},
        {"6\n", true, 1000, 6, false},
        {"7", false, 1000, 7, false},
        {"8", true, 1000, 0, false},
        {"0", true, 1000, 0, false},
        /* Anything else counts by its time. */
        {"", true, 499, 0, false},
        {"", true, 500, 7, false},
        {"ready\n", true, 900, 7, false},
        {"", true, 1002, 0, false},
        /* Not while it may be half written. */
        {"", true, 1000, 0, true},
        {"ready\n", true, 1001, 0, true},
        {"", false, 600, 0, true},
    };

    (void)state;
    for (size_t i = 0; i < COUNT(rows); i++) {
        struct cfr_hook_ack_file f = {cfr_view_of(rows[i].text), rows[i].whole, rows[i].mtime_s * NS};
        bool again = !rows[i].again;
        uint64_t got = cfr_hook_ack_read(&f, 7, 500 * NS, 1000 * NS + NS / 2, &again);

        if (got != rows[i].want || again != rows[i].again)
            fail_msg("row %zu: %llu, %d", i, (unsigned long long)got, again);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nothing_published_is_nothing_to_acknowledge),
        cmocka_unit_test(takes_only_what_can_be),
        cmocka_unit_test(tells_once_who_stays_behind),
        cmocka_unit_test(keeps_the_previous_generation_for_those_it_waits_for),
        cmocka_unit_test(numbers),
        cmocka_unit_test(reads_a_file),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
