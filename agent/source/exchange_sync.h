/* SPDX-License-Identifier: MIT */
/* One exchange without the agent's loop, for commands that are asked for a credential and end. Publishes nothing. */
#ifndef CFR_AGENT_SOURCE_EXCHANGE_SYNC_H
#define CFR_AGENT_SOURCE_EXCHANGE_SYNC_H

#include "agent/source/exchange.h"

/* Exchanges M (moved out of), which was read for C; DONE is called once, unless what is returned is an error that kept
 * it from that: CFR_E_TIMEOUT at END_BOOT_MS, or an exchange that could not be started. Blocks until then. */
int cfr_source_sync_exchange(const struct cfr_config_credential *c, struct cfr_source_inputs *m, int64_t end_boot_ms,
                             cfr_source_exchange_fn *done, void *ctx, struct cfr_err *err);
/* Reads what C begins with, exchanges it where that is to be done, and gives OUT, with its times by this machine's
 * clock. The caller frees OUT in every case. */
int cfr_source_sync_grant(const struct cfr_config_credential *c, int64_t end_boot_ms, struct cfr_grant *out,
                          struct cfr_err *err);

#endif
