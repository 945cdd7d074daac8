/* SPDX-License-Identifier: MIT */
/* What a mapping says, as one number: the same however it is written, in whatever order and with whatever
 * comments. */
#ifndef CFR_AGENT_CONFIG_DIGEST_PRIVATE_H
#define CFR_AGENT_CONFIG_DIGEST_PRIVATE_H

#include "base/field.h"

#include <stdint.h>

/* 64-bit FNV-1a over keys and values in the order of the table, recursively, without the keys in SKIP
 * (NULL-terminated; may be NULL), which are looked for in TABLE itself only. Defaults count as if they were
 * written. */
uint64_t cfr_config_digest(const struct cfr_table *table, const void *node, const char *const *skip);

#endif
