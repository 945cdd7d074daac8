/* SPDX-License-Identifier: MIT */
/* AWS Signature Version 4 as a server checks it: in the Authorization header or in the query (presigned). */
#ifndef LC_SIGV4_H
#define LC_SIGV4_H

#include "answer.h"
#include "http.h"

/* A signature taken apart; nothing believed yet. */
struct lc_sigv4 {
    char *credential; /* the next five point into it */
    const char *access_key_id;
    const char *date;
    const char *region;
    const char *service;
    char *signed_headers;
    char *signature;
    char *amz_date;
    char *token; /* NULL: no session token was sent */
    int64_t signed_at_s;
    int64_t expires_s; /* presigned only, else 0 */
    bool presigned;
};

/* MissingAuthenticationToken and IncompleteSignature come from here. */
int lc_sigv4_read(const struct lc_request *request, struct lc_sigv4 *out, struct lc_refusal *refusal);
void lc_sigv4_free(struct lc_sigv4 *sig);

/* True when the signature of this request was made with that secret. */
bool lc_sigv4_check(const struct lc_request *request, const struct lc_sigv4 *sig, const char *secret);

#endif
