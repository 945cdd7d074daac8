/* SPDX-License-Identifier: MIT */
/* The errors of ECR. */
#include "sts/aws/ecr_private.h"

#include "base/json.h"
#include "sts/aws/error_private.h"
#include "wire/aws.h"

#include <string.h>

#define HINT_FRESH                                                                                                     \
    "ECR does not know the granted keys yet, which is normal for some seconds after a change; nothing is published"
#define HINT_CLOCK                                                                                                     \
    "the request's time or signature was refused; check this machine's clock (15 min are tolerated), and "             \
    "`region`"

#define HINT_PARAMETER "ECR does not accept a parameter; check `registries` and `endpoint` of `ecr`"

static const struct cfr_error_table_row rows[] = {
    {"UnrecognizedClientException InvalidClientTokenId", NULL, 0, CFR_E_UNAVAILABLE, HINT_FRESH},
    {"ExpiredTokenException ExpiredToken", NULL, 0, CFR_E_TOKEN_EXPIRED,
     "the session has expired; the next try starts a new one"},
    {"AccessDeniedException", "GetServiceBearerToken", 0, CFR_E_DENIED,
     "allow {who} sts:GetServiceBearerToken too, which ECR Public also needs"},
    {"AccessDeniedException", "ecr-public", 0, CFR_E_DENIED, "allow {who} ecr-public:GetAuthorizationToken"},
    {"AccessDeniedException", NULL, 0, CFR_E_DENIED, "allow {who} ecr:GetAuthorizationToken on resource *"},
    {"AccessDenied", NULL, 0, CFR_E_DENIED, "allow {who} GetAuthorizationToken on resource *"},
    {"InvalidSignatureException", "Credential should be scoped", 0, CFR_E_REJECTED,
     "the endpoint belongs to another region or service: check `region` and `endpoint` of `ecr`"},
    {"InvalidSignatureException IncompleteSignatureException", NULL, 0, CFR_E_REJECTED, HINT_CLOCK},
    {"MissingAuthenticationTokenException", NULL, 0, CFR_E_REJECTED,
     "the request's signature did not arrive; check `endpoint` of `ecr`, and that no proxy changes the "
     "request"},
    {"OptInRequired", NULL, 0, CFR_E_DENIED,
     "the account is not enabled for this region or service; enable it there, or set another "
     "`region`"},
    {"InvalidParameterException ValidationException", NULL, 0, CFR_E_REJECTED, HINT_PARAMETER},
    {"UnknownOperationException", NULL, 0, CFR_E_REJECTED, "there is no ECR at this URL; check `endpoint` of `ecr`"},
    {"UnsupportedCommandException", NULL, 0, CFR_E_REJECTED, "there is no ECR Public at this URL; check `endpoint`"},
    {"ServerException", NULL, 0, CFR_E_UNAVAILABLE, "ECR is unavailable; this is usually temporary"},
    {"RegistryNotFoundException", NULL, 0, CFR_E_REJECTED, "ECR has no registry of these accounts; check `registries`"},
    {NULL, NULL, 404, CFR_E_REJECTED, "there is no ECR at this URL; check `endpoint` of `ecr`"},
    {NULL, NULL, 405, CFR_E_REJECTED, "there is no ECR at this URL; check `endpoint` of `ecr`"},
    {0},
};

/* `Name`, out of `prefix#Name` or `Name:https://...`. */
static struct cfr_view plain_type(struct cfr_view type)
{
    const char *hash = type.n != 0 ? memchr(type.p, '#', type.n) : NULL;
    size_t n = 0;

    if (hash != NULL)
        type = (struct cfr_view){hash + 1, type.n - (size_t)(hash - type.p) - 1};
    while (n < type.n && type.p[n] != ':')
        n++;
    return cfr_view_trim((struct cfr_view){type.p, n});
}

int cfr_aws_ecr_error_set(const struct cfr_wire_reply *reply, bool is_public, const struct cfr_grant *grant,
                          struct cfr_err *err)
{
    const struct cfr_view secrets[] = {
        cfr_grant_get(grant, CFR_FIELD_AWS_SECRET_ACCESS_KEY),
        cfr_grant_get(grant, CFR_FIELD_AWS_SESSION_TOKEN),
    };
    struct cfr_error_table r = {
        .status = reply->status,
        .request_id = reply->request_id,
        .who = cfr_view_of(grant->identity),
        .secrets = secrets,
        .secret_count = sizeof secrets / sizeof secrets[0],
    };
    struct cfr_json *doc = NULL;
    struct cfr_view type = {NULL, 0};
    int rc = cfr_json_parse(reply->body, &doc, NULL);

    if (rc == 0) {
        (void)cfr_json_string(cfr_json_get(doc, "__type"), &type);
        if (!cfr_json_string(cfr_json_get(doc, "message"), &r.message))
            (void)cfr_json_string(cfr_json_get(doc, "Message"), &r.message);
    }
    r.code = plain_type(reply->header.n != 0 ? reply->header : type);
    r.rows = cfr_error_table_find(cfr_wire_aws_error_rows, r.status, r.code, r.message) != NULL
                 ? cfr_wire_aws_error_rows
                 : rows;
    rc = cfr_error_table_set(&r, err);
    cfr_json_free(doc);
    (void)cfr_err_prefix(err, is_public ? "ecr public" : "ecr");
    return rc;
}
