/* SPDX-License-Identifier: MIT */
/* Advice on the trust of a workload identity pool's provider. */
#include "sts/gcp/gcp_private.h"

#include "sts/gcp/gcp.h"
#include "sts/core/trust.h"

#include <string.h>

/* True if the token is for a provider of a pool, and none of its audiences is AUDIENCE's. */
static bool names_other_pool(const char *audience, const struct cfr_sts_trust *t)
{
    bool other = false;

    for (size_t i = 0; i < t->aud_count; i++) {
        struct cfr_view aud = cfr_sts_trust_bare_issuer(t->aud[i]);

        if (cfr_view_is(aud, audience) || cfr_view_is(aud, audience + strspn(audience, "/")))
            return false;
        other = other || cfr_view_find(aud, "iam.googleapis.com/projects/") >= 0;
    }
    return other;
}

void cfr_gcp_trust_needed(const void *config, const struct cfr_sts_trust *t)
{
    const struct cfr_gcp *c = config;
    const char *pool = c->audience != NULL ? strstr(c->audience, "/projects/") : NULL;
    const char *end = pool != NULL ? strstr(pool, "/providers/") : NULL;

    if (end == NULL)
        return;
    cfr_finding_report(
        t->sink, CFR_FINDING_NOTE, CFR_STS_TRUST_NEEDED,
        "compare with `gcloud iam workload-identity-pools providers describe ... --format json`, or give its "
        "output: --pool-provider FILE",
        "the provider %.400s must have the issuer \"%s\", %s among its allowed audiences (or no list, if "
        "that "
        "is its own name), and google.subject mapped, usually to assertion.sub: \"%s\"",
        c->audience, t->shown_iss, t->shown_aud, t->shown_sub);
    if (names_other_pool(c->audience, t))
        cfr_finding_report(t->sink, CFR_FINDING_WARNING, CFR_STS_TRUST_NEEDED,
                           "set the audience of the projected volume to that of the exchange, unless the "
                           "provider's list of allowed audiences names the other",
                           "the configured provider is %.400s, your token says %s", c->audience, t->shown_aud);
    if (c->service_account != NULL)
        cfr_finding_report(t->sink, CFR_FINDING_NOTE, CFR_STS_TRUST_NEEDED,
                           "compare with `gcloud iam service-accounts get-iam-policy SERVICE_ACCOUNT`",
                           "%.200s must grant roles/iam.workloadIdentityUser to "
                           "\"principal://iam.googleapis.com%.*s/subject/%s\"",
                           c->service_account, (int)(end - pool), pool, t->shown_sub);
}

void cfr_gcp_trust_refused(const char *text, const struct cfr_sts_trust *t)
{
    struct cfr_view expected = cfr_sts_trust_after(text, "expected audience ", " ");
    char shown[CFR_STS_TRUST_SHOWN_MAX];

    while (expected.n != 0 && strchr(".,;", expected.p[expected.n - 1]) != NULL)
        expected.n--;
    if (expected.n == 0 || cfr_view_starts(expected, "[removed"))
        return;
    cfr_finding_report(t->sink, CFR_FINDING_WRONG, CFR_STS_TRUST_REFUSED,
                       "set this audience in the projected volume (or in `token.request`), or add the token's "
                       "to the provider's "
                       "allowed audiences",
                       "the provider expects the audience \"%s\", your token says %s",
                       cfr_view_show(expected, shown, sizeof shown), t->shown_aud);
}
