/* SPDX-License-Identifier: MIT */
/* IBM Cloud's IAM: access tokens for API keys and for trusted profiles, and the API keys of identities. */
#ifndef LC_IBM_H
#define LC_IBM_H

#include "service.h"

extern const struct lc_service lc_ibm_service;

/* --- for the files of this service --- */

json_t *lc_ibm_check(struct lc_cloud *cloud, json_t *settings, struct lc_fail *fail);
/* The identity of that IAM ID; NULL: none. Borrowed from the settings. */
json_t *lc_ibm_identity(json_t *settings, const char *iam_id);
/* The identity that may use this API key now; "" when there is none. Borrowed from the settings. */
const char *lc_ibm_owner(struct lc_cloud *cloud, json_t *settings, const char *value);
struct lc_minted_lag;
struct lc_minted_lag lc_ibm_lag(json_t *identity);

void lc_ibm_token(struct lc_visit *visit);

void lc_ibm_key_create(struct lc_visit *visit);
void lc_ibm_key_list(struct lc_visit *visit);
void lc_ibm_key_disable(struct lc_visit *visit);
void lc_ibm_key_enable(struct lc_visit *visit);
void lc_ibm_key_delete(struct lc_visit *visit);

#endif
