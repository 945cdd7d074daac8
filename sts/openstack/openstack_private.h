/* SPDX-License-Identifier: MIT */
/* What the parts of the OpenStack provider share; private to sts/openstack*.c.
 * Source of shapes: the Identity API v3 and OS-FEDERATION references. */
#ifndef CFR_STS_OPENSTACK_OPENSTACK_PRIVATE_H
#define CFR_STS_OPENSTACK_OPENSTACK_PRIVATE_H

#include "sts/openstack/openstack.h"
#include "wire/url.h"

/* Its check demands the secrets' files in addition to the rules of cfr_openstack_check. */
extern const struct cfr_table cfr_openstack_table;

#define CFR_OPENSTACK_SECRET_KEY   "application_credential_secret_file"
#define CFR_OPENSTACK_PASSWORD_KEY "password_file"
#define CFR_OPENSTACK_TOKEN_HEADER "X-Subject-Token"

/* Parses auth_url: BASE is the part before `/v3`. CFR_E_CONFIG, without naming the key. */
int cfr_openstack_base(const struct cfr_openstack *c, struct cfr_url *url, struct cfr_view *base, struct cfr_err *err);
/* The one request of a federated exchange that shows the subject token, and not the one for the scoped token.
 */
bool cfr_openstack_presents_token(const struct cfr_sts_exchange *x);

/* Sets OUT's body (JSON) to that of POST /v3/auth/tokens. CFR_E_MISSING or CFR_E_CONFIG if the secret's
 * content is missing or cannot be a secret. */
int cfr_openstack_body(const struct cfr_sts_exchange *x, const struct cfr_sts_input *in, struct cfr_secret *body,
                       struct cfr_err *err);

/* Reads the token document of a success into the empty G: token, expiry, and (unless the step is one that
 * will be followed by another) the ids, the identity and what a consumer needs to authenticate itself.
 * CFR_E_ANSWER. */
int cfr_openstack_grant(const struct cfr_sts_exchange *x, const struct cfr_sts_input *in,
                        const struct cfr_wire_reply *reply, struct cfr_grant *g, struct cfr_err *err);
/* Sets ERR to what an answer that is no success means. Never 0. */
int cfr_openstack_refuse(const struct cfr_sts_exchange *x, const struct cfr_sts_input *in,
                         const struct cfr_wire_reply *reply, struct cfr_err *err);

/* By the keys that are set; NO_WAY if there are none, or those of more than one. */
enum cfr_openstack_way cfr_openstack_way_of(const struct cfr_openstack *c);
/* sts/openstack/trust.c: as in struct cfr_sts_provider. */
struct cfr_sts_trust;
void cfr_openstack_trust_needed(const void *config, const struct cfr_sts_trust *t);

#endif
