/* SPDX-License-Identifier: MIT */
/* The configuration file of the local cloud. */
#ifndef LC_CONFIG_H
#define LC_CONFIG_H

#include "json.h"

/* Reads the file and checks its outline; without a file (NULL) it is the built-in demo configuration. The
 * caller drops it. */
json_t *lc_config_load(const char *path, struct lc_fail *fail);

/* "region", or NULL. Borrowed from the configuration. */
const char *lc_config_region(json_t *config);

/* The array or a service's section under name, never NULL after lc_config_load. Borrowed. */
json_t *lc_config_part(json_t *config, const char *name);

#endif
