/* SPDX-License-Identifier: MIT */
/* Who signed a request: the front end's authentication, with its order of refusals. */
#ifndef LC_AUTH_H
#define LC_AUTH_H

#include "answer.h"
#include "cloud.h"

struct lc_caller {
    char *arn;       /* as GetCallerIdentity says it */
    char *principal; /* the role's or user's own ARN, as a trust policy names it */
    char account[LC_ACCOUNT_BYTES];
    char *user_id;
    bool temporary;        /* role credentials: what it assumes is a chained session */
    char *source_identity; /* NULL: none */
    json_t *transitive;    /* tag keys that are inherited, or NULL */
};

/* The trust must be locked. On a refusal the caller is empty. */
int lc_auth_caller(struct lc_cloud *cloud, const struct lc_request *request, struct lc_caller *out,
                   struct lc_refusal *refusal);
void lc_auth_free(struct lc_caller *caller);

#endif
