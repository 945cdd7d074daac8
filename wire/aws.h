/* SPDX-License-Identifier: MIT */
/* What every service of AWS shares: partitions and their host names, endpoints, requests signed with Signature Version
 * 4, and the errors that any service may answer with.
 *
 * Pure. Strings in the tables live as long as the process; everything else is borrowed for one call. Errors:
 * CFR_E_CONFIG for an endpoint, CFR_E_INTERNAL for a request that cannot be signed, CFR_E_NOMEM.
 * Source of the names: the endpoint rules and the partition list that AWS publishes with its SDKs. */
#ifndef CFR_WIRE_AWS_H
#define CFR_WIRE_AWS_H

#include "base/error_table.h"
#include "wire/request.h"

#define CFR_AWS_REGION_MAX       64  /* with its NUL */
#define CFR_AWS_ENDPOINT_MAX     512 /* longest custom endpoint, with its NUL */

#define CFR_WIRE_AWS_CA_VARIABLE "AWS_CA_BUNDLE" /* names the CA file, as for the SDKs */

struct cfr_wire_aws_partition {
    const char *name; /* as in ARNs */
    const char *dns_suffix;
    const char *dual_stack_suffix;
    const char *registry_dual_stack_suffix; /* of ECR's `dkr-ecr` names; NULL = none is known */
    /* IAM has one endpoint for a partition, and others for FIPS and for IPv6 too; NULL = none is known. */
    const char *iam_host;
    const char *iam_fips_host;
    const char *iam_dual_stack_host;
    const char *iam_fips_dual_stack_host;
    const char *iam_region;
    const char *prefixes; /* what precedes `-WORD-NUMBER` in the names of its regions, separated by spaces */
};

/* The partition of a region, or NULL if the region is of no known form. */
const struct cfr_wire_aws_partition *cfr_wire_aws_partition(const char *region);
/* The partition with this name, or NULL. */
const struct cfr_wire_aws_partition *cfr_wire_aws_partition_named(struct cfr_view name);
/* True for what may be a region: a DNS label in lower case, since it becomes part of a host name. */
bool cfr_wire_aws_region_ok(struct cfr_view region);

/* Whether the names of REGION's container registries end in `.DOMAIN`; of a region of no known form, those of any
 * partition. */
bool cfr_wire_aws_registry_domain_ok(const char *region, struct cfr_view domain);

/* Writes the name of the STS of REGION, which is in PARTITION. */
void cfr_wire_aws_sts_host(const struct cfr_wire_aws_partition *partition, const char *region, bool fips,
                           bool dual_stack, char out[CFR_AWS_ENDPOINT_MAX]);
/* The name of PARTITION's IAM, or NULL: none is known of this kind. */
const char *cfr_wire_aws_iam_host(const struct cfr_wire_aws_partition *partition, bool fips, bool dual_stack);

struct cfr_wire_aws_endpoint {
    char host[CFR_AWS_ENDPOINT_MAX]; /* as the Host header has it: with the port unless it is the scheme's own */
    char path[CFR_AWS_ENDPOINT_MAX]; /* begins with '/' */
    char region[CFR_AWS_REGION_MAX]; /* to sign for; empty when unknown */
    bool tls;
    bool custom;
};

/* Parses a custom endpoint; out->region is filled from the names that AWS gives its STS endpoints (regional and VPC).
 * CFR_E_CONFIG, without naming the key: no URL by wire/url.h, a query, or a path that a signature would change. */
int cfr_wire_aws_endpoint_parse(const char *url, struct cfr_wire_aws_endpoint *out, struct cfr_err *err);
/* As it, with PLAIN_HTTP also for http to any host. */
int cfr_wire_aws_endpoint_parse_as(bool plain_http, const char *url, struct cfr_wire_aws_endpoint *out,
                                   struct cfr_err *err);

/* Views into what the keys were read from. */
struct cfr_wire_aws_keys {
    struct cfr_view id;
    struct cfr_view secret;
    struct cfr_view session_token; /* empty for long-lived keys */
};

struct cfr_wire_aws_call {
    const struct cfr_wire_aws_endpoint *endpoint;
    const char *service;                  /* as in the signature's scope: "sts", "iam", "ecr" */
    const char *method;                   /* literal; NULL = POST */
    bool hashed;                          /* X-Amz-Content-Sha256, which S3 demands */
    const char *content_type;             /* NULL = no such header */
    const char *accept;                   /* NULL = no such header */
    const char *target;                   /* X-Amz-Target; NULL = no such header */
    const struct cfr_wire_aws_keys *keys; /* NULL = not signed */
    int64_t now_s;
};

/* Completes OUT, whose body is there already: method, URL, headers, signature and ca_variable.
 * CFR_E_INTERNAL for empty keys or an endpoint without region. */
int cfr_wire_aws_request(const struct cfr_wire_aws_call *call, struct cfr_wire_request *out, struct cfr_err *err);

/* The errors that every service may answer with: clock, throttling, outages. Ends with a row without a hint. A service
 * looks at its own rows first. */
extern const struct cfr_error_table_row cfr_wire_aws_error_rows[];

#endif
