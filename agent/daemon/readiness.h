/* SPDX-License-Identifier: MIT */
/* Telling a supervisor when what its command needs is published. */
#ifndef CFR_AGENT_DAEMON_READINESS_H
#define CFR_AGENT_DAEMON_READINESS_H

#include "agent/daemon/daemon.h"

/* Written by the agent to its READY_FD. */
#define CFR_DAEMON_READINESS_READY  'r' /* what the command needs is published */
#define CFR_DAEMON_READINESS_FAILED 'f' /* something that it needs cannot be had, and waiting does not help */

/* True if every credential of WANTED, or without one (NULL, or empty) every required one, is published and valid. */
bool cfr_daemon_readiness_is_open(const struct cfr_daemon *a, const struct cfr_strings *wanted);
/* Writes to the options' ready_fd, once, that the gate is open or that it will not be. Does nothing without one. */
void cfr_daemon_readiness_tell(struct cfr_daemon *a);

#endif
