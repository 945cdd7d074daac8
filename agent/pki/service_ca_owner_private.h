/* SPDX-License-Identifier: MIT */
/* To which CA the objects of the cluster belong. */
#ifndef CFR_AGENT_PKI_SERVICE_CA_OWNER_PRIVATE_H
#define CFR_AGENT_PKI_SERVICE_CA_OWNER_PRIVATE_H

#include "agent/pki/service_ca_injector_private.h"

/* The key id of the newest CA, in hexadecimal; empty if there is none. Lives until the next step. */
const char *cfr_service_ca_key_id(const struct cfr_service_ca *s);
/* True if KEY_ID is that of the newest CA, or of one that it replaced and remembers. */
bool cfr_service_ca_has_key(const struct cfr_service_ca *s, const char *key_id);
/* Whether certificates of SIGNER, in the cluster AT, verify with the ClusterTrustBundles of the signer: 0 also if there
 * are none here. CFR_E_CONFLICT: one has another CA's bundle; CFR_E_UNAVAILABLE: that is not known yet. */
int cfr_service_ca_injector_may_sign(const struct cfr_service_ca_injector *i, const char *signer,
                                     const struct cfr_kube_where *at, struct cfr_err *err);

#endif
