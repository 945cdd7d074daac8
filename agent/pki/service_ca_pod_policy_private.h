/* SPDX-License-Identifier: MIT */
/* What a pod's certificate request gets: names and a key, or a denial, which is final for the pod. Pure. */
#ifndef CFR_AGENT_PKI_SERVICE_CA_POD_POLICY_PRIVATE_H
#define CFR_AGENT_PKI_SERVICE_CA_POD_POLICY_PRIVATE_H

#include "base/str.h"
#include "kube/pod_policy.h"

/* The caller frees it with cfr_service_ca_pod_decision_free. */
struct cfr_service_ca_pod_decision {
    const char *denied; /* reason, one word; NULL = it gets a certificate */
    struct cfr_err why; /* it is denied */
    struct cfr_k8s_pod_names names;
    struct cfr_str public_key; /* PEM */
    int64_t life_s;
};

/* Decides about R by the rules C. CFR_E_NOMEM and CFR_E_INTERNAL, which say nothing about R. */
int cfr_service_ca_pod_decide(const struct cfr_k8s_pod_policy *c, const struct cfr_k8s_pod_cert *r,
                              struct cfr_service_ca_pod_decision *out, struct cfr_err *err);
void cfr_service_ca_pod_decision_free(struct cfr_service_ca_pod_decision *d);

#endif
