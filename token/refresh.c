/* SPDX-License-Identifier: MIT */
/* Refresh rule. */
#include "token/refresh.h"

#include "base/hash.h"

#include <string.h>

#define DAY_MS          INT64_C(86400000)
#define PHASED_LEAST_MS INT64_C(600000)
/* Lives beyond this, 34 years, are cut: doubles stay exact to the millisecond. */
#define LIFE_MAX_MS (INT64_C(1) << 40)

static double unit(double x)
{
    /* The comparison is also false for a NaN. */
    return x >= 0 && x < 1 ? x : x >= 1 ? 1 : 0;
}

static double least(double a, double b)
{
    return a < b ? a : b;
}

static int64_t length_of(struct cfr_refresh_life life)
{
    int64_t n;

    if (__builtin_sub_overflow(life.expires_ms, life.issued_ms, &n))
        return life.expires_ms > life.issued_ms ? LIFE_MAX_MS : 0;
    return n < 0 ? 0 : n > LIFE_MAX_MS ? LIFE_MAX_MS : n;
}

static int64_t at(struct cfr_refresh_life life, int64_t window_ms, struct cfr_refresh_jitter jitter, double most)
{
    double whole = (double)length_of(life);
    double wobble;
    double age;
    int64_t sum;

    if (life.expires_ms == INT64_MAX)
        return INT64_MAX;
    wobble = unit(jitter.chance) * least(10000, whole / 60) + unit(jitter.spread) * least(300000, whole / 20);
    age = least(whole * 0.8, whole - (double)(window_ms > 0 ? window_ms : 0)) - wobble;
    if (age < whole / 2)
        age = whole / 2;
    age = least(age, most - wobble);
    return __builtin_add_overflow(life.issued_ms, (int64_t)age, &sum) ? life.expires_ms : sum;
}

/* The five highest bits of N, so that lives which differ by a second or two, as granted ones do, have the same period.
 */
static int64_t round_down(int64_t n)
{
    int64_t unit = 1;

    while (n / unit >= 32)
        unit *= 2;
    return n / unit * unit;
}

/* How much sooner than FULL the life ends that begins SHORT before its own time would: first the remainder of SHORT
 * by ROOM, which is another one for each credential, and then ROOM in each life, until nothing is left. What is less
 * than JITTER only comes of late answers. */
static int64_t cut_of(int64_t short_ms, int64_t room_ms, int64_t jitter_ms)
{
    int64_t cut_ms = short_ms % room_ms;

    return cut_ms < jitter_ms ? room_ms : cut_ms;
}

/* For a life within the years that a clock can show. */
static int64_t phased_at(struct cfr_refresh_life life, int64_t window_ms, struct cfr_refresh_jitter jitter)
{
    const struct cfr_refresh_jitter none = {.spread = 0};
    int64_t whole_ms = length_of(life);
    int64_t wobble_ms = (int64_t)least(10000, (double)whole_ms / 60);
    int64_t latest_ms = at(life, window_ms, none, (double)DAY_MS) - life.issued_ms;
    int64_t soonest_ms = whole_ms / 2 <= latest_ms ? whole_ms / 2 : latest_ms * 5 / 8;
    int64_t period_ms;
    int64_t room_ms;
    int64_t past_ms;
    int64_t age_ms;

    if (soonest_ms == whole_ms / 2 && latest_ms < whole_ms * 5 / 8)
        latest_ms = whole_ms * 5 / 8;
    period_ms = round_down(latest_ms - wobble_ms);
    /* The jitter is taken from a life that is no shorter. */
    soonest_ms += wobble_ms;
    room_ms = period_ms - soonest_ms;
    past_ms = (life.issued_ms + latest_ms - (int64_t)(unit(jitter.spread) * (double)period_ms)) % period_ms;
    age_ms = latest_ms - (past_ms < 0 ? past_ms + period_ms : past_ms);
    if (room_ms <= 2 * wobble_ms)
        age_ms = latest_ms;
    else if (age_ms < soonest_ms)
        age_ms = period_ms - cut_of(period_ms - age_ms, room_ms, 2 * wobble_ms);
    return life.issued_ms + age_ms - (int64_t)(unit(jitter.chance) * (double)wobble_ms);
}

int64_t cfr_refresh_at(struct cfr_refresh_life life, int64_t window_ms, struct cfr_refresh_jitter jitter)
{
    bool phased = jitter.phased && life.issued_ms >= 0 && life.issued_ms < INT64_MAX / 2 &&
                  life.expires_ms != INT64_MAX && length_of(life) >= PHASED_LEAST_MS;

    return phased ? phased_at(life, window_ms, jitter) : at(life, window_ms, jitter, (double)DAY_MS);
}

int64_t cfr_refresh_lasting_at(struct cfr_refresh_life life, int64_t window_ms, struct cfr_refresh_jitter jitter)
{
    return at(life, window_ms, jitter, (double)LIFE_MAX_MS);
}

bool cfr_refresh_due(struct cfr_refresh_life life, int64_t at_ms, int64_t now_ms)
{
    return now_ms >= at_ms || now_ms < life.issued_ms;
}

double cfr_refresh_spread(const char *text)
{
    uint64_t h = cfr_hash_add(CFR_HASH_START, text, strlen(text));

    /* FNV leaves the high bits nearly alone when only the last character changes. */
    h = (h ^ h >> 33) * UINT64_C(0xff51afd7ed558ccd);
    h = (h ^ h >> 33) * UINT64_C(0xc4ceb9fe1a85ec53);
    h ^= h >> 33;
    return (double)(h >> 11) / 9007199254740992.0;
}
