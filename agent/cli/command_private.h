/* SPDX-License-Identifier: MIT */
/* What the parser and the help texts share: a look into the grammar, and the name that a mistyped word is nearest to.
 * Nothing here allocates or blocks. */
#ifndef CFR_AGENT_CLI_COMMAND_PRIVATE_H
#define CFR_AGENT_CLI_COMMAND_PRIVATE_H

#include "agent/cli/command.h"

/* The last row has name NULL, and is returned for an unknown letter. */
const struct cfr_cli_option *cfr_cli_option_of(int letter);
/* True for the row that ends a command's parts. */
bool cfr_cli_is_end(const struct cfr_cli_part *p);

/* A search for the name that WORD is a typing error of: WORD is set, the rest 0. */
struct cfr_cli_nearest {
    const char *word;
    const char *name; /* borrowed; NULL: none is near */
    size_t distance;
};

/* Keeps NAME if it is nearer than what was seen before: at most 2 letters, and a third of NAME, differ. */
void cfr_cli_consider(struct cfr_cli_nearest *n, const char *name);

#endif
