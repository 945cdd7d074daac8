/* SPDX-License-Identifier: MIT */
/* Roles and their trust policies, OIDC providers and their keys, long-lived IAM keys. */
#ifndef LC_TRUST_H
#define LC_TRUST_H

#include "issuer.h"

enum { LC_ACCOUNT_BYTES = 13, LC_UNIQUE_ID_BYTES = 22 };

/* One "Allow" of a role's trust policy: either for tokens of an issuer or for an AWS principal. */
struct lc_statement {
    char *issuer;      /* NULL: for an AWS principal */
    json_t *audience;  /* array of strings */
    char *subject;     /* pattern with * and ? */
    char *principal;   /* ARN, account id, account root ARN, or pattern */
    char *external_id; /* NULL: none wanted */
    bool require_source_identity;
    bool allow_tags;
};

struct lc_role {
    char *arn;
    char *partition;
    char account[LC_ACCOUNT_BYTES];
    char *name; /* without its path */
    char id[LC_UNIQUE_ID_BYTES];
    int64_t max_session_s;
    struct lc_statement *statements;
    size_t count;
};

struct lc_iam_key {
    char *access_key_id;
    char *secret;
    char *arn;
    char account[LC_ACCOUNT_BYTES];
    char user_id[LC_UNIQUE_ID_BYTES];
};

struct lc_trust;

/* own is the cloud's own issuer (borrowed). id_key makes the unique ids of roles stable over restarts. */
struct lc_trust *lc_trust_new(struct lc_issuer *own, const unsigned char id_key[32], struct lc_fail *fail);
void lc_trust_free(struct lc_trust *trust);

/* Adds a role, or replaces the one with the same ARN (which keeps its unique id, as a changed trust policy
 * does). */
int lc_trust_put_role(struct lc_trust *trust, json_t *role, struct lc_fail *fail);
/* Removes a role; one made again later has another unique id. */
int lc_trust_drop_role(struct lc_trust *trust, const char *arn, struct lc_fail *fail);
/* {"issuer", "jwks" or "jwks_file"}: an issuer whose tokens any service may verify. */
int lc_trust_put_issuer(struct lc_trust *trust, json_t *object, struct lc_fail *fail);
int lc_trust_put_iam_key(struct lc_trust *trust, json_t *key, struct lc_fail *fail);

/* The lookups below return borrowed data, valid between these two calls. */
void lc_trust_lock(struct lc_trust *trust);
void lc_trust_unlock(struct lc_trust *trust);

const struct lc_role *lc_trust_role(struct lc_trust *trust, const char *arn);
const struct lc_iam_key *lc_trust_iam_key(struct lc_trust *trust, const char *access_key_id);

/* Is there an OIDC provider for issuer in the account, and does one of its client ids equal audience (NULL:
 * any)? */
bool lc_trust_provider(struct lc_trust *trust, const char *account, const char *issuer, const char *audience);
bool lc_trust_account(struct lc_trust *trust, const char *account);
/* The verification key kid of issuer; *public_pem is a copy that the caller frees. */
bool lc_trust_key(struct lc_trust *trust, const char *issuer, const char *kid, enum lc_key_kind *kind,
                  char **public_pem);

/* Takes "arn:PARTITION:iam::ACCOUNT:KIND/PATH/NAME" apart; name points into arn. */
bool lc_trust_split_arn(const char *arn, const char *kind, char account[LC_ACCOUNT_BYTES], const char **name);

#endif
