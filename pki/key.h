/* SPDX-License-Identifier: MIT */
/* Key pairs: making them, and naming them as Kubernetes does. Pure but for OpenSSL's random numbers. Making an RSA key
 * takes from a tenth of a second to some seconds. */
#ifndef CFR_PKI_KEY_H
#define CFR_PKI_KEY_H

#include "base/secret.h"
#include "base/str.h"

#define CFR_KEY_PEM_MAX 16384
#define CFR_KEY_KID_MAX 44 /* with its NUL */

enum cfr_key_kind { CFR_KEY_ECDSA_P256, CFR_KEY_ECDSA_P384, CFR_KEY_RSA_2048, CFR_KEY_RSA_3072, CFR_KEY_RSA_4096 };

/* Their names in configuration, in this order, NULL-terminated: ecdsa-p256 ... */
extern const char *const cfr_key_kinds[];

/* Appends a new key in PEM form (PKCS#8, RFC 5958) to PEM, whose limit is at least CFR_KEY_PEM_MAX. */
int cfr_key_make(enum cfr_key_kind kind, struct cfr_secret *pem, struct cfr_err *err);
/* Appends the public half of the private key PEM: SubjectPublicKeyInfo in PEM form. CFR_E_CONFIG if PEM is no key. */
int cfr_key_public(struct cfr_view pem, struct cfr_str *out, struct cfr_err *err);
/* The `kid` by which Kubernetes calls a private or public key (pkg/serviceaccount/jwt.go): base64url of SHA-256 over
 * the DER form of its SubjectPublicKeyInfo. CFR_E_CONFIG if PEM is no key. */
int cfr_key_kid(struct cfr_view pem, char out[CFR_KEY_KID_MAX], struct cfr_err *err);

#endif
