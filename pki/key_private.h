/* SPDX-License-Identifier: MIT */
/* Key pairs: makes them, and computes their ids as Kubernetes does. Pure but for OpenSSL's random numbers. Making an
 * RSA key takes from a tenth of a second to some seconds. */
#ifndef CFR_PKI_KEY_PRIVATE_H
#define CFR_PKI_KEY_PRIVATE_H

#include "pki/key.h"

/* Appends a new key in PEM form (PKCS#8, RFC 5958) to PEM, whose limit is at least CFR_KEY_PEM_MAX. */
int cfr_key_make(enum cfr_key_kind kind, struct cfr_secret *pem, struct cfr_err *err);
/* Appends the public half of the private key PEM: SubjectPublicKeyInfo in PEM form. CFR_E_CONFIG if PEM is not a key.
 */
int cfr_key_public(struct cfr_view pem, struct cfr_str *out, struct cfr_err *err);
/* The `kid` of a private or public key as Kubernetes computes it (pkg/serviceaccount/jwt.go): base64url of SHA-256 over
 * the DER form of its SubjectPublicKeyInfo. CFR_E_CONFIG if PEM is not a key. */
int cfr_key_kid(struct cfr_view pem, char out[CFR_KEY_KID_MAX], struct cfr_err *err);

#endif
