/* SPDX-License-Identifier: MIT */
/* The token of the kubelet's request. */
#include "agent/source/image_token.h"

#include "base/redact.h"
#include "base/str.h"
#include "token/claims.h"

#define WHAT      "the service account token in the kubelet's request"
#define SHOWN_MAX 128

/* The cloud judges the times by its own clock. */
static int check_audience(struct cfr_view token, const struct cfr_claims *claims, const char *audience,
                          struct cfr_err *err)
{
    char shown[CFR_REDACT_MAX];

    if (audience == NULL || cfr_claims_has_audience(claims, audience))
        return 0;
    return cfr_err_set(err, CFR_E_TOKEN,
                       WHAT " is for the audience \"%.*s\", not \"%s\": set serviceAccountTokenAudience in its "
                            "CredentialProviderConfig, or this credential's audience",
                       SHOWN_MAX, cfr_redact(cfr_claims_audience(claims, 0), &token, 1, shown), audience);
}

static int decode(const char *audience, struct cfr_source_token_file *out, struct cfr_err *err)
{
    struct cfr_view token = cfr_secret_view(&out->token);
    struct cfr_claims claims;
    int rc = cfr_claims_decode(token, &claims, err);

    if (rc != 0)
        return cfr_err_prefix(err, WHAT);
    out->issued_s = claims.iat;
    out->expires_s = cfr_claims_expires(&claims);
    rc = check_audience(token, &claims, audience, err);
    if (rc == 0) {
        out->subject = cfr_str_dup(claims.sub);
        if (out->subject == NULL)
            rc = cfr_err_nomem(err);
    }
    cfr_claims_free(&claims);
    return rc;
}

int cfr_source_image_token_read(struct cfr_view token, const char *audience, struct cfr_source_token_file *out,
                                struct cfr_err *err)
{
    int rc;

    *out = (struct cfr_source_token_file){.subject = NULL};
    cfr_secret_init(&out->token, CFR_TOKEN_MAX);
    rc = cfr_secret_append(&out->token, cfr_view_trim(token), err);
    if (rc == CFR_E_LIMIT)
        return cfr_err_set(err, CFR_E_TOKEN, WHAT " has more than %d bytes", CFR_TOKEN_MAX);
    return rc != 0 ? rc : decode(audience, out, err);
}
