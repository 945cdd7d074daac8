/* SPDX-License-Identifier: MIT */
/* What of an AWS configuration only its provider asks. */
#ifndef CFR_STS_AWS_AWS_PRIVATE_H
#define CFR_STS_AWS_AWS_PRIVATE_H

#include "sts/aws/aws.h"
#include "sts/aws/ecr_private.h"

extern const struct cfr_table cfr_aws_table;

/* Step N of `then_assume`, or NULL. */
const struct cfr_aws_step *cfr_aws_step_at(const struct cfr_aws *config, size_t n);

/* sts/aws/trust.c: as in struct cfr_sts_provider. */
struct cfr_sts_trust;
void cfr_aws_trust_needed(const void *config, const struct cfr_sts_trust *t);
void cfr_aws_trust_refused(const char *text, const struct cfr_sts_trust *t);
void cfr_aws_container_trust_needed(const void *config, const struct cfr_sts_trust *t);

#endif
