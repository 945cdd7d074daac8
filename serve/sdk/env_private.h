/* SPDX-License-Identifier: MIT */
/* The part of the list of variables that only shapes use. */
#ifndef CFR_SERVE_SDK_ENV_PRIVATE_H
#define CFR_SERVE_SDK_ENV_PRIVATE_H

#include "serve/sdk/env.h"

/* As cfr_sdk_env_set: the value is the content of the file PATH. */
int cfr_sdk_env_set_file(struct cfr_sdk_env *e, enum cfr_sdk_env_way way, const char *name, const char *path,
                         struct cfr_err *err);

#endif
