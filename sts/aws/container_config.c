/* SPDX-License-Identifier: MIT */
/* The configuration of `aws_container:`. */
#include "sts/aws/container_private.h"

#include "wire/aws_settings.h"
#include "sts/aws/params_private.h"
#include "wire/url.h"

#include <stdio.h>
#include <string.h>

#define FIELD(member, kind)                                                                                            \
    .key = #member, .type = CFR_FIELD_##kind, .offset = offsetof(struct cfr_aws_container, member)

static const char *const authorizations[] = {"token", "none", NULL};

static const struct cfr_field fields[] = {
    {FIELD(endpoint, STRING), .variables = "AWS_CONTAINER_CREDENTIALS_FULL_URI", .min = 1, .max = CFR_URL_MAX,
     .doc = CFR_DOC("URL of the endpoint. https, or http to a loopback address or to 169.254.170.2, 169.254.170.23 and "
                    "[fd00:ec2::23], which AWS gives its own. Default: `AWS_CONTAINER_CREDENTIALS_RELATIVE_URI` at "
                    "169.254.170.2, "
                    "then `AWS_CONTAINER_CREDENTIALS_FULL_URI`, then the EKS Pod Identity agent "
                    "at " CFR_AWS_CONTAINER_DEFAULT ".")},
    {FIELD(authorization, ENUM), .fallback = "token", .choices = authorizations,
     .doc = CFR_DOC("`token` sends the credential's token, as the Pod Identity agent requires; `none` sends nothing, "
                    "as for ECS, and no token is needed.")},
    {FIELD(role_arn, STRING), .min = 1, .max = 2048,
     .doc = CFR_DOC("ARN of the expected role: keys of another role are refused. Needs `verify`.")},
    {FIELD(region, STRING), .variables = "AWS_REGION AWS_DEFAULT_REGION", .min = 1, .max = CFR_AWS_REGION_MAX - 1,
     .doc = CFR_DOC("Region that is published with the keys, and whose STS `verify` calls. Default: `AWS_REGION`, "
                    "then "
                    "`AWS_DEFAULT_REGION`.")},
    {FIELD(ca_file, STRING), .flags = CFR_FIELD_PATH | CFR_FIELD_CA_FILE,
     .doc = CFR_DOC(
         "Certificates (PEM) to trust for this exchange. Default: those in the file that `AWS_CA_BUNDLE` names, "
         "else the system's. Excludes an http endpoint, such as the default, unless there is `verify` or `ecr`.")},
    {FIELD(verify, BOOL), .fallback = "false",
     .doc = CFR_DOC("Ask AWS to which role the granted keys belong (GetCallerIdentity) before publishing.")},
    {FIELD(sts_endpoint, STRING), .min = 1, .max = 511,
     .doc = CFR_DOC("URL that `verify` calls instead of the region's STS. Default: `AWS_ENDPOINT_URL_STS`, then "
                    "`AWS_ENDPOINT_URL`, "
                    "unless `AWS_IGNORE_CONFIGURED_ENDPOINT_URLS` is true.")},
    {FIELD(ecr, MAP), .table = &cfr_aws_ecr_table,
     .doc = CFR_DOC("Logins to container registries, obtained with the session's keys, for the format "
                    "docker-config.")},
    {.key = NULL},
};

/* What follows the host of one of AWS's own addresses, or NULL. */
static const char *after_link_local(const char *text)
{
    static const char *const hosts[] = {"http://169.254.170.2", "http://169.254.170.23", "http://[fd00:ec2::23]"};

    for (size_t i = 0; i < sizeof hosts / sizeof hosts[0]; i++) {
        size_t n = strlen(hosts[i]);

        if (strncmp(text, hosts[i], n) == 0 && (text[n] == '\0' || text[n] == '/' || text[n] == ':'))
            return text + n;
    }
    return NULL;
}

int cfr_aws_container_url(const char *text, bool *link_local, struct cfr_err *err)
{
    const char *rest = after_link_local(text);
    struct cfr_url url;
    char same[CFR_URL_MAX + 32];

    *link_local = rest != NULL;
    if (rest == NULL)
        return cfr_url_parse(text, &url, err);
    /* The rest obeys the rules for all URLs; only the host is an exception to them. */
    (void)snprintf(same, sizeof same, "http://127.0.0.1%.*s", CFR_URL_MAX, rest);
    return cfr_url_parse(same, &url, err);
}

static int check_urls(const struct cfr_aws_container *c, struct cfr_err *err)
{
    struct cfr_wire_aws_endpoint sts;
    bool link_local;
    int rc = 0;

    if (c->endpoint != NULL) {
        rc = cfr_aws_container_url(c->endpoint, &link_local, err);
        if (rc != 0)
            (void)cfr_err_prefix(err, "endpoint");
    }
    if (rc == 0 && c->sts_endpoint != NULL) {
        rc = cfr_wire_aws_endpoint_parse(c->sts_endpoint, &sts, err);
        if (rc != 0)
            (void)cfr_err_prefix(err, "sts_endpoint");
    }
    return rc;
}

static int check(const void *node, struct cfr_err *err)
{
    const struct cfr_aws_container *c = node;
    int rc = check_urls(c, err);

    if (rc == 0)
        rc = cfr_aws_params_check_role("role_arn", c->role_arn, err);
    if (rc != 0)
        return rc;
    if (c->role_arn != NULL && !c->verify)
        return cfr_err_set(err, CFR_E_CONFIG, "role_arn: only `verify: true` can check whose keys they are; add it");
    if (c->sts_endpoint != NULL && !c->verify)
        return cfr_err_set(err, CFR_E_CONFIG, "sts_endpoint: it has no effect without `verify: true`; leave it out");
    if (c->region != NULL && !cfr_wire_aws_region_ok(cfr_view_of(c->region)))
        return cfr_err_set(err, CFR_E_CONFIG,
                           "region: a region has only lower-case letters, digits and hyphens, such as eu-west-1");
    return 0;
}

const struct cfr_table cfr_aws_container_table = {
    .name = "aws_container exchange",
    .size = sizeof(struct cfr_aws_container),
    .fields = fields,
    .check = check,
    .doc = CFR_DOC("Keys of a role from the node's EKS Pod Identity agent, which accepts the pod's token (audience "
                   "`pods.eks.amazonaws.com`), or from another endpoint with the protocol of ECS."),
};
