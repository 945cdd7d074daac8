/* SPDX-License-Identifier: MIT */
/* Explains a token: what it says, and whether a security token service would accept it. Pure.
 * Memory: borrows everything. Callbacks: the sink, once for each finding, during the call. No text holds the token,
 * and all fit on a terminal. */
#ifndef CFR_TOKEN_INSPECT_H
#define CFR_TOKEN_INSPECT_H

#include "base/finding.h"
#include "base/str.h"
#include "base/token_rules.h"
#include "token/claims.h"

/* All borrowed for the duration of the call. */
struct cfr_inspect_subject {
    struct cfr_view file;                /* the file's bytes as they are, white space included */
    const struct cfr_claims *claims;     /* as cfr_claims_read or cfr_claims_decode left them */
    int64_t now_s;                       /* wall clock, Unix seconds */
    const char *audience;                /* what the exchange expects in `aud`, or NULL */
    const char *region;                  /* of the exchange, or NULL: determines which default audience is reported */
    const struct cfr_token_rules *rules; /* of the provider; NULL = only those that hold for all */
};

/* Gives SINK what an STS would make of the token, one finding for each rule: "ok", "note" or "wrong". No text holds the
 * token; what of a claim is in one has its control characters replaced. */
void cfr_inspect_check(const struct cfr_inspect_subject *subject, const struct cfr_finding_sink *sink);

/* Appends the report: the claims, the times in words, and findings, one to a line, marked "ok", "note" or
 * "PROBLEM". Never the token itself; what a claim holds is shown with control characters replaced. Returns
 * the number of problems, that is, of reasons for an AWS STS to refuse the token now. OUT->failed says
 * whether the text is whole. */
unsigned cfr_inspect_write(const struct cfr_inspect_subject *subject, struct cfr_str *out);

#endif
