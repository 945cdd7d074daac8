/* SPDX-License-Identifier: MIT */
/* Lifecycle of one credential: a state machine with its schedule. Pure: time and chance are parameters; nothing here
 * blocks, allocates or calls back. */
#ifndef CFR_AGENT_WORKER_LIFECYCLE_PRIVATE_H
#define CFR_AGENT_WORKER_LIFECYCLE_PRIVATE_H

#include "agent/loop/backoff.h"
#include "agent/loop/clock.h"
#include "token/refresh.h"

#include <stdbool.h>

#define CFR_LIFECYCLE_TRIES_MAX     100
#define CFR_LIFECYCLE_LOOK_AGAIN_MS 60000 /* the pause before another look at what no event announces */

#define CFR_STATE_LIST(X)                                                                                              \
    X(WAITING, "waiting")       /* for a usable source, or for its turn to exchange */                                 \
    X(EXCHANGING, "exchanging") /* a request is under way */                                                           \
    X(PUBLISHING, "publishing") /* writing files */                                                                    \
    X(RELOADING, "reloading")   /* published; consumers are being notified */                                          \
    X(FRESH, "fresh")           /* published; consumers are notified */                                                \
    X(BACKOFF, "backoff")       /* the last attempt failed; what was published stays */                                \
    X(STOPPED, "stopped")

enum cfr_state {
#define X(name, text) CFR_STATE_##name,
    CFR_STATE_LIST(X)
#undef X
        CFR_STATE_COUNT
};

#define CFR_EVENT_LIST(X)                                                                                              \
    X(NONE, "none")           /* ends a chain of events; belongs to no state */                                        \
    X(DUE, "due")             /* a deadline came: refresh, or retry */                                                 \
    X(SOURCE, "source")       /* the source changed */                                                                 \
    X(ROTATE, "rotate")       /* an operator asked for a rotation */                                                   \
    X(TURN, "turn")           /* its turn to exchange has come */                                                      \
    X(ADOPT, "adopt")         /* what is published is still good */                                                    \
    X(SENT, "sent")           /* the exchange is under way */                                                          \
    X(GRANTED, "granted")     /* there is something to publish */                                                      \
    X(FAILED, "failed")       /* the exchange, or the publish, is not possible now */                                  \
    X(PUBLISHED, "published") /* a new generation is published */                                                      \
    X(SAME, "same")           /* the content was already there */                                                      \
    X(NOTIFIED, "notified")   /* no hook is pending any more */                                                        \
    X(STOP, "stop")

enum cfr_event {
#define X(name, text) CFR_EVENT_##name,
    CFR_EVENT_LIST(X)
#undef X
        CFR_EVENT_COUNT
};

/* What the interpreter does after a step; each action returns the next event. */
enum cfr_lifecycle_action {
    CFR_ACTION_NOTHING,
    CFR_ACTION_ACQUIRE, /* wait for a turn, look at the source, exchange */
    CFR_ACTION_AGAIN,   /* remember that another try is wanted after the present one */
    CFR_ACTION_PUBLISH, /* publish what was granted */
    CFR_ACTION_TOKEN,   /* publish the new token alone, with the last session */
    CFR_ACTION_NOTIFY,  /* start the hooks */
    CFR_ACTION_CANCEL,  /* end what is under way */
    CFR_ACTION_REFUSE   /* the event does not belong here: a fault of the program */
};

/* Of what is published. Wall times are of this machine's clock; boot times are the same moments. INT64_MAX: never. */
struct cfr_lifecycle {
    enum cfr_state state;
    bool published;
    bool long_lived;      /* it is not renewed for its age alone: see cfr_refresh_lasting_at */
    bool again;           /* another try is wanted as soon as the present one ends */
    bool bare;            /* the failures that are counted are those since nothing valid is held */
    int64_t bare_boot_ms; /* of the first of them */
    struct cfr_backoff backoff;
    struct cfr_refresh_life life; /* wall */
    int64_t expires_boot_ms;
    int64_t refresh_wall_ms;
    int64_t refresh_boot_ms;
    int64_t retry_boot_ms;    /* in BACKOFF and, when the source was no good, in WAITING */
    int64_t asked_boot_ms;    /* the same, if a client asks for it meanwhile; not later, and not before Retry-After */
    unsigned losses;          /* in a row */
    int64_t restore_boot_ms;  /* when what was lost is to be published again; INT64_MAX = nothing is lost */
    int64_t restored_boot_ms; /* the last of these times */
};

void cfr_lifecycle_init(struct cfr_lifecycle *c, bool long_lived);
/* The only function that changes the state. */
enum cfr_lifecycle_action cfr_lifecycle_step(struct cfr_lifecycle *c, enum cfr_event event);
const char *cfr_lifecycle_state_name(enum cfr_state state);
const char *cfr_lifecycle_event_name(enum cfr_event event);

/* A new life was published at NOW. LIFE_MS is how much is left by the grantor's own clock (INT64_MAX = never
 * expires). */
void cfr_lifecycle_renewed(struct cfr_lifecycle *c, struct cfr_now now, int64_t life_ms, int64_t window_ms,
                           struct cfr_refresh_jitter jitter);
/* As above for what an earlier run published, by the wall clock alone. False if a new one is wanted at once: it is
 * expired, due, or from the future. */
bool cfr_lifecycle_adopted(struct cfr_lifecycle *c, struct cfr_now now, struct cfr_refresh_life life, int64_t window_ms,
                           struct cfr_refresh_jitter jitter);
/* What is published, and has not expired, is good until WALL_MS. */
void cfr_lifecycle_extended(struct cfr_lifecycle *c, struct cfr_now now, int64_t wall_ms);
/* The content published at NOW is copied from a source with the claimed LIFE. If that begins in the future, our clock
 * is behind by at least as much: it is moved to begin now. */
void cfr_lifecycle_passed_on(struct cfr_lifecycle *c, struct cfr_now now, struct cfr_refresh_life life,
                             struct cfr_refresh_jitter jitter);
/* What is published is passed on from a source that has not changed: waits for the next one, and looks at the source
 * again no sooner than in a minute, or in a quarter of what is left of LIFE. */
void cfr_lifecycle_rest(struct cfr_lifecycle *c, struct cfr_now now, struct cfr_refresh_life life,
                        struct cfr_refresh_jitter jitter);
/* An attempt failed: plans the retry by agent/loop/backoff.h. RETRY_AFTER_S: what the server asked for, 0 or less if
 * nothing. Returns the delay. While nothing valid is held the pauses begin again and are at most 15 s (60 s after a
 * refusal), but for rotated keys; Retry-After may be longer. */
int64_t cfr_lifecycle_failed(struct cfr_lifecycle *c, struct cfr_now now, enum cfr_err_class class,
                             int64_t retry_after_s, double chance);
/* A client was refused, or a command waits, because there is nothing to give it: the retry that is planned comes
 * within 4.5 s of the last failure, but not before the server's Retry-After. True if that is sooner than it was. */
bool cfr_lifecycle_want(struct cfr_lifecycle *c);

/* Plans the next try for BOOT_MS. */
void cfr_lifecycle_retry_at(struct cfr_lifecycle *c, int64_t boot_ms);
/* Plans the refresh for WALL_MS, or for NOW if that has passed. */
void cfr_lifecycle_refresh_at(struct cfr_lifecycle *c, struct cfr_now now, int64_t wall_ms);
/* The grantor advises a refresh at WALL_MS. Advice only: it is followed where it is sooner than what is planned, but
 * not before half of the life has passed, so that a grantor that always says "at once" does not keep us busy. */
void cfr_lifecycle_advise(struct cfr_lifecycle *c, struct cfr_now now, int64_t wall_ms);
/* LOST: what is published in the cluster was removed or overwritten. While settled it is published again: at once the
 * first time, later 1, 4 and 5 s after the last time, so that a program that removes it again and again does not
 * cause a write each time; if it COSTS an exchange, up to 5 minutes. Call it whenever LOST may have changed. */
void cfr_lifecycle_lost(struct cfr_lifecycle *c, struct cfr_now now, bool lost, bool costs);
/* Wants another try as soon as the present one has ended. */
void cfr_lifecycle_try_again(struct cfr_lifecycle *c);

/* True while what is published needs nothing: no try is under way or planned for a failure. */
bool cfr_lifecycle_is_settled(const struct cfr_lifecycle *c);
/* How many tries, the planned one first, fit before what is published expires, if each of them fails with an error of
 * CLASS and each pause is the longest possible; at most CFR_LIFECYCLE_TRIES_MAX. 0 without a valid credential. A
 * server's Retry-After beyond the planned try is not foreseen. */
uint32_t cfr_lifecycle_tries_left(const struct cfr_lifecycle *c, struct cfr_now now, enum cfr_err_class class);
/* The boot time of the next refresh or retry; INT64_MAX if only an event helps. */
int64_t cfr_lifecycle_deadline(const struct cfr_lifecycle *c);
/* The boot time at which cfr_lifecycle_next_event has one: the deadline, or 0 when another try is wanted. */
int64_t cfr_lifecycle_wake_at(const struct cfr_lifecycle *c);
/* The event that is due at NOW, CFR_EVENT_NONE if there is none. */
enum cfr_event cfr_lifecycle_next_event(const struct cfr_lifecycle *c, struct cfr_now now);
/* True if a DUE event is to be given at NOW: by either clock, or because the wall clock is before the life began. */
bool cfr_lifecycle_due(const struct cfr_lifecycle *c, struct cfr_now now);
/* The wall time at which what is published expires, by the clock that says so first; INT64_MAX = never. */
int64_t cfr_lifecycle_expires_ms(const struct cfr_lifecycle *c, struct cfr_now now);
/* True while what is published is not expired, by either clock. */
bool cfr_lifecycle_valid(const struct cfr_lifecycle *c, struct cfr_now now);

#endif
