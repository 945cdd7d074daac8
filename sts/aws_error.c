/* SPDX-License-Identifier: MIT */
/* Errors of STS. */
#include "sts/aws_error.h"

#include "base/scrub.h"

#include <stdio.h>
#include <string.h>

#define WHO_MAX  128
#define HINT_MAX 320

/* The first row that fits decides: CODE equal, MESSAGE (if any) contained, STATUS (if any) equal. In a hint
 * `{who}` stands for the caller. */
struct row {
    const char *code;
    const char *message;
    int result;
    const char *hint;
    const char *chained; /* the hint for a signed step, where it differs */
};

#define HINT_CLOCK                                                                                           \
    "the request's time or signature was refused; check this machine's clock (15 min are tolerated)"
#define HINT_BUSY  "AWS limits the rate of calls; it is tried again"
#define HINT_LATER "AWS is unavailable; it is tried again"
#define HINT_BUG   "STS does not understand the request; check `endpoint`"
#define HINT_EXPIRED                                                                                         \
    "the token has expired; it is tried again with the next one. Is the token file still renewed?"
#define HINT_SOURCE "the keys of the previous step have expired; the exchange starts again from the token"
#define HINT_DENIED "the role does not exist, or its trust policy does not accept {who}"
#define HINT_CHAINED                                                                                         \
    "the role does not exist, its trust policy does not accept {who}, or that session may not assume it"
#define HINT_CLIENT                                                                                          \
    "STS does not know the keys of the previous step: its role may have been deleted meanwhile"

static const struct row rows[] = {
    {"IDPCommunicationError", NULL, CFR_E_IDP,
     "AWS could not reach the token issuer's discovery document or keys; it is tried again", NULL},
    {"InvalidIdentityToken", "retrieve verification key", CFR_E_IDP,
     "AWS could not fetch the token issuer's keys (is the issuer up, public, and faster than 5 s?); it is "
     "tried again",
     NULL},
    {"InvalidIdentityToken", "audience", CFR_E_DENIED,
     "add the token's audience to the client IDs of the identity provider in IAM, or ask for a token with an "
     "audience that is listed there",
     NULL},
    {"InvalidIdentityToken", "No OpenIDConnect provider", CFR_E_DENIED,
     "create an OpenID Connect identity provider for the token's issuer in the IAM of the role's account",
     NULL},
    {"InvalidIdentityToken", NULL, CFR_E_TOKEN,
     "AWS does not take this token; look at it with `credfresh inspect`", NULL},
    {"ExpiredTokenException", NULL, CFR_E_TOKEN_EXPIRED, HINT_EXPIRED, HINT_SOURCE},
    {"ExpiredToken", NULL, CFR_E_TOKEN_EXPIRED, HINT_EXPIRED, HINT_SOURCE},
    {"IDPRejectedClaim", NULL, CFR_E_DENIED, "the token's issuer rejects it; a new token is needed", NULL},
    {"AccessDenied", NULL, CFR_E_DENIED, HINT_DENIED, HINT_CHAINED},
    {"AccessDeniedException", NULL, CFR_E_DENIED, HINT_DENIED, HINT_CHAINED},
    {"NotAuthorized", NULL, CFR_E_DENIED, HINT_DENIED, HINT_CHAINED},
    {"RegionDisabledException", NULL, CFR_E_DENIED,
     "STS is not active in this region for the role's account; activate it there, or set another `region`",
     NULL},
    {"OptInRequired", NULL, CFR_E_DENIED, "the account is not enabled for this region or service", NULL},
    {"InvalidClientTokenId", NULL, CFR_E_DENIED, HINT_CLIENT, NULL},
    {"MalformedPolicyDocument", NULL, CFR_E_REJECTED, "mend `policy`: its JSON is right, its grammar is not",
     NULL},
    {"PackedPolicyTooLarge", NULL, CFR_E_REJECTED,
     "shorten `policy`, `policy_arns` or the tags: together, packed, they are over the limit", NULL},
    {"ValidationError", "MaxSessionDuration", CFR_E_REJECTED,
     "shorten `duration`, or raise the role's maximum session duration", NULL},
    {"ValidationError", "1 hour session limit", CFR_E_REJECTED,
     "shorten `duration` to 1h: chained sessions cannot be longer", NULL},
    {"ValidationError", "source identity", CFR_E_REJECTED,
     "leave `source_identity` out, or repeat the one that is set already", NULL},
    {"ValidationError", NULL, CFR_E_REJECTED, "mend the parameter that the message names", NULL},
    {"SignatureDoesNotMatch", "Credential should be scoped", CFR_E_REJECTED,
     "the endpoint belongs to another region: set `region` to that one", NULL},
    {"SignatureDoesNotMatch", NULL, CFR_E_REJECTED, HINT_CLOCK, NULL},
    {"RequestExpired", NULL, CFR_E_REJECTED, HINT_CLOCK, NULL},
    {"RequestTimeTooSkewed", NULL, CFR_E_REJECTED, HINT_CLOCK, NULL},
    {"IncompleteSignature", NULL, CFR_E_REJECTED, HINT_BUG, NULL},
    {"MissingAuthenticationToken", NULL, CFR_E_REJECTED, HINT_BUG, NULL},
    {"InvalidAction", NULL, CFR_E_REJECTED, HINT_BUG, NULL},
    {"InvalidParameterCombination", NULL, CFR_E_REJECTED, HINT_BUG, NULL},
    {"InvalidParameterValue", NULL, CFR_E_REJECTED, "mend the parameter that the message names", NULL},
    {"InvalidQueryParameter", NULL, CFR_E_REJECTED, HINT_BUG, NULL},
    {"MalformedInput", NULL, CFR_E_REJECTED, HINT_BUG, NULL},
    {"MalformedQueryString", NULL, CFR_E_REJECTED, HINT_BUG, NULL},
    {"MissingAction", NULL, CFR_E_REJECTED, HINT_BUG, NULL},
    {"MissingParameter", NULL, CFR_E_REJECTED, HINT_BUG, NULL},
    {"Throttling", NULL, CFR_E_THROTTLED, HINT_BUSY, NULL},
    {"ThrottlingException", NULL, CFR_E_THROTTLED, HINT_BUSY, NULL},
    {"ThrottledException", NULL, CFR_E_THROTTLED, HINT_BUSY, NULL},
    {"RequestThrottledException", NULL, CFR_E_THROTTLED, HINT_BUSY, NULL},
    {"RequestThrottled", NULL, CFR_E_THROTTLED, HINT_BUSY, NULL},
    {"TooManyRequestsException", NULL, CFR_E_THROTTLED, HINT_BUSY, NULL},
    {"ProvisionedThroughputExceededException", NULL, CFR_E_THROTTLED, HINT_BUSY, NULL},
    {"TransactionInProgressException", NULL, CFR_E_THROTTLED, HINT_BUSY, NULL},
    {"RequestLimitExceeded", NULL, CFR_E_THROTTLED, HINT_BUSY, NULL},
    {"BandwidthLimitExceeded", NULL, CFR_E_THROTTLED, HINT_BUSY, NULL},
    {"LimitExceededException", NULL, CFR_E_THROTTLED, HINT_BUSY, NULL},
    {"SlowDown", NULL, CFR_E_THROTTLED, HINT_BUSY, NULL},
    {"PriorRequestNotComplete", NULL, CFR_E_THROTTLED, HINT_BUSY, NULL},
    {"EC2ThrottledException", NULL, CFR_E_THROTTLED, HINT_BUSY, NULL},
    {"RequestTimeout", NULL, CFR_E_UNAVAILABLE, HINT_LATER, NULL},
    {"RequestTimeoutException", NULL, CFR_E_UNAVAILABLE, HINT_LATER, NULL},
    {"InternalFailure", NULL, CFR_E_UNAVAILABLE, HINT_LATER, NULL},
    {"InternalError", NULL, CFR_E_UNAVAILABLE, HINT_LATER, NULL},
    {"InternalServerError", NULL, CFR_E_UNAVAILABLE, HINT_LATER, NULL},
    {"ServiceUnavailable", NULL, CFR_E_UNAVAILABLE, HINT_LATER, NULL},
    {"ServiceUnavailableException", NULL, CFR_E_UNAVAILABLE, HINT_LATER, NULL},
};

/* For codes that are in no row, and for answers without any. */
static struct row row_of_status(long status)
{
    if (status >= 300 && status < 400)
        return (struct row){.result = CFR_E_REDIRECT,
                            .hint =
                                "an STS never redirects; check `endpoint`, and that no proxy stands between"};
    if (status == 429)
        return (struct row){.result = CFR_E_THROTTLED, .hint = HINT_BUSY};
    if (status == 408 || status >= 500)
        return (struct row){.result = CFR_E_UNAVAILABLE,
                            .hint = "the server is unavailable; it is tried again"};
    if (status == 401 || status == 403)
        return (struct row){.result = CFR_E_DENIED,
                            .hint = "the server refuses; check `endpoint` and the role"};
    if (status == 404 || status == 405)
        return (struct row){.result = CFR_E_REJECTED,
                            .hint = "there is no STS at this URL; check `endpoint`"};
    if (status == 407)
        return (struct row){.result = CFR_E_DENIED, .hint = "a proxy wants a login"};
    if (status == 413)
        return (struct row){.result = CFR_E_REJECTED, .hint = "the request is too large for the server"};
    if (status >= 400)
        return (struct row){.result = CFR_E_REJECTED, .hint = "the server does not take the request"};
    return (struct row){.result = CFR_E_ANSWER, .hint = "such an answer was not expected; check `endpoint`"};
}

static struct row find_row(long status, struct cfr_view code, struct cfr_view message)
{
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        if (cfr_view_is(code, rows[i].code) &&
            (rows[i].message == NULL || cfr_view_find(message, rows[i].message) >= 0))
            return rows[i];
    }
    return row_of_status(status);
}

int cfr_aws_error_code(long status, struct cfr_view code, struct cfr_view message)
{
    return find_row(status, code, message).result;
}

/* Replaces `{who}` in HINT. */
static void write_hint(const char *hint, const struct cfr_aws_refusal *r, char out[HINT_MAX])
{
    char clean[CFR_SCRUB_MAX];
    char who[WHO_MAX + 32];
    const char *at = strstr(hint, "{who}");

    if (at == NULL) {
        (void)snprintf(out, HINT_MAX, "%s", hint);
        return;
    }
    (void)cfr_scrub(r->who, r->secrets, r->secret_count, clean);
    if (clean[0] == '\0')
        (void)snprintf(who, sizeof who, "%s", r->chained ? "the calling session" : "the token's subject");
    else
        (void)snprintf(who, sizeof who, "%s\"%.*s%s\"", r->chained ? "" : "subject ", WHO_MAX, clean,
                       strlen(clean) > WHO_MAX ? "..." : "");
    (void)snprintf(out, HINT_MAX, "%.*s%s%s", (int)(at - hint), hint, who, at + strlen("{who}"));
}

int cfr_aws_error_set(const struct cfr_aws_refusal *r, struct cfr_err *err)
{
    struct cfr_view wire = cfr_aws_answer_get(r->answer, CFR_AWS_CODE);
    struct cfr_view id =
        r->request_id.n != 0 ? r->request_id : cfr_aws_answer_get(r->answer, CFR_AWS_REQUEST_ID);
    struct row row = find_row(r->status, wire, cfr_aws_answer_get(r->answer, CFR_AWS_MESSAGE));
    char code[CFR_SCRUB_MAX];
    char message[CFR_SCRUB_MAX];
    char request[CFR_SCRUB_MAX];
    char hint[HINT_MAX];

    (void)cfr_scrub(wire, r->secrets, r->secret_count, code);
    (void)cfr_scrub(cfr_aws_answer_get(r->answer, CFR_AWS_MESSAGE), r->secrets, r->secret_count, message);
    (void)cfr_scrub(id, r->secrets, r->secret_count, request);
    write_hint(r->chained && row.chained != NULL ? row.chained : row.hint, r, hint);
    if (code[0] == '\0')
        return cfr_err_set(err, row.result, "HTTP %ld without an error code%s%.64s: %s", r->status,
                           request[0] != '\0' ? ", request " : "", request, hint);
    return cfr_err_set(err, row.result, "%.64s%s%s (HTTP %ld%s%.64s): %s", code,
                       message[0] != '\0' ? ": " : "", message, r->status,
                       request[0] != '\0' ? ", request " : "", request, hint);
}
