/* SPDX-License-Identifier: MIT */
/* Keys that sign tokens: our own RSA keys, and the public keys of another issuer's JWKS (RFC 7517). */
#ifndef LC_KEYS_H
#define LC_KEYS_H

#include "json.h"

enum lc_key_kind { LC_KEY_RSA, LC_KEY_P256, LC_KEY_P384, LC_KEY_P521 };

struct lc_key {
    char *kid;
    enum lc_key_kind kind;
    char *public_pem;
    char *private_pem; /* NULL for another issuer's key */
    json_t *jwk;       /* public JWK as the issuer publishes it */
    void *signer;      /* the prepared private key, NULL for another issuer's */
};

/* New RSA-2048 key; kid is base64url(SHA-256(DER SubjectPublicKeyInfo)), as Kubernetes computes it. NULL on
 * failure. */
struct lc_key *lc_key_generate(struct lc_fail *fail);
/* The same from a private key in PEM. */
struct lc_key *lc_key_from_pem(const char *private_pem, struct lc_fail *fail);
/* RSA (n, e) or EC (P-256, P-384, P-521) public key out of a JWK with a kid. */
struct lc_key *lc_key_from_jwk(json_t *jwk, struct lc_fail *fail);
void lc_key_free(struct lc_key *key);

/* Reading a PEM costs more than a signature: what signs is kept ready, and a reference to it (dropped by
 * lc_key_signer_free) lets any number of threads sign at once. */
void *lc_key_signer(const struct lc_key *key);
void lc_key_signer_free(void *signer);
/* Appends the RS256 signature of the text. */
bool lc_key_sign(void *signer, const char *text, size_t len, struct lc_buf *out);

/* Keys of a JWKS document; keys of kinds that cannot sign here are left out. */
struct lc_key_list {
    struct lc_key **at;
    size_t count;
};

/* More than 100 keys are refused, as the real service does. */
int lc_key_list_read(json_t *jwks, struct lc_key_list *out, struct lc_fail *fail);
void lc_key_list_free(struct lc_key_list *list);
const struct lc_key *lc_key_list_find(const struct lc_key_list *list, const char *kid);

#endif
