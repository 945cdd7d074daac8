/* SPDX-License-Identifier: MIT */
/* Advice on an OAuth server's trust. */
#include "sts/oauth/oauth_private.h"

#include "sts/oauth/oauth.h"
#include "sts/core/trust.h"

void cfr_oauth_trust_needed(const void *config, const struct cfr_sts_trust *t)
{
    const struct cfr_oauth *c = config;

    cfr_finding_report(t->sink, CFR_FINDING_NOTE, CFR_STS_TRUST_NEEDED, NULL,
                       "the server of %.300s must trust the issuer \"%s\" for the subject \"%s\" with the audience %s",
                       c->token_url, t->shown_iss, t->shown_sub, t->shown_aud);
}
