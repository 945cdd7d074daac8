/* SPDX-License-Identifier: MIT */
/* How rows of the configuration's tables are written; private to agent/config_tables*.c, but for defaults
 * that hold also where nothing is configured. */
#ifndef CFR_AGENT_CONFIG_SCHEMA_PRIVATE_H
#define CFR_AGENT_CONFIG_SCHEMA_PRIVATE_H

#include "agent/config/config.h"
#include "agent/config/validate_private.h"
#include "agent/config/schema.h"

/* The head of a row. AT(member) is the member's offset; the key is its name, or KEY. */
#define FIELD(member, kind)          .key = #member, .type = CFR_FIELD_##kind, .offset = AT(member)
#define FIELD_AS(name, member, kind) .key = (name), .type = CFR_FIELD_##kind, .offset = AT(member)

#endif
