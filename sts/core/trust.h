/* SPDX-License-Identifier: MIT */
/* Advice of a provider on the cloud's trust in a token: what must be configured there, and what a refusal names. Pure.
 * All of it is borrowed for one call; what it says goes to a sink as findings. */
#ifndef CFR_STS_CORE_TRUST_H
#define CFR_STS_CORE_TRUST_H

#include "base/finding.h"
#include "base/str.h"
#include "base/view.h"

#define CFR_STS_TRUST_PASTE_MAX 4096 /* bytes of lines to paste */
#define CFR_STS_TRUST_SHOWN_MAX 304  /* bytes of a claim in a text, with its NUL */
/* The names of the two kinds of findings. */
#define CFR_STS_TRUST_NEEDED  "trust.needed"
#define CFR_STS_TRUST_REFUSED "trust.refused"

/* A token's claims, unverified, and what it takes to say something about them. */
struct cfr_sts_trust {
    struct cfr_view iss;
    struct cfr_view sub;
    const struct cfr_view *aud;
    size_t aud_count;
    /* The same, fit for a terminal. */
    char shown_iss[CFR_STS_TRUST_SHOWN_MAX];
    char shown_sub[CFR_STS_TRUST_SHOWN_MAX];
    char shown_aud[CFR_STS_TRUST_SHOWN_MAX]; /* a list in quotes */
    const char *(*env)(const char *);        /* as in struct cfr_sts_input */
    const struct cfr_finding_sink *sink;
};

/* The issuer without https://, as AWS names it. */
struct cfr_view cfr_sts_trust_bare_issuer(struct cfr_view iss);
/* Appends TEXT as one word for a shell, in single quotes. */
void cfr_sts_trust_add_quoted(struct cfr_str *s, const char *text);
/* The first audience as it is shown; empty if the token has none. OUT has CFR_STS_TRUST_SHOWN_MAX bytes. */
const char *cfr_sts_trust_audience(const struct cfr_sts_trust *t, char *out);
/* The part of TEXT after WORDS, up to one of the characters ENDS; empty if WORDS are not in it. */
struct cfr_view cfr_sts_trust_after(const char *text, const char *words, const char *ends);

#endif
