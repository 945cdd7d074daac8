/* SPDX-License-Identifier: MIT */
/* Tries a new key by real use, where that is an exchange as any credential's: what it grants is thrown away.
 */
#ifndef CFR_AGENT_ROTATION_VERIFY_PRIVATE_H
#define CFR_AGENT_ROTATION_VERIFY_PRIVATE_H

#include "agent/source/exchange.h"
#include "rotation/provider.h"

struct cfr_trial; /* exists only while an exchange is under way */

/* Starts what WHAT says, for CREDENTIAL, which is borrowed until the callback or a cancel; WHAT is copied.
 * DONE is called once, from cfr_http_step; *OUT is gone after. An error here means that nothing was started;
 * CFR_E_CONFIG also for a key that is used without any server, and so cannot be tried. */
int cfr_rotator_verify_start(struct cfr_http *http, const struct cfr_config_credential *credential,
                             const struct cfr_rotation_trial *what, cfr_source_exchange_fn *done, void *ctx,
                             struct cfr_trial **out, struct cfr_err *err);
/* NULL is allowed. */
void cfr_rotator_verify_cancel(struct cfr_trial *t);

#endif
