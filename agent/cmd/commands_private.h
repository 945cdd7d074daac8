/* SPDX-License-Identifier: MIT */
/* The subcommands' functions. Each returns an exit status (enum cfr_exit) and prints its own errors. */
#ifndef CFR_AGENT_CMD_COMMANDS_PRIVATE_H
#define CFR_AGENT_CMD_COMMANDS_PRIVATE_H

#include "agent/cli/command.h"

int cfr_command_run(const struct cfr_options *o);
int cfr_command_once(const struct cfr_options *o);
int cfr_command_check(const struct cfr_options *o);
int cfr_command_status(const struct cfr_options *o);
int cfr_command_rotate(const struct cfr_options *o);
int cfr_command_reload(const struct cfr_options *o);
int cfr_command_wait(const struct cfr_options *o);
int cfr_command_image(const struct cfr_options *o);
int cfr_command_get(const struct cfr_options *o);
int cfr_command_env(const struct cfr_options *o);
int cfr_command_exec(const struct cfr_options *o);
int cfr_command_quit(const struct cfr_options *o);
int cfr_command_doctor(const struct cfr_options *o);
int cfr_command_oidc(const struct cfr_options *o);
int cfr_command_inspect(const struct cfr_options *o);
int cfr_command_reference(const struct cfr_options *o);
int cfr_command_completion(const struct cfr_options *o);
int cfr_command_version(const struct cfr_options *o);
int cfr_command_help(const struct cfr_options *o);

#endif
