/* SPDX-License-Identifier: MIT */
/* The refresh rule as properties over a grid of lives, windows and jitter. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "token/refresh.h"

#include <math.h>
#include <stdio.h>

#define MINUTE   INT64_C(60000)
#define HOUR     (60 * MINUTE)
#define DAY      (24 * HOUR)
#define T0       INT64_C(1767323045000)
#define COUNT(a) (sizeof(a) / sizeof(a)[0])

static const double units[] = {0, 0.001, 0.25, 0.5, 0.75, 0.999999999};
static const int64_t windows[] = {0, 1, 5 * MINUTE, 15 * MINUTE, 20 * MINUTE, 2 * HOUR, INT64_MAX};

static int64_t at(int64_t life_ms, int64_t window_ms, double spread, double chance)
{
    return cfr_refresh_at((struct cfr_refresh_life){T0, T0 + life_ms}, window_ms,
                          (struct cfr_refresh_jitter){spread, chance, false});
}

static void check_bounds(int64_t life_ms, int64_t window_ms, double spread, double chance)
{
    int64_t t = at(life_ms, window_ms, spread, chance) - T0;
    int64_t jitter = 10000 + 5 * MINUTE;
    int64_t floor = life_ms / 2 < DAY - jitter ? life_ms / 2 : DAY - jitter;

    if (t < floor || t > life_ms - life_ms / 5 || t > DAY)
        fail_msg("life %lld window %lld spread %g chance %g: %lld", (long long)life_ms, (long long)window_ms, spread,
                 chance, (long long)t);
    if (window_ms < life_ms / 2)
        assert_true(t <= life_ms - window_ms);
}

static void stays_between_half_and_80_percent(void **state)
{
    int64_t life_ms = 2;

    (void)state;
    while (life_ms < 400 * DAY) {
        for (size_t w = 0; w < COUNT(windows); w++) {
            for (size_t s = 0; s < COUNT(units); s++) {
                for (size_t c = 0; c < COUNT(units); c++)
                    check_bounds(life_ms, windows[w], units[s], units[c]);
            }
        }
        life_ms += 1 + life_ms / 37;
    }
}

/* A longer life never means an earlier refresh, and a wider window never a later one. */
static void monotone(void **state)
{
    (void)state;
    for (size_t s = 0; s < COUNT(units); s++) {
        for (size_t c = 0; c < COUNT(units); c++) {
            for (int64_t base = 1; base < 30 * DAY; base = base * 3 + 1) {
                for (int64_t life = base; life < base + 200; life++)
                    assert_true(at(life + 1, 20 * MINUTE, units[s], units[c]) >=
                                at(life, 20 * MINUTE, units[s], units[c]));
            }
            for (size_t w = 1; w < COUNT(windows); w++)
                assert_true(at(HOUR, windows[w], units[s], units[c]) <= at(HOUR, windows[w - 1], units[s], units[c]));
        }
    }
}

/* Certificates: 80 % of the life, however long that is. */
static void lasting_lives(void **state)
{
    const struct cfr_refresh_jitter none = {0, 0, false};
    const struct cfr_refresh_jitter most = {0.999999, 0.999999, false};

    (void)state;
    assert_int_equal(cfr_refresh_lasting_at((struct cfr_refresh_life){T0, T0 + 90 * DAY}, 0, none) - T0, 72 * DAY);
    assert_int_equal(cfr_refresh_lasting_at((struct cfr_refresh_life){T0, T0 + 3650 * DAY}, 0, none) - T0, 2920 * DAY);
    assert_int_equal(cfr_refresh_lasting_at((struct cfr_refresh_life){T0, T0 + HOUR}, 0, none), at(HOUR, 0, 0, 0));
    assert_int_equal(cfr_refresh_lasting_at((struct cfr_refresh_life){T0, INT64_MAX}, 0, none), INT64_MAX);
    assert_in_range(cfr_refresh_lasting_at((struct cfr_refresh_life){T0, T0 + 90 * DAY}, 0, most) - T0,
                    72 * DAY - 310000, 72 * DAY - 309000);
}

static void known_points(void **state)
{
    (void)state;
    assert_int_equal(at(HOUR, 0, 0, 0) - T0, 48 * MINUTE);
    assert_int_equal(at(HOUR, 20 * MINUTE, 0, 0) - T0, 40 * MINUTE);
    assert_int_equal(at(15 * MINUTE, 20 * MINUTE, 0, 0) - T0, 450000);
    assert_int_equal(at(12 * HOUR, 20 * MINUTE, 0, 0) - T0, 34560000);
    assert_int_equal(at(10000, 0, 0, 0) - T0, 8000);
    assert_int_equal(at(10000, 20 * MINUTE, 0, 0) - T0, 5000);
    assert_int_equal(at(7 * DAY, 0, 0, 0) - T0, DAY);
    assert_int_equal(at(365 * DAY, 20 * MINUTE, 0, 0) - T0, DAY);
    assert_int_equal(at(36 * HOUR, 0, 0, 0) - T0, DAY);
    /* Jitter: 0.5 x 10 s + 0.5 x 3 min for an hour; 1/60 and 1/20 for 10 s. */
    assert_int_equal(at(HOUR, 0, 0.5, 0.5) - T0, 48 * MINUTE - 5000 - 90000);
    assert_int_equal(at(10000, 0, 0.5, 0) - T0, 7750);
    assert_int_equal(at(12 * HOUR, 0, 0.5, 0) - T0, 34560000 - 150000);
}

/* Without SPREAD and a window: 80 % of the life or 24 h, less up to 10 s. */
static void a_token_follows_the_kubelets_rule(void **state)
{
    (void)state;
    for (int64_t life_ms = 10 * MINUTE; life_ms < 400 * DAY; life_ms += 1 + life_ms / 37) {
        int64_t latest = life_ms * 8 / 10 < DAY ? life_ms * 8 / 10 : DAY;

        assert_int_equal(at(life_ms, 0, 0, 0) - T0, latest);
        assert_in_range(at(life_ms, 0, 0, 0.999999999) - T0, latest - 10000, latest - 9999);
    }
}

static void edges(void **state)
{
    struct cfr_refresh_jitter none = {0, 0, false};
    struct cfr_refresh_jitter odd = {NAN, INFINITY, false};

    (void)state;
    assert_int_equal(cfr_refresh_at((struct cfr_refresh_life){T0, INT64_MAX}, 0, none), INT64_MAX);
    assert_int_equal(at(0, 0, 0, 0), T0);
    assert_int_equal(at(-HOUR, 20 * MINUTE, 0.9, 0.9), T0);
    assert_int_equal(at(HOUR, -5, 0, 0) - T0, 48 * MINUTE);
    assert_int_equal(cfr_refresh_at((struct cfr_refresh_life){INT64_MIN, INT64_MAX - 1}, 0, none), INT64_MIN + DAY);
    assert_int_equal(cfr_refresh_at((struct cfr_refresh_life){0, INT64_MAX - 1}, 0, none), DAY);
    assert_int_equal(cfr_refresh_at((struct cfr_refresh_life){INT64_MAX - 10, INT64_MIN}, 0, none), INT64_MAX - 10);
    assert_int_equal(cfr_refresh_at((struct cfr_refresh_life){T0, T0 + HOUR}, 0, odd) - T0, 48 * MINUTE - 10000);
}

static void due(void **state)
{
    struct cfr_refresh_life life = {T0, T0 + HOUR};

    (void)state;
    assert_false(cfr_refresh_due(life, T0 + 10, T0));
    assert_false(cfr_refresh_due(life, T0 + 10, T0 + 9));
    assert_true(cfr_refresh_due(life, T0 + 10, T0 + 10));
    assert_true(cfr_refresh_due(life, T0 + 10, T0 + DAY));
    /* The clock was set back. */
    assert_true(cfr_refresh_due(life, T0 + 10, T0 - 1));
    assert_true(cfr_refresh_due(life, INT64_MAX, T0 - DAY));
    assert_false(cfr_refresh_due(life, INT64_MAX, T0 + DAY));
}

/* However short the life, with 10 s and a refresh that takes 1 s there is always a valid credential. */
static void ten_second_lives_work(void **state)
{
    int64_t now = T0;
    int64_t expires = T0 + 10000;

    (void)state;
    for (int i = 0; i < 1000; i++) {
        struct cfr_refresh_life life = {now, expires};
        int64_t next = cfr_refresh_at(life, 20 * MINUTE, (struct cfr_refresh_jitter){0.3, (i % 10) / 10.0, false});

        assert_true(next >= now + 5000 && next + 1000 < expires);
        now = next + 1000;
        expires = now + 10000;
    }
}

static void spread(void **state)
{
    unsigned bins[10] = {0};
    char name[32];

    (void)state;
    assert_true(cfr_refresh_spread("registry") == cfr_refresh_spread("registry"));
    assert_true(cfr_refresh_spread("") >= 0 && cfr_refresh_spread("") < 1);
    for (int i = 0; i < 1000; i++) {
        double x;

        (void)snprintf(name, sizeof name, "credential-%d", i);
        x = cfr_refresh_spread(name);
        assert_true(x >= 0 && x < 1);
        bins[(int)(x * 10)]++;
    }
    for (int i = 0; i < 10; i++)
        assert_in_range(bins[i], 60, 140);
}

static int64_t phased_at(int64_t issued_ms, int64_t life_ms, int64_t window_ms, double spread, double chance)
{
    return cfr_refresh_at((struct cfr_refresh_life){issued_ms, issued_ms + life_ms}, window_ms,
                          (struct cfr_refresh_jitter){spread, chance, true});
}

/* Never before half of a life of up to 48 h, and never later than without a phase, but where that leaves no room. */
static void phased_stays_within_the_rule(void **state)
{
    (void)state;
    for (int64_t life_ms = 10 * MINUTE; life_ms < 400 * DAY; life_ms += 1 + life_ms / 37) {
        for (size_t i = 0; i < COUNT(windows) * COUNT(units) * COUNT(units); i++) {
            int64_t window_ms = windows[i % COUNT(windows)];
            double spread = units[i / COUNT(windows) % COUNT(units)];
            double chance = units[i / COUNT(windows) / COUNT(units)];
            int64_t latest = at(life_ms, window_ms, 0, 0) - T0;
            int64_t soonest = life_ms / 2 <= DAY ? life_ms / 2 : 15 * HOUR;
            int64_t t = phased_at(T0, life_ms, window_ms, spread, chance) - T0;

            if (life_ms / 2 <= DAY && latest < life_ms * 5 / 8)
                latest = life_ms * 5 / 8;
            if (t > latest || t < soonest)
                fail_msg("life %lld window %lld spread %g chance %g: %lld, not from %lld to %lld", (long long)life_ms,
                         (long long)window_ms, spread, chance, (long long)t, (long long)soonest, (long long)latest);
        }
    }
}

/* Whenever it was first granted, and though lives differ by a second, it is refreshed at its own times from the sixth
 * refresh on at the latest, a period apart. */
static void phased_keeps_its_times(void **state)
{
    (void)state;
    for (int start = 0; start < 200; start++) {
        int64_t now = T0 + start * 17 * INT64_C(1009);
        int64_t before = 0;

        for (int i = 0; i < 50; i++) {
            int64_t next = phased_at(now, HOUR - i % 2 * 1000, 20 * MINUTE, 0.37, (i * 7 % 10) / 10.0);

            if (i > 5)
                assert_in_range(next - before, 39 * MINUTE, 40 * MINUTE);
            before = next;
            now = next + 200 + i % 5 * 7000; /* a retry, now and then */
        }
    }
}

/* What began at once is evenly spread from the fourth life on, and not much in a minute of the first. */
static void phased_fleet_is_even(void **state)
{
    enum { AGENTS = 20000, MINUTES = 600, SETTLED = 180 };
    static unsigned rate[MINUTES];
    unsigned long sum = 0;

    (void)state;
    for (int i = 0; i < AGENTS; i++) {
        char name[32];
        int64_t now = T0;

        (void)snprintf(name, sizeof name, "app-%d/demo", i);
        for (int k = 0; now < T0 + MINUTES * MINUTE; k++) {
            rate[(now - T0) / MINUTE]++;
            now = phased_at(now, HOUR, 20 * MINUTE, cfr_refresh_spread(name), ((i + k) % 10) / 10.0) + 100;
        }
    }
    for (int i = SETTLED; i < MINUTES; i++)
        sum += rate[i];
    for (int i = SETTLED; i < MINUTES; i++)
        assert_true(rate[i] * (MINUTES - SETTLED) <= sum * 3 / 2);
    for (int i = 1; i < SETTLED; i++)
        assert_true(rate[i] * (MINUTES - SETTLED) <= sum * 6);
}

static void phased_leaves_the_rest_alone(void **state)
{
    const struct cfr_refresh_jitter odd = {NAN, INFINITY, true};
    const struct cfr_refresh_jitter half = {0.5, 0.5, true};

    (void)state;
    assert_int_equal(phased_at(T0, 10 * MINUTE - 1, 0, 0.5, 0.5), at(10 * MINUTE - 1, 0, 0.5, 0.5));
    assert_int_equal(phased_at(T0, 0, 0, 0.5, 0.5), T0);
    assert_int_equal(cfr_refresh_at((struct cfr_refresh_life){T0, INT64_MAX}, 0, half), INT64_MAX);
    assert_int_equal(cfr_refresh_at((struct cfr_refresh_life){INT64_MAX - 10, INT64_MIN}, 0, half), INT64_MAX - 10);
    assert_int_equal(cfr_refresh_at((struct cfr_refresh_life){INT64_MAX - HOUR, INT64_MAX - 1}, 0, half),
                     cfr_refresh_at((struct cfr_refresh_life){INT64_MAX - HOUR, INT64_MAX - 1}, 0,
                                    (struct cfr_refresh_jitter){0.5, 0.5, false}));
    assert_in_range(cfr_refresh_at((struct cfr_refresh_life){0, INT64_MAX - 1}, 0, half), 15 * HOUR, DAY);
    assert_in_range(cfr_refresh_at((struct cfr_refresh_life){T0, T0 + HOUR}, 0, odd) - T0, 30 * MINUTE, 48 * MINUTE);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(stays_between_half_and_80_percent),
        cmocka_unit_test(monotone),
        cmocka_unit_test(lasting_lives),
        cmocka_unit_test(known_points),
        cmocka_unit_test(a_token_follows_the_kubelets_rule),
        cmocka_unit_test(edges),
        cmocka_unit_test(due),
        cmocka_unit_test(ten_second_lives_work),
        cmocka_unit_test(spread),
        cmocka_unit_test(phased_stays_within_the_rule),
        cmocka_unit_test(phased_keeps_its_times),
        cmocka_unit_test(phased_fleet_is_even),
        cmocka_unit_test(phased_leaves_the_rest_alone),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
