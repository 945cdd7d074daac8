/* SPDX-License-Identifier: MIT */
/* The service CA's life, for its module. NULL is a service CA that is not configured, and is allowed everywhere. */
#ifndef CFR_AGENT_PKI_SERVICE_CA_PRIVATE_H
#define CFR_AGENT_PKI_SERVICE_CA_PRIVATE_H

#include "agent/pki/service_ca.h"
#include "serve/api/status.h"

/* Opens it, changes its rules, or closes it, as CONFIG says, of which nothing is kept. STATE_FD, which is kept, has the
 * marker of an earlier CA, so that a store that was lost does not look like a first start. CFR_E_NOMEM. */
int cfr_service_ca_configure(struct cfr_service_ca **s, const struct cfr_config *config, int state_fd,
                             struct cfr_err *err);
void cfr_service_ca_close(struct cfr_service_ca *s);

/* The first cfr_service_ca_step, before the loop runs: blocks for up to 1 s while the store does not answer. */
void cfr_service_ca_start(struct cfr_service_ca *s, struct cfr_now now);
/* Does what is due. True if what is issued has changed since the last call. */
bool cfr_service_ca_step(struct cfr_service_ca *s, struct cfr_now now);
/* Boot time of the next thing to do, INT64_MAX if none. */
int64_t cfr_service_ca_deadline(const struct cfr_service_ca *s);
/* The wall clock was set: the next step checks everything. */
void cfr_service_ca_on_clock(struct cfr_service_ca *s);

/* After SIGCHLD: a key may have been made, and the next step uses it. */
void cfr_service_ca_on_child(struct cfr_service_ca *s);
/* True while a child makes the key of the next CA, as of the last step. */
bool cfr_service_ca_is_rotating(const struct cfr_service_ca *s);

/* False if there is none. Strings live until the next step. */
bool cfr_service_ca_status(const struct cfr_service_ca *s, struct cfr_api_status_authority *out);

#endif
