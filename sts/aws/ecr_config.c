/* SPDX-License-Identifier: MIT */
/* The configuration of `ecr:`. */
#include "sts/aws/ecr_private.h"

#include "wire/aws_settings.h"
#include "sts/core/docker_auths.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define FIELD(member, kind) .key = #member, .type = CFR_FIELD_##kind, .offset = offsetof(struct cfr_aws_ecr, member)
#define FIELD_AS(name, member, kind)                                                                                   \
    .key = (name), .type = CFR_FIELD_##kind, .offset = offsetof(struct cfr_aws_ecr, member)

static const struct cfr_field fields[] = {
    {FIELD(registries, STRINGS), .max = CFR_AWS_ECR_REGISTRIES_MAX,
     .doc = CFR_DOC("Hosts of private registries, such as `123456789012.dkr.ecr.eu-west-1.amazonaws.com`, in at most "
                    "four "
                    "regions of the role's partition. The session needs `ecr:GetAuthorizationToken`.")},
    {FIELD_AS("public", with_public, BOOL), .fallback = "false",
     .doc = CFR_DOC("Also log in to public.ecr.aws, under this name and under ecr-public.aws.com. The "
                    "session needs `ecr-public:GetAuthorizationToken` and `sts:GetServiceBearerToken`, "
                    "of a role in the partition `aws`. Excludes `fips`: ECR Public has no FIPS endpoint.")},
    {FIELD(region, STRING), .min = 1, .max = CFR_AWS_ECR_REGION_MAX - 1,
     .doc = CFR_DOC("Region of registries whose name has none, which is possible with `endpoint` only. Default: that "
                    "of the "
                    "exchange.")},
    {FIELD(endpoint, STRING), .min = 1, .max = 511,
     .doc =
         CFR_DOC("URL to call instead of the region's ECR: a VPC endpoint or a compatible server, for one region "
                 "only. https, "
                 "or http to 127.0.0.0/8, [::1] or localhost. Default: `AWS_ENDPOINT_URL_ECR` "
                 "(`AWS_ENDPOINT_URL_ECR_PUBLIC`), "
                 "then `AWS_ENDPOINT_URL`, unless `AWS_IGNORE_CONFIGURED_ENDPOINT_URLS` is true. Excludes `fips` and "
                 "`dual_stack`.")},
    {.key = NULL},
};

static int check_registry(const struct cfr_aws_ecr *c, size_t i, struct cfr_err *err)
{
    const char *host = c->registries.items[i];
    struct cfr_aws_ecr_host parsed;

    for (size_t k = 0; k < i; k++) {
        if (strcmp(c->registries.items[k], host) == 0)
            return cfr_err_set(err, CFR_E_CONFIG, "registries: elements %zu and %zu are the same", k + 1, i + 1);
    }
    if (cfr_aws_ecr_host_is_public(cfr_view_of(host)))
        return cfr_err_set(err, CFR_E_CONFIG, "registries: for %s write `public: true` instead", host);
    if (cfr_aws_ecr_host_parse(cfr_view_of(host), &parsed)) {
        if (c->region != NULL && strcmp(c->region, parsed.region) != 0)
            return cfr_err_set(err, CFR_E_CONFIG, "region: it is %s, but element %zu of registries is in %s", c->region,
                               i + 1, parsed.region);
        return 0;
    }
    if (c->endpoint == NULL || !cfr_docker_auths_host_ok(cfr_view_of(host)))
        return cfr_err_set(err, CFR_E_CONFIG,
                           "registries: element %zu is no host of ECR, such as "
                           "\"123456789012.dkr.ecr.eu-west-1.amazonaws.com\", without scheme and path%s",
                           i + 1, c->endpoint == NULL ? "; other names need `endpoint`" : "");
    return 0;
}

static int check(const void *node, struct cfr_err *err)
{
    const struct cfr_aws_ecr *c = node;
    struct cfr_wire_aws_endpoint endpoint;

    if (c->region != NULL && !cfr_wire_aws_region_ok(cfr_view_of(c->region)))
        return cfr_err_set(err, CFR_E_CONFIG,
                           "region: a region has only lower-case letters, digits and hyphens, such as eu-west-1");
    if (c->endpoint != NULL && cfr_wire_aws_endpoint_parse(c->endpoint, &endpoint, err) != 0) {
        (void)cfr_err_prefix(err, "endpoint");
        return CFR_E_CONFIG;
    }
    if (c->endpoint != NULL && c->with_public && c->registries.count != 0)
        return cfr_err_set(err, CFR_E_CONFIG,
                           "endpoint: it cannot serve both `registries` and `public`, which are two services");
    for (size_t i = 0; i < c->registries.count; i++) {
        int rc = check_registry(c, i, err);

        if (rc != 0)
            return rc;
    }
    return 0;
}

const struct cfr_table cfr_aws_ecr_table = {
    .name = "ecr",
    .size = sizeof(struct cfr_aws_ecr),
    .fields = fields,
    .check = check,
    .doc = CFR_DOC("Logins to Amazon's container registries, obtained with the session's keys "
                   "(GetAuthorizationToken), for the format docker-config. They are valid for 12 hours; "
                   "the credential is renewed before the first of them, or the session, expires."),
};

static int add(struct cfr_aws_ecr *c, struct cfr_view host, struct cfr_err *err)
{
    char example[CFR_AWS_ECR_REGION_MAX + 64];
    int rc;

    (void)snprintf(example, sizeof example, "123456789012.dkr.ecr.%s.amazonaws.com",
                   c->region != NULL ? c->region : "us-east-1");
    c->with_public = cfr_aws_ecr_host_is_public(host);
    rc = c->with_public ? 0 : cfr_docker_auths_default(&c->registries, host, example, err);
    return rc != 0 ? rc : check(c, err);
}

int cfr_aws_ecr_add(struct cfr_aws_ecr **ecr, struct cfr_view host, struct cfr_err *err)
{
    int rc = 0;

    if (*ecr == NULL) {
        *ecr = calloc(1, sizeof **ecr);
        if (*ecr == NULL)
            return cfr_err_nomem(err);
        rc = cfr_field_defaults(&cfr_aws_ecr_table, *ecr, err);
    }
    if (rc == 0 && (*ecr)->registries.count == 0 && !(*ecr)->with_public)
        rc = add(*ecr, host, err);
    if (rc != 0 && rc != CFR_E_NOMEM)
        (void)cfr_err_prefix(err, "ecr");
    return rc;
}
