/* SPDX-License-Identifier: MIT */
/* Reads keys, certificates and certificate requests that other parties wrote. Pure.
 *
 * OpenSSL computes with a key's numbers while it reads the key, before anything is verified: 65 to 130 ms for each
 * curve that a key describes by numbers instead of by name (RFC 3279, 2.3.5: ecParameters), minutes for some other
 * types. So each function here first checks the bytes in one pass, and passes OpenSSL one object whose key is RSA of at
 * most 4096 bits with an exponent of at most 64 bits, EC on a named curve, or Ed25519. No other file calls OpenSSL's
 * decoders (tools/check-rooms). The callers check for the kinds and sizes that they need.
 *
 * Errors: CFR_E_CONFIG CFR_E_NOMEM. The caller frees what is returned. */
#ifndef CFR_WIRE_DECODE_H
#define CFR_WIRE_DECODE_H

#include "base/secret.h"

#define CFR_DECODE_PEM_MAX 262144 /* of a PEM text */

struct X509_req_st; /* OpenSSL's names of its types */
struct evp_pkey_st;
struct x509_st;

/* The first private key of a PEM text: PKCS#8, or the older forms of RSA and EC, not encrypted. With TAKE_PUBLIC the
 * first key, private or public. Other blocks are ignored. */
int cfr_decode_key(struct cfr_view pem, bool take_public, struct evp_pkey_st **out, struct cfr_err *err);
/* The first certificate of a PEM text; the others are ignored. */
int cfr_decode_certificate(struct cfr_view pem, struct x509_st **out, struct cfr_err *err);
/* Appends the DER bytes of the next certificate in *REST to DER and moves *REST after it;
 * appends nothing if there is none. */
int cfr_decode_next_certificate(struct cfr_view *rest, struct cfr_secret *der, struct cfr_err *err);
/* The certificate request of a PEM text that has no other block, or of DER bytes. */
int cfr_decode_request(struct cfr_view pem, struct X509_req_st **out, struct cfr_err *err);
int cfr_decode_request_der(struct cfr_view der, struct X509_req_st **out, struct cfr_err *err);
/* A public key (SubjectPublicKeyInfo). */
int cfr_decode_public_key_der(struct cfr_view der, struct evp_pkey_st **out, struct cfr_err *err);

/* Checks a certificate that OpenSSL will read elsewhere. A CA's RSA key may have up to 8192 bits. */
int cfr_decode_check_ca(struct cfr_view der, struct cfr_err *err);
/* True if BYTES (DER, or a message that holds it) have the identifier that every curve described by numbers begins
 * with, id-fieldType of ANSI X9.62. Named curves do not have it. */
bool cfr_decode_has_curve(struct cfr_view bytes);
/* An unexpected failure of OpenSSL: CFR_E_NOMEM, or CFR_E_INTERNAL with WHAT. */
int cfr_ossl_failed(const char *what, struct cfr_err *err);

#endif
