/* SPDX-License-Identifier: MIT */
/* Advice on the trust of a workload identity pool's provider. */
#include "sts/gcp/gcp_private.h"

#include "sts/gcp/gcp.h"
#include "sts/core/trust.h"

#include <stdio.h>
#include <string.h>

/* Appends the option NAME, and its VALUE of N bytes. */
static void add_option(struct cfr_str *out, const char *name, const char *value, size_t n)
{
    char part[CFR_STS_TRUST_SHOWN_MAX];

    cfr_str_addf(out, " --%s=", name);
    cfr_sts_trust_add_quoted(out, cfr_view_show((struct cfr_view){value, n}, part, sizeof part));
}

/* The command that makes the provider of AUDIENCE, "//iam.googleapis.com/projects/1/locations/global/
 * workloadIdentityPools/POOL/providers/NAME", accept the token. */
static void add_provider_command(struct cfr_str *out, const char *audience, const struct cfr_sts_trust *t)
{
    static const char *const parts[] = {"/projects/", "/locations/", "/workloadIdentityPools/", "/providers/"};
    static const char *const options[] = {"project", "location", "workload-identity-pool"};
    const char *values[4];
    char token_audience[CFR_STS_TRUST_SHOWN_MAX];

    for (size_t i = 0; i < 4; i++) {
        const char *at = strstr(audience, parts[i]);

        if (at == NULL)
            return;
        values[i] = at + strlen(parts[i]);
    }
    cfr_str_addz(out, "gcloud iam workload-identity-pools providers update-oidc ");
    cfr_sts_trust_add_quoted(out, values[3]);
    for (size_t i = 0; i < 3; i++)
        add_option(out, options[i], values[i], strcspn(values[i], "/"));
    cfr_str_addz(out, " \\\n   ");
    add_option(out, "issuer-uri", t->shown_iss, strlen(t->shown_iss));
    (void)cfr_sts_trust_audience(t, token_audience);
    add_option(out, "allowed-audiences", token_audience, strlen(token_audience));
    cfr_str_addz(out, " --attribute-mapping=google.subject=assertion.sub\n");
}

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
    struct cfr_str paste = {.limit = CFR_STS_TRUST_PASTE_MAX};
    char member[2 * CFR_STS_TRUST_SHOWN_MAX + 64];

    if (end == NULL)
        return;
    add_provider_command(&paste, c->audience, t);
    cfr_finding_report_paste(
        t->sink, CFR_STS_TRUST_NEEDED,
        "compare with `gcloud iam workload-identity-pools providers describe ... --format json`, or give its "
        "output: --pool-provider FILE",
        paste.failed ? NULL : paste.p,
        "the provider %.400s must have the issuer \"%s\", %s among its allowed audiences (or no list, if "
        "that "
        "is its own name), and google.subject mapped, usually to assertion.sub: \"%s\"",
        c->audience, t->shown_iss, t->shown_aud, t->shown_sub);
    if (names_other_pool(c->audience, t))
        cfr_finding_report(t->sink, CFR_FINDING_WARNING, CFR_STS_TRUST_NEEDED,
                           "set the audience of the projected volume to that of the exchange, unless the "
                           "provider's list of allowed audiences names the other",
                           "the configured provider is %.400s, your token says %s", c->audience, t->shown_aud);
    cfr_str_free(&paste);
    if (c->service_account == NULL)
        return;
    (void)snprintf(member, sizeof member, "principal://iam.googleapis.com%.*s/subject/%s", (int)(end - pool), pool,
                   t->shown_sub);
    cfr_str_addz(&paste, "gcloud iam service-accounts add-iam-policy-binding ");
    cfr_sts_trust_add_quoted(&paste, c->service_account);
    cfr_str_addz(&paste, " \\\n    --role=roles/iam.workloadIdentityUser");
    cfr_str_addz(&paste, " --member=");
    cfr_sts_trust_add_quoted(&paste, member);
    cfr_str_addz(&paste, "\n");
    cfr_finding_report_paste(t->sink, CFR_STS_TRUST_NEEDED,
                             "compare with `gcloud iam service-accounts get-iam-policy SERVICE_ACCOUNT`",
                             paste.failed ? NULL : paste.p,
                             "%.200s must grant roles/iam.workloadIdentityUser to \"%s\"", c->service_account, member);
    cfr_str_free(&paste);
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
