/* SPDX-License-Identifier: MIT */
/* Tables below the root that code other than the parser walks. */
#ifndef CFR_AGENT_CONFIG_SCHEMA_H
#define CFR_AGENT_CONFIG_SCHEMA_H

#include "base/field.h"

extern const struct cfr_table cfr_config_credential_table;
extern const struct cfr_table cfr_config_exchange_table;
extern const struct cfr_table cfr_config_exit_table;
extern const struct cfr_table cfr_config_image_table;
extern const struct cfr_table cfr_config_mint_table;
extern const struct cfr_table cfr_config_token_table;
extern const struct cfr_table cfr_config_mounted_table;
extern const struct cfr_table cfr_config_service_ca_table;
extern const struct cfr_table cfr_config_certificate_table;
extern const struct cfr_table cfr_config_publish_table;
extern const struct cfr_table cfr_config_endpoint_table;
extern const struct cfr_table cfr_config_allow_table;

#endif
