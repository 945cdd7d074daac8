/* SPDX-License-Identifier: MIT */
/* Comparison of a token's claims with what a verifier expects. */
#include "token/verify.h"

#include "base/str.h"
#include "base/time.h"

#define SHOWN_MAX 300
#define LIST_MAX  1200

static void check_issuer(const struct cfr_claims *c, const char *issuer, const struct cfr_finding_sink *sink)
{
    char shown[SHOWN_MAX];

    (void)cfr_view_show(c->iss, shown, sizeof shown);
    if (c->iss.n == 0)
        cfr_finding_report(sink, CFR_FINDING_WRONG, "token.issuer", "this is not a token of an OpenID Connect issuer",
                           "the token names no issuer (`iss`)");
    else if (issuer == NULL)
        cfr_finding_report(sink, CFR_FINDING_NOTE, "token.issuer", NULL, "the issuer is %s (not compared)", shown);
    else if (cfr_view_is(c->iss, issuer))
        cfr_finding_report(sink, CFR_FINDING_OK, "token.issuer", NULL, "the issuer is %s", shown);
    else
        cfr_finding_report(sink, CFR_FINDING_WRONG, "token.issuer",
                           "register the token's issuer in the cloud exactly as the token has it; a slash at the end "
                           "counts",
                           "the issuer is %.*s, the token says %s", SHOWN_MAX, issuer, shown);
}

/* As in "[a, b]". */
static void write_audiences(const struct cfr_claims *c, struct cfr_str *out)
{
    size_t n = cfr_claims_audience_count(c);

    cfr_str_addz(out, "[");
    for (size_t i = 0; i < n && out->len < LIST_MAX - SHOWN_MAX - 16; i++) {
        cfr_str_addz(out, i != 0 ? ", " : "");
        cfr_str_add_shown(out, cfr_claims_audience(c, i), SHOWN_MAX);
    }
    cfr_str_addz(out, "]");
}

static void check_audience(const struct cfr_claims *c, const char *audience, const struct cfr_finding_sink *sink)
{
    struct cfr_str list = {.limit = LIST_MAX};

    write_audiences(c, &list);
    if (cfr_claims_audience_count(c) == 0)
        cfr_finding_report(sink, CFR_FINDING_WRONG, "token.audience",
                           "request a token with an audience; clouds refuse one without",
                           "the token has no audience (`aud`)");
    else if (audience == NULL)
        cfr_finding_report(sink, CFR_FINDING_NOTE, "token.audience", "give --audience to compare it",
                           "the audience is %s (not compared)", list.p != NULL ? list.p : "-");
    else if (cfr_claims_has_audience(c, audience))
        cfr_finding_report(sink, CFR_FINDING_OK, "token.audience", NULL, "the audience is %.*s", SHOWN_MAX, audience);
    else
        cfr_finding_report(sink, CFR_FINDING_WRONG, "token.audience",
                           "request a token with this audience, or let the cloud accept the token's",
                           "the audience is %s, expected %.*s", list.p != NULL ? list.p : "-", SHOWN_MAX, audience);
    cfr_str_free(&list);
}

static void check_times(const struct cfr_claims *c, int64_t now_s, const struct cfr_finding_sink *sink)
{
    int64_t begins = c->nbf > c->iat ? c->nbf : c->iat;
    char words[CFR_TIME_WORDS_MAX];
    char when[CFR_TIME_RFC3339_MAX];

    if (c->exp == 0)
        cfr_finding_report(sink, CFR_FINDING_WRONG, "token.expired",
                           "request a token that expires: clouds refuse one that never does", "the token has no `exp`");
    else if (now_s >= c->exp)
        cfr_finding_report(sink, CFR_FINDING_WRONG, "token.expired",
                           "get a new token; if it is new, the clock of the issuer or of this machine is wrong",
                           "expired %s ago (%s)", cfr_time_words((now_s - c->exp) * 1000, words),
                           cfr_time_format(c->exp, when));
    else
        cfr_finding_report(sink, CFR_FINDING_OK, "token.expired", NULL, "valid for another %s (until %s)",
                           cfr_time_words((c->exp - now_s) * 1000, words), cfr_time_format(c->exp, when));
    if (c->exp != 0 && c->exp <= c->iat)
        cfr_finding_report(sink, CFR_FINDING_WRONG, "token.life", "the issuer must set `exp` to a later time",
                           "the token's `exp` is not after its `iat`");
    if (now_s < begins)
        cfr_finding_report(sink, CFR_FINDING_WRONG, "token.not-yet-valid",
                           "the clock of the issuer or of this machine is wrong: compare both",
                           "not valid yet, only in %s (from %s)", cfr_time_words((begins - now_s) * 1000, words),
                           cfr_time_format(begins, when));
}

/* RFC 7515, 4.1.11: a verifier that does not know what `crit` lists has to refuse the token. */
static void check_header(const struct cfr_claims *c, const struct cfr_finding_sink *sink)
{
    if (cfr_json_get(c->header, "crit") != NULL)
        cfr_finding_report(sink, CFR_FINDING_WRONG, "token.header",
                           "the issuer must sign without `crit`: clouds refuse extensions that they do not know",
                           "the token's header has critical extensions (`crit`)");
}

void cfr_claims_verify(const struct cfr_claims *claims, const struct cfr_claims_expected *expected,
                       const struct cfr_finding_sink *sink)
{
    check_header(claims, sink);
    check_issuer(claims, expected->issuer, sink);
    check_audience(claims, expected->audience, sink);
    check_times(claims, expected->now_s, sink);
    if (claims->sub.n == 0)
        cfr_finding_report(sink, CFR_FINDING_WRONG, "token.claims",
                           "use a token of a service account: a trust policy has nothing else to match",
                           "the token has no subject (`sub`)");
}
