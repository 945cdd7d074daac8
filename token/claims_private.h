/* SPDX-License-Identifier: MIT */
/* What of the claims only their report asks. */
#ifndef CFR_TOKEN_CLAIMS_PRIVATE_H
#define CFR_TOKEN_CLAIMS_PRIVATE_H

#include "token/claims.h"

/* A token of the old kind that a Secret holds: no expiry and no audience; every cloud refuses it. */
bool cfr_claims_is_legacy(const struct cfr_claims *c);

#endif
