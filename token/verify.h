/* SPDX-License-Identifier: MIT */
/* Compares the claims of a token with what a verifier expects: issuer, audience and times. The signature is another
 * question (pki/jwks.h). Pure.
 * Memory: borrows everything. Callbacks: the sink, once for each finding, during the call. No text holds the token. */
#ifndef CFR_TOKEN_VERIFY_H
#define CFR_TOKEN_VERIFY_H

#include "base/finding.h"
#include "token/claims.h"

struct cfr_claims_expected {
    const char *issuer;   /* byte for byte; NULL = any */
    const char *audience; /* NULL = any */
    int64_t now_s;        /* Unix seconds */
};

/* Gives SINK findings for issuer, audience, times, subject and critical extensions (token.issuer, token.audience,
 * token.expired, token.life, token.not-yet-valid, token.claims, token.header): "ok", "wrong" with what to do, or "note"
 * for what is not compared. */
void cfr_claims_verify(const struct cfr_claims *claims, const struct cfr_claims_expected *expected,
                       const struct cfr_finding_sink *sink);

#endif
