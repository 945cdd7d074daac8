/* SPDX-License-Identifier: MIT */
/* Rules across the fields of one mapping, for the tables (see struct cfr_table). Fields that had an error of
 * their own are still empty when these are called. Pure. */
#ifndef CFR_AGENT_CONFIG_RULES_H
#define CFR_AGENT_CONFIG_RULES_H

#include "base/err.h"

int cfr_config_rules_root(const void *node, struct cfr_err *err);
int cfr_config_rules_credential(const void *node, struct cfr_err *err);
/* The name of a credential; NULL is allowed. */
int cfr_config_rules_name(const char *name, struct cfr_err *err);
/* agent/config_rules_image.c */
int cfr_config_rules_image(const void *node, struct cfr_err *err);
/* agent/config_rules_source.c */
int cfr_config_rules_bound(const void *node, struct cfr_err *err);
int cfr_config_rules_request(const void *node, struct cfr_err *err);
int cfr_config_rules_token(const void *node, struct cfr_err *err);
int cfr_config_rules_exchange(const void *node, struct cfr_err *err);
/* agent/config_rules_publish.c */
int cfr_config_rules_secret(const void *node, struct cfr_err *err);
int cfr_config_rules_publish(const void *node, struct cfr_err *err);
int cfr_config_rules_file(const void *node, struct cfr_err *err);
int cfr_config_rules_profile(const void *node, struct cfr_err *err);
int cfr_config_rules_hook(const void *node, struct cfr_err *err);
int cfr_config_rules_signal(const void *node, struct cfr_err *err);
int cfr_config_rules_http(const void *node, struct cfr_err *err);

#endif
