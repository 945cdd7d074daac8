/* SPDX-License-Identifier: MIT */
/* AWS IAM below /iam: the access keys of users, with their limit, and as late to be known everywhere as the
 * real ones. */
#ifndef LC_IAM_H
#define LC_IAM_H

#include "service.h"

extern const struct lc_service lc_iam_service;

enum { LC_IAM_KEY_ID_BYTES = 132, LC_IAM_SECRET_BYTES = 132, LC_IAM_ARN_BYTES = 256 };

/* A copy of a key. */
struct lc_iam_copy {
    char secret[LC_IAM_SECRET_BYTES];
    char arn[LC_IAM_ARN_BYTES];
    char account[LC_ACCOUNT_BYTES];
    char user_id[LC_UNIQUE_ID_BYTES];
};

/* False where there is no such key, it is inactive, or REGION has not heard of it yet. */
bool lc_iam_find(struct lc_cloud *cloud, const char *access_key_id, const char *region, struct lc_iam_copy *out);
/* It has signed a request. */
void lc_iam_used(struct lc_cloud *cloud, const char *access_key_id);
void lc_iam_free(struct lc_cloud *cloud);
/* For the admin interface: every key there is, without its secret. */
json_t *lc_iam_report(struct lc_cloud *cloud);
/* {"user", "access_key_id"}: a key made by hand; with "delete": true it is removed. */
int lc_iam_change(struct lc_cloud *cloud, json_t *body, struct lc_fail *fail);

#endif
