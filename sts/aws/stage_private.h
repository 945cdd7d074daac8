/* SPDX-License-Identifier: MIT */
/* Which request each step of an AWS exchange is. */
#ifndef CFR_STS_AWS_STAGE_PRIVATE_H
#define CFR_STS_AWS_STAGE_PRIVATE_H

#include "sts/aws/aws.h"

enum cfr_aws_stage {
    CFR_AWS_STAGE_NONE, /* there is no such step */
    CFR_AWS_STAGE_WEB_IDENTITY,
    CFR_AWS_STAGE_ASSUME_ROLE,   /* with keys */
    CFR_AWS_STAGE_SESSION_TOKEN, /* with keys and no role */
    CFR_AWS_STAGE_CHAIN,
    CFR_AWS_STAGE_VERIFY,
    CFR_AWS_STAGE_ECR
};

/* The stage of STEP, of ECR_CALLS requests to ECR at the end; *INDEX is its number within then_assume or ECR.
 */
enum cfr_aws_stage cfr_aws_stage_at(const struct cfr_aws *config, size_t ecr_calls, unsigned step, size_t *index);
/* The operation of STS, or NULL for ECR. */
const char *cfr_aws_stage_operation(enum cfr_aws_stage stage);

#endif
