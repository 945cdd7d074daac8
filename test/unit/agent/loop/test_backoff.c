/* SPDX-License-Identifier: MIT */
/* Pauses between attempts: their range by class, the cap by what is left, Retry-After. */
#include "unit.h"

#include "agent/loop/backoff.h"

static const double chances[] = {0, 0.001, 0.25, 0.5, 0.75, 0.999999999, 1};

static int64_t pause_ms(uint32_t failures, struct cfr_backoff_cause cause, double chance)
{
    struct cfr_backoff b = {failures};

    return cfr_backoff_failed(&b, &cause, chance);
}

static void grows_from_half_the_base_to_the_cap(void **state)
{
    static const struct {
        enum cfr_err_class class;
        int64_t base_ms;
        int64_t cap_ms;
    } rows[] = {
        {CFR_CLASS_NONE, 1000, 300000},
        {CFR_CLASS_RETRY, 1000, 300000},
        {CFR_CLASS_LOCAL, 2000, 300000},
        {CFR_CLASS_STOP, 10000, 600000},
    };

    (void)state;
    for (size_t i = 0; i < COUNT(rows); i++) {
        for (uint32_t n = 0; n < 100; n++) {
            int64_t top_ms = n < 9 ? rows[i].base_ms << n : rows[i].cap_ms;
            struct cfr_backoff_cause cause = {.class = rows[i].class};

            if (top_ms > rows[i].cap_ms)
                top_ms = rows[i].cap_ms;
            for (size_t c = 0; c < COUNT(chances); c++)
                assert_in_range(pause_ms(n, cause, chances[c]), rows[i].base_ms / 2, top_ms);
            assert_int_equal(pause_ms(n, cause, 0), rows[i].base_ms / 2);
            assert_int_equal(pause_ms(n, cause, 1), top_ms);
        }
    }
}

static void counts_failures_without_overflow(void **state)
{
    struct cfr_backoff b = {0};

    (void)state;
    for (uint32_t n = 1; n <= 5; n++) {
        (void)cfr_backoff_failed(&b, &(struct cfr_backoff_cause){.class = CFR_CLASS_STOP}, 0.5);
        assert_int_equal(b.failures, n);
    }
    b.failures = UINT32_MAX;
    assert_int_equal(cfr_backoff_failed(&b, &(struct cfr_backoff_cause){.class = CFR_CLASS_RETRY}, 1), 300000);
    assert_int_equal(b.failures, UINT32_MAX);
}

static void a_short_life_sees_several_attempts(void **state)
{
    (void)state;
    assert_int_equal(pause_ms(40, (struct cfr_backoff_cause){CFR_CLASS_STOP, 0, 60000, 0}, 1), 30000);
    assert_int_equal(pause_ms(40, (struct cfr_backoff_cause){CFR_CLASS_STOP, 0, 1500, 0}, 1), 1000);
    assert_int_equal(pause_ms(40, (struct cfr_backoff_cause){CFR_CLASS_STOP, 0, INT64_MAX, 0}, 1), 600000);
    assert_int_equal(pause_ms(40, (struct cfr_backoff_cause){CFR_CLASS_STOP, 0, 0, 0}, 1), 600000);
}

static void the_caller_may_lower_the_cap(void **state)
{
    (void)state;
    assert_int_equal(pause_ms(40, (struct cfr_backoff_cause){CFR_CLASS_RETRY, 0, 0, 60000}, 1), 60000);
    assert_int_equal(pause_ms(40, (struct cfr_backoff_cause){CFR_CLASS_RETRY, 0, 0, 900000}, 1), 300000);
    assert_int_equal(pause_ms(40, (struct cfr_backoff_cause){CFR_CLASS_RETRY, 900, 0, 60000}, 0), 300000);
    assert_int_equal(pause_ms(40, (struct cfr_backoff_cause){CFR_CLASS_STOP, 0, 0, 100}, 0), 100);
}

static void honours_retry_after_with_jitter_and_a_limit(void **state)
{
    static const struct {
        int64_t asked_s;
        int64_t left_ms;
        int64_t least_ms;
    } rows[] = {
        {40, 0, 40000},
        {299, 0, 299000},
        {301, 0, 300000},
        {86400, 0, 300000},
        {INT64_MAX, 0, 300000},
        {86400, 60000, 300000},    /* half of what is left is less than the cap */
        {86400, 3600000, 1800000}, /* and here more */
        {86400, INT64_MAX, 86400000},
    };

    (void)state;
    for (size_t i = 0; i < COUNT(rows); i++) {
        struct cfr_backoff_cause cause = {CFR_CLASS_RETRY, rows[i].asked_s, rows[i].left_ms, 0};

        assert_int_equal(pause_ms(0, cause, 0), rows[i].least_ms);
        assert_in_range(pause_ms(0, cause, 0.9), rows[i].least_ms * 108 / 100, rows[i].least_ms * 110 / 100);
    }
}

static void retry_after_never_shortens_the_pause(void **state)
{
    (void)state;
    for (int64_t asked_s = -1; asked_s <= 1; asked_s++)
        assert_int_equal(pause_ms(5, (struct cfr_backoff_cause){CFR_CLASS_STOP, asked_s, 0, 0}, 1), 320000);
    assert_int_equal(pause_ms(0, (struct cfr_backoff_cause){CFR_CLASS_RETRY, 0, 0, 0}, 0), 500);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(grows_from_half_the_base_to_the_cap),
        cmocka_unit_test(counts_failures_without_overflow),
        cmocka_unit_test(a_short_life_sees_several_attempts),
        cmocka_unit_test(the_caller_may_lower_the_cap),
        cmocka_unit_test(honours_retry_after_with_jitter_and_a_limit),
        cmocka_unit_test(retry_after_never_shortens_the_pause),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
