/* SPDX-License-Identifier: MIT */
/* The state machine of one credential. */
#include "agent/worker/lifecycle.h"

#include <stddef.h>

#define SOONEST_MS 1000 /* the least cap of a pause */

static const char *const state_names[CFR_STATE_COUNT] = {
#define X(name, text) text,
    CFR_STATE_LIST(X)
#undef X
};

static const char *const event_names[CFR_EVENT_COUNT] = {
#define X(name, text) text,
    CFR_EVENT_LIST(X)
#undef X
};

/* How long the pauses after failures are. */
static const struct {
    int64_t base_ms;
    int64_t cap_ms;
} pace[CFR_CLASS_COUNT] = {
    [CFR_CLASS_NONE] = {1000, 300000},
    [CFR_CLASS_RETRY] = {1000, 300000},
    [CFR_CLASS_STOP] = {10000, 600000},
    [CFR_CLASS_LOCAL] = {2000, 300000},
};

struct row {
    enum cfr_state from;
    enum cfr_event event;
    enum cfr_state next;
    enum cfr_todo todo;
};

#define ROW(from, event, next, todo)                                                                                   \
    {                                                                                                                  \
        CFR_STATE_##from, CFR_EVENT_##event, CFR_STATE_##next, CFR_TODO_##todo                                         \
    }

static const struct row rows[] = {
    ROW(WAITING, DUE, WAITING, TRY),
    ROW(WAITING, TOKEN, WAITING, TRY),
    ROW(WAITING, ROTATE, WAITING, TRY),
    ROW(WAITING, ADOPT, FRESH, NOTHING),
    ROW(WAITING, GO, EXCHANGING, SEND),
    ROW(WAITING, FAILED, BACKOFF, NOTHING),
    ROW(WAITING, TOLD, WAITING, NOTHING),

    ROW(EXCHANGING, DUE, EXCHANGING, NOTHING),
    ROW(EXCHANGING, TOKEN, EXCHANGING, AGAIN),
    ROW(EXCHANGING, ROTATE, EXCHANGING, AGAIN),
    ROW(EXCHANGING, GRANTED, PUBLISHING, PUBLISH),
    ROW(EXCHANGING, FAILED, BACKOFF, NOTHING),
    ROW(EXCHANGING, TOLD, EXCHANGING, NOTHING),

    ROW(PUBLISHING, PUBLISHED, RELOADING, TELL),
    ROW(PUBLISHING, SAME, FRESH, NOTHING),
    ROW(PUBLISHING, FAILED, BACKOFF, NOTHING),

    ROW(RELOADING, TOLD, FRESH, NOTHING),
    ROW(RELOADING, DUE, WAITING, TRY),
    ROW(RELOADING, TOKEN, WAITING, TRY),
    ROW(RELOADING, ROTATE, WAITING, TRY),

    ROW(FRESH, DUE, WAITING, TRY),
    ROW(FRESH, TOKEN, WAITING, TRY),
    ROW(FRESH, ROTATE, WAITING, TRY),
    ROW(FRESH, TOLD, FRESH, NOTHING),

    ROW(BACKOFF, DUE, WAITING, TRY),
    ROW(BACKOFF, TOKEN, WAITING, TRY),
    ROW(BACKOFF, ROTATE, WAITING, TRY),
    ROW(BACKOFF, TOLD, BACKOFF, NOTHING),

    ROW(WAITING, STOP, STOPPED, CANCEL),
    ROW(EXCHANGING, STOP, STOPPED, CANCEL),
    ROW(PUBLISHING, STOP, STOPPED, CANCEL),
    ROW(RELOADING, STOP, STOPPED, CANCEL),
    ROW(FRESH, STOP, STOPPED, CANCEL),
    ROW(BACKOFF, STOP, STOPPED, CANCEL),
    ROW(STOPPED, TOLD, STOPPED, NOTHING),
};

void cfr_lifecycle_init(struct cfr_lifecycle *c)
{
    *c = (struct cfr_lifecycle){
        .state = CFR_STATE_WAITING,
        .expires_boot_ms = INT64_MAX,
        .refresh_wall_ms = INT64_MAX,
        .refresh_boot_ms = INT64_MAX,
        .retry_boot_ms = INT64_MAX,
    };
}

enum cfr_todo cfr_lifecycle_step(struct cfr_lifecycle *c, enum cfr_event event)
{
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        if (rows[i].from == c->state && rows[i].event == event) {
            c->state = rows[i].next;
            if (event == CFR_EVENT_GO)
                c->retry_boot_ms = INT64_MAX;
            if (rows[i].todo == CFR_TODO_AGAIN)
                c->again = true;
            return rows[i].todo;
        }
    }
    return CFR_TODO_REFUSE;
}

const char *cfr_lifecycle_state_name(enum cfr_state state)
{
    return (unsigned)state < CFR_STATE_COUNT ? state_names[state] : "unknown";
}

const char *cfr_lifecycle_event_name(enum cfr_event event)
{
    return (unsigned)event < CFR_EVENT_COUNT ? event_names[event] : "unknown";
}

/* The boot time of a wall time, as both stand now. */
static int64_t to_boot(struct cfr_now now, int64_t wall_ms)
{
    return wall_ms == INT64_MAX ? INT64_MAX : now.boot_ms + (wall_ms - now.wall_ms);
}

static void schedule(struct cfr_lifecycle *c, struct cfr_now now, int64_t window_ms, struct cfr_refresh_jitter jitter)
{
    c->published = true;
    c->failures = 0;
    c->retry_boot_ms = INT64_MAX;
    c->refresh_wall_ms =
        c->lasting ? cfr_refresh_lasting_at(c->life, window_ms, jitter) : cfr_refresh_at(c->life, window_ms, jitter);
    c->refresh_boot_ms = to_boot(now, c->refresh_wall_ms);
    c->expires_boot_ms = to_boot(now, c->life.expires_ms);
}

void cfr_lifecycle_renewed(struct cfr_lifecycle *c, struct cfr_now now, int64_t life_ms, int64_t window_ms,
                           struct cfr_refresh_jitter jitter)
{
    c->life.issued_ms = now.wall_ms;
    c->life.expires_ms = life_ms == INT64_MAX ? INT64_MAX : now.wall_ms + life_ms;
    schedule(c, now, window_ms, jitter);
}

bool cfr_lifecycle_adopted(struct cfr_lifecycle *c, struct cfr_now now, struct cfr_refresh_life life, int64_t window_ms,
                           struct cfr_refresh_jitter jitter)
{
    c->life = life;
    schedule(c, now, window_ms, jitter);
    return cfr_lifecycle_valid(c, now) && !cfr_refresh_due(c->life, c->refresh_wall_ms, now.wall_ms);
}

/* What is left of a valid life; 0 of none, and of one that never ends. */
static int64_t left_of(const struct cfr_lifecycle *c, struct cfr_now now)
{
    return cfr_lifecycle_valid(c, now) && c->expires_boot_ms != INT64_MAX ? c->expires_boot_ms - now.boot_ms : 0;
}

static int64_t pause_ms(enum cfr_err_class class, uint32_t failures, int64_t left_ms, double chance)
{
    int64_t cap_ms = pace[class].cap_ms;

    /* A life that ends before the cap still sees several tries. */
    if (left_ms > 0 && left_ms / 2 < cap_ms)
        cap_ms = left_ms / 2 > SOONEST_MS ? left_ms / 2 : SOONEST_MS;
    return cfr_refresh_backoff(failures, pace[class].base_ms, cap_ms, chance);
}

int64_t cfr_lifecycle_failed(struct cfr_lifecycle *c, struct cfr_now now, enum cfr_err_class class,
                             int64_t retry_after_ms, double chance)
{
    int64_t cap_ms = pace[class].cap_ms;
    int64_t left_ms = left_of(c, now);
    /* Obeyed, but not until what is published has ended: a day's notice must not cost the credential. */
    int64_t patience_ms = left_ms / 2 > cap_ms ? left_ms / 2 : cap_ms;
    int64_t delay_ms = pause_ms(class, c->failures, left_ms, chance);

    if (retry_after_ms > patience_ms)
        retry_after_ms = patience_ms;
    /* Jitter on top, or everybody who was told the same number comes back together. */
    if (retry_after_ms >= 0 && delay_ms < retry_after_ms + retry_after_ms / 10)
        delay_ms = retry_after_ms + (int64_t)((double)retry_after_ms * 0.1 * chance);
    if (c->failures < UINT32_MAX)
        c->failures++;
    c->retry_boot_ms = now.boot_ms + delay_ms;
    return delay_ms;
}

uint32_t cfr_lifecycle_tries_left(const struct cfr_lifecycle *c, struct cfr_now now, enum cfr_err_class class)
{
    int64_t at_ms = cfr_lifecycle_deadline(c);
    uint32_t failures = c->failures;
    uint32_t tries = 0;

    if (!cfr_lifecycle_valid(c, now))
        return 0;
    if (at_ms == INT64_MAX || at_ms < now.boot_ms)
        at_ms = now.boot_ms;
    while (tries < CFR_LIFECYCLE_TRIES_MAX && at_ms < c->expires_boot_ms) {
        int64_t pause = pause_ms(class, failures, c->expires_boot_ms - at_ms, 1.0);

        at_ms += pause > SOONEST_MS ? pause : SOONEST_MS;
        tries++;
        failures++;
    }
    return tries;
}

int64_t cfr_lifecycle_deadline(const struct cfr_lifecycle *c)
{
    switch (c->state) {
    case CFR_STATE_WAITING:
    case CFR_STATE_BACKOFF:
        return c->retry_boot_ms;
    case CFR_STATE_FRESH:
    case CFR_STATE_RELOADING:
        return c->refresh_boot_ms;
    default:
        return INT64_MAX;
    }
}

bool cfr_lifecycle_due(const struct cfr_lifecycle *c, struct cfr_now now)
{
    if (cfr_lifecycle_deadline(c) <= now.boot_ms)
        return true;
    if (c->state != CFR_STATE_FRESH && c->state != CFR_STATE_RELOADING)
        return false;
    return cfr_refresh_due(c->life, c->refresh_wall_ms, now.wall_ms);
}

bool cfr_lifecycle_valid(const struct cfr_lifecycle *c, struct cfr_now now)
{
    return c->published && now.wall_ms < c->life.expires_ms && now.boot_ms < c->expires_boot_ms;
}
