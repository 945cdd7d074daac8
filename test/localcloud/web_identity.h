/* SPDX-License-Identifier: MIT */
/* Verification of web identity tokens, and of a role's trust in them. */
#ifndef LC_WEB_IDENTITY_H
#define LC_WEB_IDENTITY_H

#include "answer.h"
#include "cloud.h"

struct lc_web_identity {
    char *subject;
    char *audience;
    char *issuer;
    char *source_identity; /* from the token's claim, NULL: none */
    json_t *transitive;    /* transitive tag keys from the token's claim, or NULL */
    bool tagged;
};

/* Checks the token by itself and against the role's trust policy. The trust must be locked; *role is borrowed
 * from it. */
int lc_web_identity_check(struct lc_cloud *cloud, const char *role_arn, const char *token, struct lc_web_identity *out,
                          const struct lc_role **role, struct lc_refusal *refusal);
void lc_web_identity_free(struct lc_web_identity *identity);

#endif
