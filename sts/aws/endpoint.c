/* SPDX-License-Identifier: MIT */
/* Hosts of STS. */
#include "sts/aws/endpoint.h"

#include "wire/url.h"

#include <stdio.h>
#include <string.h>

#define GLOBAL_HOST   "sts.amazonaws.com"
#define GLOBAL_REGION "aws-global"
#define GLOBAL_SIGN   "us-east-1"

/* `prefixes`: what stands before `-WORD-NUMBER` in its regions, separated by spaces. */
static const struct {
    struct cfr_aws_partition partition;
    const char *prefixes;
} partitions[] = {
    {{"aws", "amazonaws.com", "api.aws"}, "us eu ap sa ca me af il mx"},
    {{"aws-cn", "amazonaws.com.cn", "api.amazonwebservices.com.cn"}, "cn"},
    {{"aws-us-gov", "amazonaws.com", "api.aws"}, "us-gov"},
    {{"aws-eusc", "amazonaws.eu", "api.amazonwebservices.eu"}, "eusc-de"},
    {{"aws-iso", "c2s.ic.gov", "api.aws.ic.gov"}, "us-iso"},
    {{"aws-iso-b", "sc2s.sgov.gov", "api.aws.scloud"}, "us-isob"},
    {{"aws-iso-e", "cloud.adc-e.uk", "api.cloud-aws.adc-e.uk"}, "eu-isoe"},
    {{"aws-iso-f", "csp.hci.ic.gov", "api.aws.hci.ic.gov"}, "us-isof"},
};
#define PARTITIONS (sizeof partitions / sizeof partitions[0])

/* The regions that `legacy` sends to the global host; newer ones never go there. */
static const char *const legacy_regions[] = {
    "ap-northeast-1", "ap-south-1", "ap-southeast-1", "ap-southeast-2", "aws-global", "ca-central-1",
    "eu-central-1",   "eu-north-1", "eu-west-1",      "eu-west-2",      "eu-west-3",  "sa-east-1",
    "us-east-1",      "us-east-2",  "us-west-1",      "us-west-2",
};

static bool lower_or_digit(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9');
}

/* `-WORD-NUMBER` and nothing else. */
static bool has_tail(const char *text)
{
    size_t word = 0;
    size_t number = 0;

    if (*text++ != '-')
        return false;
    while (lower_or_digit(text[word]) || text[word] == '_')
        word++;
    if (word == 0 || text[word] != '-')
        return false;
    text += word + 1;
    while (text[number] >= '0' && text[number] <= '9')
        number++;
    return number != 0 && text[number] == '\0';
}

static bool matches(const char *region, const char *prefixes)
{
    while (*prefixes != '\0') {
        size_t n = strcspn(prefixes, " ");

        if (strncmp(region, prefixes, n) == 0 && has_tail(region + n))
            return true;
        prefixes += n + (prefixes[n] == ' ' ? 1 : 0);
    }
    return false;
}

const struct cfr_aws_partition *cfr_aws_endpoint_partition(const char *region)
{
    if (strcmp(region, GLOBAL_REGION) == 0)
        return &partitions[0].partition;
    for (size_t i = 0; i < PARTITIONS; i++) {
        if (matches(region, partitions[i].prefixes))
            return &partitions[i].partition;
    }
    return NULL;
}

const struct cfr_aws_partition *cfr_aws_endpoint_partition_named(struct cfr_view name)
{
    for (size_t i = 0; i < PARTITIONS; i++) {
        if (cfr_view_is(name, partitions[i].partition.name))
            return &partitions[i].partition;
    }
    return NULL;
}

bool cfr_aws_endpoint_region_ok(struct cfr_view region)
{
    if (region.n == 0 || region.n >= CFR_AWS_REGION_MAX || region.p[0] == '-' || region.p[region.n - 1] == '-')
        return false;
    for (size_t i = 0; i < region.n; i++) {
        if (!lower_or_digit(region.p[i]) && region.p[i] != '-')
            return false;
    }
    return true;
}

static bool is_legacy_region(const char *region)
{
    for (size_t i = 0; i < sizeof legacy_regions / sizeof legacy_regions[0]; i++) {
        if (strcmp(region, legacy_regions[i]) == 0)
            return true;
    }
    return false;
}

/* Host names that AWS gives: sts.R.SUFFIX, sts-fips.R.SUFFIX and vpce-ID.sts.R.vpce.SUFFIX. */
static void region_of_host(const char *host, char region[CFR_AWS_REGION_MAX])
{
    const char *p = host;
    size_t n;

    region[0] = '\0';
    if (strncmp(p, "vpce-", 5) == 0 && strchr(p, '.') != NULL)
        p = strchr(p, '.') + 1;
    if (strncmp(p, "sts.", 4) == 0)
        p += 4;
    else if (strncmp(p, "sts-fips.", 9) == 0)
        p += 9;
    else
        return;
    n = strcspn(p, ".");
    if (p[n] != '.' || n >= CFR_AWS_REGION_MAX)
        return;
    memcpy(region, p, n);
    region[n] = '\0';
    if (cfr_aws_endpoint_partition(region) == NULL)
        region[0] = '\0';
}

static bool is_vpc_host(const char *host)
{
    return strncmp(host, "vpce-", 5) == 0;
}

/* A path whose canonical form in a signature is itself. */
static bool path_ok(const char *path)
{
    for (const char *p = path; *p != '\0'; p++) {
        bool plain = lower_or_digit(*p) || (*p >= 'A' && *p <= 'Z') || strchr("-._~", *p) != NULL;

        if (*p == '/' ? p[1] == '/' : !plain)
            return false;
        if (p[0] == '/' && p[1] == '.' && (p[2] == '/' || p[2] == '\0'))
            return false;
        if (p[0] == '/' && p[1] == '.' && p[2] == '.' && (p[3] == '/' || p[3] == '\0'))
            return false;
    }
    return true;
}

int cfr_aws_endpoint_parse(const char *url, struct cfr_aws_endpoint *out, struct cfr_err *err)
{
    struct cfr_url parts;
    int64_t port;
    size_t n;
    int rc;

    *out = (struct cfr_aws_endpoint){.custom = true};
    if (strlen(url) >= CFR_AWS_ENDPOINT_MAX)
        return cfr_err_set(err, CFR_E_CONFIG, "it is longer than %d characters", CFR_AWS_ENDPOINT_MAX - 1);
    rc = cfr_url_parse(url, &parts, err);
    if (rc != 0)
        return rc;
    if (!path_ok(parts.path.p))
        return cfr_err_set(err, CFR_E_CONFIG,
                           "after the host it may only have a port and a plain path: no user, query or fragment");
    out->tls = parts.tls;
    n = parts.host.n;
    for (size_t i = 0; i < n; i++) {
        char c = parts.host.p[i];

        out->host[i] = (char)(c >= 'A' && c <= 'Z' ? c - 'A' + 'a' : c);
    }
    region_of_host(out->host, out->region);
    /* As clients write the Host header, which is signed: without the scheme's own port. */
    if (parts.port.n != 0 && cfr_view_int(parts.port, &port) && port != (out->tls ? 443 : 80))
        (void)snprintf(out->host + n, sizeof out->host - n, ":%d", (int)port);
    (void)snprintf(out->path, sizeof out->path, "%s", parts.path.n != 0 ? parts.path.p : "/");
    return 0;
}

static int resolve_custom(const struct cfr_aws_settings *place, struct cfr_aws_endpoint *out, struct cfr_err *err)
{
    int rc;

    if (place->fips || place->dual_stack)
        return cfr_err_set(err, CFR_E_CONFIG,
                           "%s cannot be combined with %s: give the %s host in the URL itself and set %s to false",
                           place->endpoint_from, place->fips ? place->fips_from : place->dual_stack_from,
                           place->fips ? "FIPS" : "dual-stack", place->fips ? "fips" : "dual_stack");
    rc = cfr_aws_endpoint_parse(place->endpoint, out, err);
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
    (void)snprintf(out->region, sizeof out->region, "%s", place->region);
    return 0;
}

static bool use_global(const struct cfr_aws_settings *place)
{
    if (place->fips || place->dual_stack)
        return false;
    return strcmp(place->region, GLOBAL_REGION) == 0 || (place->legacy && is_legacy_region(place->region));
}

static int compose(const struct cfr_aws_settings *place, const struct cfr_aws_partition *partition,
                   struct cfr_aws_endpoint *out, struct cfr_err *err)
{
    /* In GovCloud the ordinary host is the FIPS one; there is no other. */
    bool fips = place->fips && (place->dual_stack || strcmp(partition->name, "aws-us-gov") != 0);

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
    (void)snprintf(out->host, sizeof out->host, "%s.%s.%s", fips ? "sts-fips" : "sts", place->region,
                   place->dual_stack ? partition->dual_stack_suffix : partition->dns_suffix);
    (void)snprintf(out->region, sizeof out->region, "%s", place->region);
    return 0;
}

int cfr_aws_endpoint_resolve(const struct cfr_aws_settings *place, struct cfr_view partition,
                             struct cfr_aws_endpoint *out, struct cfr_err *err)
{
    const struct cfr_aws_partition *of_role = cfr_aws_endpoint_partition_named(partition);
    const struct cfr_aws_partition *of_region;

    *out = (struct cfr_aws_endpoint){0};
    if (place->region != NULL && !cfr_aws_endpoint_region_ok(cfr_view_of(place->region)))
        return cfr_err_set(err, CFR_E_CONFIG,
                           "%s: a region has only lower-case letters, digits and hyphens, such as eu-west-1",
                           place->region_from);
    if (place->endpoint != NULL)
        return resolve_custom(place, out, err);
    if (place->region == NULL)
        return cfr_err_set(err, CFR_E_CONFIG,
                           "region: no region is known; write `region: eu-west-1` (or whichever is nearest), "
                           "or set AWS_REGION");
    of_region = cfr_aws_endpoint_partition(place->region);
    if (of_region == NULL)
        of_region = of_role != NULL ? of_role : &partitions[0].partition;
    if (partition.n != 0 && !cfr_view_is(partition, of_region->name))
        return cfr_err_set(err, CFR_E_CONFIG,
                           "role_arn: its partition is %.*s, but the region %s (from %s) is in the partition "
                           "%s; a role can only be assumed in its own partition",
                           (int)(partition.n < 40 ? partition.n : 40), partition.p, place->region, place->region_from,
                           of_region->name);
    return compose(place, of_region, out, err);
}
