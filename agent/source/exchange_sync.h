/* SPDX-License-Identifier: MIT */
/* One exchange outside a running agent, for commands that fetch a credential and end. Publishes nothing.
 * Blocks until the exchange ends or its time is up. Inputs are moved in; the caller frees the grant. A callback must
 * not start another exchange. Errors are those of the exchange, and CFR_E_TIMEOUT. */
#ifndef CFR_AGENT_SOURCE_EXCHANGE_SYNC_H
#define CFR_AGENT_SOURCE_EXCHANGE_SYNC_H

#include "agent/source/exchange.h"

/* Exchanges M (moved out of), which was read for C; DONE is called once, unless what is returned is an error that kept
 * it from that: CFR_E_TIMEOUT at END_BOOT_MS, or an exchange that could not be started. Blocks until then. */
int cfr_source_sync_exchange(const struct cfr_config_credential *c, struct cfr_source_inputs *m, int64_t end_boot_ms,
                             cfr_source_exchange_fn *done, void *ctx, struct cfr_err *err);
/* One try: 0, or an error with ERR set; *RETRY_AFTER_S, which is -1 before, is what the server asked for. */
typedef int cfr_source_sync_try_fn(void *ctx, int64_t *retry_after_s, struct cfr_err *err);
/* Calls TRY until it succeeds, fails with an error that no retry changes (of another class than RETRY), or no other try
 * fits before END_BOOT_MS, and returns why the last one failed. Pauses as the agent does, see agent/loop/backoff.h. */
int cfr_source_sync_retry(cfr_source_sync_try_fn *try, void *ctx, int64_t end_boot_ms, struct cfr_err *err);
/* Reads what C begins with, exchanges it where the configuration says so, and fills OUT, with its times by this
 * machine's clock; with retries. The caller frees OUT in every case. */
int cfr_source_sync_grant(const struct cfr_config_credential *c, int64_t end_boot_ms, struct cfr_grant *out,
                          struct cfr_err *err);

#endif
