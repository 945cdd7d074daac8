/* SPDX-License-Identifier: MIT */
/* A configuration of credfresh for the built-in identities, to begin with. */
#ifndef LC_EXAMPLE_H
#define LC_EXAMPLE_H

#include "json.h"

/* Writes DIR/credfresh.yaml, which takes its URLs from ready.json's document, and the secret that it names. Replaces
 * both. */
int lc_example_write(const char *dir, json_t *ready, struct lc_fail *fail);

#endif
