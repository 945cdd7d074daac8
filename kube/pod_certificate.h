/* SPDX-License-Identifier: MIT */
/* PodCertificateRequests: paths, one request, and the body that sets its status. Pure.
 * Sources: certificates.k8s.io/v1 and v1beta1 (KEP-4317, pkg/apis/certificates/validation). */
#ifndef CFR_KUBE_POD_CERTIFICATE_H
#define CFR_KUBE_POD_CERTIFICATE_H

#include "base/secret.h"
#include "base/str.h"
#include "kube/name.h"

#define CFR_K8S_POD_CERT_PATH_MAX   4096
#define CFR_K8S_POD_CERT_ANSWER_MAX 2097152 /* bytes of one request; etcd holds less */
#define CFR_K8S_POD_CERT_BODY_MAX   262144
#define CFR_K8S_POD_CERT_CHAIN_MAX  102400 /* the API server's limit */
#define CFR_K8S_POD_CERT_TEXT_MAX   129    /* a uid, a version, with its NUL */
#define CFR_K8S_POD_CERT_SIGNER_MAX 571
/* Seconds. A certificate lives at least the first, and is refreshed the second after its begin and before its end. */
#define CFR_K8S_POD_CERT_LIFE_MIN_S    3600
#define CFR_K8S_POD_CERT_LIFE_MAX_S    7862400
#define CFR_K8S_POD_CERT_LIFE_UNSAID_S 86400
#define CFR_K8S_POD_CERT_REFRESH_MIN_S 600

#define CFR_K8S_POD_CERT_RESOURCE      "podcertificaterequests"
#define CFR_K8S_POD_CERT_FIELD         "spec.signerName=" /* of a field selector, before the signer */

/* One request. The caller frees it with cfr_k8s_pod_cert_free. */
struct cfr_k8s_pod_cert {
    char namespace_name[CFR_K8S_LABEL_MAX + 1];
    char name[CFR_K8S_NAME_MAX + 1];
    char uid[CFR_K8S_POD_CERT_TEXT_MAX];
    char version[CFR_K8S_POD_CERT_TEXT_MAX]; /* resourceVersion */
    char pod[CFR_K8S_NAME_MAX + 1];
    char pod_uid[CFR_K8S_POD_CERT_TEXT_MAX];
    char service_account[CFR_K8S_NAME_MAX + 1];
    int64_t life_max_s;
    bool decided;   /* it has a result, or is being deleted */
    bool annotated; /* the pod's author has options for the signer */
    /* DER; what is not there, or is not base64, is empty */
    struct cfr_secret request;
    struct cfr_secret public_key;
    struct cfr_secret proof;
};

/* What is decided about one. */
struct cfr_k8s_pod_cert_result {
    const char *denied; /* reason, one word; NULL = issued */
    const char *message;
    struct cfr_view chain; /* PEM, the leaf first; with the times only if issued */
    int64_t begins_s;      /* wall clock */
    int64_t ends_s;
    int64_t refresh_s;
};

/* The path of all requests of the cluster, for agent/kube/stream.h. BETA: of v1beta1. */
const char *cfr_k8s_pod_cert_collection(bool beta);
/* The path of one request, or of its status. False for a name that is not valid in Kubernetes. */
bool cfr_k8s_pod_cert_path(bool beta, const char *namespace_name, const char *name, bool status,
                           char out[CFR_K8S_POD_CERT_PATH_MAX]);
/* Reads the request NAME of SIGNER. CFR_E_ANSWER: it is not that. CFR_E_NOMEM. */
int cfr_k8s_pod_cert_read(struct cfr_view body, const char *signer, const char *namespace_name, const char *name,
                          struct cfr_k8s_pod_cert *out, struct cfr_err *err);
void cfr_k8s_pod_cert_free(struct cfr_k8s_pod_cert *r);
/* Appends the body of the PUT that sets R's status, if it still is as it was read. NOW_S: wall clock. CFR_E_LIMIT,
 * CFR_E_NOMEM. */
int cfr_k8s_pod_cert_body(bool beta, const struct cfr_k8s_pod_cert *r, const struct cfr_k8s_pod_cert_result *result,
                          int64_t now_s, struct cfr_secret *out, struct cfr_err *err);

#endif
