/* SPDX-License-Identifier: MIT */
/* Rules across the fields of one mapping, for the tables (see struct cfr_table). Fields that had an error of
 * their own are still empty when these are called. Pure. */
#ifndef CFR_AGENT_CONFIG_VALIDATE_PRIVATE_H
#define CFR_AGENT_CONFIG_VALIDATE_PRIVATE_H

#include "base/err.h"

#include <stdbool.h>

int cfr_config_rules_root(const void *node, struct cfr_err *err);
int cfr_config_rules_credential(const void *node, struct cfr_err *err);
/* The name of a credential; NULL is allowed. */
int cfr_config_rules_name(const char *name, struct cfr_err *err);
int cfr_config_rules_exit(const void *node, struct cfr_err *err);
/* agent/config/validate_ca.c */
int cfr_config_rules_service_ca(const void *node, struct cfr_err *err);
int cfr_config_rules_ca_inject(const void *node, struct cfr_err *err);
/* Which of the `defaults` a credential can have. */
bool cfr_config_takes_default(const void *node, const char *key);
/* agent/config/validate_rotation.c */
int cfr_config_rules_mint(const void *node, struct cfr_err *err);
int cfr_config_rules_mint_state(const void *node, struct cfr_err *err);
int cfr_config_rules_default_mint(const void *node, struct cfr_err *err);
/* agent/config/validate_image.c */
int cfr_config_rules_image(const void *node, struct cfr_err *err);
/* agent/config/validate_endpoint.c */
int cfr_config_rules_endpoint(const void *node, struct cfr_err *err);
/* agent/config/validate_source.c */
int cfr_config_rules_bound(const void *node, struct cfr_err *err);
int cfr_config_rules_request(const void *node, struct cfr_err *err);
int cfr_config_rules_token(const void *node, struct cfr_err *err);
int cfr_config_rules_exchange(const void *node, struct cfr_err *err);
/* agent/config/validate_publish.c */
int cfr_config_rules_secret(const void *node, struct cfr_err *err);
int cfr_config_rules_configmap(const void *node, struct cfr_err *err);
int cfr_config_rules_publish(const void *node, struct cfr_err *err);
int cfr_config_rules_file(const void *node, struct cfr_err *err);
int cfr_config_rules_hook(const void *node, struct cfr_err *err);
struct cfr_config_credential;
int cfr_config_rules_acknowledge(const void *node, struct cfr_err *err);
/* agent/config/validate_rotation.c: what C has besides a `mint`. */
int cfr_config_rules_minted(const struct cfr_config_credential *c, struct cfr_err *err);
/* Everything that the consumers of C acknowledge by. */
int cfr_config_rules_acknowledges(const struct cfr_config_credential *c, struct cfr_err *err);

#endif
