/* SPDX-License-Identifier: MIT */
/* What the files of the container credentials provider share. */
#ifndef CFR_STS_AWS_CONTAINER_PRIVATE_H
#define CFR_STS_AWS_CONTAINER_PRIVATE_H

#include "sts/aws/container.h"
#include "sts/aws/ecr_private.h"

extern const struct cfr_table cfr_aws_container_table;

/* True if TEXT is a URL that such an endpoint may have: https, or http to a loopback address or to one of the
 * three that AWS gives (*LINK_LOCAL). CFR_E_CONFIG without naming the key. */
int cfr_aws_container_url(const char *text, bool *link_local, struct cfr_err *err);

#endif
