/* SPDX-License-Identifier: MIT */
/* How rows of the configuration's tables are written; private to agent/config_tables*.c, but for defaults
 * that hold also where nothing is configured. */
#ifndef CFR_AGENT_CONFIG_ROWS_H
#define CFR_AGENT_CONFIG_ROWS_H

#include "agent/config.h"
#include "agent/config_rules.h"
#include "agent/config_tables.h"

#define CFR_SECOND_MS INT64_C(1000)
#define CFR_MINUTE_MS (60 * CFR_SECOND_MS)
#define CFR_HOUR_MS   (60 * CFR_MINUTE_MS)
#define CFR_DAY_MS    (24 * CFR_HOUR_MS)

/* What holds for consumers of which nothing else is said. */
#define CFR_ACK_LIMIT           "1h"
#define CFR_ACK_LIMIT_MS        CFR_HOUR_MS
#define CFR_ACK_BEHIND_AFTER    "5m"
#define CFR_ACK_BEHIND_AFTER_MS (5 * CFR_MINUTE_MS)

/* The head of a row. AT(member) is the member's offset; the key is its name, or KEY. */
#define FIELD(member, kind)          .key = #member, .type = CFR_FIELD_##kind, .offset = AT(member)
#define FIELD_AS(name, member, kind) .key = (name), .type = CFR_FIELD_##kind, .offset = AT(member)

#endif
