/* SPDX-License-Identifier: MIT */
/* The commands that a configuration names. Blocks on disk; cfr_daemon_has_commands does not. */
#ifndef CFR_AGENT_DAEMON_COMMANDS_PRIVATE_H
#define CFR_AGENT_DAEMON_COMMANDS_PRIVATE_H

#include "agent/daemon/needs_private.h"

/* True if CONFIG may have commands: it has hooks that run a program, or a kubeconfig. */
bool cfr_daemon_has_commands(const struct cfr_config *config);
/* Adds the commands of CONFIG to LIST (agent/loop/launcher.h), as they would be started now. */
void cfr_daemon_list_commands(const struct cfr_config *config, struct cfr_secret *list);
/* A cfr_launcher_read_fn: those of the configuration at CONFIG_PATH (NULL: of the environment). */
int cfr_daemon_read_commands(const void *config_path, struct cfr_secret *list, struct cfr_err *err);

#endif
