/* SPDX-License-Identifier: MIT */
/* The subcommands' functions. Each returns an exit status (enum cfr_exit) and prints its own errors. */
#ifndef CFR_AGENT_CMD_COMMANDS_PRIVATE_H
#define CFR_AGENT_CMD_COMMANDS_PRIVATE_H

#include "agent/cli/command.h"
#include "agent/daemon/daemon.h"
#include "base/json.h"

#include <stdbool.h>
#include <stdint.h>

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

/* ---- texts in the program: the configuration reference, the completion scripts, and the templates of `init` ---- */

/* The text of the page NAME (markdown, man, bash, zsh, fish, init), which the caller frees. NULL if memory is short or
 * there is no such page. */
char *cfr_cmd_page(const char *name);
/* Prints the page NAME to standard output. Returns an exit status. */
int cfr_cmd_print_page(const char *name);

/* ---- the table of `credfresh status`. It prints to standard output and does not block ---- */

/* Whether the command line O asks for the credential C. */
bool cfr_cmd_status_is_shown(const struct cfr_cli_options *o, const struct cfr_json *c, int64_t now_s);
/* Prints DOC, the agent's status, at NOW_S within COLUMNS; 0: a line is as long as it needs. */
void cfr_cmd_status_print(const struct cfr_json *doc, const struct cfr_cli_options *o, bool colours, int columns,
                          int64_t now_s);

/* A command and the agent that keeps its credentials fresh, each a separate process, under one parent: the parent
 * publishes first, forwards signals, reaps orphans, and exits as the command exits. It can be process 1. */
struct cfr_cmd_supervise {
    char *const *argv;        /* the command; argv[0] is looked for in PATH */
    char *const *environment; /* its own */
    /* Runs the agent. Called in a separate process, whose exit status is the result. READY_FD is 0 for one that takes
     * over from an agent that failed. */
    int (*agent)(void *ctx, int ready_fd);
    void *ctx;
    int64_t timeout_ms; /* until what the command needs is published */
    int64_t grace_ms;   /* from SIGTERM to SIGKILL: for the agent, and the rest of the command's process group */
};

/* Returns an exit status: the command's own, 128 and the signal that ended it, 126 or 127 if it could not be started;
 * or, if it never came to that, the agent's, CFR_EXIT_TIMEOUT, or 128 and the signal that ended the waiting. */
int cfr_cmd_supervise_run(const struct cfr_cmd_supervise *s);

#endif
