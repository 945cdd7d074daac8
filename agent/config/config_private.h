/* SPDX-License-Identifier: MIT */
/* Parsing without files, and questions about a credential that only this room asks. Does not block. */
#ifndef CFR_AGENT_CONFIG_CONFIG_PRIVATE_H
#define CFR_AGENT_CONFIG_CONFIG_PRIVATE_H

#include "agent/config/config.h"
#include "base/field.h"

#include <stdint.h>

#define CFR_CONFIG_SOCKET_NAME "control.sock" /* in state_dir */

/* As cfr_config_load, from memory, without looking at files, users and groups. */
int cfr_config_parse(const char *path, struct cfr_view text, const char *(*env)(const char *), struct cfr_config **out,
                     struct cfr_str *all, struct cfr_err *err);
/* The configuration of C's exchange if that is with PROVIDER, else NULL. */
const void *cfr_config_exchange_of(const struct cfr_config_credential *c, const struct cfr_sts_provider *provider);
/* Whether credentials of this kind have the grant field NEEDS (NULL: any), as far as that is known before they are
 * there: what a mounted Secret leads to is not. */
bool cfr_config_may_have(const struct cfr_config_credential *c, const char *needs);

/* What a mapping says, as one number: the same however it is written, in whatever order and with whatever
 * comments. 64-bit FNV-1a over keys and values in the order of the table, recursively, without those fields of TABLE
 * itself that have any of the flags SKIP. Defaults count as if they were written. */
uint64_t cfr_config_digest(const struct cfr_table *table, const void *node, unsigned skip);

#endif
