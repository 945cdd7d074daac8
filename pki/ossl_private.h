/* SPDX-License-Identifier: MIT */
/* The headers of OpenSSL, and helpers on its types. */
#ifndef CFR_PKI_OSSL_PRIVATE_H
#define CFR_PKI_OSSL_PRIVATE_H

#include "pki/key.h"

#include <openssl/bn.h>
#include <openssl/core_names.h>
#include <openssl/ec.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/rand.h>
#include <openssl/rsa.h>
#include <openssl/x509.h>
#include <openssl/x509v3.h>

/* CFR_E_CONFIG unless KEY, of another program, is ECDSA on P-256 or P-384, or RSA of 2048 to 4096 bits. */
int cfr_key_check_kind(EVP_PKEY *key, struct cfr_err *err);
/* Appends the public half of KEY in PEM form. */
int cfr_key_write_public(EVP_PKEY *key, struct cfr_str *out, struct cfr_err *err);
/* Writes X in PEM form to *PEM (heap, free). */
int cfr_cert_write(X509 *x, char **pem, struct cfr_err *err);

#endif
