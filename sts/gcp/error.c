/* SPDX-License-Identifier: MIT */
/* Refusals of Google's services. */
#include "sts/gcp/error_private.h"

#include "base/error_table.h"

#define HINT_LATER "Google is unavailable; this is usually temporary"
#define HINT_BUSY  "Google limits the rate of calls (or the project's quota is used up); this is usually temporary"
#define HINT_CLOCK "check this machine's clock: Google accepts no token that is from the future or older than an hour"
#define HINT_BUG   "the service does not understand the request; check `sts_endpoint` and `iam_endpoint`"
#define HINT_SCOPE "correct `scopes`: Google does not know one of them, or the caller may not have it"
#define HINT_NUMBER                                                                                                    \
    "correct `audience`: //iam.googleapis.com/projects/NUMBER/locations/global/workloadIdentityPools/POOL/"            \
    "providers/PROVIDER, with the project's NUMBER, not its id"

/* Errors of any of the services. */
#define COMMON_ROWS                                                                                                    \
    {"internal_failure", NULL, 0, CFR_E_UNAVAILABLE, HINT_LATER},                                                      \
        {"server_error", NULL, 0, CFR_E_UNAVAILABLE, HINT_LATER},                                                      \
        {"temporarily_unavailable", NULL, 0, CFR_E_UNAVAILABLE, HINT_LATER},                                           \
        {"slow_down", NULL, 0, CFR_E_THROTTLED, HINT_BUSY},                                                            \
        {"RESOURCE_EXHAUSTED", NULL, 0, CFR_E_THROTTLED, HINT_BUSY},                                                   \
        {"UNAVAILABLE", NULL, 0, CFR_E_UNAVAILABLE, HINT_LATER}, {"INTERNAL", NULL, 0, CFR_E_UNAVAILABLE, HINT_LATER}, \
        {"DEADLINE_EXCEEDED", NULL, 0, CFR_E_UNAVAILABLE, HINT_LATER},                                                 \
        {"ABORTED", NULL, 0, CFR_E_UNAVAILABLE, HINT_LATER}, {"CANCELLED", NULL, 0, CFR_E_UNAVAILABLE, HINT_LATER},    \
        {"UNKNOWN", NULL, 0, CFR_E_UNAVAILABLE, HINT_LATER}, {"UNIMPLEMENTED", NULL, 0, CFR_E_REJECTED, HINT_BUG},     \
    {                                                                                                                  \
        .hint = NULL                                                                                                   \
    }

#define HINT_STALE "the token has expired or is too old. Is the token file still renewed?"
#define HINT_CONDITION                                                                                                 \
    "the provider's attribute condition does not accept {who}; correct the condition, or use another token"

static const struct cfr_error_table_row sts_rows[] = {
    /* A service that is busy says so by its status, whatever the error. */
    {NULL, NULL, 429, CFR_E_THROTTLED, HINT_BUSY},
    {NULL, NULL, 503, CFR_E_UNAVAILABLE, HINT_LATER},
    {"invalid_grant", "stale to sign-in", 0, CFR_E_TOKEN_EXPIRED, HINT_STALE},
    {"invalid_grant", "expired", 0, CFR_E_TOKEN_EXPIRED, HINT_STALE},
    {"invalid_grant", "connecting to the given credential's issuer", 0, CFR_E_IDP,
     "Google could not reach the token issuer's discovery document or keys (is the issuer up and public? otherwise "
     "upload its keys to the provider)"},
    {"invalid_grant", "audience", 0, CFR_E_DENIED,
     "add the token's audience to the provider's allowed audiences, or request a token with one of those; without a "
     "list it must be the provider's full name, with the project's NUMBER"},
    {"invalid_grant unauthorized_client", "attribute condition", 0, CFR_E_DENIED, HINT_CONDITION},
    {"invalid_grant", "google.subject", 0, CFR_E_DENIED,
     "correct the provider's attribute mapping: google.subject may have at most 127 bytes, and {who} makes "
     "more"},
    {NULL, "not in a valid json format", 0, CFR_E_DENIED,
     "correct the keys that were uploaded to the provider: Google accepts no x5c or x5t in them"},
    {"invalid_grant", "issuer", 0, CFR_E_DENIED,
     "the provider in `audience` is for another issuer than the token's; see `credfresh inspect`"},
    {"invalid_grant", NULL, 0, CFR_E_TOKEN, "Google does not accept this token; check it with `credfresh inspect`"},
    {"unauthorized_client access_denied", NULL, 0, CFR_E_DENIED, "the provider does not accept {who}"},
    {"invalid_target", NULL, 0, CFR_E_DENIED,
     "the pool or provider in `audience` does not exist or is disabled: check it, and the project's NUMBER "
     "in "
     "it (a new one takes up to 5 min)"},
    {"invalid_request", "audience", 0, CFR_E_REJECTED, HINT_NUMBER},
    {"invalid_request", NULL, 0, CFR_E_REJECTED, "correct the parameter that the message names"},
    {"invalid_scope", NULL, 0, CFR_E_REJECTED, HINT_SCOPE},
    {"invalid_client", NULL, 0, CFR_E_DENIED,
     "check `client_id` and the secret in `client_secret_file`; the client may have been deleted"},
    {"unsupported_grant_type", NULL, 0, CFR_E_REJECTED, HINT_BUG},
    {"unsupported_token_type", NULL, 0, CFR_E_REJECTED,
     "correct `subject_token_type`: the provider is for tokens of another type"},
    {"INVALID_ARGUMENT", "audience", 0, CFR_E_REJECTED, HINT_NUMBER},
    {"INVALID_ARGUMENT", NULL, 0, CFR_E_REJECTED, "correct the parameter that the message names"},
    {"PERMISSION_DENIED", NULL, 0, CFR_E_DENIED, "{who} may not use the pool, or its project"},
    COMMON_ROWS,
};

#define HINT_DELEGATION                                                                                                \
    "for `subject` the domain's administrator has to allow the key's client for just these `scopes`; else "            \
    "leave it out"

static const struct cfr_error_table_row key_rows[] = {
    {NULL, NULL, 429, CFR_E_THROTTLED, HINT_BUSY},
    {NULL, NULL, 503, CFR_E_UNAVAILABLE, HINT_LATER},
    {"invalid_grant", "JWT signature", 0, CFR_E_DENIED,
     "the key of {who} was disabled or deleted; give a new one in credentials_file"},
    {"invalid_grant", "short-lived", 0, CFR_E_REJECTED, HINT_CLOCK},
    {"invalid_grant", "reasonable timeframe", 0, CFR_E_REJECTED, HINT_CLOCK},
    {"invalid_grant", "Invalid email", 0, CFR_E_DENIED, "there is no such user; correct `subject`"},
    {"invalid_grant", "account not found", 0, CFR_E_DENIED,
     "{who} was deleted; give the key of another one in credentials_file"},
    {"invalid_grant", NULL, 0, CFR_E_DENIED,
     "Google does not accept the key of {who}: it may be disabled or deleted; give a new one in credentials_file"},
    {"unauthorized_client access_denied", NULL, 0, CFR_E_DENIED, HINT_DELEGATION},
    {"invalid_scope", NULL, 0, CFR_E_REJECTED, HINT_SCOPE},
    {"invalid_client", NULL, 0, CFR_E_DENIED, "{who} does not exist; give the key of another one in credentials_file"},
    {"disabled_client", NULL, 0, CFR_E_DENIED, "{who} is disabled; enable it"},
    {"deleted_client", NULL, 0, CFR_E_DENIED, "{who} was deleted; give the key of another one in credentials_file"},
    {"invalid_request", NULL, 0, CFR_E_REJECTED, "correct the parameter that the message names"},
    {"unsupported_grant_type", NULL, 0, CFR_E_REJECTED,
     "this is not the token endpoint; correct the token_uri in credentials_file, or `sts_endpoint`"},
    COMMON_ROWS,
};

#define HINT_BINDING                                                                                                   \
    "grant {who} roles/iam.workloadIdentityUser (a service account: roles/iam.serviceAccountTokenCreator) "            \
    "on "                                                                                                              \
    "`service_account`, or correct its name; a new binding takes minutes"
#define HINT_API "enable iamcredentials.googleapis.com in the project that the message names; that takes minutes"

static const struct cfr_error_table_row iam_rows[] = {
    {NULL, NULL, 429, CFR_E_THROTTLED, HINT_BUSY},
    {NULL, NULL, 503, CFR_E_UNAVAILABLE, HINT_LATER},
    {"PERMISSION_DENIED", "implicitDelegation", 0, CFR_E_DENIED,
     "grant each of `delegates` roles/iam.serviceAccountTokenCreator on the next one"},
    {"PERMISSION_DENIED", "getAccessToken", 0, CFR_E_DENIED, HINT_BINDING},
    {"PERMISSION_DENIED", "getOpenIdToken", 0, CFR_E_DENIED, HINT_BINDING},
    {"PERMISSION_DENIED", "has not been used", 0, CFR_E_DENIED, HINT_API},
    {"PERMISSION_DENIED", "it is disabled", 0, CFR_E_DENIED, HINT_API},
    {"PERMISSION_DENIED", "insufficient authentication scopes", 0, CFR_E_DENIED,
     "the token lacks the scope cloud-platform, which impersonation needs"},
    {"PERMISSION_DENIED", NULL, 0, CFR_E_DENIED, HINT_BINDING},
    {"UNAUTHENTICATED", NULL, 0, CFR_E_DENIED,
     "the token of the previous step was not accepted; check that {who} exists, that its key is enabled, and this "
     "machine's clock"},
    {"NOT_FOUND", NULL, 0, CFR_E_DENIED, "there is no such service account; correct `service_account`"},
    {"INVALID_ARGUMENT", "lifetime", 0, CFR_E_REJECTED,
     "shorten `lifetime` to 1h, or list the account in the organization's policy "
     "constraints/iam.allowServiceAccountCredentialLifetimeExtension"},
    {"INVALID_ARGUMENT", "scope", 0, CFR_E_REJECTED, HINT_SCOPE},
    {"INVALID_ARGUMENT", "delegat", 0, CFR_E_REJECTED,
     "correct `delegates`: each must be the email address of a service account"},
    {"INVALID_ARGUMENT", "audience", 0, CFR_E_REJECTED, "correct `id_token_audience`, which Google does not accept"},
    {"INVALID_ARGUMENT", NULL, 0, CFR_E_REJECTED, "correct the parameter that the message names"},
    {"FAILED_PRECONDITION", NULL, 0, CFR_E_DENIED, "the service account cannot be used as it is; is it enabled?"},
    COMMON_ROWS,
};

static const struct cfr_error_table_row *rows_of(enum cfr_gcp_step step)
{
    switch (step) {
    case CFR_GCP_STEP_STS:
        return sts_rows;
    case CFR_GCP_STEP_KEY_ID:
    case CFR_GCP_STEP_KEY_ACCESS:
        return key_rows;
    case CFR_GCP_STEP_IAM_ID:
    case CFR_GCP_STEP_IAM_ACCESS:
        break;
    }
    return iam_rows;
}

int cfr_gcp_error_set(const struct cfr_gcp_refusal *r, struct cfr_err *err)
{
    const struct cfr_error_table refusal = {
        .rows = rows_of(r->step),
        .status = r->reply->status,
        .code = cfr_oauth_answer_get(r->answer, CFR_OAUTH_ERROR),
        .message = cfr_oauth_answer_get(r->answer, CFR_OAUTH_DESCRIPTION),
        .request_id = r->reply->request_id,
        .who = r->who,
        .who_is = r->who_is,
        .secrets = r->secrets,
        .secret_count = r->secret_count,
    };

    return cfr_error_table_set(&refusal, err);
}
