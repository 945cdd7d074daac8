/* SPDX-License-Identifier: MIT */
/* Endpoint of STS or another service of AWS, made of the settings. */
#ifndef CFR_STS_AWS_ENDPOINT_PRIVATE_H
#define CFR_STS_AWS_ENDPOINT_PRIVATE_H

#include "wire/aws_settings.h"

/* Decides host, path and signing region. PARTITION is the one in the role's ARN (empty when there is no
 * role): it serves for regions that are newer than this table. CFR_E_CONFIG names the setting that is wrong:
 * no region, a region that is no DNS label, a partition that is not the region's, an endpoint that is not
 * https (or http to loopback), an endpoint together with FIPS or dual-stack, a VPC endpoint of another
 * region. */
int cfr_aws_endpoint_resolve(const struct cfr_aws_settings *place, struct cfr_view partition,
                             struct cfr_wire_aws_endpoint *out, struct cfr_err *err);

#endif
