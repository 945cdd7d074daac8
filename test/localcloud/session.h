/* SPDX-License-Identifier: MIT */
/* Sessions of assumed roles. All that is known about one travels sealed in its session token, and its secret
 * key is derived from its access key id, so that nothing is kept and any number can be issued. */
#ifndef LC_SESSION_H
#define LC_SESSION_H

#include "trust.h"

enum { LC_ACCESS_KEY_BYTES = 21, LC_SECRET_BYTES = 41 };

struct lc_session {
    char access_key_id[LC_ACCESS_KEY_BYTES];
    char secret[LC_SECRET_BYTES];
    char *token;
    char *role_arn;
    char role_id[LC_UNIQUE_ID_BYTES];
    char *name;
    char *source_identity; /* NULL: none */
    json_t *transitive;    /* array of tag keys, or NULL */
    int64_t expires_at_s;
};

/* Draws the key id, derives the secret and seals the token; the other members are given. */
int lc_session_issue(const unsigned char key[32], struct lc_session *session);

/* Opens a session token that was issued for this access key id. False when it was not. */
bool lc_session_open(const unsigned char key[32], const char *access_key_id, const char *token, struct lc_session *out);

void lc_session_free(struct lc_session *session);

#endif
