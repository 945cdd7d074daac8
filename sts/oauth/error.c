/* SPDX-License-Identifier: MIT */
/* The errors of OAuth servers (RFC 6749, 5.2; RFC 8693, 2.2.2; RFC 8707, 2). */
#include "sts/oauth/oauth_private.h"

#include "base/error_table.h"

#define HINT_CLIENT                                                                                                    \
    "the server does not know the client, or its authentication failed: check `client_id`, `client_authentication` "   \
    "and the secret or key that it needs"
#define HINT_EXPIRED "the token has expired. Is the token file still renewed?"
#define HINT_AGAIN   "the server is unavailable; this is usually temporary"
#define HINT_BUSY    "the server limits the rate of calls; this is usually temporary"

static const struct cfr_error_table_row rows[] = {
    {"slow_down too_many_requests", NULL, 0, CFR_E_THROTTLED, HINT_BUSY},
    /* A server that is busy says so by its status, whatever the error. */
    {NULL, NULL, 429, CFR_E_THROTTLED, HINT_BUSY},
    {NULL, NULL, 503, CFR_E_UNAVAILABLE, HINT_AGAIN},
    {"invalid_client", NULL, 0, CFR_E_DENIED, HINT_CLIENT},
    {"unauthorized_client", NULL, 0, CFR_E_DENIED, "allow the client this `grant` at the server"},
    {"invalid_grant", "expired", 0, CFR_E_TOKEN_EXPIRED, HINT_EXPIRED},
    {"invalid_grant", "audience", 0, CFR_E_TOKEN,
     "the server does not accept the token's audience; ask for a token with the one that it expects"},
    {"invalid_grant", NULL, 0, CFR_E_TOKEN,
     "the server does not accept the token of {who}: check that it trusts its issuer, audience and subject (`credfresh "
     "inspect` shows them)"},
    {"invalid_token", "expired", 0, CFR_E_TOKEN_EXPIRED, HINT_EXPIRED},
    {"invalid_token", NULL, 0, CFR_E_TOKEN,
     "the server does not accept the token of {who}; check it with `credfresh inspect`"},
    {"invalid_request", "expired", 0, CFR_E_TOKEN_EXPIRED, HINT_EXPIRED},
    {"invalid_request", "subject_token", 0, CFR_E_TOKEN,
     "the server does not accept the token of {who}: check `subject_token_type`, and the token with "
     "`credfresh inspect`"},
    {"invalid_request", NULL, 0, CFR_E_REJECTED, "a parameter is missing or wrong; correct what the message names"},
    {"invalid_target", NULL, 0, CFR_E_REJECTED,
     "the server does not know this `audience` or `resource`, or does not allow it for {who}"},
    {"invalid_scope", NULL, 0, CFR_E_REJECTED, "the server does not give these `scopes`; ask for others"},
    {"unsupported_grant_type", NULL, 0, CFR_E_REJECTED, "the server does not know this `grant`; check `token_url` too"},
    {"unsupported_token_type", NULL, 0, CFR_E_REJECTED, "check `subject_token_type` and `requested_token_type`"},
    {"access_denied", NULL, 0, CFR_E_DENIED, "the server's policy does not allow this token for {who}"},
    {"insufficient_scope", NULL, 0, CFR_E_DENIED, "the token of {who} does not allow this exchange"},
    {"interaction_required", NULL, 0, CFR_E_DENIED, "the server requires a person to take part; change its policy"},
    {"temporarily_unavailable server_error", NULL, 0, CFR_E_UNAVAILABLE, HINT_AGAIN},
    {NULL, NULL, 401, CFR_E_DENIED, HINT_CLIENT},
    {NULL, NULL, 403, CFR_E_DENIED, "the server refuses {who}; check `token_url` and its policy"},
    {NULL, NULL, 404, CFR_E_REJECTED, "there is no token endpoint at this URL; check `token_url`"},
    {NULL, NULL, 405, CFR_E_REJECTED, "there is no token endpoint at this URL; check `token_url`"},
    {0},
};

int cfr_oauth_refuse(const struct cfr_oauth *config, const struct cfr_sts_input *in, const struct cfr_wire_reply *reply,
                     struct cfr_view code, struct cfr_view message, struct cfr_err *err)
{
    struct cfr_view secrets[CFR_STS_CONTENTS_MAX + 1] = {in->token};
    struct cfr_error_table r = {
        .rows = rows,
        .status = reply->status,
        .code = code,
        .message = message,
        .request_id = reply->request_id,
        .who = in->subject.n != 0 ? in->subject : cfr_view_of(config->client_id),
        .who_is = in->subject.n != 0 || config->client_id == NULL ? "subject" : "client",
        .secrets = secrets,
        .secret_count = 1,
    };

    for (size_t i = 0; i < in->content_count && r.secret_count < CFR_STS_CONTENTS_MAX + 1; i++)
        secrets[r.secret_count++] = in->contents[i].bytes;
    return cfr_error_table_set(&r, err);
}
