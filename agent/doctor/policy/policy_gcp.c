/* SPDX-License-Identifier: MIT */
/* Comparison of a token with the provider of a Google workload identity pool. */
#include "agent/doctor/policy/policy_private.h"

#include <stdio.h>
#include <string.h>

#define CHECK       "trust.pool"
#define SUBJECT_MAX 127
#define NAME_MAX    512
#define HOW                                                                                                            \
    "give the output of `gcloud iam workload-identity-pools providers describe PROVIDER "                              \
    "--workload-identity-pool POOL "                                                                                   \
    "--location global --format json`"

/* One provider being looked at. */
struct pool {
    const struct cfr_json *doc;
    const struct cfr_policy_token *token;
    const struct cfr_finding_sink *sink;
    char name[NAME_MAX]; /* //iam.googleapis.com/projects/... */
};

static void report_wrong(const struct pool *p, const char *remedy, const char *text)
{
    cfr_finding_report(p->sink, CFR_FINDING_WRONG, CHECK, remedy, "%s", text);
}

static bool check_state(const struct pool *p, const char *audience)
{
    bool disabled = false;

    if (audience != NULL && strcmp(audience, p->name) != 0)
        cfr_finding_report(p->sink, CFR_FINDING_WRONG, CHECK,
                           "set `audience` of the exchange to this name, or give the file of the provider that "
                           "is configured",
                           "the file describes %s, the configured audience is %.300s", p->name, audience);
    if (cfr_json_bool(cfr_json_get(p->doc, "disabled"), &disabled) && disabled)
        report_wrong(p, "enable it (`gcloud iam workload-identity-pools providers update-oidc --no-disabled`)",
                     "the provider is disabled");
    if (cfr_view_is(cfr_json_text(p->doc, "state"), "DELETED"))
        report_wrong(p, "undelete it, or make a new one", "the provider was deleted");
    if (cfr_json_is_object(cfr_json_get(p->doc, "oidc")))
        return true;
    report_wrong(p, "make a provider of the kind OIDC", "the provider is not for OpenID Connect tokens");
    return false;
}

static void check_issuer(const struct pool *p)
{
    struct cfr_view issuer = cfr_json_text(cfr_json_get(p->doc, "oidc"), "issuerUri");
    char a[CFR_POLICY_SHOWN_MAX];
    char b[CFR_POLICY_SHOWN_MAX];
    const char *why = cfr_policy_difference(issuer, p->token->iss);

    if (cfr_view_eq(issuer, p->token->iss))
        return;
    cfr_finding_report(p->sink, CFR_FINDING_WRONG, CHECK, "set the provider's issuer to exactly what the token says",
                       "the provider expects the issuer \"%s\", your token says \"%s\"%s%s", cfr_policy_show(issuer, a),
                       cfr_policy_show(p->token->iss, b), why[0] != '\0' ? ": " : "", why);
}

static bool is_audience(const struct pool *p, struct cfr_view allowed)
{
    for (size_t i = 0; i < p->token->aud_count; i++) {
        if (cfr_view_eq(p->token->aud[i], allowed))
            return true;
    }
    return false;
}

static void check_audience(const struct pool *p)
{
    const struct cfr_json *list = cfr_json_get(cfr_json_get(p->doc, "oidc"), "allowedAudiences");
    char expected[NAME_MAX + 64];
    char shown[CFR_POLICY_SHOWN_MAX];
    struct cfr_view one;
    size_t n = 0;

    (void)snprintf(expected, sizeof expected, "\"%s\" (its own name, with https: before it or not)", p->name);
    if (cfr_json_first(list) == NULL) {
        char https[NAME_MAX + 8];

        (void)snprintf(https, sizeof https, "https:%s", p->name);
        if (is_audience(p, cfr_view_of(p->name)) || is_audience(p, cfr_view_of(https)))
            return;
    }
    for (const struct cfr_json *a = cfr_json_first(list); a != NULL; a = cfr_json_next(a)) {
        if (cfr_json_string(a, &one) && is_audience(p, one))
            return;
        if (n + 8 < sizeof expected && one.n < sizeof expected - n - 8)
            n += (size_t)snprintf(expected + n, sizeof expected - n, "%s\"%s\"", n != 0 ? " or " : "",
                                  cfr_policy_show(one, shown));
    }
    cfr_finding_report(p->sink, CFR_FINDING_WRONG, CHECK,
                       "set this audience in the projected volume (or in `token.request`), or add the token's "
                       "to the provider "
                       "(`--allowed-audiences`)",
                       "the provider expects the audience %s, your token says %s", expected,
                       cfr_policy_audiences(p->token, shown));
}

/* True if the token's subject is mapped to google.subject as it is: of expressions only this one is evaluated. */
static bool maps_subject(const struct pool *p)
{
    return cfr_view_is(cfr_view_trim(cfr_json_text(cfr_json_get(p->doc, "attributeMapping"), "google.subject")),
                       "assertion.sub");
}

static void check_mapping(const struct pool *p)
{
    struct cfr_view expression = cfr_json_text(cfr_json_get(p->doc, "attributeMapping"), "google.subject");
    char a[CFR_POLICY_SHOWN_MAX];

    if (expression.n == 0)
        report_wrong(p, "map google.subject to assertion.sub", "the provider maps nothing to google.subject");
    else if (!maps_subject(p))
        cfr_finding_report(p->sink, CFR_FINDING_WARNING, CHECK, NULL,
                           "the mapping of google.subject (%s) cannot be evaluated here",
                           cfr_policy_show(expression, a));
    else if (p->token->sub.n > SUBJECT_MAX)
        cfr_finding_report(
            p->sink, CFR_FINDING_WRONG, CHECK,
            "map google.subject to a shorter value, or shorten the names of namespace and service account",
            "google.subject becomes %zu bytes long, and Google accepts %d", p->token->sub.n, SUBJECT_MAX);
    else
        cfr_finding_report(p->sink, CFR_FINDING_NOTE, CHECK, NULL, "google.subject becomes \"%s\"",
                           cfr_policy_show(p->token->sub, a));
}

/* `google.subject == "TEXT"`, or the same of assertion.sub: YES or NO; any other condition is UNKNOWN. */
static enum cfr_policy_verdict evaluate_condition(const struct pool *p, struct cfr_view condition)
{
    ptrdiff_t at = cfr_view_find(condition, "==");
    struct cfr_view left;
    struct cfr_view right;

    if (at < 0)
        return CFR_POLICY_UNKNOWN;
    left = cfr_view_trim((struct cfr_view){condition.p, (size_t)at});
    right = cfr_view_trim((struct cfr_view){condition.p + at + 2, condition.n - (size_t)at - 2});
    if (!cfr_view_is(left, "assertion.sub") && !(cfr_view_is(left, "google.subject") && maps_subject(p)))
        return CFR_POLICY_UNKNOWN;
    if (right.n < 2 || (right.p[0] != '"' && right.p[0] != '\'') || right.p[right.n - 1] != right.p[0])
        return CFR_POLICY_UNKNOWN;
    right = (struct cfr_view){right.p + 1, right.n - 2};
    if (memchr(right.p, right.p[-1], right.n) != NULL || memchr(right.p, '\\', right.n) != NULL)
        return CFR_POLICY_UNKNOWN;
    return cfr_view_eq(right, p->token->sub) ? CFR_POLICY_YES : CFR_POLICY_NO;
}

static void check_condition(const struct pool *p)
{
    struct cfr_view condition = cfr_view_trim(cfr_json_text(p->doc, "attributeCondition"));
    char shown[CFR_POLICY_SHOWN_MAX];
    char sub[CFR_POLICY_SHOWN_MAX];
    enum cfr_policy_verdict v;

    if (condition.n == 0)
        return;
    v = evaluate_condition(p, condition);
    if (v == CFR_POLICY_NO)
        cfr_finding_report(p->sink, CFR_FINDING_WRONG, CHECK,
                           "change the provider's attribute condition, or let the pod run as another service account",
                           "the attribute condition (%s) is false for your token, whose subject is \"%s\"",
                           cfr_policy_show(condition, shown), cfr_policy_show(p->token->sub, sub));
    else if (v == CFR_POLICY_UNKNOWN)
        cfr_finding_report(p->sink, CFR_FINDING_WARNING, CHECK, NULL,
                           "the attribute condition (%s) cannot be evaluated here", cfr_policy_show(condition, shown));
}

/* Whether anything was wrong. */
struct count {
    const struct cfr_finding_sink *sink;
    unsigned bad;
};

static void pass_on(void *ctx, const struct cfr_finding *f)
{
    struct count *c = ctx;

    c->bad += f->level >= CFR_FINDING_WARNING ? 1 : 0;
    c->sink->take(c->sink->ctx, f);
}

static void check_provider(const struct cfr_json *doc, const char *audience, const struct cfr_policy_token *token,
                           const struct cfr_finding_sink *sink)
{
    struct count count = {sink, 0};
    struct cfr_finding_sink counted = {pass_on, &count};
    struct pool p = {.doc = doc, .token = token, .sink = &counted};
    char shown[CFR_POLICY_SHOWN_MAX];

    (void)snprintf(p.name, sizeof p.name, "//iam.googleapis.com/%s",
                   cfr_policy_show(cfr_json_text(doc, "name"), shown));
    if (check_state(&p, audience)) {
        check_issuer(&p);
        check_audience(&p);
        check_mapping(&p);
        check_condition(&p);
    }
    if (count.bad == 0)
        cfr_finding_report(sink, CFR_FINDING_OK, CHECK, NULL, "the provider accepts this token");
}

void cfr_policy_gcp(struct cfr_view document, const char *audience, const struct cfr_policy_token *token,
                    const struct cfr_finding_sink *sink)
{
    struct cfr_json *doc = NULL;
    struct cfr_err err = {0};

    if (cfr_json_parse(document, &doc, &err) != 0)
        cfr_finding_report(sink, CFR_FINDING_WRONG, "trust.file", HOW, "the file cannot be read: %s", err.text);
    else if (cfr_json_text(doc, "name").n == 0)
        cfr_finding_report(sink, CFR_FINDING_WRONG, "trust.file", HOW, "the file describes no provider of a pool");
    else
        check_provider(doc, audience, token, sink);
    cfr_json_free(doc);
}
