/* SPDX-License-Identifier: MIT */
/* Keeps the service CA's bundle in the field caBundle of objects of the cluster: by server-side apply of that one
 * field, at once after the bundle has changed, and within a minute after an object was. An annotation with the CA's key
 * id marks the objects as this CA's: those of another CA are left as they are, and reported.
 *
 * Blocks on disk only (kubeconfigs); requests run on the loop. A struct cfr_service_ca_injector owns a copy of its
 * configuration; NULL is none, which all functions take. KUBE and the service CA are borrowed. No callbacks. A failure
 * is logged once, and repeated after agent/loop/backoff.h; it never touches what else is published. */
#ifndef CFR_AGENT_PKI_SERVICE_CA_INJECTOR_PRIVATE_H
#define CFR_AGENT_PKI_SERVICE_CA_INJECTOR_PRIVATE_H

#include "agent/kube/client.h"
#include "agent/pki/service_ca.h"
#include "serve/api/status.h"

struct cfr_service_ca_injector; /* NULL = nothing is injected */

/* Opens, changes or closes it as CONFIG says, of which nothing is kept. CFR_E_NOMEM. */
int cfr_service_ca_injector_configure(struct cfr_service_ca_injector **i, const struct cfr_config *config,
                                      struct cfr_kube *kube, struct cfr_err *err);
void cfr_service_ca_injector_close(struct cfr_service_ca_injector *i);
/* Starts what is due. Without a CA nothing is. */
void cfr_service_ca_injector_step(struct cfr_service_ca_injector *i, struct cfr_service_ca *ca, struct cfr_now now);
/* What waits after a failure of a request to WHERE, waits no longer. NULL is allowed. */
void cfr_service_ca_injector_resume(struct cfr_service_ca_injector *i, const struct cfr_kube_where *where,
                                    struct cfr_now now);
/* Boot time of the next thing to do, INT64_MAX if none. */
int64_t cfr_service_ca_injector_deadline(const struct cfr_service_ca_injector *i);
/* True until every entry has been looked at with the present bundle, or was refused. */
bool cfr_service_ca_injector_is_busy(const struct cfr_service_ca_injector *i);
/* True if the last look at one of them failed. */
bool cfr_service_ca_injector_is_failing(const struct cfr_service_ca_injector *i);
/* Adds its part to *OUT. The array lives until the next call. */
void cfr_service_ca_injector_status(struct cfr_service_ca_injector *i, struct cfr_api_status_authority *out);

#endif
