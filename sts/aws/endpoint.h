/* SPDX-License-Identifier: MIT */
/* Endpoint of STS: composed from a region, or custom. Pure; strings are borrowed. */
#ifndef CFR_STS_AWS_ENDPOINT_H
#define CFR_STS_AWS_ENDPOINT_H

#include "wire/aws.h"

/* What is known before a host is composed; strings are borrowed. */
struct cfr_aws_settings {
    const char *region;        /* or NULL */
    const char *region_from;   /* "region", "AWS_REGION" ...: for error texts */
    const char *endpoint;      /* a URL that replaces every composed host, or NULL */
    const char *endpoint_from; /* "endpoint", "AWS_ENDPOINT_URL_STS" ... */
    bool fips;
    const char *fips_from;
    bool dual_stack;
    const char *dual_stack_from;
    bool legacy; /* the global host for the old regions */
};

/* Decides host, path and signing region. PARTITION is the one in the role's ARN (empty when there is no
 * role): it serves for regions that are newer than this table. CFR_E_CONFIG names the setting that is wrong:
 * no region, a region that is no DNS label, a partition that is not the region's, an endpoint that is not
 * https (or http to loopback), an endpoint together with FIPS or dual-stack, a VPC endpoint of another
 * region. */
int cfr_aws_endpoint_resolve(const struct cfr_aws_settings *place, struct cfr_view partition,
                             struct cfr_wire_aws_endpoint *out, struct cfr_err *err);
#endif
