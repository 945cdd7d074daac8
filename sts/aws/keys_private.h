/* SPDX-License-Identifier: MIT */
/* Keys that sign a request: those of a file (an AWS shared credentials file, or two files with one value
 * each), or those that a step was granted. Source of the ini form: what the AWS SDKs agree on about their
 * credentials file. */
#ifndef CFR_STS_AWS_KEYS_PRIVATE_H
#define CFR_STS_AWS_KEYS_PRIVATE_H

#include "sts/aws/aws.h"
#include "wire/aws.h"

/* Takes the keys out of the contents of the files that CONFIG names. CFR_E_CONFIG says what is missing or
 * garbled and where, without repeating any of it. */
int cfr_aws_keys_read(const struct cfr_aws *config, const struct cfr_sts_input *in, struct cfr_wire_aws_keys *out,
                      struct cfr_err *err);
struct cfr_wire_aws_keys cfr_aws_keys_granted(const struct cfr_grant *grant);

#endif
