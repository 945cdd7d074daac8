/* SPDX-License-Identifier: MIT */
/* What the files of the OAuth provider share. */
#ifndef CFR_STS_OAUTH_OAUTH_PRIVATE_H
#define CFR_STS_OAUTH_OAUTH_PRIVATE_H

#include "sts/oauth/oauth.h"

extern const struct cfr_table cfr_oauth_table;

/* The URN of a token type that may be written short ("jwt"), or TYPE itself. */
const char *cfr_oauth_token_type(const char *type);
/* An error of RFC 6749, 5.2 or RFC 8693, 2.2.2 with class and advice. */
int cfr_oauth_refuse(const struct cfr_oauth *config, const struct cfr_sts_input *in, const struct cfr_wire_reply *reply,
                     struct cfr_view code, struct cfr_view message, struct cfr_err *err);

/* sts/oauth/trust.c: as in struct cfr_sts_provider. */
struct cfr_sts_trust;
void cfr_oauth_trust_needed(const void *config, const struct cfr_sts_trust *t);

#endif
