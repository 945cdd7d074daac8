/* SPDX-License-Identifier: MIT */
/* The heap of deadlines against a plain list. */
#include "unit.h"

#include "agent/loop/timer_heap.h"

#include <stdlib.h>

#define TIMERS 200

static void in_order_under_random_changes(void **state)
{
    struct cfr_timer_heap heap = {0};
    struct cfr_timer timers[TIMERS] = {{0}};
    unsigned seed = 7;

    (void)state;
    for (int round = 0; round < 20000; round++) {
        struct cfr_timer *t = &timers[(unsigned)rand_r(&seed) % TIMERS];
        int what = rand_r(&seed) % 4;
        int64_t least = INT64_MAX;

        if (what == 0)
            cfr_timer_heap_remove(&heap, t);
        else
            assert_true(cfr_timer_heap_set(&heap, t, what == 1 ? INT64_MAX : rand_r(&seed) % 1000));
        for (size_t i = 0; i < TIMERS; i++) {
            if (timers[i].place != 0 && timers[i].at_ms < least)
                least = timers[i].at_ms;
        }
        assert_int_equal(cfr_timer_heap_next(&heap), least);
    }
    cfr_timer_heap_free(&heap);
}

static void pops_what_is_due_and_no_more(void **state)
{
    struct cfr_timer_heap heap = {0};
    struct cfr_timer a = {0};
    struct cfr_timer b = {0};

    (void)state;
    assert_true(cfr_timer_heap_set(&heap, &a, 20));
    assert_true(cfr_timer_heap_set(&heap, &b, 10));
    assert_null(cfr_timer_heap_pop(&heap, 9));
    assert_ptr_equal(cfr_timer_heap_pop(&heap, 15), &b);
    assert_null(cfr_timer_heap_pop(&heap, 15));
    assert_ptr_equal(cfr_timer_heap_pop(&heap, 20), &a);
    assert_null(cfr_timer_heap_pop(&heap, INT64_MAX));
    cfr_timer_heap_free(&heap);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(in_order_under_random_changes),
        cmocka_unit_test(pops_what_is_due_and_no_more),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
