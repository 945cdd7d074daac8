/* SPDX-License-Identifier: MIT */
/* Errors of STS. */
#include "sts/aws/error_private.h"
#include "wire/aws.h"

#define HINT_BUG          "STS does not understand the request; check `endpoint`"
#define HINT_EXPIRED      "the token has expired. Is the token file still renewed?"
#define HINT_KEYS_EXPIRED "the session of the keys in the file has expired; are they still renewed?"
#define HINT_SOURCE       "the keys of the previous step have expired; the next try starts from the token"
#define HINT_DENIED                                                                                                    \
    "the role does not exist, or its trust policy does not accept {who}: compare its provider, audience and "          \
    "conditions with `credfresh inspect`. A server other than AWS may also mean the signature or `duration`"
#define HINT_KEYS_DENIED                                                                                               \
    "the role does not exist, its trust policy does not accept the user of {who}, or that user may not "               \
    "assume it"
#define HINT_CHAINED                                                                                                   \
    "the role does not exist, its trust policy does not accept {who}, or that session may not assume it"
#define HINT_CLIENT "STS does not know the keys of the previous step: its role may have been deleted meanwhile"
#define HINT_FRESH                                                                                                     \
    "AWS does not know the granted keys yet, which is normal for some seconds after a change; nothing is published"

#define HINT_NO_VERIFY                                                                                                 \
    "this server grants keys but has no GetCallerIdentity to verify them with; nothing is published. Remove `verify`"

static const struct cfr_error_table_row with_token[] = {
    {"ExpiredTokenException ExpiredToken", NULL, 0, CFR_E_TOKEN_EXPIRED, HINT_EXPIRED},
    {"AccessDenied AccessDeniedException NotAuthorized", NULL, 0, CFR_E_DENIED, HINT_DENIED},
    {0},
};

static const struct cfr_error_table_row with_keys[] = {
    {"ExpiredTokenException ExpiredToken", NULL, 0, CFR_E_TOKEN_EXPIRED, HINT_KEYS_EXPIRED},
    {"AccessDenied", "with session credentials", 0, CFR_E_DENIED,
     "the keys belong to a session already, so they cannot get another one; give a `role_arn`, or "
     "long-lived keys"},
    {"AccessDenied", "GetSessionToken", 0, CFR_E_DENIED,
     "{who} may not call GetSessionToken; give a `role_arn`, or change the user's policy"},
    {"AccessDenied AccessDeniedException NotAuthorized", NULL, 0, CFR_E_DENIED, HINT_KEYS_DENIED},
    {"InvalidClientTokenId", NULL, 0, CFR_E_DENIED,
     "AWS does not know {who}: it was deleted or made inactive, or it is only seconds old"},
    {"SignatureDoesNotMatch", "signature we calculated", 0, CFR_E_REJECTED,
     "the secret access key is not the one of {who}"},
    {0},
};

static const struct cfr_error_table_row with_session[] = {
    {"ExpiredTokenException ExpiredToken", NULL, 0, CFR_E_TOKEN_EXPIRED, HINT_SOURCE},
    {"AccessDenied AccessDeniedException NotAuthorized", NULL, 0, CFR_E_DENIED, HINT_CHAINED},
    {"InvalidClientTokenId", NULL, 0, CFR_E_DENIED, HINT_CLIENT},
    {0},
};

static const struct cfr_error_table_row verify[] = {
    {"InvalidClientTokenId UnrecognizedClientException AuthFailure", NULL, 0, CFR_E_UNAVAILABLE, HINT_FRESH},
    {"ExpiredTokenException ExpiredToken", NULL, 0, CFR_E_TOKEN_EXPIRED,
     "the granted keys have expired already; nothing is published. Check this machine's clock"},
    {"AccessDenied", NULL, 0, CFR_E_DENIED,
     "GetCallerIdentity, which needs no permission, was refused to {who}; nothing is published. Check "
     "`endpoint`"},
    {"InvalidAction MethodNotAllowed", NULL, 0, CFR_E_REJECTED, HINT_NO_VERIFY},
    {NULL, NULL, 404, CFR_E_REJECTED, HINT_NO_VERIFY},
    {NULL, NULL, 405, CFR_E_REJECTED, HINT_NO_VERIFY},
    {0},
};

static const struct cfr_error_table_row *const special[CFR_AWS_CALLS] = {with_token, with_keys, with_session, verify};

static const struct cfr_error_table_row rows[] = {
    {"IDPCommunicationError", NULL, 0, CFR_E_IDP, "AWS could not reach the token issuer's discovery document or keys"},
    {"InvalidIdentityToken", "retrieve verification key", 0, CFR_E_IDP,
     "AWS could not fetch the token issuer's keys (is the issuer up, public, and faster than 5 s?)"},
    {"InvalidIdentityToken", "thumbprint", 0, CFR_E_DENIED,
     "the certificate of the token's issuer has changed: correct the thumbprints of the identity provider in IAM"},
    {"InvalidIdentityToken", "audience", 0, CFR_E_DENIED,
     "add the token's audience to the client IDs of the identity provider in IAM, or ask for a token with an "
     "audience that is listed there"},
    {"InvalidIdentityToken", "No OpenIDConnect provider", 0, CFR_E_DENIED,
     "create an OpenID Connect identity provider for the token's issuer in the IAM of the role's account"},
    {"InvalidIdentityToken", NULL, 0, CFR_E_TOKEN, "AWS does not accept this token; check it with `credfresh inspect`"},
    {"IDPRejectedClaim", NULL, 0, CFR_E_DENIED, "the token's issuer rejects it; a new token is needed"},
    {"RegionDisabledException", NULL, 0, CFR_E_DENIED,
     "STS is not active in this region for the role's account; activate it there, or set another `region`"},
    {"OptInRequired", NULL, 0, CFR_E_DENIED,
     "the account is not enabled for this region or service; enable it there, or set another "
     "`region`"},
    {"MalformedPolicyDocument", NULL, 0, CFR_E_REJECTED, "correct `policy`: its JSON is valid, its grammar is not"},
    {"PackedPolicyTooLarge", NULL, 0, CFR_E_REJECTED,
     "shorten `policy`, `policy_arns` or the tags: together, packed, they are over the limit"},
    {"ValidationError", "MaxSessionDuration", 0, CFR_E_REJECTED,
     "shorten `duration`, or raise the role's maximum session duration"},
    {"ValidationError", "1 hour session limit", 0, CFR_E_REJECTED,
     "shorten `duration` to 1h: chained sessions cannot be longer"},
    {"ValidationError", "source identity", 0, CFR_E_REJECTED,
     "leave `source_identity` out, or repeat the one that is set already"},
    {"ValidationError", NULL, 0, CFR_E_REJECTED, "correct the parameter that the message names"},
    {"IncompleteSignature MissingAuthenticationToken InvalidAction InvalidParameterCombination", NULL, 0,
     CFR_E_REJECTED, HINT_BUG},
    {"InvalidParameterValue", NULL, 0, CFR_E_REJECTED, "correct the parameter that the message names"},
    {"InvalidQueryParameter MalformedInput MalformedQueryString MissingAction MissingParameter", NULL, 0,
     CFR_E_REJECTED, HINT_BUG},
    {NULL, NULL, 401, CFR_E_DENIED, "the server refuses; check `endpoint` and the role"},
    {NULL, NULL, 403, CFR_E_DENIED, "the server refuses; check `endpoint` and the role"},
    {NULL, NULL, 404, CFR_E_REJECTED, "there is no STS at this URL; check `endpoint`"},
    {NULL, NULL, 405, CFR_E_REJECTED, "there is no STS at this URL; check `endpoint`"},
    {0},
};

/* Rows for this call before those of every call, and those of all services. A status decides only where no
 * code does. */
static const struct cfr_error_table_row *table_of(const struct cfr_aws_refusal *r, struct cfr_view code,
                                                  struct cfr_view message)
{
    const struct cfr_error_table_row *const tables[] = {special[r->call], cfr_wire_aws_error_rows};

    for (size_t i = 0; i < sizeof tables / sizeof tables[0]; i++) {
        if (cfr_error_table_find(tables[i], r->status, code, message) != NULL)
            return tables[i];
    }
    return rows;
}

int cfr_aws_error_set(const struct cfr_aws_refusal *r, struct cfr_err *err)
{
    static const char *const who_is[CFR_AWS_CALLS] = {"subject", "access key", NULL, NULL};
    struct cfr_view code = cfr_aws_answer_get(r->answer, CFR_AWS_CODE);
    struct cfr_view message = cfr_aws_answer_get(r->answer, CFR_AWS_MESSAGE);
    struct cfr_error_table refusal = {
        .rows = table_of(r, code, message),
        .status = r->status,
        .code = code,
        .message = message,
        .request_id = r->request_id.n != 0 ? r->request_id : cfr_aws_answer_get(r->answer, CFR_AWS_REQUEST_ID),
        .who = r->who,
        .who_is = who_is[r->call],
        .secrets = r->secrets,
        .secret_count = r->secret_count,
    };

    return cfr_error_table_set(&refusal, err);
}
