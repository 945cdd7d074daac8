/* SPDX-License-Identifier: MIT */
/* Environment variables, in the type in which the pure rooms look them up. Does not block; the value is the
 * environment's and lives as long as nothing sets the variable. */
#ifndef CFR_AGENT_LOOP_ENV_H
#define CFR_AGENT_LOOP_ENV_H

#include "wire/request.h"

/* The value of the environment variable NAME, or NULL. */
const char *cfr_env_get(const char *name);
/* The CA file of the request R: its ca_file, else what its ca_variable holds. NULL = the system's CA. Borrowed. */
const char *cfr_env_ca_file(const struct cfr_wire_request *r);

#endif
