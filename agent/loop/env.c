/* SPDX-License-Identifier: MIT */
/* Environment variables. */
#include "agent/loop/env.h"

#include <stdlib.h>

const char *cfr_env_get(const char *name)
{
    return getenv(name);
}

const char *cfr_env_ca_file(const struct cfr_wire_request *r)
{
    const char *named = r->ca_variable != NULL ? getenv(r->ca_variable) : NULL;

    if (r->ca_file != NULL)
        return r->ca_file;
    return named != NULL && named[0] != '\0' ? named : NULL;
}
