/* SPDX-License-Identifier: MIT */
/* The environment of a program that is to use a credential: from what the configuration serves and publishes. Pure. */
#ifndef CFR_AGENT_CONFIG_SDK_ENVIRONMENT_H
#define CFR_AGENT_CONFIG_SDK_ENVIRONMENT_H

#include "agent/config/config.h"
#include "serve/sdk/env.h"

/* Collects in OUT (empty before) the variables that point SDKs at CREDENTIAL: for every endpoint of CONFIG that serves
 * it, and for every file that it publishes in a format that some SDK finds by a variable. Where an endpoint and a file
 * would serve the same SDKs, the endpoint's are taken and a note names the file's: SDKs ask an endpoint again, and read
 * most files once. OUT may be empty after success: nothing is served or published that a variable could name (a note
 * says so). CFR_E_NOMEM, CFR_E_LIMIT. The caller frees OUT with cfr_sdk_env_free in every case. */
int cfr_config_sdk_environment(const struct cfr_config *config, const struct cfr_config_credential *credential,
                               struct cfr_sdk_env *out, struct cfr_err *err);
/* The ARN of the role whose keys C's exchange at AWS ends with, borrowed from C; NULL if the configuration names none.
 */
const char *cfr_config_sdk_role_arn(const struct cfr_config_credential *c);

#endif
