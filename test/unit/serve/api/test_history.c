/* SPDX-License-Identifier: MIT */
/* The history of a day: slots, the worst of each, and clocks that jump. */
#include "serve/api/page_private.h"

#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>

#include <string.h>

#define START INT64_C(1767326400) /* 2026-01-02T04:00:00Z, where a slot begins */
#define SLOT  (INT64_C(60) * CFR_API_HISTORY_SLOT_MINUTES)

static struct cfr_api_history h;

static int begin(void **state)
{
    (void)state;
    memset(&h, 0, sizeof h);
    return 0;
}

static void test_the_worst_of_a_slot_stays(void **state)
{
    (void)state;
    cfr_api_history_note(&h, START, CFR_API_HISTORY_UNKNOWN);
    assert_int_equal(cfr_api_history_at(&h, 0), CFR_API_HISTORY_UNKNOWN);
    cfr_api_history_note(&h, START, CFR_API_HISTORY_GOOD);
    cfr_api_history_note(&h, START + 10, CFR_API_HISTORY_UNUSABLE);
    cfr_api_history_note(&h, START + 20, CFR_API_HISTORY_FAILING);
    cfr_api_history_note(&h, START + SLOT - 1, CFR_API_HISTORY_UNKNOWN);
    assert_int_equal(cfr_api_history_at(&h, 0), CFR_API_HISTORY_UNUSABLE);
    cfr_api_history_note(&h, START + SLOT, CFR_API_HISTORY_GOOD);
    assert_int_equal(cfr_api_history_at(&h, 0), CFR_API_HISTORY_GOOD);
    assert_int_equal(cfr_api_history_at(&h, 1), CFR_API_HISTORY_UNUSABLE);
    assert_int_equal(cfr_api_history_at(&h, 2), CFR_API_HISTORY_UNKNOWN);
}

static void test_skipped_slots_are_unknown(void **state)
{
    (void)state;
    for (int i = 0; i < CFR_API_HISTORY_SLOTS; i++)
        cfr_api_history_note(&h, START + (int64_t)i * SLOT, CFR_API_HISTORY_FAILING);
    cfr_api_history_note(&h, START + INT64_C(99) * SLOT, CFR_API_HISTORY_GOOD);
    assert_int_equal(cfr_api_history_at(&h, 0), CFR_API_HISTORY_GOOD);
    for (size_t age = 1; age < 4; age++)
        assert_int_equal(cfr_api_history_at(&h, age), CFR_API_HISTORY_UNKNOWN);
    for (size_t age = 4; age < CFR_API_HISTORY_SLOTS; age++)
        assert_int_equal(cfr_api_history_at(&h, age), CFR_API_HISTORY_FAILING);
}

/* All slots are told apart, over several turns of the ring. */
static void test_a_ring(void **state)
{
    (void)state;
    for (int i = 0; i < 3 * CFR_API_HISTORY_SLOTS + 5; i++)
        cfr_api_history_note(&h, START + (int64_t)i * SLOT, (enum cfr_api_history_health)(1 + i % 3));
    for (int age = 0; age < CFR_API_HISTORY_SLOTS; age++)
        assert_int_equal(cfr_api_history_at(&h, (size_t)age), 1 + (3 * CFR_API_HISTORY_SLOTS + 4 - age) % 3);
}

static void assert_only(enum cfr_api_history_health newest)
{
    assert_int_equal(cfr_api_history_at(&h, 0), newest);
    for (size_t age = 1; age < CFR_API_HISTORY_SLOTS; age++)
        assert_int_equal(cfr_api_history_at(&h, age), CFR_API_HISTORY_UNKNOWN);
}

static void test_a_clock_that_jumps(void **state)
{
    (void)state;
    cfr_api_history_note(&h, START, CFR_API_HISTORY_FAILING);
    cfr_api_history_note(&h, START + SLOT, CFR_API_HISTORY_GOOD);
    cfr_api_history_note(&h, START + SLOT - 1, CFR_API_HISTORY_GOOD);
    assert_int_equal(cfr_api_history_at(&h, 0), CFR_API_HISTORY_GOOD);
    assert_int_equal(cfr_api_history_at(&h, 1), CFR_API_HISTORY_FAILING);
    cfr_api_history_note(&h, START - SLOT, CFR_API_HISTORY_UNUSABLE);
    assert_only(CFR_API_HISTORY_UNUSABLE);
    cfr_api_history_note(&h, START + INT64_C(86400) * 365, CFR_API_HISTORY_GOOD);
    assert_only(CFR_API_HISTORY_GOOD);
    cfr_api_history_note(&h, 5, CFR_API_HISTORY_FAILING);
    assert_only(CFR_API_HISTORY_FAILING);
    cfr_api_history_note(&h, -INT64_C(5) * SLOT, CFR_API_HISTORY_FAILING);
    assert_only(CFR_API_HISTORY_FAILING);
}

static void assert_minutes(int good, int failing, int unusable)
{
    assert_int_equal(cfr_api_history_minutes(&h, CFR_API_HISTORY_GOOD), good);
    assert_int_equal(cfr_api_history_minutes(&h, CFR_API_HISTORY_FAILING), failing);
    assert_int_equal(cfr_api_history_minutes(&h, CFR_API_HISTORY_UNUSABLE), unusable);
}

/* Each minute counts once, by its worst; a failure of two minutes is not one of a quarter of an hour. */
static void test_minutes(void **state)
{
    (void)state;
    for (int i = 0; i <= 100; i++)
        cfr_api_history_note(&h, START + INT64_C(60) * i, CFR_API_HISTORY_GOOD);
    assert_minutes(101, 0, 0);
    cfr_api_history_note(&h, START + 60 * 100 + 10, CFR_API_HISTORY_FAILING);
    cfr_api_history_note(&h, START + 60 * 100 + 20, CFR_API_HISTORY_UNUSABLE);
    assert_minutes(100, 0, 1);
    cfr_api_history_note(&h, START + 60 * 101 + 30, CFR_API_HISTORY_FAILING);
    cfr_api_history_note(&h, START + 60 * 102 + 30, CFR_API_HISTORY_GOOD);
    cfr_api_history_note(&h, START + 60 * 102 + 31, CFR_API_HISTORY_GOOD);
    assert_minutes(101, 1, 1);
    for (int i = 103; i < 103 + 24 * 60; i++)
        cfr_api_history_note(&h, START + INT64_C(60) * i, CFR_API_HISTORY_GOOD);
    assert_minutes(24 * 60 - 15 + (102 + 24 * 60) % 15 + 1, 0, 0);
}

/* Without a note the health lasts; for no longer than a slot, because then the agent did not run. */
static void test_skipped_minutes(void **state)
{
    (void)state;
    cfr_api_history_note(&h, START, CFR_API_HISTORY_FAILING);
    cfr_api_history_note(&h, START + 60 * 5, CFR_API_HISTORY_GOOD);
    assert_minutes(1, 5, 0);
    cfr_api_history_note(&h, START + 60 * 20, CFR_API_HISTORY_GOOD);
    assert_minutes(16, 5, 0);
    cfr_api_history_note(&h, START + 60 * 36, CFR_API_HISTORY_GOOD);
    assert_minutes(17, 5, 0);
}

/* There is one for each of thousands of credentials. */
static void test_it_is_small(void **state)
{
    (void)state;
    assert_true(sizeof h <= 208);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(test_the_worst_of_a_slot_stays, begin),
        cmocka_unit_test_setup(test_skipped_slots_are_unknown, begin),
        cmocka_unit_test_setup(test_a_ring, begin),
        cmocka_unit_test_setup(test_a_clock_that_jumps, begin),
        cmocka_unit_test_setup(test_minutes, begin),
        cmocka_unit_test_setup(test_skipped_minutes, begin),
        cmocka_unit_test(test_it_is_small),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
