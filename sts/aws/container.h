/* SPDX-License-Identifier: MIT */
/* Keys from an endpoint of AWS's container credentials: the EKS Pod Identity agent, which takes the pod's
 * token, or ECS. Source: the SDKs' reference on container credentials; the Pod Identity agent's behaviour. */
#ifndef CFR_STS_AWS_CONTAINER_H
#define CFR_STS_AWS_CONTAINER_H

#include "sts/aws/ecr.h"
#include "sts/core/provider.h"

#define CFR_AWS_CONTAINER_DEFAULT "http://169.254.170.23/v1/credentials"

enum cfr_aws_container_authorization { CFR_AWS_CONTAINER_TOKEN, CFR_AWS_CONTAINER_NONE };

/* `exchange: aws_container:` */
struct cfr_aws_container {
    struct cfr_node node;
    char *endpoint;
    int authorization; /* enum cfr_aws_container_authorization */
    char *role_arn;    /* the one that is expected */
    char *region;
    char *ca_file;
    bool verify;
    char *sts_endpoint; /* for verify */
    struct cfr_aws_ecr *ecr;
};

extern const struct cfr_sts_provider cfr_aws_container_provider;

#endif
