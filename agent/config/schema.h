/* SPDX-License-Identifier: MIT */
/* Tables below the root by which other rooms copy and free parts of a configuration. Constant. */
#ifndef CFR_AGENT_CONFIG_SCHEMA_H
#define CFR_AGENT_CONFIG_SCHEMA_H

#include "base/field.h"

extern const struct cfr_table cfr_config_exchange_table;
extern const struct cfr_table cfr_config_credential_table;
extern const struct cfr_table cfr_config_service_ca_table;

#endif
