/* SPDX-License-Identifier: MIT */
/* Ends the agent when another process has ended. */
#ifndef CFR_AGENT_DAEMON_FOLLOW_PROCESS_PRIVATE_H
#define CFR_AGENT_DAEMON_FOLLOW_PROCESS_PRIVATE_H

#include "agent/loop/clock.h"
#include "agent/config/config.h"

/* Zero-initialised but for pidfd, which is -1. */
struct cfr_daemon_follow {
    int pidfd; /* of the process, readable when it has ended; -1 = none is known */
    bool seen; /* one ran */
    bool began;
    bool reported; /* that its pid file is not read */
    struct cfr_now begin;
    int64_t gone_boot_ms; /* since when none runs, after one did */
    int64_t next_boot_ms; /* when to look again */
};

/* Looks for the process of C (NULL = none) if it is time to. True once the agent is to end. */
bool cfr_daemon_follow_step(struct cfr_daemon_follow *x, const struct cfr_config_exit *c, struct cfr_now now);
/* Boot time of the next look, INT64_MAX if none is needed. */
int64_t cfr_daemon_follow_deadline(const struct cfr_daemon_follow *x);
/* Forgets the process, as after a reload that names another one. */
void cfr_daemon_follow_reset(struct cfr_daemon_follow *x);

#endif
