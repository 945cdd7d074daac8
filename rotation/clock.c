/* SPDX-License-Identifier: MIT */
/* The rotation's times, when the wall clock is set. */
#include "rotation/rotation_private.h"

#define SET_S  2                     /* less is no setting: seconds are rounded, and clocks are slewed */
#define TIME_S INT64_C(253402300799) /* the last one that the journal can have */

/* 0 is no time. */
static void move_time(int64_t *time_s, int64_t by_s)
{
    if (*time_s == 0)
        return;
    *time_s += by_s;
    *time_s = *time_s < 1 ? 1 : *time_s > TIME_S ? TIME_S : *time_s;
}

/* One that an earlier run wrote down by a clock that was ahead says nothing: it begins again. */
static bool bring_back(int64_t *time_s, int64_t now_s)
{
    if (*time_s <= now_s + CFR_ROTATION_SKEW_S)
        return false;
    *time_s = now_s;
    return true;
}

static bool begin(struct cfr_rotation_rotation *r, int64_t now_s)
{
    struct cfr_rotation_journal *j = &r->journal;
    bool changed = bring_back(&j->step_s, now_s);

    changed = bring_back(&j->published_s, now_s) || changed;
    for (size_t i = 0; i < j->aside_count; i++)
        changed = bring_back(&j->aside[i].since_s, now_s) || changed;
    for (size_t i = 0; i < j->former_count; i++)
        changed = bring_back(&j->former[i].off_s, now_s) || changed;
    if (r->search_s == 0 && j->intent_s > now_s + CFR_ROTATION_SKEW_S)
        r->search_s = now_s;
    return changed;
}

bool cfr_rotation_set_clock(struct cfr_rotation_rotation *r, int64_t now_s, int64_t ahead_s)
{
    struct cfr_rotation_journal *j = &r->journal;
    int64_t by_s = ahead_s - r->ahead_s;
    int64_t *const own[] = {&r->listed_s, &r->try_s,        &r->tried_s,     &r->verified_s,
                            &r->looked_s, &r->former_try_s, &r->aside_try_s, &r->search_s};
    bool first = !r->clocked;

    if (!first && by_s < SET_S && by_s > -SET_S)
        return false;
    r->clocked = true;
    r->ahead_s = ahead_s;
    if (first)
        return begin(r, now_s);
    /* The cloud's times are compared with intent_s, so that it stays as it is. */
    if (r->search_s == 0)
        r->search_s = j->intent_s;
    for (size_t i = 0; i < sizeof own / sizeof own[0]; i++)
        move_time(own[i], by_s);
    move_time(&j->step_s, by_s);
    move_time(&j->published_s, by_s);
    for (size_t i = 0; i < j->aside_count; i++)
        move_time(&j->aside[i].since_s, by_s);
    for (size_t i = 0; i < j->former_count; i++)
        move_time(&j->former[i].off_s, by_s);
    return true;
}
