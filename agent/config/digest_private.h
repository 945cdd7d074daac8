/* SPDX-License-Identifier: MIT */
/* What a mapping says, as one number: the same however it is written, in whatever order and with whatever
 * comments. */
#ifndef CFR_AGENT_CONFIG_DIGEST_PRIVATE_H
#define CFR_AGENT_CONFIG_DIGEST_PRIVATE_H

#include "base/field.h"

#include <stdint.h>

/* 64-bit FNV-1a over keys and values in the order of the table, recursively, without those fields of TABLE
 * itself that have any of the flags SKIP. Defaults count as if they were written. */
uint64_t cfr_config_digest(const struct cfr_table *table, const void *node, unsigned skip);

#endif
