/* SPDX-License-Identifier: MIT */
/* Partitions, endpoints, signed requests and common errors of AWS services. */
#include "wire/aws.h"

#include "base/str.h"
#include "wire/sigv4_private.h"
#include "wire/url.h"

#include <stdio.h>
#include <string.h>

#define HINT_CLOCK "the request's time or signature was refused; check this machine's clock (15 min are tolerated)"
#define HINT_BUSY  "AWS limits the rate of calls; this is usually temporary"
#define HINT_LATER "AWS is unavailable; this is usually temporary"

static const struct cfr_wire_aws_partition partitions[] = {
    {.name = "aws",
     .dns_suffix = "amazonaws.com",
     .dual_stack_suffix = "api.aws",
     .registry_dual_stack_suffix = "on.aws",
     .iam_host = "iam.amazonaws.com",
     .iam_fips_host = "iam-fips.amazonaws.com",
     .iam_dual_stack_host = "iam.global.api.aws",
     .iam_fips_dual_stack_host = "iam-fips.global.api.aws",
     .iam_region = "us-east-1",
     .prefixes = "us eu ap sa ca me af il mx"},
    {.name = "aws-cn",
     .dns_suffix = "amazonaws.com.cn",
     .dual_stack_suffix = "api.amazonwebservices.com.cn",
     .registry_dual_stack_suffix = "on.amazonwebservices.com.cn",
     .iam_host = "iam.cn-north-1.amazonaws.com.cn",
     .iam_region = "cn-north-1",
     .prefixes = "cn"},
    {.name = "aws-us-gov",
     .dns_suffix = "amazonaws.com",
     .dual_stack_suffix = "api.aws",
     .registry_dual_stack_suffix = "on.aws",
     .iam_host = "iam.us-gov.amazonaws.com",
     .iam_fips_host = "iam.us-gov.amazonaws.com",
     .iam_region = "us-gov-west-1",
     .prefixes = "us-gov"},
    {.name = "aws-eusc",
     .dns_suffix = "amazonaws.eu",
     .dual_stack_suffix = "api.amazonwebservices.eu",
     .iam_host = "iam.eusc-de-east-1.amazonaws.eu",
     .iam_region = "eusc-de-east-1",
     .prefixes = "eusc-de"},
    {.name = "aws-iso",
     .dns_suffix = "c2s.ic.gov",
     .dual_stack_suffix = "api.aws.ic.gov",
     .iam_host = "iam.us-iso-east-1.c2s.ic.gov",
     .iam_region = "us-iso-east-1",
     .prefixes = "us-iso"},
    {.name = "aws-iso-b",
     .dns_suffix = "sc2s.sgov.gov",
     .dual_stack_suffix = "api.aws.scloud",
     .iam_host = "iam.us-isob-east-1.sc2s.sgov.gov",
     .iam_region = "us-isob-east-1",
     .prefixes = "us-isob"},
    {.name = "aws-iso-e",
     .dns_suffix = "cloud.adc-e.uk",
     .dual_stack_suffix = "api.cloud-aws.adc-e.uk",
     .iam_host = "iam.eu-isoe-west-1.cloud.adc-e.uk",
     .iam_region = "eu-isoe-west-1",
     .prefixes = "eu-isoe"},
    {.name = "aws-iso-f",
     .dns_suffix = "csp.hci.ic.gov",
     .dual_stack_suffix = "api.aws.hci.ic.gov",
     .iam_host = "iam.us-isof-south-1.csp.hci.ic.gov",
     .iam_region = "us-isof-south-1",
     .prefixes = "us-isof"},
};
#define PARTITIONS (sizeof partitions / sizeof partitions[0])

const struct cfr_error_table_row cfr_wire_aws_error_rows[] = {
    {"SignatureDoesNotMatch", "Credential should be scoped", 0, CFR_E_REJECTED,
     "the endpoint belongs to another region: set `region` to that one"},
    {"SignatureDoesNotMatch RequestExpired RequestTimeTooSkewed", NULL, 0, CFR_E_REJECTED, HINT_CLOCK},
    {"Throttling ThrottlingException ThrottledException RequestThrottledException RequestThrottled "
     "TooManyRequestsException ProvisionedThroughputExceededException TransactionInProgressException "
     "RequestLimitExceeded BandwidthLimitExceeded LimitExceededException SlowDown PriorRequestNotComplete "
     "EC2ThrottledException",
     NULL, 0, CFR_E_THROTTLED, HINT_BUSY},
    {"RequestTimeout RequestTimeoutException InternalFailure InternalError InternalServerError ServiceUnavailable "
     "ServiceUnavailableException",
     NULL, 0, CFR_E_UNAVAILABLE, HINT_LATER},
    {0},
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

const struct cfr_wire_aws_partition *cfr_wire_aws_partition(const char *region)
{
    if (strcmp(region, "aws-global") == 0)
        return &partitions[0];
    for (size_t i = 0; i < PARTITIONS; i++) {
        if (matches(region, partitions[i].prefixes))
            return &partitions[i];
    }
    return NULL;
}

const struct cfr_wire_aws_partition *cfr_wire_aws_partition_named(struct cfr_view name)
{
    for (size_t i = 0; i < PARTITIONS; i++) {
        if (cfr_view_is(name, partitions[i].name))
            return &partitions[i];
    }
    return NULL;
}

bool cfr_wire_aws_registry_domain_ok(const char *region, struct cfr_view domain)
{
    const struct cfr_wire_aws_partition *own = cfr_wire_aws_partition(region);

    for (size_t i = 0; i < PARTITIONS; i++) {
        const struct cfr_wire_aws_partition *p = &partitions[i];

        if ((own == NULL || own == p) &&
            (cfr_view_is(domain, p->dns_suffix) ||
             (p->registry_dual_stack_suffix != NULL && cfr_view_is(domain, p->registry_dual_stack_suffix))))
            return true;
    }
    return false;
}

void cfr_wire_aws_sts_host(const struct cfr_wire_aws_partition *partition, const char *region, bool fips,
                           bool dual_stack, char out[CFR_AWS_ENDPOINT_MAX])
{
    /* In GovCloud the ordinary host is the FIPS one; there is no other. */
    bool other = fips && (dual_stack || strcmp(partition->name, "aws-us-gov") != 0);

    (void)snprintf(out, CFR_AWS_ENDPOINT_MAX, "%s.%s.%s", other ? "sts-fips" : "sts", region,
                   dual_stack ? partition->dual_stack_suffix : partition->dns_suffix);
}

const char *cfr_wire_aws_iam_host(const struct cfr_wire_aws_partition *partition, bool fips, bool dual_stack)
{
    return fips && dual_stack ? partition->iam_fips_dual_stack_host
           : fips             ? partition->iam_fips_host
           : dual_stack       ? partition->iam_dual_stack_host
                              : partition->iam_host;
}

bool cfr_wire_aws_region_ok(struct cfr_view region)
{
    if (region.n == 0 || region.n >= CFR_AWS_REGION_MAX || region.p[0] == '-' || region.p[region.n - 1] == '-')
        return false;
    for (size_t i = 0; i < region.n; i++) {
        if (!lower_or_digit(region.p[i]) && region.p[i] != '-')
            return false;
    }
    return true;
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
    if (!cfr_wire_aws_region_ok(cfr_view_of(region)) || cfr_wire_aws_partition(region) == NULL)
        region[0] = '\0';
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

int cfr_wire_aws_endpoint_parse(const char *url, struct cfr_wire_aws_endpoint *out, struct cfr_err *err)
{
    return cfr_wire_aws_endpoint_parse_as(false, url, out, err);
}

int cfr_wire_aws_endpoint_parse_as(bool plain_http, const char *url, struct cfr_wire_aws_endpoint *out,
                                   struct cfr_err *err)
{
    struct cfr_url parts;
    int64_t port;
    size_t n;
    int rc;

    *out = (struct cfr_wire_aws_endpoint){.custom = true};
    if (strlen(url) >= CFR_AWS_ENDPOINT_MAX)
        return cfr_err_set(err, CFR_E_CONFIG, "it is longer than %d characters", CFR_AWS_ENDPOINT_MAX - 1);
    rc = cfr_url_parse_as(plain_http ? CFR_URL_ANY_HTTP : 0, url, &parts, err);
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

static int set_url(const struct cfr_wire_aws_endpoint *e, struct cfr_wire_request *out, struct cfr_err *err)
{
    struct cfr_str url = {.limit = (size_t)3 * CFR_AWS_ENDPOINT_MAX};

    cfr_str_addf(&url, "%s://%s%s", e->tls ? "https" : "http", e->host, e->path);
    return cfr_wire_request_url(out, &url, err);
}

static int set_signature(const struct cfr_wire_aws_call *p, struct cfr_wire_request *out, struct cfr_err *err)
{
    struct cfr_sigv4_request r = {
        .method = out->method,
        .path = p->endpoint->path,
        .host = p->endpoint->host,
        .content_type = p->content_type,
        .body = cfr_secret_view(&out->body),
        .region = p->endpoint->region,
        .service = p->service,
        .access_key_id = p->keys->id,
        .secret_access_key = p->keys->secret,
        .session_token = p->keys->session_token,
        .now_s = p->now_s,
    };
    char date[CFR_SIGV4_DATE_MAX];
    char hash[CFR_SIGV4_HASH_MAX];
    struct cfr_secret authorization;
    size_t signed_count = 0;
    int rc = 0;

    if (r.access_key_id.n == 0 || r.secret_access_key.n == 0 || r.region[0] == '\0')
        return cfr_err_set(err, CFR_E_INTERNAL, "a request to %s cannot be signed: no keys or no region", p->service);
    if (p->target != NULL)
        r.headers[signed_count++] = (struct cfr_sigv4_header){"x-amz-target", p->target};
    if (p->hashed) {
        rc = cfr_sigv4_hash(r.body, hash, err);
        if (rc == 0)
            rc = cfr_wire_request_header(out, "X-Amz-Content-Sha256", cfr_view_of(hash), err);
        r.headers[signed_count] = (struct cfr_sigv4_header){"x-amz-content-sha256", hash};
    }
    cfr_secret_init(&authorization, 1024);
    if (rc == 0)
        rc = cfr_sigv4_sign(&r, date, &authorization, err);
    if (rc == 0)
        rc = cfr_wire_request_header(out, "X-Amz-Date", cfr_view_of(date), err);
    if (rc == 0 && r.session_token.n != 0)
        rc = cfr_wire_request_header(out, "X-Amz-Security-Token", r.session_token, err);
    if (rc == 0)
        rc = cfr_wire_request_header(out, "Authorization", cfr_secret_view(&authorization), err);
    cfr_secret_free(&authorization);
    return rc;
}

int cfr_wire_aws_request(const struct cfr_wire_aws_call *p, struct cfr_wire_request *out, struct cfr_err *err)
{
    int rc = set_url(p->endpoint, out, err);

    out->method = p->method != NULL ? p->method : "POST";
    out->ca_variable = CFR_WIRE_AWS_CA_VARIABLE;
    if (rc == 0 && p->content_type != NULL)
        rc = cfr_wire_request_header(out, "Content-Type", cfr_view_of(p->content_type), err);
    if (rc == 0 && p->accept != NULL)
        rc = cfr_wire_request_header(out, "Accept", cfr_view_of(p->accept), err);
    if (rc == 0 && p->target != NULL)
        rc = cfr_wire_request_header(out, "X-Amz-Target", cfr_view_of(p->target), err);
    return rc != 0 || p->keys == NULL ? rc : set_signature(p, out, err);
}
