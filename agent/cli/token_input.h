/* SPDX-License-Identifier: MIT */
/* Reads the token that a command line names. Blocks until the writer of a pipe ends. */
#ifndef CFR_AGENT_CLI_TOKEN_INPUT_H
#define CFR_AGENT_CLI_TOKEN_INPUT_H

#include "base/secret.h"

/* Appends the token to OUT, whose limit is one byte more than a token may have: ARGUMENT is a file, a pipe such as that
 * of <(COMMAND), or "-", which is standard input. With LITERAL it may also be the token itself, which is then wiped
 * from the command line, with a warning. Errors of files/file.h, CFR_E_LIMIT; no text holds a token. */
int cfr_cli_read_token(char *argument, bool literal, struct cfr_secret *out, struct cfr_err *err);

#endif
