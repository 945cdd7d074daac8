/* SPDX-License-Identifier: MIT */
/* Tables below the root, and how their rows are written. */
#ifndef CFR_AGENT_CONFIG_SCHEMA_PRIVATE_H
#define CFR_AGENT_CONFIG_SCHEMA_PRIVATE_H

#include "agent/config/config.h"
#include "agent/config/validate_private.h"
#include "agent/config/schema.h"

extern const struct cfr_table cfr_config_allow_table;
extern const struct cfr_table cfr_config_endpoint_table;
extern const struct cfr_table cfr_config_image_table;
extern const struct cfr_table cfr_config_publish_table;
extern const struct cfr_table cfr_config_mint_table;
extern const struct cfr_table cfr_config_default_mint_table;
extern const struct cfr_table cfr_config_defaults_table;
extern const struct cfr_table cfr_config_mounted_table;
extern const struct cfr_table cfr_config_token_table;

/* The registered kinds of sources, targets and hooks: agent/config/kinds.c. */
struct cfr_variant cfr_config_source_variant(size_t index);
struct cfr_variant cfr_config_hook_variant(size_t index);
struct cfr_variant cfr_config_target_variant(size_t index);

/* The head of a row. AT(member) is the member's offset; the key is its name, or KEY. */
#define FIELD(member, kind)          .key = #member, .type = CFR_FIELD_##kind, .offset = AT(member)
#define FIELD_AS(name, member, kind) .key = (name), .type = CFR_FIELD_##kind, .offset = AT(member)

/* Writes the keys of a registry as "`a`, `b` WORD `c`" into BUF and returns it: agent/config/kinds.c. */
#define CFR_CONFIG_KEYS_MAX 256
const char *cfr_config_keys(struct cfr_variant (*variant)(size_t index), const char *word,
                            char buf[CFR_CONFIG_KEYS_MAX]);

#endif
