/* SPDX-License-Identifier: MIT */
/* The key that signs what clouds give out as JSON Web Tokens (RFC 7515): P-256, made once per state
 * directory. The real clouds sign with RSA; whoever is given such a token has to take it as it is. */
#ifndef LC_TOKEN_KEY_H
#define LC_TOKEN_KEY_H

#include "json.h"

struct lc_token_key;

/* A new private key as PEM; the caller frees it. */
char *lc_token_key_generate(struct lc_fail *fail);
struct lc_token_key *lc_token_key_new(const char *pem, struct lc_fail *fail);
void lc_token_key_free(struct lc_token_key *key);

/* The compact form of a token with these claims (borrowed); any thread, no lock. The caller frees it. */
char *lc_token_key_sign(const struct lc_token_key *key, json_t *claims);
/* The claims of a token that was signed so, NULL when it was not. Looks at nothing else. */
json_t *lc_token_key_open(const struct lc_token_key *key, const char *token);
/* {"keys": [...]} */
json_t *lc_token_key_jwks(const struct lc_token_key *key);

#endif
