/* SPDX-License-Identifier: MIT */
/* Launcher: a process that starts commands for us, and is forked before anything is read.
 *
 * What it starts has its rights, its limits and its signals, as they were then: we can give ours up
 * (agent/loop/sandbox.h), down to the right to start anything. What it starts is our child all the same (CLONE_PARENT
 * of clone(2)), for us to wait for. It ends with us. One for a process; its descriptor is not inherited. */
#ifndef CFR_AGENT_LOOP_LAUNCHER_H
#define CFR_AGENT_LOOP_LAUNCHER_H

#include "base/err.h"

/* Forks it. CFR_E_LIMIT, CFR_E_NOMEM, CFR_E_IO. */
int cfr_launcher_open(struct cfr_err *err);
/* A descriptor that is readable between calls only after the process has ended: then nothing can be started any more.
 * -1: it was not forked. */
int cfr_launcher_fd(void);
/* What is started from now on may gain no rights that it has not, as by a set-user-id program. */
void cfr_launcher_keep_privileges(void);

#endif
