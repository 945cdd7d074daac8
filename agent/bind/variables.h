/* SPDX-License-Identifier: MIT */
/* Errors about a configuration that was made from the environment, in the names that the environment has. Pure. */
#ifndef CFR_AGENT_BIND_VARIABLES_H
#define CFR_AGENT_BIND_VARIABLES_H

#include <stddef.h>

/* Replaces the keys in TEXT, an error about that configuration in a buffer of SIZE bytes, by the variables that they
 * were made from, or that the user has to set. TEXT begins with the key, or, where CREDENTIAL is NULL, with "credential
 * NAME: " or a key of the whole configuration. */
void cfr_config_diagnostics_name_variables(const char *(*env)(const char *), const char *credential, char *text,
                                           size_t size);

#endif
