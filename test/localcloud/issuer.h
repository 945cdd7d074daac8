/* SPDX-License-Identifier: MIT */
/* The OIDC issuer: signing keys with overlapping rotation, discovery documents, and service-account tokens in
 * the shape of the Kubernetes API server (bound tokens, RS256). All functions may be called from any thread.
 */
#ifndef LC_ISSUER_H
#define LC_ISSUER_H

#include "jwt_token.h"

struct lc_issuer;

/* url is the issuer as in "iss". first is the first signing key and becomes the issuer's. NULL when
 * out of memory. */
struct lc_issuer *lc_issuer_new(const char *url, struct lc_key *first, struct lc_fail *fail);
void lc_issuer_free(struct lc_issuer *issuer);

const char *lc_issuer_url(const struct lc_issuer *issuer);
void lc_issuer_discovery(struct lc_issuer *issuer, struct lc_buf *out);
void lc_issuer_jwks(struct lc_issuer *issuer, struct lc_buf *out);

/* phase: "publish" a new key without using it, "switch" signing to the newest published key, "retire" every
 * key that no longer signs, or "all" of them. Returns -1 with the reason when the phase makes no sense now.
 */
int lc_issuer_rotate(struct lc_issuer *issuer, const char *phase, struct lc_fail *fail);
/* {"signing": kid, "published": [kid...]} */
json_t *lc_issuer_report(struct lc_issuer *issuer);

/* What a token shall say. */
struct lc_token_request {
    const char *namespace_name;
    const char *service_account;
    json_t *audience; /* array of strings, borrowed */
    int64_t issued_at_s;
    int64_t expires_at_s;
    json_t *extra_claims; /* borrowed, may be NULL; a null value removes the claim */
    enum lc_jwt_sign how;
    bool stray_key;  /* sign with a key that was never published, under the signing key's kid */
    const char *kid; /* NULL: the signing key's */
};

/* A new token; the caller frees it. NULL on failure. */
char *lc_issuer_mint(struct lc_issuer *issuer, const struct lc_token_request *wanted, struct lc_fail *fail);
unsigned long lc_issuer_minted(struct lc_issuer *issuer);

/* True when kid is published now; *public_pem is a copy that the caller frees. */
bool lc_issuer_find(struct lc_issuer *issuer, const char *kid, enum lc_key_kind *kind, char **public_pem);

enum { LC_OBJECT_UID_BYTES = 37 };

/* A stable uid for an object of the pretended cluster, as tokens have it; kind is "serviceaccount", "pod" or
 * "node". The pod of a service account is known by the account's name. */
void lc_issuer_object_uid(const char *kind, const char *namespace_name, const char *name,
                          char out[LC_OBJECT_UID_BYTES]);

/* The signing key as private PEM: what to store for the next start. */
void lc_issuer_export(struct lc_issuer *issuer, struct lc_buf *out);

#endif
