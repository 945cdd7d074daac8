/* SPDX-License-Identifier: MIT */
/* Authentication of signed requests at the front end, with its order of refusals. */
#ifndef LC_AUTH_H
#define LC_AUTH_H

#include "answer.h"
#include "cloud.h"

enum { LC_REGION_BYTES = 48 };

struct lc_caller {
    char *arn;       /* as GetCallerIdentity says it */
    char *principal; /* the role's or user's own ARN, as a trust policy names it */
    char account[LC_ACCOUNT_BYTES];
    char *user_id;
    char access_key_id[132];      /* that signed */
    char region[LC_REGION_BYTES]; /* that the signature names */
    bool temporary;               /* role credentials: what it assumes is a chained session */
    bool session;                 /* a session token was shown: of a role or of a user */
    char *source_identity;        /* NULL: none */
    json_t *transitive;           /* tag keys that are inherited, or NULL */
};

/* The trust must be locked. On a refusal the caller is empty. */
int lc_auth_caller(struct lc_cloud *cloud, const struct lc_request *request, struct lc_caller *out,
                   struct lc_refusal *refusal);
/* The same for another service than STS; region NULL: any well-formed one. */
int lc_auth_caller_for(struct lc_cloud *cloud, const struct lc_request *request, const char *service,
                       const char *region, struct lc_caller *out, struct lc_refusal *refusal);
void lc_auth_free(struct lc_caller *caller);

#endif
