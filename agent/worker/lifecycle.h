/* SPDX-License-Identifier: MIT */
/* One credential as a state machine with its schedule. Pure: time and chance come in as parameters. */
#ifndef CFR_AGENT_WORKER_LIFECYCLE_H
#define CFR_AGENT_WORKER_LIFECYCLE_H

#include "agent/loop/clock.h"
#include "token/refresh.h"

#include <stdbool.h>

#define CFR_LIFECYCLE_TRIES_MAX 100

#define CFR_STATE_LIST(X)                                                                                              \
    X(WAITING, "waiting")       /* for a usable token, or for its turn to exchange it */                               \
    X(EXCHANGING, "exchanging") /* a request is under way */                                                           \
    X(PUBLISHING, "publishing") /* writing files */                                                                    \
    X(RELOADING, "reloading")   /* published; consumers are being told */                                              \
    X(FRESH, "fresh")           /* published and told */                                                               \
    X(BACKOFF, "backoff")       /* the last attempt failed; what was published stays */                                \
    X(STOPPED, "stopped")

enum cfr_state {
#define X(name, text) CFR_STATE_##name,
    CFR_STATE_LIST(X)
#undef X
        CFR_STATE_COUNT
};

#define CFR_EVENT_LIST(X)                                                                                              \
    X(DUE, "due")             /* a deadline came: refresh, or retry */                                                 \
    X(TOKEN, "token")         /* the token's file changed */                                                           \
    X(ROTATE, "rotate")       /* somebody asked */                                                                     \
    X(ADOPT, "adopt")         /* what an earlier run published is still good */                                        \
    X(GO, "go")               /* the token is usable and it is our turn */                                             \
    X(GRANTED, "granted")     /* the exchange is done */                                                               \
    X(FAILED, "failed")       /* the exchange, or the publish, is not possible now */                                  \
    X(PUBLISHED, "published") /* a new generation stands */                                                            \
    X(SAME, "same")           /* the content was already there */                                                      \
    X(TOLD, "told")           /* no hook is pending any more */                                                        \
    X(STOP, "stop")

enum cfr_event {
#define X(name, text) CFR_EVENT_##name,
    CFR_EVENT_LIST(X)
#undef X
        CFR_EVENT_COUNT
};

/* What the owner is to do after a step. */
enum cfr_todo {
    CFR_TODO_NOTHING,
    CFR_TODO_TRY,     /* look at the token, ask for a turn */
    CFR_TODO_SEND,    /* start the exchange */
    CFR_TODO_AGAIN,   /* remember that another try is wanted after the present one */
    CFR_TODO_PUBLISH, /* write the files */
    CFR_TODO_TELL,    /* start the hooks */
    CFR_TODO_CANCEL,  /* end what is under way */
    CFR_TODO_REFUSE   /* the event does not belong here: a fault of the program */
};

/* Of what is published. Wall times are of this machine's clock; boot times are the same moments. INT64_MAX: never. */
struct cfr_lifecycle {
    enum cfr_state state;
    bool published;
    bool lasting;                 /* it need not be renewed for its age alone: see cfr_refresh_lasting_at */
    bool again;                   /* another try is wanted as soon as the present one ends */
    uint32_t failures;            /* consecutive */
    struct cfr_refresh_life life; /* wall */
    int64_t expires_boot_ms;
    int64_t refresh_wall_ms;
    int64_t refresh_boot_ms;
    int64_t retry_boot_ms; /* in BACKOFF and, when the token was no good, in WAITING */
};

void cfr_lifecycle_init(struct cfr_lifecycle *c);
/* The only function that changes the state. */
enum cfr_todo cfr_lifecycle_step(struct cfr_lifecycle *c, enum cfr_event event);
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
/* An attempt failed: plans the retry, at most half of what is left of a valid life (or 1 s) away. RETRY_AFTER_MS: what
 * the server asked for, -1 if it did not. Returns the delay. */
int64_t cfr_lifecycle_failed(struct cfr_lifecycle *c, struct cfr_now now, enum cfr_err_class class,
                             int64_t retry_after_ms, double chance);
/* How many tries, the planned one first, fit before what is published expires, if each of them fails with an error of
 * CLASS and each pause is the longest possible; at most CFR_LIFECYCLE_TRIES_MAX. 0 without a valid credential. A
 * server's Retry-After beyond the planned try is not foreseen. */
uint32_t cfr_lifecycle_tries_left(const struct cfr_lifecycle *c, struct cfr_now now, enum cfr_err_class class);
/* The boot time at which to look again; INT64_MAX if only an event helps. */
int64_t cfr_lifecycle_deadline(const struct cfr_lifecycle *c);
/* True if a DUE event is to be given at NOW: by either clock, or because the wall clock is before the life began. */
bool cfr_lifecycle_due(const struct cfr_lifecycle *c, struct cfr_now now);
/* True while what is published is not expired, by either clock. */
bool cfr_lifecycle_valid(const struct cfr_lifecycle *c, struct cfr_now now);

#endif
