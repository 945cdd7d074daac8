/* SPDX-License-Identifier: MIT */
/* What a service account's key signs: assertions for its token endpoint, and access tokens without any.
 * Source: AIP-4112 and AIP-4111, RFC 7523. */
#ifndef CFR_STS_GCP_ACCOUNT_KEY_PRIVATE_H
#define CFR_STS_GCP_ACCOUNT_KEY_PRIVATE_H

#include "sts/gcp/plan_private.h"

#define CFR_GCP_KEY_LIFE_S 3600 /* the longest that Google takes */

/* Seconds that the tokens are dated back, for a server whose clock is behind. */
#define CFR_GCP_KEY_SLACK_S 10

/* Appends the assertion for STEP (KEY_ID or KEY_ACCESS). CFR_E_CONFIG: the key cannot sign. */
int cfr_gcp_key_assertion(const struct cfr_gcp_plan *p, enum cfr_gcp_step step, int64_t now_s, struct cfr_secret *out,
                          struct cfr_err *err);
/* Appends a token that is an access token by itself until *EXPIRES_S. ALL_APIS: for whatever comes next, else
 * for the scopes of the configuration. */
int cfr_gcp_key_token(const struct cfr_gcp_plan *p, bool all_apis, int64_t now_s, struct cfr_secret *out,
                      int64_t *expires_s, struct cfr_err *err);

#endif
