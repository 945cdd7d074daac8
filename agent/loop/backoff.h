/* SPDX-License-Identifier: MIT */
/* Pause before a failed attempt is repeated: exponential with full jitter, Retry-After, a cap by the remaining life.
 *
 * Pure: never blocks, owns nothing, calls nothing back and cannot fail. Zero-initialise a struct cfr_backoff, and again
 * after a success. The pause is drawn evenly from base/2 to base * 2^failures, at most the cap:
 *
 *   RETRY  1 s to  5 min   (also for an unknown class)
 *   LOCAL  2 s to  5 min
 *   STOP  10 s to 10 min
 *
 * This holds for exchanges, rotations and the service CA; what pods wait for in the cluster is retried after at most 30
 * s (max_ms). Hooks pass RETRY for every error: a consumer that refuses now may only be starting. A supervised agent is
 * restarted after at most 60 s (max_ms). */
#ifndef CFR_AGENT_LOOP_BACKOFF_H
#define CFR_AGENT_LOOP_BACKOFF_H

#include "base/err.h"

#include <stdint.h>

struct cfr_backoff {
    uint32_t failures; /* consecutive */
};

/* What is known of a failure. 0 where nothing is known. */
struct cfr_backoff_cause {
    enum cfr_err_class class;
    int64_t retry_after_s; /* what the server asked for; 0 or less = nothing */
    int64_t left_ms;       /* until what is still valid expires: the cap is at most half of it, and at least 1 s */
    int64_t max_ms;        /* a cap below that of the class; not for Retry-After */
};

/* Counts a failure and returns the pause in ms. Retry-After is the least pause, with up to a tenth of it on top so that
 * clients which were given the same number do not return together; it is cut to the class's cap or half of left_ms,
 * whichever is longer. CHANCE: in [0, 1), see cfr_clock_chance; 1 gives the longest pause. */
int64_t cfr_backoff_failed(struct cfr_backoff *b, const struct cfr_backoff_cause *cause, double chance);

#endif
