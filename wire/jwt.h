/* SPDX-License-Identifier: MIT */
/* Makes signed JSON Web Tokens (RFC 7515, RFC 7519): assertions by which a client proves that it holds a key.
 * The algorithm is pinned to the key's type. */
#ifndef CFR_WIRE_JWT_H
#define CFR_WIRE_JWT_H

#include "base/secret.h"

enum cfr_jwt_alg { CFR_JWT_RS256, CFR_JWT_PS256, CFR_JWT_ES256 };

#define CFR_JWT_MAX            16384
#define CFR_JWT_THUMBPRINT_MAX 44 /* base64url of a SHA-256 with its NUL */

/* Appends header.claims.signature to OUT. HEADER and CLAIMS are JSON objects; HEADER gets no member added, so it names
 * the `alg` itself. KEY is PEM (PKCS#8, or the older forms of its type), not encrypted. CFR_E_CONFIG: no such key, or
 * not of ALG's type (RSA of 2048 to 4096 bits, or P-256); CFR_E_NOMEM, CFR_E_LIMIT, CFR_E_INTERNAL. */
int cfr_jwt_sign(enum cfr_jwt_alg alg, struct cfr_view header, struct cfr_view claims, struct cfr_view key,
                 struct cfr_secret *out, struct cfr_err *err);
/* The algorithm that fits KEY: ES256 for P-256, else RS256. CFR_E_CONFIG if it is neither. */
int cfr_jwt_alg_of(struct cfr_view key, enum cfr_jwt_alg *out, struct cfr_err *err);
/* base64url (no padding) of the SHA-256 over the DER form of the first certificate in PEM: the `x5t#S256` header
 * (RFC 7515, 4.1.8). CFR_E_CONFIG if there is none. */
int cfr_jwt_thumbprint(struct cfr_view pem, char out[CFR_JWT_THUMBPRINT_MAX], struct cfr_err *err);
/* The same of the SHA-1: the older `x5t` header (RFC 7515, 4.1.7), for servers that know no other. */
int cfr_jwt_thumbprint_sha1(struct cfr_view pem, char out[CFR_JWT_THUMBPRINT_MAX], struct cfr_err *err);
/* Appends the certificates of PEM as a JSON array of base64 DER, in their order: the `x5c` header (RFC 7515, 4.1.6). */
int cfr_jwt_chain(struct cfr_view pem, struct cfr_secret *out, struct cfr_err *err);
/* A random UUID (RFC 9562, version 4) made of 16 random BYTES: the `jti` claim. */
#define CFR_JWT_UUID_MAX 37
const char *cfr_jwt_uuid(const unsigned char bytes[16], char out[CFR_JWT_UUID_MAX]);

#endif
