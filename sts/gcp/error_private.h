/* SPDX-License-Identifier: MIT */
/* Refusals of Google's services, with their classes and advice. */
#ifndef CFR_STS_GCP_ERROR_PRIVATE_H
#define CFR_STS_GCP_ERROR_PRIVATE_H

#include "sts/gcp/plan_private.h"
#include "sts/core/oauth_answer.h"

struct cfr_gcp_refusal {
    enum cfr_gcp_step step;
    const struct cfr_wire_reply *reply;
    const struct cfr_oauth_answer *answer; /* empty where the body was not understood */
    struct cfr_view who;                   /* the token's subject, or the key's account */
    const char *who_is;
    const struct cfr_view *secrets;
    size_t secret_count;
};

/* Sets ERR and returns its code. Never 0. */
int cfr_gcp_error_set(const struct cfr_gcp_refusal *r, struct cfr_err *err);

#endif
