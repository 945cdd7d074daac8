/* SPDX-License-Identifier: MIT */
/* The errors of STS: which of ours each is, and what to do about it.
 * Source of codes: the STS API reference and its common errors; of the throttling codes: the SDKs' retry
 * rules. */
#ifndef CFR_STS_AWS_ERROR_PRIVATE_H
#define CFR_STS_AWS_ERROR_PRIVATE_H

#include "base/error_table.h"
#include "sts/aws/answer_private.h"

/* With what a call was made: it decides what a refusal means. */
enum cfr_aws_call {
    CFR_AWS_WITH_TOKEN,   /* the subject token */
    CFR_AWS_WITH_KEYS,    /* long-lived keys */
    CFR_AWS_WITH_SESSION, /* the keys of the step before */
    CFR_AWS_VERIFY,       /* the keys that were granted last, to see whether they work */
    CFR_AWS_CALLS
};

struct cfr_aws_refusal {
    long status;                         /* HTTP */
    const struct cfr_aws_answer *answer; /* code and message; may be empty */
    struct cfr_view request_id;          /* from the header; the answer's own serves if it is empty */
    enum cfr_aws_call call;
    struct cfr_view who;            /* the token's subject, the access key ID or the ARN of the session; may be empty */
    const struct cfr_view *secrets; /* what an answer must not echo into the text */
    size_t secret_count;
};

/* Sets ERR to "CODE: message (HTTP 403, request ID): what to do" and returns the code. */
int cfr_aws_error_set(const struct cfr_aws_refusal *r, struct cfr_err *err);

#endif
