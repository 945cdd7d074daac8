/* SPDX-License-Identifier: MIT */
/* The fair queue: fair between keys, first come first served within one. */
#include "unit.h"

#include "agent/loop/fair_queue.h"

#include <stdlib.h>

static const char aws, gcp, azure;

struct one {
    struct cfr_fair_queue_entry turn;
    char name;
};

static struct one *make(struct cfr_fair_queue *t, struct one *o, char name, const void *key)
{
    *o = (struct one){.turn = {.owner = o}, .name = name};
    cfr_fair_queue_add(t, &o->turn, key);
    return o;
}

static char take(struct cfr_fair_queue *t, int64_t limit)
{
    const struct one *o = cfr_fair_queue_take(t, limit);

    return o != NULL ? o->name : '-';
}

static void clouds_take_turns(void **state)
{
    struct cfr_fair_queue t = {0};
    struct one all[7];

    (void)state;
    assert_int_equal(take(&t, 9), '-');
    (void)make(&t, &all[0], 'a', &aws);
    (void)make(&t, &all[1], 'b', &aws);
    (void)make(&t, &all[2], 'c', &aws);
    (void)make(&t, &all[3], 'g', &gcp);
    (void)make(&t, &all[4], 'h', &gcp);
    (void)make(&t, &all[5], 'z', &azure);
    (void)make(&t, &all[6], 'd', &aws);
    cfr_fair_queue_add(&t, &all[6].turn, &aws);
    for (const char *want = "agzbhcd"; *want != '\0'; want++) {
        assert_true(cfr_fair_queue_ready(&t, 9));
        assert_int_equal(take(&t, 9), *want);
    }
    assert_false(cfr_fair_queue_ready(&t, 9));
    assert_int_equal(take(&t, 9), '-');
}

static void who_leaves_is_passed_over(void **state)
{
    struct cfr_fair_queue t = {0};
    struct one all[4];

    (void)state;
    for (int i = 0; i < 4; i++)
        (void)make(&t, &all[i], (char)('a' + i), &aws);
    cfr_fair_queue_leave(&t, &all[3].turn);
    cfr_fair_queue_leave(&t, &all[3].turn);
    cfr_fair_queue_leave(&t, &all[1].turn);
    cfr_fair_queue_add(&t, &all[1].turn, &aws);
    for (const char *want = "acb-"; *want != '\0'; want++)
        assert_int_equal(take(&t, 1), *want);
}

static void a_cloud_that_hangs_leaves_room_for_the_others(void **state)
{
    struct cfr_fair_queue t = {0};
    struct one dead[8];
    struct one alive;
    int begun = 0;

    (void)state;
    /* As long as nobody else is there, it may have everything. */
    for (; begun < 4; begun++) {
        assert_true(cfr_fair_queue_may_begin(&t, &aws, 8));
        dead[begun] = (struct one){.turn = {.owner = &dead[begun]}};
        cfr_fair_queue_begin(&t, &dead[begun].turn, &aws);
    }
    assert_true(cfr_fair_queue_may_begin(&t, &gcp, 8));
    for (int i = begun; i < 8; i++)
        (void)make(&t, &dead[i], 'x', &aws);
    while (take(&t, 8) == 'x')
        cfr_fair_queue_begin(&t, &dead[begun++].turn, &aws);
    assert_int_equal(begun, 6);
    assert_false(cfr_fair_queue_may_begin(&t, &aws, 8));
    assert_true(cfr_fair_queue_may_begin(&t, &gcp, 8));
    (void)make(&t, &alive, 'g', &gcp);
    assert_false(cfr_fair_queue_may_begin(&t, &gcp, 8));
    assert_int_equal(take(&t, 8), 'g');
    cfr_fair_queue_end(&t, &dead[0].turn);
    cfr_fair_queue_end(&t, &dead[0].turn);
    assert_int_equal(take(&t, 8), 'x');
    /* Nor may it have everything where others are only expected. */
    t = (struct cfr_fair_queue){0};
    cfr_fair_queue_expect(&t, &gcp);
    for (int i = 0; i < 6; i++) {
        assert_true(cfr_fair_queue_may_begin(&t, &aws, 8));
        dead[i] = (struct one){.turn = {.owner = &dead[i]}};
        cfr_fair_queue_begin(&t, &dead[i].turn, &aws);
    }
    assert_false(cfr_fair_queue_may_begin(&t, &aws, 8));
    cfr_fair_queue_end(&t, &dead[0].turn);
    /* Where one at a time is wanted, there is nothing to leave. */
    assert_int_equal(t.active, 5);
    assert_false(cfr_fair_queue_may_begin(&t, &gcp, 5));
}

static void more_clouds_than_lanes_share_the_last(void **state)
{
    struct cfr_fair_queue t = {0};
    struct one all[CFR_FAIR_QUEUE_LANES_MAX + 4];
    char keys[CFR_FAIR_QUEUE_LANES_MAX + 4];

    (void)state;
    for (int i = 0; i < CFR_FAIR_QUEUE_LANES_MAX + 4; i++)
        (void)make(&t, &all[i], (char)('A' + i), &keys[i]);
    assert_int_equal(t.count, CFR_FAIR_QUEUE_LANES_MAX);
    for (int i = 0; i < CFR_FAIR_QUEUE_LANES_MAX + 4; i++)
        assert_int_equal(take(&t, 2), 'A' + i);
    assert_int_equal(take(&t, 2), '-');
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(clouds_take_turns),
        cmocka_unit_test(who_leaves_is_passed_over),
        cmocka_unit_test(a_cloud_that_hangs_leaves_room_for_the_others),
        cmocka_unit_test(more_clouds_than_lanes_share_the_last),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
