/* SPDX-License-Identifier: MIT */
/* Keystone tokens: encrypted and self-contained. User, project and roles are looked up again at each use. */
#ifndef LC_KEYSTONE_TOKEN_H
#define LC_KEYSTONE_TOKEN_H

#include "keystone_data.h"

/* A token and what it means now. All references are the token's own. */
struct lc_keystone_token {
    json_t *methods;   /* array of strings */
    json_t *audit_ids; /* of this token, and of the first one of its chain */
    char *user_id;
    char *project_id;    /* NULL: unscoped */
    char *credential_id; /* NULL: not from an application credential */
    char *provider;      /* NULL: not federated; else its id, and the two next are there */
    char *protocol;
    char *subject;
    int64_t issued_us;
    int64_t expires_us;
    bool capped;     /* the credential's expiry is the nearer one */
    json_t *user;    /* {"id", "name", "domain"} at least */
    json_t *project; /* NULL: unscoped */
    json_t *roles;   /* effective ones; NULL when unscoped */
    json_t *credential;
};

void lc_keystone_token_free(struct lc_keystone_token *token);

/* Looks up user, project, roles and credential. False when the token (no longer) stands for anything: user
 * gone or disabled, credential gone or expired, no role left in the project. */
bool lc_keystone_token_resolve(struct lc_keystone *keystone, struct lc_keystone_token *token);

/* A new audit id in front of the one of `parent` (NULL: none), times of a new token that shall live life_s;
 * not longer than the credential or the parent. */
void lc_keystone_token_start(struct lc_keystone_token *token, const struct lc_keystone_token *parent, int64_t life_s);

/* The token's text ("gAAAA..."), for free(). NULL on failure. */
char *lc_keystone_token_seal(const struct lc_keystone *keystone, const struct lc_keystone_token *token);

/* Opens a token's text, checks expiry and revocation, and resolves it. False when it is not valid; *out is
 * empty then. */
bool lc_keystone_token_open(struct lc_keystone *keystone, const char *text, struct lc_keystone_token *out);

bool lc_keystone_token_has(const struct lc_keystone_token *token, const char *role);

/* {"token": {...}}. capped_spelling: as at issue, where an expiry taken from the credential has no Z. */
json_t *lc_keystone_token_body(const struct lc_keystone *keystone, const struct lc_keystone_token *token, bool catalog,
                               bool capped_spelling);

#endif
