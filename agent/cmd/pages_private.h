/* SPDX-License-Identifier: MIT */
/* Texts in the program: the configuration reference, the completion scripts, and the templates of `init`. */
#ifndef CFR_AGENT_CMD_PAGES_PRIVATE_H
#define CFR_AGENT_CMD_PAGES_PRIVATE_H

/* The text of the page NAME (markdown, man, bash, zsh, fish, init), which the caller frees. NULL if memory is short or
 * there is no such page. */
char *cfr_cmd_page(const char *name);
/* Prints the page NAME to standard output. Returns an exit status. */
int cfr_cmd_print_page(const char *name);

#endif
