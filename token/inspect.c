/* SPDX-License-Identifier: MIT */
/* Report on a token, and the rules of token services. */
#include "token/inspect.h"

#include "base/time.h"
#include "token/claims_private.h"

#include <stdio.h>
#include <string.h>

#define LIFE_SHORT_S 600
#define SHOWN_MAX    300

struct report {
    struct cfr_str *out;
    unsigned problems;
};

static void show_text(struct report *r, const char *label, struct cfr_view text)
{
    if (text.n == 0)
        return;
    cfr_str_addf(r->out, "  %-16s", label);
    cfr_str_add_shown(r->out, text, SHOWN_MAX);
    cfr_str_addz(r->out, "\n");
}

static void add_when(struct cfr_str *out, int64_t at_s, int64_t now_s)
{
    char stamp[CFR_TIME_RFC3339_MAX];
    char words[CFR_TIME_WORDS_MAX];
    int64_t ahead = at_s - now_s;

    cfr_str_addf(out, "%s (", cfr_time_format(at_s, stamp));
    if (ahead == 0)
        cfr_str_addz(out, "now)");
    else if (ahead > 0)
        cfr_str_addf(out, "in %s)", cfr_time_words(ahead * 1000, words));
    else
        cfr_str_addf(out, "%s ago)", cfr_time_words(-ahead * 1000, words));
}

static void show_time(struct report *r, const char *label, int64_t at_s, int64_t now_s)
{
    if (at_s == 0)
        return;
    cfr_str_addf(r->out, "  %-16s", label);
    add_when(r->out, at_s, now_s);
    cfr_str_addz(r->out, "\n");
}

static void show_claims(struct report *r, const struct cfr_inspect_subject *s)
{
    const struct cfr_claims *c = s->claims;
    size_t n = cfr_claims_audience_count(c);
    int64_t expires = cfr_claims_expires(c);

    cfr_str_addz(r->out, "Token\n");
    show_text(r, "issuer", c->iss);
    show_text(r, "subject", c->sub);
    for (size_t i = 0; i < n && i < 64; i++)
        show_text(r, i == 0 ? "audience" : "", cfr_claims_audience(c, i));
    show_text(r, "namespace", c->namespace_name);
    show_text(r, "service account", c->service_account);
    show_text(r, "pod", c->pod);
    show_text(r, "node", c->node);
    show_text(r, "token id", c->jti);
    show_text(r, "algorithm", c->alg);
    show_text(r, "key id", c->kid);
    show_time(r, "issued", c->iat, s->now_s);
    if (c->nbf != c->iat)
        show_time(r, "valid from", c->nbf, s->now_s);
    if (c->iat != 0 && expires > c->iat)
        show_time(r, "80 % of life", c->iat + (expires - c->iat) / 5 * 4 + (expires - c->iat) % 5 * 4 / 5, s->now_s);
    show_time(r, "warn after", c->warnafter, s->now_s);
    show_time(r, "expires", c->exp, s->now_s);
}

/* ---- what an STS would say ---- */

struct judge {
    const struct cfr_inspect_subject *subject;
    const struct cfr_finding_sink *sink;
};

static void finding(const struct judge *j, const char *check, bool good, const char *yes, const char *no)
{
    cfr_finding_report(j->sink, good ? CFR_FINDING_OK : CFR_FINDING_WRONG, check, NULL, "%s", good ? yes : no);
}

static void note(const struct judge *j, const char *check, const char *text)
{
    cfr_finding_report(j->sink, CFR_FINDING_NOTE, check, NULL, "%s", text);
}

static void check_algorithm(const struct judge *j)
{
    const struct cfr_token_rules *rules = j->subject->rules;
    char good[160];
    bool known = false;

    if (rules == NULL || rules->algorithms == NULL)
        return;
    for (const char *const *alg = rules->algorithms; *alg != NULL; alg++)
        known = known || cfr_view_is(j->subject->claims->alg, *alg);
    (void)snprintf(good, sizeof good, "signed with an algorithm that %s accepts", rules->accepts);
    finding(j, "token.algorithm", known, good, rules->only);
}

static void check_life(const struct judge *j)
{
    const struct cfr_claims *c = j->subject->claims;
    int64_t expires = cfr_claims_expires(c);

    if (c->exp <= c->iat)
        finding(j, "token.life", false, "", "its `exp` is not after its `iat`");
    else if (c->iat != 0 && expires - c->iat < LIFE_SHORT_S)
        note(j, "token.life", "its whole life is shorter than 10 min, the least that Kubernetes issues");
    if (c->iat == 0)
        note(j, "token.life", "it has no `iat`: its age is unknown, so only its expiry decides when it is renewed");
    if (c->warnafter != 0 && c->exp - c->warnafter > 60)
        note(j, "token.life",
             "its life was extended by the API server (warnafter): it should be renewed before that moment, not before "
             "`exp`");
}

static void check_times(const struct judge *j)
{
    const struct cfr_claims *c = j->subject->claims;
    int64_t begins = c->nbf > c->iat ? c->nbf : c->iat;

    if (cfr_claims_is_legacy(c)) {
        finding(j, "token.kind", false, "",
                "a token of the old kind that a Secret holds: no expiry, no audience; every cloud refuses "
                "it. Mount a projected serviceAccountToken volume instead");
        return;
    }
    if (c->exp == 0) {
        finding(j, "token.expired", false, "", "it has no `exp`; every cloud refuses a token that never expires");
        return;
    }
    finding(j, "token.expired", j->subject->now_s < c->exp, "not expired",
            "expired: what renews the token file has stopped, or this machine's clock is ahead");
    finding(j, "token.not-yet-valid", j->subject->now_s >= begins, "already valid",
            "not valid yet: the issuer's clock is ahead of this one, or this machine's clock is wrong");
    check_life(j);
}

static void check_usual_audience(const struct judge *j)
{
    const struct cfr_inspect_subject *s = j->subject;
    const struct cfr_token_rules *rules = s->rules;
    bool china = s->region != NULL && strncmp(s->region, "cn-", 3) == 0 && rules->usual_audience_china != NULL;

    if (cfr_claims_has_audience(s->claims, rules->usual_audience) ||
        (china && cfr_claims_has_audience(s->claims, rules->usual_audience_china)))
        cfr_finding_report(j->sink, CFR_FINDING_OK, "token.audience", NULL, "the audience is the usual one for %s",
                           rules->accepts);
    else
        cfr_finding_report(j->sink, CFR_FINDING_NOTE, "token.audience", NULL,
                           "the audience is not %s%s%s: the identity provider in IAM must list it as a client ID",
                           rules->usual_audience, china ? " or " : "", china ? rules->usual_audience_china : "");
}

static void check_audience(const struct judge *j)
{
    const char *audience = j->subject->audience;
    bool good;

    if (cfr_claims_audience_count(j->subject->claims) == 0) {
        finding(j, "token.audience", false, "", "it has no audience (`aud`)");
        return;
    }
    if (audience == NULL) {
        if (j->subject->rules != NULL && j->subject->rules->usual_audience != NULL)
            check_usual_audience(j);
        return;
    }
    good = cfr_claims_has_audience(j->subject->claims, audience);
    cfr_finding_report(j->sink, good ? CFR_FINDING_OK : CFR_FINDING_WRONG, "token.audience", NULL,
                       "the audience is %sthe configured %.*s", good ? "" : "not ", SHOWN_MAX, audience);
}

static bool whole(const struct cfr_json *object, const char *key)
{
    const struct cfr_json *value = cfr_json_get(object, key);
    int64_t i;

    return value == NULL || cfr_json_integer(value, &i);
}

/* A server of one's own may take any issuer; that it does cannot be known from here. */
static void check_issuer(const struct judge *j)
{
    bool good = cfr_view_starts(j->subject->claims->iss, "https://");

    cfr_finding_report(j->sink, good ? CFR_FINDING_OK : CFR_FINDING_WARNING, "token.issuer", NULL, "%s",
                       good ? "the issuer is an https URL"
                            : "the issuer is not an https URL: AWS, Google and Azure cannot fetch its keys; another "
                              "server may know them");
}

static void check_shape(const struct judge *j)
{
    const struct cfr_inspect_subject *s = j->subject;
    const struct cfr_json *p = s->claims->payload;
    struct cfr_view token = cfr_view_trim(s->file);

    finding(j, "token.times", whole(p, "iat") && whole(p, "nbf") && whole(p, "exp"), "times are whole seconds",
            "a time has a fraction; AWS accepts only integers");
    finding(j, "token.claims", s->claims->iss.n != 0 && s->claims->sub.n != 0, "issuer and subject are there",
            "it has no `iss` or no `sub`; a trust policy has nothing to match");
    if (s->claims->iss.n != 0 && !cfr_claims_is_legacy(s->claims))
        check_issuer(j);
    if (s->rules != NULL && s->rules->bytes_max != 0 && token.n <= s->rules->bytes_max)
        cfr_finding_report(j->sink, CFR_FINDING_OK, "token.size", NULL, "short enough for %s (%zu characters)",
                           s->rules->accepts, s->rules->bytes_max);
    else if (s->rules != NULL && s->rules->bytes_max != 0)
        cfr_finding_report(j->sink, CFR_FINDING_WRONG, "token.size", NULL,
                           "longer than the %zu characters that %s accepts", s->rules->bytes_max, s->rules->accepts);
    if (token.n != s->file.n)
        note(j, "token.space",
             "the file has white space around the token; credfresh removes it, other clients may send it");
}

void cfr_inspect_check(const struct cfr_inspect_subject *subject, const struct cfr_finding_sink *sink)
{
    const struct judge j = {subject, sink};

    check_algorithm(&j);
    check_times(&j);
    check_audience(&j);
    check_shape(&j);
}

static void write_finding(void *ctx, const struct cfr_finding *finding)
{
    static const char *const marks[CFR_FINDING_LEVELS] = {"ok", "note", "note", "PROBLEM"};
    struct report *r = ctx;

    cfr_str_addf(r->out, "  %-8s", marks[finding->level]);
    cfr_str_addz(r->out, finding->text);
    cfr_str_addz(r->out, "\n");
    r->problems += finding->level == CFR_FINDING_WRONG ? 1 : 0;
}

unsigned cfr_inspect_write(const struct cfr_inspect_subject *subject, struct cfr_str *out)
{
    struct report r = {.out = out};

    show_claims(&r, subject);
    cfr_str_addz(out, "What an STS would say (not its signature: `credfresh-oidc verify` checks that)\n");
    cfr_inspect_check(subject, &(struct cfr_finding_sink){write_finding, &r});
    return r.problems;
}
