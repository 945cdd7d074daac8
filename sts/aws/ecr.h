/* SPDX-License-Identifier: MIT */
/* Settings of logins to Amazon's container registries, which two exchanges share. The exchange that they are in owns
 * them. */
#ifndef CFR_STS_AWS_ECR_H
#define CFR_STS_AWS_ECR_H

#include "base/field.h"

/* `ecr:` */
struct cfr_aws_ecr {
    struct cfr_node node;
    struct cfr_strings registries; /* private ones, by host */
    bool with_public;              /* `public`: public.ecr.aws, under both of its names */
    char *region;
    char *endpoint;
};

#endif
