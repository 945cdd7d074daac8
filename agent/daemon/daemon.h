/* SPDX-License-Identifier: MIT */
/* The agent: all workers, the servers, and the loop that routes events to them.
 * cfr_daemon_run blocks until the agent ends; options are borrowed for as long. Errors are logged and become the exit
 * status. One agent for each state directory. */
#ifndef CFR_AGENT_DAEMON_DAEMON_H
#define CFR_AGENT_DAEMON_DAEMON_H

#include "agent/config/config.h"
#include "base/log.h"

struct cfr_daemon_options {
    const char *config_path;
    bool once;
    int64_t timeout_ms;                    /* of once */
    int ready_fd;                          /* of a supervisor, see agent/daemon/readiness.h; 0 = none */
    const enum cfr_log_level *log_level;   /* NULL: the configuration's */
    const enum cfr_log_format *log_format; /* NULL: the configuration's */
    const struct cfr_strings *gate;        /* the credentials that it waits for; NULL = all that are required */
};

/* Runs until a signal or, with once, until everything is published or the time is up. Returns an exit status. */
int cfr_daemon_run(const struct cfr_daemon_options *options);

#endif
