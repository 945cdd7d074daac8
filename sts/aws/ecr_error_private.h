/* SPDX-License-Identifier: MIT */
/* The errors of ECR. */
#ifndef CFR_STS_AWS_ECR_ERROR_PRIVATE_H
#define CFR_STS_AWS_ECR_ERROR_PRIVATE_H

#include "sts/core/provider.h"

/* Makes an error of a reply that is not 200: its type is in the header x-amzn-ErrorType or in the body's
 * `__type`. */
int cfr_aws_ecr_error_set(const struct cfr_wire_reply *reply, bool is_public, const struct cfr_grant *grant,
                          struct cfr_err *err);

#endif
