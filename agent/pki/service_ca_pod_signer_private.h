/* SPDX-License-Identifier: MIT */
/* Signs PodCertificateRequests of clusters (KEP-4317) with the service CA: follows the metadata of a signer's requests
 * (agent/kube/stream.h), reads each that is new, and writes its status once: a certificate, or a denial by the rules. A
 * failure of ours, of the CA or of the API server is never written into a request, since that would be final for the
 * pod: the request is tried again.
 *
 * Blocks on disk only (kubeconfigs); requests run on the loop. A struct cfr_service_ca_pod_signer owns a copy of its
 * configuration; NULL is none, which all functions take. KUBE and the service CA are borrowed. No callbacks. A failure
 * is logged once, and repeated after agent/loop/backoff.h, one of a single request without holding up the others. */
#ifndef CFR_AGENT_PKI_SERVICE_CA_POD_SIGNER_PRIVATE_H
#define CFR_AGENT_PKI_SERVICE_CA_POD_SIGNER_PRIVATE_H

#include "agent/kube/client.h"
#include "agent/pki/service_ca.h"
#include "serve/api/status.h"
#include "agent/pki/service_ca_injector_private.h"

struct cfr_service_ca_pod_signer; /* NULL = nothing is signed */

/* Opens, changes or closes it as CONFIG says, of which nothing is kept. CFR_E_NOMEM. */
int cfr_service_ca_pod_signer_configure(struct cfr_service_ca_pod_signer **s, const struct cfr_config *config,
                                        struct cfr_kube *kube, struct cfr_err *err);
void cfr_service_ca_pod_signer_close(struct cfr_service_ca_pod_signer *s);
/* Starts what is due. Without a CA nothing is, nor while the signer's ClusterTrustBundles, which BUNDLES publishes,
 * have another CA's bundle. CA is kept until the next call. */
void cfr_service_ca_pod_signer_step(struct cfr_service_ca_pod_signer *s, struct cfr_service_ca *ca,
                                    const struct cfr_service_ca_injector *bundles, struct cfr_now now);
/* What waits after a failure of a request to WHERE, waits no longer. NULL is allowed. */
void cfr_service_ca_pod_signer_resume(struct cfr_service_ca_pod_signer *s, const struct cfr_kube_where *where,
                                      struct cfr_now now);
/* Boot time of the next thing to do, INT64_MAX if none. */
int64_t cfr_service_ca_pod_signer_deadline(const struct cfr_service_ca_pod_signer *s,
                                           const struct cfr_service_ca_injector *bundles);
/* True until every signer has looked at its requests once without a failure that goes away by itself. */
bool cfr_service_ca_pod_signer_is_busy(const struct cfr_service_ca_pod_signer *s);
/* True if the last look of one of them failed. */
bool cfr_service_ca_pod_signer_is_failing(const struct cfr_service_ca_pod_signer *s);
/* Adds its part to *OUT. The array lives until the next call. */
void cfr_service_ca_pod_signer_status(struct cfr_service_ca_pod_signer *s, struct cfr_api_status_authority *out);

#endif
