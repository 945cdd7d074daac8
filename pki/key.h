/* SPDX-License-Identifier: MIT */
/* Key pairs: makes and writes them, and computes their ids as Kubernetes does. Pure but for OpenSSL's random numbers.
 */
#ifndef CFR_PKI_KEY_H
#define CFR_PKI_KEY_H

#include "base/secret.h"
#include "base/str.h"

#define CFR_KEY_PEM_MAX 16384
#define CFR_KEY_KID_MAX 44 /* with its NUL */

enum cfr_key_kind { CFR_KEY_ECDSA_P256, CFR_KEY_ECDSA_P384, CFR_KEY_RSA_2048, CFR_KEY_RSA_3072, CFR_KEY_RSA_4096 };
#define CFR_KEY_KINDS 5

/* Their names in configuration, in this order, NULL-terminated: ecdsa-p256 ... */
extern const char *const cfr_key_kinds[];

/* True if making a key of KIND takes from a tenth of a second to some seconds. */
bool cfr_key_is_slow(enum cfr_key_kind kind);
/* Appends a new key in PEM form (PKCS#8, RFC 5958) to PEM, whose limit is at least CFR_KEY_PEM_MAX. Blocks while it
 * computes. CFR_E_NOMEM, CFR_E_INTERNAL. */
int cfr_key_make(enum cfr_key_kind kind, struct cfr_secret *pem, struct cfr_err *err);
/* Appends the private key PEM, written again from what was parsed: nothing around it remains. CFR_E_CONFIG if PEM is
 * not a private key. */
int cfr_key_private(struct cfr_view pem, struct cfr_secret *out, struct cfr_err *err);
/* Appends the public half of the private or public key PEM: SubjectPublicKeyInfo in PEM form. CFR_E_CONFIG if PEM is
 * not a key. */
int cfr_key_public(struct cfr_view pem, struct cfr_str *out, struct cfr_err *err);
/* The `kid` of a private or public key as Kubernetes computes it (pkg/serviceaccount/jwt.go): base64url of SHA-256 over
 * the DER form of its SubjectPublicKeyInfo. CFR_E_CONFIG if PEM is not a key. */
int cfr_key_kid(struct cfr_view pem, char out[CFR_KEY_KID_MAX], struct cfr_err *err);

#endif
