/* SPDX-License-Identifier: MIT */
/* Certificate requests (PKCS#10, RFC 2986; and those of pods) of others: the public key, whose owner proves that it has
 * the private half. Nothing else of a request counts. Pure. */
#ifndef CFR_PKI_CSR_H
#define CFR_PKI_CSR_H

#include "base/err.h"
#include "base/str.h"
#include "base/view.h"

#define CFR_CSR_PEM_MAX 16384
#define CFR_CSR_DER_MAX 10240 /* the limit of the API server, too */

/* Appends to PUBLIC_KEY (PEM) the key of the one request in PEM. It is written again from what was parsed. CFR_E_CONFIG
 * for anything that is not one well-formed request, signed by its own key, of a kind in cfr_key_kinds. CFR_E_NOMEM. */
int cfr_cert_request_key(struct cfr_view pem, struct cfr_str *public_key, struct cfr_err *err);

/* The key of a pod's certificate request, as a kubelet sends it (KEP-4317, certificates.k8s.io/v1 and v1beta1). The
 * keys that Kubernetes allows are taken: RSA of 3072 and 4096 bits, ECDSA on P-256, P-384 and P-521, Ed25519. Appended
 * to PUBLIC_KEY (PEM). CFR_E_REJECTED: the key is of another kind; CFR_E_CONFIG: it is malformed, or nothing proves
 * that the requester has the private half. CFR_E_NOMEM. */
/* Of spec.stubPKCS10Request: one request in DER form, signed by its own key. */
int cfr_cert_request_pod_key(struct cfr_view der, struct cfr_str *public_key, struct cfr_err *err);
/* Of spec.pkixPublicKey (SubjectPublicKeyInfo in DER form), which is proved by PROOF: a signature over the bytes of
 * POD_UID, by ECDSA or RSASSA-PSS with SHA-256, or by Ed25519. */
int cfr_cert_request_pod_key_proved(struct cfr_view der, struct cfr_view proof, struct cfr_view pod_uid,
                                    struct cfr_str *public_key, struct cfr_err *err);

#endif
