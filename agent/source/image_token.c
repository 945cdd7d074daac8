/* SPDX-License-Identifier: MIT */
/* The token of the kubelet's request. */
#include "agent/source/image_token.h"

#include "base/redact.h"
#include "base/str.h"
#include "base/time.h"
#include "token/claims.h"

#define WHAT      "the service account token in the kubelet's request"
#define SKEW_MS   5000 /* as for tokens of files */
#define SHOWN_MAX 128

static int check_claims(struct cfr_view token, const struct cfr_claims *claims, const char *audience, int64_t now_ms,
                        struct cfr_err *err)
{
    int64_t expires_s = cfr_claims_expires(claims);
    int64_t starts_s = claims->nbf > claims->iat ? claims->nbf : claims->iat;
    char when[CFR_TIME_RFC3339_MAX];
    char shown[CFR_REDACT_MAX];

    if (now_ms >= expires_s * 1000)
        return cfr_err_set(err, CFR_E_TOKEN_EXPIRED, WHAT " expired at %s: look at the clocks, and at the kubelet",
                           cfr_time_format(expires_s, when));
    if (starts_s * 1000 > now_ms + SKEW_MS)
        return cfr_err_set(err, CFR_E_TOKEN, WHAT " is not valid before %s: look at the clocks",
                           cfr_time_format(starts_s, when));
    if (audience != NULL && !cfr_claims_has_audience(claims, audience))
        return cfr_err_set(err, CFR_E_TOKEN,
                           WHAT " is for the audience \"%.*s\", not \"%s\": set serviceAccountTokenAudience in its "
                                "CredentialProviderConfig, or this credential's audience",
                           SHOWN_MAX, cfr_redact(cfr_claims_audience(claims, 0), &token, 1, shown), audience);
    return 0;
}

static int decode(const char *audience, int64_t now_ms, struct cfr_source_token_file *out, struct cfr_err *err)
{
    struct cfr_view token = cfr_secret_view(&out->token);
    struct cfr_claims claims;
    int rc = cfr_claims_decode(token, &claims, err);

    if (rc != 0)
        return cfr_err_prefix(err, WHAT);
    out->issued_s = claims.iat;
    out->expires_s = cfr_claims_expires(&claims);
    rc = check_claims(token, &claims, audience, now_ms, err);
    if (rc == 0) {
        out->subject = cfr_str_dup(claims.sub);
        if (out->subject == NULL)
            rc = cfr_err_nomem(err);
    }
    cfr_claims_free(&claims);
    return rc;
}

int cfr_source_image_token_read(struct cfr_view token, const char *audience, int64_t now_ms,
                                struct cfr_source_token_file *out, struct cfr_err *err)
{
    int rc;

    *out = (struct cfr_source_token_file){.subject = NULL};
    cfr_secret_init(&out->token, CFR_TOKEN_MAX);
    rc = cfr_secret_append(&out->token, cfr_view_trim(token), err);
    if (rc == CFR_E_LIMIT)
        return cfr_err_set(err, CFR_E_TOKEN, WHAT " has more than %d bytes", CFR_TOKEN_MAX);
    return rc != 0 ? rc : decode(audience, now_ms, out, err);
}
