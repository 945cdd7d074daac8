/* SPDX-License-Identifier: MIT */
/* The lifecycle's state machine and schedule, with simulated clocks. */
#include "unit.h"

#include "agent/worker/lifecycle_private.h"

#define MINUTE INT64_C(60000)
#define HOUR   INT64_C(3600000)
#define DAY    (24 * HOUR)
#define WINDOW (20 * INT64_C(60000))

static const struct cfr_refresh_jitter none = {0, 0, false};
static const struct cfr_now start = {INT64_C(1795000000000), INT64_C(5000000)};

static struct cfr_now later(struct cfr_now now, int64_t ms)
{
    return (struct cfr_now){now.wall_ms + ms, now.boot_ms + ms};
}

static struct cfr_lifecycle fresh_for(int64_t life_ms)
{
    struct cfr_lifecycle c;

    cfr_lifecycle_init(&c, false);
    assert_int_equal(cfr_lifecycle_step(&c, CFR_EVENT_DUE), CFR_ACTION_ACQUIRE);
    assert_int_equal(cfr_lifecycle_step(&c, CFR_EVENT_SENT), CFR_ACTION_NOTHING);
    assert_int_equal(cfr_lifecycle_step(&c, CFR_EVENT_GRANTED), CFR_ACTION_PUBLISH);
    cfr_lifecycle_renewed(&c, start, life_ms, WINDOW, none);
    assert_int_equal(cfr_lifecycle_step(&c, CFR_EVENT_PUBLISHED), CFR_ACTION_NOTIFY);
    assert_int_equal(cfr_lifecycle_step(&c, CFR_EVENT_NOTIFIED), CFR_ACTION_NOTHING);
    assert_int_equal(c.state, CFR_STATE_FRESH);
    return c;
}

static void every_pair_is_decided_and_stopped_is_final(void **state)
{
    (void)state;
    for (int s = 0; s < CFR_STATE_COUNT; s++) {
        for (int e = 0; e < CFR_EVENT_COUNT; e++) {
            struct cfr_lifecycle c;
            enum cfr_lifecycle_action action;

            cfr_lifecycle_init(&c, false);
            c.state = (enum cfr_state)s;
            action = cfr_lifecycle_step(&c, (enum cfr_event)e);
            if (action == CFR_ACTION_REFUSE)
                assert_int_equal(c.state, s);
            if (s == CFR_STATE_STOPPED)
                assert_int_equal(c.state, CFR_STATE_STOPPED);
            else if (e == CFR_EVENT_STOP)
                assert_int_equal(c.state, CFR_STATE_STOPPED);
            /* Whatever a consumer has been given, an event alone never takes it away. */
            assert_string_not_equal(cfr_lifecycle_state_name(c.state), "unknown");
            assert_string_not_equal(cfr_lifecycle_event_name((enum cfr_event)e), "unknown");
        }
    }
}

static void one_exchange_at_a_time(void **state)
{
    struct cfr_lifecycle c = fresh_for(HOUR);

    (void)state;
    assert_int_equal(cfr_lifecycle_step(&c, CFR_EVENT_DUE), CFR_ACTION_ACQUIRE);
    assert_int_equal(cfr_lifecycle_step(&c, CFR_EVENT_SENT), CFR_ACTION_NOTHING);
    assert_int_equal(cfr_lifecycle_step(&c, CFR_EVENT_SENT), CFR_ACTION_REFUSE);
    assert_int_equal(cfr_lifecycle_step(&c, CFR_EVENT_DUE), CFR_ACTION_NOTHING);
    assert_false(c.again);
    assert_int_equal(cfr_lifecycle_step(&c, CFR_EVENT_SOURCE), CFR_ACTION_AGAIN);
    assert_int_equal(c.state, CFR_STATE_EXCHANGING);
}

/* How long after NOW what was lost is published again; it then is. */
static int64_t restored_in(struct cfr_lifecycle *c, struct cfr_now *now, bool costs)
{
    int64_t pause_ms;

    cfr_lifecycle_lost(c, *now, true, costs);
    pause_ms = cfr_lifecycle_wake_at(c) - now->boot_ms;
    cfr_lifecycle_lost(c, *now, true, costs);
    assert_int_equal(cfr_lifecycle_wake_at(c) - now->boot_ms, pause_ms);
    *now = later(*now, pause_ms);
    assert_int_equal(cfr_lifecycle_next_event(c, *now), CFR_EVENT_DUE);
    assert_int_equal(cfr_lifecycle_step(c, CFR_EVENT_DUE), CFR_ACTION_ACQUIRE);
    assert_int_equal(cfr_lifecycle_step(c, CFR_EVENT_GRANTED), CFR_ACTION_PUBLISH);
    assert_int_equal(cfr_lifecycle_step(c, CFR_EVENT_SAME), CFR_ACTION_NOTHING);
    cfr_lifecycle_lost(c, *now, false, costs);
    assert_int_equal(cfr_lifecycle_next_event(c, *now), CFR_EVENT_NONE);
    return pause_ms;
}

static void only_what_costs_an_exchange_is_restored_late(void **state)
{
    static const int64_t paused_ms[2][7] = {{0, 1000, 4000, 5000, 5000, 5000, 5000},
                                            {0, 1000, 4000, 16000, 64000, 256000, 300000}};

    (void)state;
    for (int costs = 0; costs < 2; costs++) {
        struct cfr_lifecycle c = fresh_for(10 * HOUR);
        struct cfr_now now = start;

        for (size_t i = 0; i < 7; i++)
            assert_int_equal(restored_in(&c, &now, costs != 0), paused_ms[costs][i]);
        /* After a while without a loss the next one is a first one. */
        now = later(now, 11 * MINUTE);
        assert_int_equal(restored_in(&c, &now, costs != 0), 0);
        assert_int_equal(restored_in(&c, &now, costs != 0), 1000);
    }
}

static void what_came_back_is_not_restored(void **state)
{
    struct cfr_lifecycle c = fresh_for(10 * HOUR);
    struct cfr_now now = start;

    (void)state;
    (void)restored_in(&c, &now, true);
    cfr_lifecycle_lost(&c, now, true, true);
    cfr_lifecycle_lost(&c, now, false, true);
    assert_int_equal(cfr_lifecycle_next_event(&c, later(now, MINUTE)), CFR_EVENT_NONE);
}

static void another_try_follows_the_present_one(void **state)
{
    struct cfr_lifecycle c = fresh_for(HOUR);

    (void)state;
    (void)cfr_lifecycle_step(&c, CFR_EVENT_DUE);
    (void)cfr_lifecycle_step(&c, CFR_EVENT_SENT);
    cfr_lifecycle_try_again(&c);
    assert_int_equal(cfr_lifecycle_next_event(&c, start), CFR_EVENT_NONE);
    (void)cfr_lifecycle_step(&c, CFR_EVENT_FAILED);
    cfr_lifecycle_retry_at(&c, start.boot_ms + 60000);
    assert_int_equal(cfr_lifecycle_wake_at(&c), 0);
    assert_int_equal(cfr_lifecycle_next_event(&c, start), CFR_EVENT_SOURCE);
    assert_int_equal(cfr_lifecycle_step(&c, CFR_EVENT_SOURCE), CFR_ACTION_ACQUIRE);
    /* Once. */
    assert_int_equal(cfr_lifecycle_wake_at(&c), start.boot_ms + 60000);
    assert_int_equal(cfr_lifecycle_next_event(&c, start), CFR_EVENT_NONE);
    assert_int_equal(cfr_lifecycle_next_event(&c, later(start, 60000)), CFR_EVENT_DUE);
}

/* What needs no request goes from waiting to publishing in one round. */
static void without_a_request_it_publishes_at_once(void **state)
{
    struct cfr_lifecycle c;

    (void)state;
    cfr_lifecycle_init(&c, false);
    cfr_lifecycle_retry_at(&c, start.boot_ms);
    assert_int_equal(cfr_lifecycle_step(&c, CFR_EVENT_DUE), CFR_ACTION_ACQUIRE);
    assert_int_equal(cfr_lifecycle_step(&c, CFR_EVENT_GRANTED), CFR_ACTION_PUBLISH);
    assert_int_equal(cfr_lifecycle_step(&c, CFR_EVENT_SAME), CFR_ACTION_NOTHING);
    assert_int_equal(c.state, CFR_STATE_FRESH);
    assert_int_equal(cfr_lifecycle_deadline(&c), INT64_MAX);
}

/* Advice is followed where it is sooner, but not in the first half of a life. */
static void advice_is_bounded(void **state)
{
    struct cfr_lifecycle c = fresh_for(10 * HOUR);
    int64_t planned = cfr_lifecycle_deadline(&c);

    (void)state;
    cfr_lifecycle_advise(&c, start, start.wall_ms + 9 * HOUR + HOUR / 2);
    assert_int_equal(cfr_lifecycle_deadline(&c), planned);
    cfr_lifecycle_advise(&c, start, start.wall_ms + 6 * HOUR);
    assert_int_equal(cfr_lifecycle_deadline(&c), start.boot_ms + 6 * HOUR);
    cfr_lifecycle_advise(&c, start, start.wall_ms);
    assert_int_equal(cfr_lifecycle_deadline(&c), start.boot_ms + 5 * HOUR);
}

/* What is passed on is looked at again after a pause, however little of its life is left. */
static void rest_pauses(void **state)
{
    struct cfr_refresh_life life = {start.wall_ms - HOUR, start.wall_ms + 20000};
    struct cfr_lifecycle c;

    (void)state;
    cfr_lifecycle_init(&c, false);
    (void)cfr_lifecycle_step(&c, CFR_EVENT_DUE);
    cfr_lifecycle_rest(&c, start, life, none);
    (void)cfr_lifecycle_step(&c, CFR_EVENT_ADOPT);
    assert_in_range(cfr_lifecycle_deadline(&c), start.boot_ms + 5000, start.boot_ms + 6000);
    life.expires_ms = INT64_MAX;
    cfr_lifecycle_rest(&c, start, life, none);
    assert_int_equal(cfr_lifecycle_deadline(&c), INT64_MAX);
}

/* A token by a clock that is ahead of ours is not due until its beginning, and lives no longer than it says. */
static void a_life_from_the_future_begins_now(void **state)
{
    const int64_t behind_ms = 240000;
    const struct cfr_refresh_life life = {start.wall_ms + behind_ms, start.wall_ms + behind_ms + HOUR};
    struct cfr_lifecycle c = fresh_for(HOUR);

    (void)state;
    cfr_lifecycle_passed_on(&c, start, life, none);
    assert_false(cfr_lifecycle_due(&c, later(start, 1)));
    assert_int_equal(cfr_lifecycle_deadline(&c), start.boot_ms + HOUR * 8 / 10);
    assert_true(cfr_lifecycle_valid(&c, later(start, HOUR - 1)));
    assert_false(cfr_lifecycle_valid(&c, later(start, HOUR)));
    cfr_lifecycle_rest(&c, start, life, none);
    assert_false(cfr_lifecycle_due(&c, later(start, 1)));
    assert_false(cfr_lifecycle_valid(&c, later(start, HOUR)));
}

static void telling_does_not_hold_back_the_next_refresh(void **state)
{
    struct cfr_lifecycle c = fresh_for(HOUR);

    (void)state;
    c.state = CFR_STATE_RELOADING;
    assert_int_equal(cfr_lifecycle_step(&c, CFR_EVENT_DUE), CFR_ACTION_ACQUIRE);
    c.state = CFR_STATE_RELOADING;
    assert_int_equal(cfr_lifecycle_step(&c, CFR_EVENT_ROTATE), CFR_ACTION_ACQUIRE);
}

static void refreshes_before_the_consumers_window(void **state)
{
    struct cfr_lifecycle c = fresh_for(HOUR);

    (void)state;
    /* botocore begins at 15 minutes: 20 are left when we do. */
    assert_int_equal(cfr_lifecycle_deadline(&c), start.boot_ms + 40 * 60000);
    assert_false(cfr_lifecycle_due(&c, later(start, 40 * 60000 - 1)));
    assert_true(cfr_lifecycle_due(&c, later(start, 40 * 60000)));
    c = fresh_for(10000);
    assert_int_equal(cfr_lifecycle_deadline(&c), start.boot_ms + 5000);
}

static void clock_set_forward_a_day(void **state)
{
    struct cfr_lifecycle c = fresh_for(HOUR);
    struct cfr_now now = later(start, 60000);

    (void)state;
    assert_true(cfr_lifecycle_valid(&c, now));
    assert_false(cfr_lifecycle_due(&c, now));
    now.wall_ms += DAY;
    assert_false(cfr_lifecycle_valid(&c, now));
    assert_true(cfr_lifecycle_due(&c, now));
}

static void clock_set_back_a_day(void **state)
{
    struct cfr_lifecycle c = fresh_for(HOUR);
    struct cfr_now now = later(start, 60000);

    (void)state;
    now.wall_ms -= DAY;
    /* Before it was issued: refreshed at once, and yet not called invalid. */
    assert_true(cfr_lifecycle_due(&c, now));
    assert_true(cfr_lifecycle_valid(&c, now));
    /* The wall clock says a day is left; the boot clock knows better. */
    now = later(start, HOUR + 1);
    now.wall_ms -= DAY;
    assert_false(cfr_lifecycle_valid(&c, now));
}

static void after_a_suspend_it_is_due(void **state)
{
    struct cfr_lifecycle c = fresh_for(HOUR);

    (void)state;
    assert_true(cfr_lifecycle_due(&c, later(start, 8 * HOUR)));
    assert_false(cfr_lifecycle_valid(&c, later(start, 8 * HOUR)));
}

static void adopts_only_what_is_fresh(void **state)
{
    struct cfr_refresh_life life = {start.wall_ms - 10 * 60000, start.wall_ms + 50 * 60000};
    struct cfr_lifecycle c;

    (void)state;
    cfr_lifecycle_init(&c, false);
    assert_true(cfr_lifecycle_adopted(&c, start, life, WINDOW, none));
    assert_int_equal(c.refresh_boot_ms, start.boot_ms + 30 * 60000);
    life.issued_ms = start.wall_ms - 55 * 60000; /* 5 minutes left: published, but due */
    life.expires_ms = start.wall_ms + 5 * 60000;
    assert_false(cfr_lifecycle_adopted(&c, start, life, WINDOW, none));
    assert_true(cfr_lifecycle_valid(&c, start));
    life.expires_ms = start.wall_ms - 1;
    assert_false(cfr_lifecycle_adopted(&c, start, life, WINDOW, none));
    assert_false(cfr_lifecycle_valid(&c, start));
    life = (struct cfr_refresh_life){start.wall_ms + HOUR, start.wall_ms + 2 * HOUR};
    assert_false(cfr_lifecycle_adopted(&c, start, life, WINDOW, none));
}

/* What lasts is not renewed for its age alone. */
static void lasting_ones_wait(void **state)
{
    struct cfr_refresh_life life = {start.wall_ms - 48 * HOUR, start.wall_ms + 1000 * HOUR};
    struct cfr_lifecycle c;

    (void)state;
    cfr_lifecycle_init(&c, false);
    assert_false(cfr_lifecycle_adopted(&c, start, life, WINDOW, none));
    c.long_lived = true;
    assert_true(cfr_lifecycle_adopted(&c, start, life, WINDOW, none));
}

static int64_t delay_after(unsigned failures, enum cfr_err_class class, int64_t retry_after_s, double chance)
{
    struct cfr_lifecycle c = fresh_for(1000 * HOUR);

    c.backoff.failures = failures;
    return cfr_lifecycle_failed(&c, start, class, retry_after_s, chance);
}

static void backs_off_by_class(void **state)
{
    (void)state;
    assert_true(delay_after(0, CFR_CLASS_RETRY, -1, 0.99) <= 1000);
    assert_true(delay_after(0, CFR_CLASS_STOP, -1, 0.0) >= 5000);
    for (unsigned n = 0; n < 100; n++) {
        for (double chance = 0; chance < 1; chance += 0.24) {
            int64_t ms = delay_after(n, CFR_CLASS_RETRY, -1, chance);

            assert_in_range(ms, 500, 300000);
            assert_in_range(delay_after(n, CFR_CLASS_STOP, -1, chance), 5000, 600000);
        }
    }
    assert_true(delay_after(50, CFR_CLASS_RETRY, -1, 0.99) > 200000);
}

static void honours_retry_after_with_jitter(void **state)
{
    (void)state;
    assert_int_equal(delay_after(0, CFR_CLASS_RETRY, 40, 0.0), 40000);
    assert_in_range(delay_after(0, CFR_CLASS_RETRY, 40, 0.9), 43000, 44000);
    /* A server that says "at once" does not make us hammer it. */
    assert_true(delay_after(0, CFR_CLASS_RETRY, 0, 0.0) >= 500);
}

static void retries_at_least_twice_in_what_is_left(void **state)
{
    (void)state;
    for (int64_t life_ms = 3000; life_ms <= HOUR; life_ms *= 3) {
        struct cfr_lifecycle c = fresh_for(life_ms);
        struct cfr_now now = later(start, life_ms / 5);
        int tries = 0;

        c.backoff.failures = 40; /* the pause is at its cap */
        while (cfr_lifecycle_valid(&c, now)) {
            int64_t delay_ms = cfr_lifecycle_failed(&c, now, CFR_CLASS_STOP, -1, 0.99);

            assert_true(delay_ms >= 500);
            now = later(now, delay_ms);
            tries += cfr_lifecycle_valid(&c, now);
        }
        assert_true(tries >= 2);
        assert_int_equal(cfr_lifecycle_failed(&c, now, CFR_CLASS_STOP, -1, 1.0), 10000);
    }
}

/* Held is what is valid: an outage's failures are counted again from the first when it expires. */
static void hurries_while_nothing_is_held(void **state)
{
    static const int64_t retry_ms[] = {1000, 2000, 4000, 8000, 15000, 15000};
    static const int64_t local_ms[] = {2000, 4000, 8000, 15000, 15000};
    static const int64_t stop_ms[] = {10000, 20000, 30000, 30000, 30000};
    struct cfr_lifecycle c = fresh_for(HOUR);
    struct cfr_now now = start;

    (void)state;
    c.backoff.failures = 40;
    assert_int_equal(cfr_lifecycle_failed(&c, now, CFR_CLASS_RETRY, -1, 1.0), 300000);
    now = later(now, HOUR);
    for (size_t i = 0; i < COUNT(retry_ms); i++)
        assert_int_equal(cfr_lifecycle_failed(&c, now, CFR_CLASS_RETRY, -1, 1.0), retry_ms[i]);
    assert_int_equal(cfr_lifecycle_failed(&c, now, CFR_CLASS_RETRY, -1, 0.0), 500);
    /* What the server asks for counts all the same. */
    assert_int_equal(cfr_lifecycle_failed(&c, now, CFR_CLASS_RETRY, 100, 0.0), 100000);

    cfr_lifecycle_init(&c, false); /* there never was one */
    for (size_t i = 0; i < COUNT(local_ms); i++)
        assert_int_equal(cfr_lifecycle_failed(&c, now, CFR_CLASS_LOCAL, -1, 1.0), local_ms[i]);
    cfr_lifecycle_init(&c, false);
    for (size_t i = 0; i < COUNT(stop_ms); i++)
        assert_int_equal(cfr_lifecycle_failed(&c, now, CFR_CLASS_STOP, -1, 1.0), stop_ms[i]);
    /* By then the cloud knows what it was told. */
    assert_int_equal(cfr_lifecycle_failed(&c, later(now, 10 * 60000 - 1), CFR_CLASS_STOP, -1, 1.0), 30000);
    assert_int_equal(cfr_lifecycle_failed(&c, later(now, 10 * 60000), CFR_CLASS_STOP, -1, 1.0), 60000);
    cfr_lifecycle_init(&c, true); /* a rotated key is made, not exchanged */
    c.backoff.failures = 40;
    assert_int_equal(cfr_lifecycle_failed(&c, now, CFR_CLASS_RETRY, -1, 1.0), 300000);
}

static struct cfr_lifecycle failed_without_any(int64_t retry_after_s, double chance)
{
    struct cfr_lifecycle c;

    cfr_lifecycle_init(&c, false);
    assert_int_equal(cfr_lifecycle_step(&c, CFR_EVENT_DUE), CFR_ACTION_ACQUIRE);
    assert_int_equal(cfr_lifecycle_step(&c, CFR_EVENT_SENT), CFR_ACTION_NOTHING);
    c.bare = true;
    c.backoff.failures = 40;
    (void)cfr_lifecycle_failed(&c, start, CFR_CLASS_RETRY, retry_after_s, chance);
    assert_int_equal(cfr_lifecycle_step(&c, CFR_EVENT_FAILED), CFR_ACTION_TOKEN);
    return c;
}

static void a_client_that_asks_brings_the_retry_forward(void **state)
{
    struct cfr_lifecycle c = failed_without_any(-1, 1.0);

    (void)state;
    assert_int_equal(cfr_lifecycle_deadline(&c), start.boot_ms + 15000);
    assert_true(cfr_lifecycle_want(&c));
    assert_int_equal(cfr_lifecycle_deadline(&c), start.boot_ms + 4500);
    assert_false(cfr_lifecycle_want(&c)); /* however often it asks */
    assert_int_equal(cfr_lifecycle_deadline(&c), start.boot_ms + 4500);
    c = failed_without_any(-1, 0.0); /* never later than it was planned */
    (void)cfr_lifecycle_want(&c);
    assert_int_equal(cfr_lifecycle_deadline(&c), start.boot_ms + 500);
    c = failed_without_any(1, 1.0);
    assert_true(cfr_lifecycle_want(&c));
    assert_int_equal(cfr_lifecycle_deadline(&c), start.boot_ms + 4500);
    c = failed_without_any(100, 0.0);
    assert_false(cfr_lifecycle_want(&c));
    assert_int_equal(cfr_lifecycle_deadline(&c), start.boot_ms + 100000);
    /* One at a time: nothing is brought forward while a try is under way, or where only an event helps. */
    assert_int_equal(cfr_lifecycle_step(&c, CFR_EVENT_DUE), CFR_ACTION_ACQUIRE);
    assert_int_equal(cfr_lifecycle_step(&c, CFR_EVENT_SENT), CFR_ACTION_NOTHING);
    assert_false(cfr_lifecycle_want(&c));
    cfr_lifecycle_init(&c, false);
    assert_false(cfr_lifecycle_want(&c));
}

/* Tries until C's life ends, each after the longest pause that cfr_lifecycle_failed may choose. */
static uint32_t tries_by_hand(struct cfr_lifecycle c, struct cfr_now now, enum cfr_err_class class)
{
    uint32_t tries = 0;

    now = later(now, cfr_lifecycle_deadline(&c) - now.boot_ms);
    while (cfr_lifecycle_valid(&c, now)) {
        tries++;
        now = later(now, cfr_lifecycle_failed(&c, now, class, -1, 1.0));
    }
    return tries;
}

static void foresees_the_tries_that_are_left(void **state)
{
    static const enum cfr_err_class classes[] = {CFR_CLASS_RETRY, CFR_CLASS_STOP, CFR_CLASS_LOCAL};

    (void)state;
    for (size_t i = 0; i < 3; i++) {
        struct cfr_lifecycle c = fresh_for(HOUR);
        struct cfr_now now = later(start, 41 * 60000);

        assert_int_equal(cfr_lifecycle_tries_left(&c, start, classes[i]), tries_by_hand(c, start, classes[i]));
        assert_in_range(cfr_lifecycle_tries_left(&c, start, classes[i]), 12, 30);
        (void)cfr_lifecycle_step(&c, CFR_EVENT_DUE);
        (void)cfr_lifecycle_step(&c, CFR_EVENT_SENT);
        (void)cfr_lifecycle_step(&c, CFR_EVENT_FAILED);
        while (cfr_lifecycle_valid(&c, now)) {
            (void)cfr_lifecycle_failed(&c, now, classes[i], -1, 0.99);
            assert_int_equal(cfr_lifecycle_tries_left(&c, now, classes[i]), tries_by_hand(c, now, classes[i]));
            now = later(now, cfr_lifecycle_deadline(&c) - now.boot_ms);
        }
        assert_int_equal(cfr_lifecycle_tries_left(&c, now, classes[i]), 0);
    }
}

static void the_tries_that_are_left_are_bounded(void **state)
{
    struct cfr_lifecycle c = fresh_for(1000 * HOUR);

    (void)state;
    assert_int_equal(cfr_lifecycle_tries_left(&c, start, CFR_CLASS_RETRY), CFR_LIFECYCLE_TRIES_MAX);
    cfr_lifecycle_init(&c, false);
    assert_int_equal(cfr_lifecycle_tries_left(&c, start, CFR_CLASS_RETRY), 0);
}

static void a_failure_keeps_what_is_published(void **state)
{
    struct cfr_lifecycle c = fresh_for(HOUR);
    struct cfr_now now = later(start, 41 * 60000);

    (void)state;
    assert_int_equal(cfr_lifecycle_step(&c, CFR_EVENT_DUE), CFR_ACTION_ACQUIRE);
    assert_int_equal(cfr_lifecycle_step(&c, CFR_EVENT_SENT), CFR_ACTION_NOTHING);
    (void)cfr_lifecycle_failed(&c, now, CFR_CLASS_RETRY, -1, 0.5);
    (void)cfr_lifecycle_step(&c, CFR_EVENT_FAILED);
    assert_int_equal(c.state, CFR_STATE_BACKOFF);
    assert_true(c.published);
    assert_true(cfr_lifecycle_valid(&c, now));
    assert_in_range(cfr_lifecycle_deadline(&c), now.boot_ms + 500, now.boot_ms + 1000);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_pair_is_decided_and_stopped_is_final),
        cmocka_unit_test(one_exchange_at_a_time),
        cmocka_unit_test(only_what_costs_an_exchange_is_restored_late),
        cmocka_unit_test(what_came_back_is_not_restored),
        cmocka_unit_test(another_try_follows_the_present_one),
        cmocka_unit_test(without_a_request_it_publishes_at_once),
        cmocka_unit_test(advice_is_bounded),
        cmocka_unit_test(rest_pauses),
        cmocka_unit_test(a_life_from_the_future_begins_now),
        cmocka_unit_test(telling_does_not_hold_back_the_next_refresh),
        cmocka_unit_test(refreshes_before_the_consumers_window),
        cmocka_unit_test(clock_set_forward_a_day),
        cmocka_unit_test(clock_set_back_a_day),
        cmocka_unit_test(after_a_suspend_it_is_due),
        cmocka_unit_test(adopts_only_what_is_fresh),
        cmocka_unit_test(lasting_ones_wait),
        cmocka_unit_test(backs_off_by_class),
        cmocka_unit_test(honours_retry_after_with_jitter),
        cmocka_unit_test(retries_at_least_twice_in_what_is_left),
        cmocka_unit_test(hurries_while_nothing_is_held),
        cmocka_unit_test(a_client_that_asks_brings_the_retry_forward),
        cmocka_unit_test(foresees_the_tries_that_are_left),
        cmocka_unit_test(the_tries_that_are_left_are_bounded),
        cmocka_unit_test(a_failure_keeps_what_is_published),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
