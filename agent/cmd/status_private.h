/* SPDX-License-Identifier: MIT */
/* The table of `credfresh status`. It prints to standard output and does not block. */
#ifndef CFR_AGENT_CMD_STATUS_PRIVATE_H
#define CFR_AGENT_CMD_STATUS_PRIVATE_H

#include "agent/cli/command.h"
#include "base/json.h"

#include <stdbool.h>
#include <stdint.h>

/* Whether the command line O asks for the credential C. */
bool cfr_cmd_status_is_shown(const struct cfr_cli_options *o, const struct cfr_json *c, int64_t now_s);
/* Prints DOC, the agent's status, at NOW_S within COLUMNS; 0: a line is as long as it needs. */
void cfr_cmd_status_print(const struct cfr_json *doc, const struct cfr_cli_options *o, bool colours, int columns,
                          int64_t now_s);

#endif
