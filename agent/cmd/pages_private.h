/* SPDX-License-Identifier: MIT */
/* Pages that the program prints: the configuration reference and the completion scripts. */
#ifndef CFR_AGENT_CMD_PAGES_PRIVATE_H
#define CFR_AGENT_CMD_PAGES_PRIVATE_H

#include <stdbool.h>

/* Prints the page NAME (markdown, man, bash, zsh, fish) to standard output; *STATUS is then an exit status. Returns
 * false if there is no such page. */
bool cfr_cmd_print_page(const char *name, int *status);

#endif
