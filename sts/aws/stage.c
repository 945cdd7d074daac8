/* SPDX-License-Identifier: MIT */
/* Steps of an AWS exchange. */
#include "sts/aws/stage_private.h"

enum cfr_aws_stage cfr_aws_stage_at(const struct cfr_aws *config, size_t ecr_calls, unsigned step, size_t *index)
{
    size_t n = step;

    *index = 0;
    if (n == 0 && !cfr_aws_has_keys(config))
        return CFR_AWS_STAGE_WEB_IDENTITY;
    if (n == 0)
        return config->role_arn != NULL ? CFR_AWS_STAGE_ASSUME_ROLE : CFR_AWS_STAGE_SESSION_TOKEN;
    *index = --n;
    if (n < config->then_assume.count)
        return CFR_AWS_STAGE_CHAIN;
    n -= config->then_assume.count;
    if (config->verify && n-- == 0)
        return CFR_AWS_STAGE_VERIFY;
    *index = n;
    return n < ecr_calls ? CFR_AWS_STAGE_ECR : CFR_AWS_STAGE_NONE;
}

const char *cfr_aws_stage_operation(enum cfr_aws_stage stage)
{
    switch (stage) {
    case CFR_AWS_STAGE_WEB_IDENTITY:
        return "AssumeRoleWithWebIdentity";
    case CFR_AWS_STAGE_ASSUME_ROLE:
    case CFR_AWS_STAGE_CHAIN:
        return "AssumeRole";
    case CFR_AWS_STAGE_SESSION_TOKEN:
        return "GetSessionToken";
    case CFR_AWS_STAGE_VERIFY:
        return "GetCallerIdentity";
    case CFR_AWS_STAGE_NONE:
    case CFR_AWS_STAGE_ECR:
        break;
    }
    return NULL;
}
