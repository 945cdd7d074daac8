/* SPDX-License-Identifier: MIT */
/* Tokens in the answers of Google's services, checked.
 * Source: the discovery documents of sts.googleapis.com and iamcredentials.googleapis.com; RFC 6749, 5.1. */
#ifndef CFR_STS_GCP_ANSWER_PRIVATE_H
#define CFR_STS_GCP_ANSWER_PRIVATE_H

#include "sts/gcp/plan_private.h"
#include "sts/core/oauth_answer.h"

struct cfr_gcp_token {
    struct cfr_secret value;
    int64_t expires_s;
    bool id; /* an ID token, else an access token */
};

/* Takes the token that STEP asked for out of a successful answer: ANSWER is BODY, read already. CFR_E_ANSWER:
 * there is none, or it is no token, has no expiry, or has expired. The caller frees OUT's value in every
 * case. */
int cfr_gcp_answer_read(enum cfr_gcp_step step, const struct cfr_oauth_answer *answer, struct cfr_view body,
                        int64_t now_s, struct cfr_gcp_token *out, struct cfr_err *err);

#endif
