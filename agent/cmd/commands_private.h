/* SPDX-License-Identifier: MIT */
/* The subcommands' functions. Each returns an exit status (enum cfr_exit) and prints its own errors. */
#ifndef CFR_AGENT_CMD_COMMANDS_PRIVATE_H
#define CFR_AGENT_CMD_COMMANDS_PRIVATE_H

#include "agent/cli/command.h"
#include "agent/daemon/daemon.h"

/* Runs the subcommand of the command line. */
int cfr_cmd_main(int argc, char **argv);

/* What the command line says of the log. False, and it is printed why, if it is no level or format. */
bool cfr_cmd_log_options(const struct cfr_cli_options *o, struct cfr_daemon_options *out);

int cfr_cmd_run(const struct cfr_cli_options *o);
int cfr_cmd_once(const struct cfr_cli_options *o);
int cfr_cmd_init(const struct cfr_cli_options *o);
int cfr_cmd_status(const struct cfr_cli_options *o);
int cfr_cmd_rotate(const struct cfr_cli_options *o);
int cfr_cmd_forget(const struct cfr_cli_options *o);
int cfr_cmd_reload(const struct cfr_cli_options *o);
int cfr_cmd_wait(const struct cfr_cli_options *o);
int cfr_cmd_image(const struct cfr_cli_options *o);
int cfr_cmd_get(const struct cfr_cli_options *o);
int cfr_cmd_env(const struct cfr_cli_options *o);
int cfr_cmd_exec(const struct cfr_cli_options *o);
int cfr_cmd_quit(const struct cfr_cli_options *o);
int cfr_cmd_inspect(const struct cfr_cli_options *o);
int cfr_cmd_reference(const struct cfr_cli_options *o);
int cfr_cmd_completion(const struct cfr_cli_options *o);
int cfr_cmd_version(const struct cfr_cli_options *o);
int cfr_cmd_help(const struct cfr_cli_options *o);

#endif
