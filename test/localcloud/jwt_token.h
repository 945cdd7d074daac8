/* SPDX-License-Identifier: MIT */
/* JSON Web Tokens (RFC 7519): made and verified with libjwt, their claims read strictly here. */
#ifndef LC_JWT_TOKEN_H
#define LC_JWT_TOKEN_H

#include "keys.h"

/* How a token is to be signed. NONE and HS256 exist so that verifiers can be tested against them: HS256 signs
 * with the text of the public key as its secret, which is what an algorithm confusion attack does. */
enum lc_jwt_sign { LC_JWT_RS256, LC_JWT_RS384, LC_JWT_RS512, LC_JWT_HS256, LC_JWT_NONE };

/* Compact serialisation with header {alg, kid, typ}; NULL on failure. claims is borrowed. The caller frees.
 */
char *lc_jwt_make(json_t *claims, const char *kid, const struct lc_key *key, enum lc_jwt_sign how);

/* A token taken apart, nothing believed yet. */
struct lc_jwt {
    json_t *header;
    json_t *claims;
    const char *alg; /* borrowed from header */
    const char *kid; /* borrowed, NULL when absent */
};

/* Three parts of strict base64url, header and claims JSON objects without duplicate keys, alg a string, no
 * "crit". Does not check the signature. */
int lc_jwt_read(const char *token, struct lc_jwt *out, struct lc_fail *fail);
void lc_jwt_free(struct lc_jwt *jwt);

/* True when alg is one that a cloud accepts (RS256/384/512, ES256/384/512). */
bool lc_jwt_alg_allowed(const char *alg);

/* True when the signature was made with key by the algorithm that the header names and that fits the kind of
 * key. */
bool lc_jwt_verify(const char *token, const struct lc_jwt *jwt, enum lc_key_kind kind, const char *public_pem);

#endif
