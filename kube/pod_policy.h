/* SPDX-License-Identifier: MIT */
/* Which pods get certificates of a signer, and with which names: the table of the configuration, its rules, and the
 * names for a request. Pure: they follow from what the API server vouches for (namespace, service account, pod), and
 * from nothing that the pod's author chose. */
#ifndef CFR_KUBE_POD_POLICY_H
#define CFR_KUBE_POD_POLICY_H

#include "base/field.h"
#include "kube/pod_certificate.h"

/* Pods of one service account, and the names that their certificates have. */
struct cfr_k8s_pod_allow {
    struct cfr_node node;
    char *namespace_name;  /* "*" = any */
    char *service_account; /* "*" = any */
    struct cfr_strings names;
};

/* A signer of PodCertificateRequests. */
struct cfr_k8s_pod_policy {
    struct cfr_node node;
    char *signer;
    char *trust_domain; /* NULL = no SPIFFE IDs */
    int64_t validity_ms;
    struct cfr_list allow; /* struct cfr_k8s_pod_allow */
    char *kubeconfig;      /* NULL = the pod's own */
    char *context;
};

extern const struct cfr_table cfr_k8s_pod_policy_table;
/* CFR_E_CONFIG if two entries of LIST (struct cfr_k8s_pod_policy) are about the same requests. */
int cfr_k8s_pod_policies_check(const struct cfr_list *list, struct cfr_err *err);

/* The names of one certificate. The caller frees them with cfr_k8s_pod_names_free. */
struct cfr_k8s_pod_names {
    struct cfr_strings dns;
    struct cfr_strings uris;
};

/* The names that the rules C give the pod of R: at least one. CFR_E_DENIED: they give none to its service account;
 * CFR_E_REJECTED: one of them is not possible for this pod. CFR_E_NOMEM. */
int cfr_k8s_pod_policy_names(const struct cfr_k8s_pod_policy *c, const struct cfr_k8s_pod_cert *r,
                             struct cfr_k8s_pod_names *out, struct cfr_err *err);
void cfr_k8s_pod_names_free(struct cfr_k8s_pod_names *names);

#endif
