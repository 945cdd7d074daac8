/* SPDX-License-Identifier: MIT */
/* PodCertificateRequests of certificates.k8s.io: how they are made, shown, and answered by a signer. */
#ifndef LC_KUBE_POD_CERTIFICATE_H
#define LC_KUBE_POD_CERTIFICATE_H

#include "kube_call.h"

#include <openssl/types.h>

#define LC_POD_CERTIFICATES      "podcertificaterequests"
#define LC_POD_CERTIFICATE_GROUP "certificates.k8s.io"

/* {"kind": "PodCertificateRequest", "namespace", "name", "spec": {...}} of the admin interface, as the kubelet creates
 * one. The lock is held. -1 with the reason. */
int lc_kube_pod_certificate_make(struct lc_kube *kube, json_t *body, struct lc_fail *fail);
/* Removes NAMESPACE/NAME; false if it does not exist. The lock is held. */
bool lc_kube_pod_certificate_drop(struct lc_kube *kube, const char *key);

/* True when VERSION ("v1", "v1beta1") is served. Takes the lock. */
bool lc_kube_pod_certificate_served(struct lc_kube *kube, const char *version);
/* The versions to serve: an array of "v1" and "v1beta1"; NULL: both. The lock is held. -1 with the reason. */
int lc_kube_pod_certificate_serve(struct lc_kube *kube, json_t *versions, struct lc_fail *fail);

/* The object as that version of the API shows it; a new reference. v1 has no pkixPublicKey and proofOfPossession. */
json_t *lc_kube_pod_certificate_shown(json_t *object, const char *version);

/* The public key of a spec, whose proof of possession is verified; NULL with the field and the reason. The caller frees
 * it with EVP_PKEY_free. */
EVP_PKEY *lc_kube_pod_certificate_key(json_t *spec, struct lc_fail *fail);

/* Refuses (400) what is not a status: unknown fields, other types, times that cannot be read. Answers and returns -1.
 */
int lc_kube_pod_certificate_decode(struct lc_visit *visit, json_t *status);
/* The API server's rules for STATUS as the new status of OBJECT. */
void lc_kube_pod_certificate_check(json_t *object, json_t *status, struct lc_kube_faults *faults);

#endif
