/* SPDX-License-Identifier: MIT */
/* Where an STS is: the partitions of AWS, the host names composed from a region, and custom endpoints.
 * Source of the names: the endpoint rules and the partition list that AWS publishes with its SDKs. */
#ifndef CFR_STS_AWS_ENDPOINT_H
#define CFR_STS_AWS_ENDPOINT_H

#include "base/err.h"
#include "base/view.h"

#define CFR_AWS_REGION_MAX   64  /* with its NUL */
#define CFR_AWS_ENDPOINT_MAX 512 /* longest custom endpoint */

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

struct cfr_aws_endpoint {
    char host[CFR_AWS_ENDPOINT_MAX]; /* as the Host header has it: with the port unless it is the scheme's own
                                      */
    char path[CFR_AWS_ENDPOINT_MAX]; /* begins with '/' */
    char region[CFR_AWS_REGION_MAX]; /* to sign for; empty when unknown */
    bool tls;
    bool custom;
};

struct cfr_aws_partition {
    const char *name; /* as in ARNs */
    const char *dns_suffix;
    const char *dual_stack_suffix;
};

/* The partition of a region, or NULL if the region is of no known form. */
const struct cfr_aws_partition *cfr_aws_endpoint_partition(const char *region);
/* The partition with this name, or NULL. */
const struct cfr_aws_partition *cfr_aws_endpoint_partition_named(struct cfr_view name);
/* True for what may be a region: a DNS label in lower case, since it becomes part of a host name. */
bool cfr_aws_endpoint_region_ok(struct cfr_view region);

/* Decides host, path and signing region. PARTITION is the one in the role's ARN (empty when there is no
 * role): it serves for regions that are newer than this table. CFR_E_CONFIG names the setting that is wrong:
 * no region, a region that is no DNS label, a partition that is not the region's, an endpoint that is not
 * https (or http to loopback), an endpoint together with FIPS or dual-stack, a VPC endpoint of another
 * region. */
int cfr_aws_endpoint_resolve(const struct cfr_aws_settings *place, struct cfr_view partition,
                             struct cfr_aws_endpoint *out, struct cfr_err *err);
/* Checks a custom endpoint by itself and takes it apart; out->region is filled from the names that AWS gives
 * its endpoints (regional and VPC). CFR_E_CONFIG without naming the key. */
int cfr_aws_endpoint_parse(const char *url, struct cfr_aws_endpoint *out, struct cfr_err *err);

#endif
