/* SPDX-License-Identifier: MIT */
/* The service CA at work: it keeps the authority in its store, rotates it when that is due or forced, and gives
 * credentials what they are issued. The store is always written before anything that depends on it can be published. */
#ifndef CFR_AGENT_PKI_SERVICE_CA_H
#define CFR_AGENT_PKI_SERVICE_CA_H

#include "agent/loop/clock.h"
#include "agent/config/config.h"
#include "base/grant.h"
#include "serve/api/status.h"

struct cfr_service_ca; /* NULL = there is none */

/* Takes what CONFIG says of it: makes it, changes its rules, or closes it. STATE_FD, which is kept, tells whether there
 * was one before, so that a store that was lost is not taken for a beginning. Nothing of CONFIG is kept. What is wrong
 * with the store is told later, by what needs it. CFR_E_NOMEM. Blocks on disk. */
int cfr_service_ca_take(struct cfr_service_ca **s, const struct cfr_config *config, int state_fd, struct cfr_err *err);
void cfr_service_ca_close(struct cfr_service_ca *s);

/* Does what is due. True if what is issued is another one since the last call. Blocks on disk, and while an RSA key is
 * made. */
bool cfr_service_ca_step(struct cfr_service_ca *s, struct cfr_now now);
/* Boot time of the next thing to do, INT64_MAX if none. */
int64_t cfr_service_ca_deadline(const struct cfr_service_ca *s);
/* The wall clock was set: looks again at the next step. */
void cfr_service_ca_on_clock(struct cfr_service_ca *s);

/* *MARK changes when what C is issued has to be issued anew. The error of the store if there is no CA. */
int cfr_service_ca_mark(const struct cfr_service_ca *s, struct cfr_now now, uint64_t *mark, struct cfr_err *err);
/* Issues what C asks for: a new certificate with its key and the bundle, or the bundle alone. */
int cfr_service_ca_grant(const struct cfr_service_ca *s, const struct cfr_config_credential *c, struct cfr_now now,
                         struct cfr_grant *out, struct cfr_err *err);

/* False if there is none. Strings live until the next step. */
bool cfr_service_ca_status(const struct cfr_service_ca *s, struct cfr_api_status_authority *out);

#endif
