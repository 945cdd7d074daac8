/* SPDX-License-Identifier: MIT */
/* Google Cloud: STS, service-account impersonation, the JWT-bearer grant of service-account keys. */
#ifndef LC_GCP_H
#define LC_GCP_H

#include "service.h"

extern const struct lc_service lc_gcp_service;

/* --- for the files of this cloud --- */

#define LC_GCP_AUTH "https://www.googleapis.com/auth/"

enum { LC_GCP_LIFE_S = 3600 };

/* The actions. */
void lc_gcp_token(struct lc_visit *visit);
void lc_gcp_access_token(struct lc_visit *visit);
void lc_gcp_id_token(struct lc_visit *visit);
void lc_gcp_jwt_bearer(struct lc_visit *visit);
void lc_gcp_key_create(struct lc_visit *visit);
void lc_gcp_key_list(struct lc_visit *visit);
void lc_gcp_key_permissions(struct lc_visit *visit);
void lc_gcp_key_get(struct lc_visit *visit);
void lc_gcp_key_disable(struct lc_visit *visit);
void lc_gcp_key_enable(struct lc_visit *visit);
void lc_gcp_key_delete(struct lc_visit *visit);

json_t *lc_gcp_check(struct lc_cloud *cloud, json_t *settings, struct lc_fail *fail);

/* What a resource name of a pool's provider says. */
struct lc_gcp_place {
    bool workforce;
    const char *pool; /* after "//iam.googleapis.com/", up to the provider's part; not terminated */
    size_t pool_len;
};
/* False: not the full resource name of a provider. */
bool lc_gcp_place(const char *audience, struct lc_gcp_place *out);

/* The account by its email or unique id, borrowed from the settings; NULL: none. */
json_t *lc_gcp_account(json_t *settings, const char *name);
/* Is IDENTITY (a principal, or an email) one of the members that are in this list of the account's? Without the list:
 * in "members". */
bool lc_gcp_allows(json_t *account, const char *list, const char *identity);
/* Verifies the signature of an assertion with the key that its header names and that may be used now. */
bool lc_gcp_signed_by(struct lc_visit *visit, json_t *account, const char *token, const struct lc_jwt *jwt);

/* Who calls: an access token that is valid now. */
struct lc_gcp_caller {
    json_t *content;
    const char *identity; /* principal://... or an email */
    json_t *scopes;
    int64_t expires_at_s;
};
/* Reads Authorization; refuses with 401. */
int lc_gcp_caller(struct lc_visit *visit, struct lc_gcp_caller *out);
bool lc_gcp_scoped(json_t *scopes, const char *name);
/* "a b" as an array, or NULL when it holds anything that is no scope. */
json_t *lc_gcp_scopes(const char *text);
bool lc_gcp_is_scope(const char *scope);

/* A new access token; the caller frees it. kind is "d" for federated ones, "c" for those of service accounts.
 */
char *lc_gcp_issue(struct lc_visit *visit, char kind, const char *identity, json_t *scopes, int64_t expires_at_s);
/* An ID token as accounts.google.com signs it; the caller frees it. */
char *lc_gcp_issue_id(struct lc_visit *visit, json_t *account, const char *audience, bool email, int64_t life_s);

#endif
