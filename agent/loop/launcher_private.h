/* SPDX-License-Identifier: MIT */
/* How commands are handed to the launcher. */
#ifndef CFR_AGENT_LOOP_LAUNCHER_PRIVATE_H
#define CFR_AGENT_LOOP_LAUNCHER_PRIVATE_H

#include "agent/loop/launcher.h"

#include <stdbool.h>
#include <sys/types.h>

bool cfr_launcher_is_open(void);
/* Starts ARGV (argv[0] absolute) as cfr_process_start says, with standard output to OUT_FD. Waits until it runs; the
 * launcher does nothing else meanwhile. */
int cfr_launcher_start(char *const *argv, char *const *environment, int out_fd, pid_t *pid, struct cfr_err *err);

#endif
