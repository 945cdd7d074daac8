/* SPDX-License-Identifier: MIT */
/* A POST to a service of AWS: URL, headers and, with keys, its signature. */
#ifndef CFR_STS_AWS_REQUEST_PRIVATE_H
#define CFR_STS_AWS_REQUEST_PRIVATE_H

#include "sts/aws/endpoint.h"
#include "sts/aws/keys_private.h"

struct cfr_aws_request {
    const struct cfr_aws_endpoint *endpoint;
    const char *service; /* as in the signature's scope: "sts", "ecr" */
    const char *content_type;
    const char *accept;              /* NULL = no such header */
    const char *target;              /* X-Amz-Target; NULL = no such header */
    const struct cfr_aws_keys *keys; /* NULL = not signed */
    int64_t now_s;
};

/* Completes OUT, whose body is there already. CFR_E_INTERNAL for empty keys or an endpoint without region. */
int cfr_aws_request_build(const struct cfr_aws_request *p, struct cfr_sts_request *out, struct cfr_err *err);

#endif
