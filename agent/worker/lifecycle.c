/* SPDX-License-Identifier: MIT */
/* Lifecycle of one credential: the table of its state machine, and its schedule. */
#include "agent/worker/lifecycle_private.h"

#include <stddef.h>

#define SOONEST_MS 1000 /* the least pause that is foreseen */
#define REST_MS    250  /* so that what is due exactly then has happened */

/* The longest pauses while nothing valid is held: consumers are down, and what was refused for good may be granted as
 * soon as an operator has put it right. */
#define BARE_MS         15000
#define BARE_REFUSED_MS 60000
/* What was granted a moment ago is refused until all of the cloud's servers know of it. */
#define PROPAGATION_MS INT64_C(600000)
#define PROPAGATING_MS 30000
#define ASKED_MS       4500 /* the longest while a client asks for it: it is answered within 5 s of an outage's end */

/* Between two times that something is published again because it was lost. */
#define RESTORE_MS        1000 /* after the first; then four times as long each time */
#define RESTORE_MAX_MS    5000
#define RESTORE_COSTLY_MS INT64_C(300000)
#define RESTORED_MS       INT64_C(600000) /* a loss after that is a first one */

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

struct row {
    enum cfr_state from;
    enum cfr_event event;
    enum cfr_state next;
    enum cfr_lifecycle_action action;
};

#define ROW(from, event, next, action)                                                                                 \
    {                                                                                                                  \
        CFR_STATE_##from, CFR_EVENT_##event, CFR_STATE_##next, CFR_ACTION_##action                                     \
    }

static const struct row rows[] = {
    ROW(WAITING, DUE, WAITING, ACQUIRE),
    ROW(WAITING, SOURCE, WAITING, ACQUIRE),
    ROW(WAITING, ROTATE, WAITING, ACQUIRE),
    ROW(WAITING, TURN, WAITING, ACQUIRE),
    ROW(WAITING, ADOPT, FRESH, NOTHING),
    ROW(WAITING, SENT, EXCHANGING, NOTHING),
    ROW(WAITING, GRANTED, PUBLISHING, PUBLISH), /* without a request */
    ROW(WAITING, FAILED, BACKOFF, NOTHING),
    ROW(WAITING, NOTIFIED, WAITING, NOTHING),

    ROW(EXCHANGING, DUE, EXCHANGING, NOTHING),
    ROW(EXCHANGING, SOURCE, EXCHANGING, AGAIN),
    ROW(EXCHANGING, ROTATE, EXCHANGING, AGAIN),
    ROW(EXCHANGING, GRANTED, PUBLISHING, PUBLISH),
    ROW(EXCHANGING, PUBLISHED, RELOADING, NOTIFY), /* a rotated key that an earlier run published */
    ROW(EXCHANGING, SAME, FRESH, NOTHING),
    ROW(EXCHANGING, FAILED, BACKOFF, TOKEN),
    ROW(EXCHANGING, NOTIFIED, EXCHANGING, NOTHING),

    ROW(PUBLISHING, DUE, PUBLISHING, NOTHING),
    ROW(PUBLISHING, SOURCE, PUBLISHING, AGAIN),
    ROW(PUBLISHING, ROTATE, PUBLISHING, AGAIN),
    ROW(PUBLISHING, NOTIFIED, PUBLISHING, NOTHING),
    ROW(PUBLISHING, PUBLISHED, RELOADING, NOTIFY),
    ROW(PUBLISHING, SAME, FRESH, NOTHING),
    ROW(PUBLISHING, FAILED, BACKOFF, NOTHING),

    ROW(RELOADING, NOTIFIED, FRESH, NOTHING),
    ROW(RELOADING, DUE, WAITING, ACQUIRE),
    ROW(RELOADING, SOURCE, WAITING, ACQUIRE),
    ROW(RELOADING, ROTATE, WAITING, ACQUIRE),

    ROW(FRESH, DUE, WAITING, ACQUIRE),
    ROW(FRESH, SOURCE, WAITING, ACQUIRE),
    ROW(FRESH, ROTATE, WAITING, ACQUIRE),
    ROW(FRESH, NOTIFIED, FRESH, NOTHING),

    ROW(BACKOFF, DUE, WAITING, ACQUIRE),
    ROW(BACKOFF, SOURCE, WAITING, ACQUIRE),
    ROW(BACKOFF, ROTATE, WAITING, ACQUIRE),
    ROW(BACKOFF, NOTIFIED, BACKOFF, NOTHING),

    ROW(WAITING, STOP, STOPPED, CANCEL),
    ROW(EXCHANGING, STOP, STOPPED, CANCEL),
    ROW(PUBLISHING, STOP, STOPPED, CANCEL),
    ROW(RELOADING, STOP, STOPPED, CANCEL),
    ROW(FRESH, STOP, STOPPED, CANCEL),
    ROW(BACKOFF, STOP, STOPPED, CANCEL),
    ROW(STOPPED, NOTIFIED, STOPPED, NOTHING),
};

void cfr_lifecycle_init(struct cfr_lifecycle *c, bool long_lived)
{
    *c = (struct cfr_lifecycle){
        .state = CFR_STATE_WAITING,
        .long_lived = long_lived,
        .expires_boot_ms = INT64_MAX,
        .refresh_wall_ms = INT64_MAX,
        .refresh_boot_ms = INT64_MAX,
        .retry_boot_ms = INT64_MAX,
        .restore_boot_ms = INT64_MAX,
    };
}

enum cfr_lifecycle_action cfr_lifecycle_step(struct cfr_lifecycle *c, enum cfr_event event)
{
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        if (rows[i].from != c->state || rows[i].event != event)
            continue;
        /* Another source may end what made the tries fail. */
        if (c->state == CFR_STATE_WAITING && event == CFR_EVENT_SOURCE)
            c->backoff = (struct cfr_backoff){.failures = 0};
        if (event == CFR_EVENT_SENT || event == CFR_EVENT_GRANTED)
            c->retry_boot_ms = INT64_MAX;
        if (rows[i].action == CFR_ACTION_ACQUIRE) {
            c->again = false;
            c->restore_boot_ms = INT64_MAX;
        }
        c->state = rows[i].next;
        return rows[i].action;
    }
    return CFR_ACTION_REFUSE;
}

const char *cfr_lifecycle_state_name(enum cfr_state state)
{
    return (unsigned)state < CFR_STATE_COUNT ? state_names[state] : "unknown";
}

const char *cfr_lifecycle_event_name(enum cfr_event event)
{
    return (unsigned)event < CFR_EVENT_COUNT ? event_names[event] : "unknown";
}

/* The boot time of a wall time, by the difference of the clocks at NOW. */
static int64_t to_boot(struct cfr_now now, int64_t wall_ms)
{
    return wall_ms == INT64_MAX ? INT64_MAX : now.boot_ms + (wall_ms - now.wall_ms);
}

static void schedule(struct cfr_lifecycle *c, struct cfr_now now, int64_t window_ms, struct cfr_refresh_jitter jitter)
{
    c->published = true;
    c->backoff = (struct cfr_backoff){.failures = 0};
    c->bare = false;
    c->retry_boot_ms = INT64_MAX;
    c->refresh_wall_ms =
        c->long_lived ? cfr_refresh_lasting_at(c->life, window_ms, jitter) : cfr_refresh_at(c->life, window_ms, jitter);
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

void cfr_lifecycle_extended(struct cfr_lifecycle *c, struct cfr_now now, int64_t wall_ms)
{
    if (!cfr_lifecycle_valid(c, now) || wall_ms <= c->life.expires_ms)
        return;
    c->life.expires_ms = wall_ms;
    c->expires_boot_ms = to_boot(now, wall_ms);
}

void cfr_lifecycle_passed_on(struct cfr_lifecycle *c, struct cfr_now now, struct cfr_refresh_life life,
                             struct cfr_refresh_jitter jitter)
{
    int64_t behind_ms = life.issued_ms - now.wall_ms;

    if (behind_ms > 0) {
        life.issued_ms -= behind_ms;
        life.expires_ms -= life.expires_ms != INT64_MAX ? behind_ms : 0;
    }
    /* The time of the next one is the source's. */
    jitter.phased = false;
    (void)cfr_lifecycle_adopted(c, now, life, 0, jitter);
}

void cfr_lifecycle_rest(struct cfr_lifecycle *c, struct cfr_now now, struct cfr_refresh_life life,
                        struct cfr_refresh_jitter jitter)
{
    int64_t pause_ms = (life.expires_ms - now.wall_ms) / 4;

    cfr_lifecycle_passed_on(c, now, life, jitter);
    if (c->refresh_boot_ms >= now.boot_ms + CFR_LIFECYCLE_LOOK_AGAIN_MS)
        return;
    if (pause_ms > CFR_LIFECYCLE_LOOK_AGAIN_MS)
        pause_ms = CFR_LIFECYCLE_LOOK_AGAIN_MS;
    c->refresh_boot_ms = now.boot_ms + pause_ms + REST_MS;
    c->refresh_wall_ms = now.wall_ms + pause_ms + REST_MS;
}

void cfr_lifecycle_retry_at(struct cfr_lifecycle *c, int64_t boot_ms)
{
    c->retry_boot_ms = boot_ms;
    c->asked_boot_ms = boot_ms;
}

void cfr_lifecycle_refresh_at(struct cfr_lifecycle *c, struct cfr_now now, int64_t wall_ms)
{
    c->refresh_wall_ms = wall_ms;
    c->refresh_boot_ms = wall_ms > now.wall_ms ? to_boot(now, wall_ms) : now.boot_ms;
}

void cfr_lifecycle_advise(struct cfr_lifecycle *c, struct cfr_now now, int64_t wall_ms)
{
    int64_t soonest_ms = c->life.expires_ms != INT64_MAX
                             ? c->life.issued_ms + (c->life.expires_ms - c->life.issued_ms) / 2
                             : now.wall_ms + CFR_LIFECYCLE_LOOK_AGAIN_MS;
    int64_t at_ms = wall_ms > soonest_ms ? wall_ms : soonest_ms;

    if (at_ms > now.wall_ms && at_ms < c->refresh_wall_ms)
        cfr_lifecycle_refresh_at(c, now, at_ms);
}

void cfr_lifecycle_lost(struct cfr_lifecycle *c, struct cfr_now now, bool lost, bool costs)
{
    int64_t max_ms = costs ? RESTORE_COSTLY_MS : RESTORE_MAX_MS;
    int64_t pause_ms = RESTORE_MS;

    if (!lost)
        c->restore_boot_ms = INT64_MAX;
    if (!lost || c->restore_boot_ms != INT64_MAX || !cfr_lifecycle_is_settled(c))
        return;
    c->restore_boot_ms = now.boot_ms;
    if (now.boot_ms - c->restored_boot_ms > RESTORED_MS)
        c->losses = 0;
    for (unsigned i = 1; i < c->losses && pause_ms < max_ms; i++)
        pause_ms *= 4;
    if (c->losses != 0 && c->restored_boot_ms + (pause_ms < max_ms ? pause_ms : max_ms) > now.boot_ms)
        c->restore_boot_ms = c->restored_boot_ms + (pause_ms < max_ms ? pause_ms : max_ms);
    c->restored_boot_ms = c->restore_boot_ms;
    c->losses++;
}

void cfr_lifecycle_try_again(struct cfr_lifecycle *c)
{
    c->again = true;
}

bool cfr_lifecycle_is_settled(const struct cfr_lifecycle *c)
{
    return c->state == CFR_STATE_FRESH || c->state == CFR_STATE_RELOADING;
}

/* What is left of a valid life; 0 of none, and of one that never ends. */
static int64_t left_of(const struct cfr_lifecycle *c, struct cfr_now now)
{
    return cfr_lifecycle_valid(c, now) && c->expires_boot_ms != INT64_MAX ? c->expires_boot_ms - now.boot_ms : 0;
}

/* True if nothing valid is held. The pauses of a long outage are over when what was held expires. */
static bool note_bare(struct cfr_lifecycle *c, struct cfr_now now)
{
    bool bare = !c->long_lived && !cfr_lifecycle_valid(c, now);

    if (bare && !c->bare)
        c->backoff = (struct cfr_backoff){.failures = 0};
    if (bare && c->backoff.failures == 0)
        c->bare_boot_ms = now.boot_ms;
    c->bare = bare;
    return bare;
}

static int64_t bare_cap(const struct cfr_lifecycle *c, struct cfr_now now, enum cfr_err_class class)
{
    if (class != CFR_CLASS_STOP)
        return BARE_MS;
    return now.boot_ms - c->bare_boot_ms < PROPAGATION_MS ? PROPAGATING_MS : BARE_REFUSED_MS;
}

int64_t cfr_lifecycle_failed(struct cfr_lifecycle *c, struct cfr_now now, enum cfr_err_class class,
                             int64_t retry_after_s, double chance)
{
    bool bare = note_bare(c, now);
    const struct cfr_backoff_cause cause = {.class = class,
                                            .retry_after_s = retry_after_s,
                                            .left_ms = left_of(c, now),
                                            .max_ms = bare ? bare_cap(c, now, class) : 0};
    int64_t asked_ms = ASKED_MS / 2 + (int64_t)(ASKED_MS * chance / 2);
    int64_t delay_ms;

    if (retry_after_s > asked_ms / 1000)
        asked_ms = INT64_MAX;

    delay_ms = cfr_backoff_failed(&c->backoff, &cause, chance);
    c->retry_boot_ms = now.boot_ms + delay_ms;
    c->asked_boot_ms = c->long_lived || asked_ms > delay_ms ? c->retry_boot_ms : now.boot_ms + asked_ms;
    return delay_ms;
}

bool cfr_lifecycle_want(struct cfr_lifecycle *c)
{
    if ((c->state != CFR_STATE_BACKOFF && c->state != CFR_STATE_WAITING) || c->retry_boot_ms == INT64_MAX ||
        c->asked_boot_ms >= c->retry_boot_ms)
        return false;
    c->retry_boot_ms = c->asked_boot_ms;
    return true;
}

uint32_t cfr_lifecycle_tries_left(const struct cfr_lifecycle *c, struct cfr_now now, enum cfr_err_class class)
{
    int64_t at_ms = cfr_lifecycle_deadline(c);
    struct cfr_backoff backoff = c->backoff;
    uint32_t tries = 0;

    if (!cfr_lifecycle_valid(c, now))
        return 0;
    if (at_ms == INT64_MAX || at_ms < now.boot_ms)
        at_ms = now.boot_ms;
    while (tries < CFR_LIFECYCLE_TRIES_MAX && at_ms < c->expires_boot_ms) {
        const struct cfr_backoff_cause cause = {.class = class, .left_ms = c->expires_boot_ms - at_ms};
        int64_t pause_ms = cfr_backoff_failed(&backoff, &cause, 1.0);

        at_ms += pause_ms > SOONEST_MS ? pause_ms : SOONEST_MS;
        tries++;
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
        return c->refresh_boot_ms < c->restore_boot_ms ? c->refresh_boot_ms : c->restore_boot_ms;
    default:
        return INT64_MAX;
    }
}

/* Another try is wanted, and none is under way. */
static bool wants_try(const struct cfr_lifecycle *c)
{
    return c->again && c->state != CFR_STATE_EXCHANGING && c->state != CFR_STATE_PUBLISHING &&
           c->state != CFR_STATE_STOPPED;
}

int64_t cfr_lifecycle_wake_at(const struct cfr_lifecycle *c)
{
    return wants_try(c) ? 0 : cfr_lifecycle_deadline(c);
}

enum cfr_event cfr_lifecycle_next_event(const struct cfr_lifecycle *c, struct cfr_now now)
{
    if (wants_try(c))
        return CFR_EVENT_SOURCE;
    return cfr_lifecycle_due(c, now) ? CFR_EVENT_DUE : CFR_EVENT_NONE;
}

bool cfr_lifecycle_due(const struct cfr_lifecycle *c, struct cfr_now now)
{
    if (cfr_lifecycle_deadline(c) <= now.boot_ms)
        return true;
    return cfr_lifecycle_is_settled(c) && cfr_refresh_due(c->life, c->refresh_wall_ms, now.wall_ms);
}

bool cfr_lifecycle_valid(const struct cfr_lifecycle *c, struct cfr_now now)
{
    return c->published && now.wall_ms < c->life.expires_ms && now.boot_ms < c->expires_boot_ms;
}

int64_t cfr_lifecycle_expires_ms(const struct cfr_lifecycle *c, struct cfr_now now)
{
    return c->life.expires_ms - cfr_clock_set_back_ms(now, c->life.expires_ms, c->expires_boot_ms);
}
