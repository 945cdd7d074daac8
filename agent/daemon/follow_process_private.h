/* SPDX-License-Identifier: MIT */
/* Ends the agent when another process has ended. */
#ifndef CFR_AGENT_DAEMON_FOLLOW_PROCESS_PRIVATE_H
#define CFR_AGENT_DAEMON_FOLLOW_PROCESS_PRIVATE_H

#include "agent/loop/clock.h"
#include "agent/loop/loop.h"
#include "agent/config/config.h"

/* Zero-initialised but for pidfd, which is -1. */
struct cfr_daemon_follow {
    struct cfr_task task;
    const struct cfr_config_exit *config; /* borrowed */
    bool *ended;                          /* borrowed; set once the agent is to end */
    int pidfd;                            /* of the process, readable when it has ended; -1 = none is known */
    bool seen;                            /* one ran */
    bool reported;                        /* that its pid file is not read */
    struct cfr_now begin;
    int64_t gone_boot_ms; /* since when none runs, after one did */
};

/* Follows the process of C (NULL = none, as at the end) and sets *ENDED when the agent has to end. A process that C has
 * in common with the configuration before is followed further. */
void cfr_daemon_follow(struct cfr_daemon_follow *x, const struct cfr_config_exit *c, bool *ended);

#endif
