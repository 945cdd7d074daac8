/* SPDX-License-Identifier: MIT */
/* Key pairs: writes them, and computes their ids as Kubernetes does. Pure but for OpenSSL's random numbers. */
#ifndef CFR_PKI_KEY_PRIVATE_H
#define CFR_PKI_KEY_PRIVATE_H

#include "pki/key.h"

/* Moves the key MADE into the empty PEM; without one, makes it. Blocks then as cfr_key_make does. */
int cfr_key_get(struct cfr_secret *made, enum cfr_key_kind kind, struct cfr_secret *pem, struct cfr_err *err);
/* Appends the private key PEM, written again from what was parsed: nothing around it remains. CFR_E_CONFIG if PEM is
 * not a private key. */
int cfr_key_private(struct cfr_view pem, struct cfr_secret *out, struct cfr_err *err);
/* Appends the public half of the private or public key PEM: SubjectPublicKeyInfo in PEM form. CFR_E_CONFIG if PEM is
 * not a key.
 */
int cfr_key_public(struct cfr_view pem, struct cfr_str *out, struct cfr_err *err);
/* The `kid` of a private or public key as Kubernetes computes it (pkg/serviceaccount/jwt.go): base64url of SHA-256 over
 * the DER form of its SubjectPublicKeyInfo. CFR_E_CONFIG if PEM is not a key. */
int cfr_key_kid(struct cfr_view pem, char out[CFR_KEY_KID_MAX], struct cfr_err *err);

#endif
