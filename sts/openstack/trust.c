/* SPDX-License-Identifier: MIT */
/* Advice on a federation of Keystone. */
#include "sts/openstack/openstack_private.h"

#include "sts/openstack/openstack.h"
#include "sts/core/trust.h"

void cfr_openstack_trust_needed(const void *config, const struct cfr_sts_trust *t)
{
    const struct cfr_openstack *c = config;

    if (cfr_openstack_way_of(c) != CFR_OPENSTACK_FEDERATION)
        return;
    cfr_finding_report(
        t->sink, CFR_FINDING_NOTE, CFR_STS_TRUST_NEEDED,
        "compare with `openstack identity provider show` and `openstack mapping show`; the web server before "
        "Keystone must accept the token's issuer and audience, too",
        "the identity provider \"%.64s\" must have the remote id \"%s\", and the mapping of its protocol "
        "\"%.64s\" must make a user of the subject \"%s\"",
        c->identity_provider, t->shown_iss, c->protocol != NULL ? c->protocol : "", t->shown_sub);
}
