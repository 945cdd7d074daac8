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
#endif
