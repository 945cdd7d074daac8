/* SPDX-License-Identifier: MIT */
/* The errors of STS: which of ours each is, and what to do about it.
 * Source of codes: the STS API reference and its common errors; of the throttling codes: the SDKs' retry
 * rules. */
#ifndef CFR_STS_AWS_ERROR_H
#define CFR_STS_AWS_ERROR_H

#include "sts/aws_answer.h"

struct cfr_aws_refusal {
    long status;                         /* HTTP */
    const struct cfr_aws_answer *answer; /* code and message; may be empty */
    struct cfr_view request_id;          /* from the header; the answer's own serves if it is empty */
    struct cfr_view who;            /* the token's subject, or the ARN of the calling session; may be empty */
    bool chained;                   /* a signed step, not the first */
    const struct cfr_view *secrets; /* what an answer must not echo into the text */
    size_t secret_count;
};

/* Sets ERR to "CODE: message (HTTP 403, request ID): what to do" and returns the code. */
int cfr_aws_error_set(const struct cfr_aws_refusal *r, struct cfr_err *err);
/* The code alone, for a wire code and message; MESSAGE and CODE may be empty. Never 0. */
int cfr_aws_error_code(long status, struct cfr_view code, struct cfr_view message);

#endif
