/* SPDX-License-Identifier: MIT */
/* What an STS answered, taken out of XML. */
#ifndef CFR_STS_AWS_ANSWER_PRIVATE_H
#define CFR_STS_AWS_ANSWER_PRIVATE_H

#include "base/grant.h"

#define CFR_AWS_ANSWER_TYPE "text/xml" /* that requests ask for */

enum cfr_aws_answer_field {
    CFR_AWS_KEY_ID,
    CFR_AWS_SECRET,
    CFR_AWS_SESSION_TOKEN,
    CFR_AWS_EXPIRATION,
    CFR_AWS_ARN,     /* of the assumed role's session, or of the caller */
    CFR_AWS_ACCOUNT, /* of the caller */
    CFR_AWS_CODE,    /* of an error */
    CFR_AWS_MESSAGE,
    CFR_AWS_REQUEST_ID,
    CFR_AWS_FIELDS
};

/* Everything is held as a secret, for a message may echo one. */
struct cfr_aws_answer {
    struct cfr_secret fields[CFR_AWS_FIELDS]; /* empty where the answer has none */
    int64_t expires_s;                        /* 0 = none, or not understood */
};

/* Reads the answer to OPERATION ("AssumeRole"): a grant, an error, or both absent. XML is detected from the
 * first byte, since servers other than AWS mislabel theirs; CONTENT_TYPE is for the error text. CFR_E_ANSWER:
 * not XML, malformed, or an element twice; CFR_E_NOMEM. The caller frees OUT in every case. */
int cfr_aws_answer_read(const char *operation, struct cfr_view content_type, struct cfr_view body,
                        struct cfr_aws_answer *out, struct cfr_err *err);
void cfr_aws_answer_free(struct cfr_aws_answer *a);
struct cfr_view cfr_aws_answer_get(const struct cfr_aws_answer *a, enum cfr_aws_answer_field field);

/* Fills the keys, the account, the identity and the expiry of the empty G. FALLBACK_ARN (the role, or NULL)
 * serves where the answer names none. CFR_E_ANSWER says what is missing or garbled. */
int cfr_aws_answer_grant(const struct cfr_aws_answer *a, const char *fallback_arn, struct cfr_grant *g,
                         struct cfr_err *err);

#endif
