/* SPDX-License-Identifier: MIT */
/* With no configuration file: the configuration that follows from the environment which the clouds' webhooks and
 * OpenShift's OLM inject, and SDKs read. */
#ifndef CFR_AGENT_CONFIG_FROM_ENVIRONMENT_H
#define CFR_AGENT_CONFIG_FROM_ENVIRONMENT_H

#include "base/err.h"
#include "base/str.h"

/* Appends the configuration as YAML to OUT, with comments that say where each part comes from. CFR_E_MISSING if the
 * environment names nothing (the error lists what is looked for); CFR_E_CONFIG if it names half of something, or what
 * cannot be read. Blocks on disk: GOOGLE_APPLICATION_CREDENTIALS names a file that has to be looked into. */
int cfr_config_environment_yaml(const char *(*env)(const char *), struct cfr_str *out, struct cfr_err *err);

#endif
