/* SPDX-License-Identifier: MIT */
/* What the two clocks say together. */
#include "unit.h"

#include "agent/loop/clock.h"

#define HOUR INT64_C(3600000)

static const struct cfr_now now = {INT64_C(1795000000000), INT64_C(5000000)};

static void a_clock_that_was_set_back(void **state)
{
    int64_t wall_ms = now.wall_ms + HOUR;
    int64_t boot_ms = now.boot_ms + HOUR;

    (void)state;
    assert_int_equal(cfr_clock_set_back_ms(now, wall_ms, boot_ms), 0);
    assert_int_equal(cfr_clock_set_back_ms(now, wall_ms + 1, boot_ms), 0);
    assert_int_equal(cfr_clock_set_back_ms(now, wall_ms + 24 * HOUR, boot_ms), 24 * HOUR);
    assert_int_equal(cfr_clock_set_back_ms(now, wall_ms - 24 * HOUR, boot_ms), 0);
    assert_int_equal(cfr_clock_set_back_ms(now, INT64_MAX, boot_ms), 0);
    assert_int_equal(cfr_clock_set_back_ms(now, wall_ms, INT64_MAX), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(a_clock_that_was_set_back)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
