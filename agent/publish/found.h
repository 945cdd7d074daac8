/* SPDX-License-Identifier: MIT */
/* Finds what a credential's targets held before credfresh first publishes there, or what is at the path that it adopts
 * a key from. Blocks on disk, never on the network or on a file system that may not answer. The search borrows the
 * configuration and the client; DONE is called once from cfr_http_step or the client, unless the search is ended, and
 * may end it. */
#ifndef CFR_AGENT_PUBLISH_FOUND_H
#define CFR_AGENT_PUBLISH_FOUND_H

#include "agent/config/config.h"
#include "agent/kube/client.h"
#include "rotation/found.h"

struct cfr_publish_search;

/* RC as cfr_publish_find returns it, but for 1; FOUND is the callee's to free. */
typedef void cfr_publish_found_fn(void *ctx, int rc, struct cfr_rotation_found *found, struct cfr_err *err);

/* Reads what C's mint.adopt names: a path, or the first target that holds anything. 0: FOUND has it. 1: a Secret of the
 * cluster is being read; *OUT is the search, and DONE is called. CFR_E_MISSING: there is nothing; or an error. */
int cfr_publish_find(const struct cfr_config_credential *c, struct cfr_kube *kube, cfr_publish_found_fn *done,
                     void *ctx, struct cfr_publish_search **out, struct cfr_rotation_found *found, struct cfr_err *err);
/* NULL is allowed. */
void cfr_publish_search_end(struct cfr_publish_search *s);

#endif
