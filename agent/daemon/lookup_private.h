/* SPDX-License-Identifier: MIT */
/* Lookup of credentials by name, and of what they can serve. */
#ifndef CFR_AGENT_DAEMON_LOOKUP_PRIVATE_H
#define CFR_AGENT_DAEMON_LOOKUP_PRIVATE_H

#include "agent/daemon/daemon_private.h"
#include "serve/sdk/endpoint.h"

/* What credential NAME has to offer now; OUT borrows from its worker until the loop's next turn. False if there is no
 * such credential. One that the configuration does not serve is kept in memory from then on, and exchanged soon. */
bool cfr_daemon_offer(struct cfr_daemon *a, const char *name, struct cfr_offer *out);
/* A rotation that is due or under way needs the credential NAME. */
bool cfr_daemon_admin_needed(const struct cfr_daemon *a, const char *name);
/* The credential NAME has something new to offer to rotations. */
void cfr_daemon_admin_changed(const struct cfr_daemon *a, const char *name);
/* The worker of credential NAME, or NULL. */
struct cfr_worker *cfr_daemon_worker(const struct cfr_daemon *a, const char *name);
/* After every change of the agent's workers: makes finding them by name quick. */
void cfr_daemon_index_workers(struct cfr_daemon *a);

#endif
