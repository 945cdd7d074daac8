/* SPDX-License-Identifier: MIT */
/* The provider of a Google workload identity pool, compared with a token. */
#include "agent/doctor/trust_cel_private.h"

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
    const struct cfr_doctor_policy_token *token;
    const struct cfr_finding_sink *sink;
    char name[NAME_MAX]; /* //iam.googleapis.com/projects/... */
};

static struct cfr_view get(const struct cfr_json *object, const char *key)
{
    struct cfr_view v = {NULL, 0};

    (void)cfr_json_string(cfr_json_get(object, key), &v);
    return v;
}

static void wrong(const struct pool *p, const char *remedy, const char *text)
{
    cfr_finding_say(p->sink, CFR_FINDING_WRONG, CHECK, remedy, "%s", text);
}

static bool judge_state(const struct pool *p, const char *audience)
{
    bool disabled = false;

    if (audience != NULL && strcmp(audience, p->name) != 0)
        cfr_finding_say(p->sink, CFR_FINDING_WRONG, CHECK,
                        "set `audience` of the exchange to this name, or give the file of the provider that "
                        "is configured",
                        "the file describes %s, the configured audience is %.300s", p->name, audience);
    if (cfr_json_bool(cfr_json_get(p->doc, "disabled"), &disabled) && disabled)
        wrong(p, "enable it (`gcloud iam workload-identity-pools providers update-oidc --no-disabled`)",
              "the provider is disabled");
    if (cfr_view_is(get(p->doc, "state"), "DELETED"))
        wrong(p, "undelete it, or make a new one", "the provider was deleted");
    if (cfr_json_is_object(cfr_json_get(p->doc, "oidc")))
        return true;
    wrong(p, "make a provider of the kind OIDC", "the provider is not for OpenID Connect tokens");
    return false;
}

static void judge_issuer(const struct pool *p)
{
    struct cfr_view issuer = get(cfr_json_get(p->doc, "oidc"), "issuerUri");
    char a[CFR_DOCTOR_POLICY_SHOWN_MAX];
    char b[CFR_DOCTOR_POLICY_SHOWN_MAX];
    const char *why = cfr_doctor_policy_difference(issuer, p->token->iss);

    if (cfr_view_eq(issuer, p->token->iss))
        return;
    cfr_finding_say(p->sink, CFR_FINDING_WRONG, CHECK, "set the provider's issuer to exactly what the token says",
                    "the provider expects the issuer \"%s\", your token says \"%s\"%s%s",
                    cfr_doctor_policy_show(issuer, a), cfr_doctor_policy_show(p->token->iss, b),
                    why[0] != '\0' ? ": " : "", why);
}

static bool is_audience(const struct pool *p, struct cfr_view allowed)
{
    for (size_t i = 0; i < p->token->aud_count; i++) {
        if (cfr_view_eq(p->token->aud[i], allowed))
            return true;
    }
    return false;
}

static void judge_audience(const struct pool *p)
{
    const struct cfr_json *list = cfr_json_get(cfr_json_get(p->doc, "oidc"), "allowedAudiences");
    char expected[NAME_MAX + 64];
    char shown[CFR_DOCTOR_POLICY_SHOWN_MAX];
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
                                  cfr_doctor_policy_show(one, shown));
    }
    cfr_finding_say(p->sink, CFR_FINDING_WRONG, CHECK,
                    "set this audience in the projected volume (or in `token.request`), or add the token's "
                    "to the provider "
                    "(`--allowed-audiences`)",
                    "the provider expects the audience %s, your token says %s", expected,
                    cfr_doctor_policy_audiences(p->token, shown));
}

/* The subject that Google makes of the token, or why not. */
static void judge_mapping(const struct pool *p, const struct cfr_doctor_policy_cel *cel)
{
    struct cfr_view expression = get(cel->mapping, "google.subject");
    struct cfr_str subject = {.limit = 4096};
    char a[CFR_DOCTOR_POLICY_SHOWN_MAX];
    char b[CFR_DOCTOR_POLICY_SHOWN_MAX];
    enum cfr_doctor_policy_verdict v = cfr_doctor_policy_cel_text(cel, expression, &subject);

    if (expression.n == 0)
        wrong(p, "map google.subject to assertion.sub", "the provider maps nothing to google.subject");
    else if (v == CFR_DOCTOR_POLICY_NO)
        cfr_finding_say(p->sink, CFR_FINDING_WRONG, CHECK, "map google.subject to assertion.sub",
                        "the mapping of google.subject (%s) names a claim that your token does not have",
                        cfr_doctor_policy_show(expression, a));
    else if (v == CFR_DOCTOR_POLICY_UNKNOWN)
        cfr_finding_say(p->sink, CFR_FINDING_WARNING, CHECK, NULL,
                        "the mapping of google.subject (%s) cannot be judged from here",
                        cfr_doctor_policy_show(expression, a));
    else if (subject.len > SUBJECT_MAX)
        cfr_finding_say(
            p->sink, CFR_FINDING_WRONG, CHECK,
            "map google.subject to something shorter, or shorten the names of namespace and service account",
            "google.subject becomes %zu bytes long, and Google takes %d", subject.len, SUBJECT_MAX);
    else
        cfr_finding_say(p->sink, CFR_FINDING_NOTE, CHECK, NULL, "google.subject becomes \"%s\" (by %s)",
                        cfr_doctor_policy_show(cfr_str_view(&subject), b), cfr_doctor_policy_show(expression, a));
    cfr_str_free(&subject);
}

static void judge_condition(const struct pool *p, const struct cfr_doctor_policy_cel *cel)
{
    struct cfr_view condition = get(p->doc, "attributeCondition");
    char shown[CFR_DOCTOR_POLICY_SHOWN_MAX];
    char sub[CFR_DOCTOR_POLICY_SHOWN_MAX];
    enum cfr_doctor_policy_verdict v;

    if (cfr_view_trim(condition).n == 0)
        return;
    v = cfr_doctor_policy_cel_true(cel, condition);
    if (v == CFR_DOCTOR_POLICY_NO)
        cfr_finding_say(p->sink, CFR_FINDING_WRONG, CHECK,
                        "change the provider's attribute condition, or let the pod run as another service account",
                        "the attribute condition (%s) is false for your token, whose subject is \"%s\"",
                        cfr_doctor_policy_show(condition, shown), cfr_doctor_policy_show(p->token->sub, sub));
    else if (v == CFR_DOCTOR_POLICY_ABSENT)
        cfr_finding_say(p->sink, CFR_FINDING_WRONG, CHECK, "change the provider's attribute condition",
                        "the attribute condition (%s) needs a claim that your token does not have",
                        cfr_doctor_policy_show(condition, shown));
    else if (v == CFR_DOCTOR_POLICY_UNKNOWN)
        cfr_finding_say(p->sink, CFR_FINDING_WARNING, CHECK, NULL,
                        "the attribute condition (%s) cannot be judged from here",
                        cfr_doctor_policy_show(condition, shown));
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

static void judge(const struct cfr_json *doc, const char *audience, const struct cfr_doctor_policy_token *token,
                  const struct cfr_finding_sink *sink)
{
    struct count count = {sink, 0};
    struct cfr_finding_sink counted = {pass_on, &count};
    struct pool p = {.doc = doc, .token = token, .sink = &counted};
    struct cfr_doctor_policy_cel cel = {token->claims, cfr_json_get(doc, "attributeMapping")};
    char shown[CFR_DOCTOR_POLICY_SHOWN_MAX];

    (void)snprintf(p.name, sizeof p.name, "//iam.googleapis.com/%s", cfr_doctor_policy_show(get(doc, "name"), shown));
    if (judge_state(&p, audience)) {
        judge_issuer(&p);
        judge_audience(&p);
        judge_mapping(&p, &cel);
        judge_condition(&p, &cel);
    }
    if (count.bad == 0)
        cfr_finding_say(sink, CFR_FINDING_OK, CHECK, NULL, "the provider takes this token");
}

void cfr_doctor_policy_gcp(struct cfr_view document, const char *audience, const struct cfr_doctor_policy_token *token,
                           const struct cfr_finding_sink *sink)
{
    struct cfr_json *doc = NULL;
    struct cfr_err err = {0};

    if (cfr_json_parse(document, &doc, &err) != 0)
        cfr_finding_say(sink, CFR_FINDING_WRONG, "trust.file", HOW, "the file cannot be read: %s", err.text);
    else if (get(doc, "name").n == 0)
        cfr_finding_say(sink, CFR_FINDING_WRONG, "trust.file", HOW, "the file describes no provider of a pool");
    else
        judge(doc, audience, token, sink);
    cfr_json_free(doc);
}
