/* SPDX-License-Identifier: MIT */
/* Environment variables. */
#include "agent/loop/env.h"

#include <stdlib.h>

const char *cfr_env_get(const char *name)
{
    return getenv(name);
}
