/* SPDX-License-Identifier: MIT */
/* Verifies a JSON Web Token (RFC 7515) by a JSON Web Key Set (RFC 7517), as a token service does. Pure.
 * The key decides which algorithms are accepted: RS256, RS384 and RS512 for RSA, ES256 for P-256, ES384 for P-384. A
 * token cannot choose a weaker one, such as HS256 with the public key as its secret. */
#ifndef CFR_PKI_JWKS_H
#define CFR_PKI_JWKS_H

#include "base/err.h"
#include "base/view.h"

#define CFR_JWKS_MAX 262144 /* bytes of a key set */
/* The path of the document that names the key set, below the issuer's URL (OpenID Connect Discovery 1.0, 4). */
#define CFR_JWKS_DISCOVERY ".well-known/openid-configuration"

/* The parts of a token that its verification needs. Borrowed. */
struct cfr_jwks_token {
    struct cfr_view text; /* the whole token, trimmed */
    struct cfr_view alg;  /* of its header */
    struct cfr_view kid;  /* of its header; empty = it has none */
};

/* 0 if a key of the set JWKS signed TOKEN. Else what failed, and *KEYS, the number of keys in the set:
 * CFR_E_ANSWER   JWKS is not a key set
 * CFR_E_MISSING  it has no key with this kid
 * CFR_E_CONFIG   that key cannot be used
 * CFR_E_TOKEN    the token's algorithm is not one of that key
 * CFR_E_REJECTED the signature does not match
 * CFR_E_NOMEM, CFR_E_INTERNAL. ERR holds nothing of the token but its alg and kid. */
int cfr_jwks_verify(struct cfr_view jwks, const struct cfr_jwks_token *token, size_t *keys, struct cfr_err *err);
/* What to do after one of these errors; NULL for the last two. */
const char *cfr_jwks_remedy(int code);

#endif
