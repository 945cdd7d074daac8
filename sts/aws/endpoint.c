/* SPDX-License-Identifier: MIT */
/* Hosts of STS. */
#include "sts/aws/settings_private.h"

#include <stdio.h>
#include <string.h>

#define GLOBAL_HOST   "sts.amazonaws.com"
#define GLOBAL_REGION "aws-global"
#define GLOBAL_SIGN   "us-east-1"

static bool is_vpc_host(const char *host)
{
    return strncmp(host, "vpce-", 5) == 0;
}

static int resolve_custom(const struct cfr_aws_settings *place, struct cfr_wire_aws_endpoint *out, struct cfr_err *err)
{
    int rc = cfr_wire_aws_check_custom(place, err);

    if (rc != 0)
        return rc;
    rc = cfr_wire_aws_endpoint_parse_as(place->plain_http, place->endpoint, out, err);
    if (rc != 0)
        return cfr_err_prefix(err, "%s", place->endpoint_from);
    if (place->region == NULL)
        return 0;
    if (is_vpc_host(out->host) && out->region[0] != '\0') {
        /* A region from the environment is where the workload runs, which need not be where the endpoint is.
         */
        if (strcmp(place->region_from, "region") == 0 && strcmp(place->region, out->region) != 0)
            return cfr_err_set(err, CFR_E_CONFIG, "region: %s is not the region of the VPC endpoint, which is %s",
                               place->region, out->region);
        return 0;
    }
    (void)snprintf(out->region, sizeof out->region, "%s",
                   strcmp(place->region, GLOBAL_REGION) == 0 ? GLOBAL_SIGN : place->region);
    return 0;
}

static bool use_global(const struct cfr_aws_settings *place)
{
    return !place->fips && !place->dual_stack && strcmp(place->region, GLOBAL_REGION) == 0;
}

static int compose(const struct cfr_aws_settings *place, const struct cfr_wire_aws_partition *partition,
                   struct cfr_wire_aws_endpoint *out, struct cfr_err *err)
{
    out->tls = true;
    (void)snprintf(out->path, sizeof out->path, "/");
    if (use_global(place)) {
        (void)snprintf(out->host, sizeof out->host, "%s", GLOBAL_HOST);
        (void)snprintf(out->region, sizeof out->region, "%s", GLOBAL_SIGN);
        return 0;
    }
    if (strcmp(place->region, GLOBAL_REGION) == 0)
        return cfr_err_set(err, CFR_E_CONFIG, "%s: aws-global has no FIPS or dual-stack host; name a region",
                           place->region_from);
    cfr_wire_aws_sts_host(partition, place->region, place->fips, place->dual_stack, out->host);
    (void)snprintf(out->region, sizeof out->region, "%s", place->region);
    return 0;
}

int cfr_aws_endpoint_resolve(const struct cfr_aws_settings *place, struct cfr_view partition,
                             struct cfr_wire_aws_endpoint *out, struct cfr_err *err)
{
    const struct cfr_wire_aws_partition *of_role = cfr_wire_aws_partition_named(partition);
    const struct cfr_wire_aws_partition *of_region;

    *out = (struct cfr_wire_aws_endpoint){0};
    if (place->region != NULL && !cfr_wire_aws_region_ok(cfr_view_of(place->region)))
        return cfr_err_set(err, CFR_E_CONFIG,
                           "%s: a region has only lower-case letters, digits and hyphens, such as eu-west-1",
                           place->region_from);
    if (place->endpoint != NULL)
        return resolve_custom(place, out, err);
    if (place->region == NULL)
        return cfr_err_set(err, CFR_E_CONFIG,
                           "region: is missing; write `region: eu-west-1` (or the nearest one), or set AWS_REGION");
    of_region = cfr_wire_aws_partition(place->region);
    if (of_region == NULL)
        of_region = of_role != NULL ? of_role : cfr_wire_aws_partition_named(cfr_view_of("aws"));
    if (partition.n != 0 && !cfr_view_is(partition, of_region->name))
        return cfr_err_set(err, CFR_E_CONFIG,
                           "role_arn: its partition is %.*s, but the region %s (from %s) is in the partition "
                           "%s; a role can only be assumed in its own partition",
                           (int)(partition.n < 40 ? partition.n : 40), partition.p, place->region, place->region_from,
                           of_region->name);
    return compose(place, of_region, out, err);
}
