/* SPDX-License-Identifier: MIT */
/* Federated credentials of Azure applications and managed identities, compared with a token: each has one
 * issuer, one subject and one audience, and all three must be equal, letter by letter. */
#include "agent/doctor/policy/policy_private.h"

#define CHECK "trust.federated"
#define HOW                                                                                                            \
    "give the output of `az ad app federated-credential list --id CLIENT_ID` or of `az identity "                      \
    "federated-credential show`"

struct record {
    struct cfr_view name;
    struct cfr_view issuer;
    struct cfr_view subject;
    struct cfr_view audience; /* the first one; there must be no more */
    size_t audiences;
    bool flexible; /* an expression in place of the subject */
};

static bool read_record(const struct cfr_json *object, struct record *out)
{
    const struct cfr_json *body = cfr_json_get(object, "properties");
    const struct cfr_json *audiences;

    *out = (struct record){.audiences = 0};
    (void)cfr_json_string(cfr_json_get(object, "name"), &out->name);
    body = body != NULL ? body : object;
    (void)cfr_json_string(cfr_json_get(body, "issuer"), &out->issuer);
    (void)cfr_json_string(cfr_json_get(body, "subject"), &out->subject);
    audiences = cfr_json_get(body, "audiences");
    out->audiences = cfr_json_count(audiences);
    (void)cfr_json_string(cfr_json_at(audiences, 0), &out->audience);
    out->flexible = cfr_json_is_object(cfr_json_get(body, "claimsMatchingExpression"));
    return out->issuer.n != 0;
}

static bool has_audience(const struct cfr_policy_token *t, struct cfr_view audience)
{
    for (size_t i = 0; i < t->aud_count; i++) {
        if (cfr_view_eq(t->aud[i], audience))
            return true;
    }
    return false;
}

static unsigned mismatches(const struct record *r, const struct cfr_policy_token *t)
{
    return (cfr_view_eq(r->issuer, t->iss) ? 0U : 1U) + (r->flexible || cfr_view_eq(r->subject, t->sub) ? 0U : 1U) +
           (has_audience(t, r->audience) ? 0U : 1U);
}

/* Of two that fit as well the one that is certain is the better. */
static bool is_better(const struct record *r, unsigned off, const struct record *best, unsigned best_off)
{
    return off < best_off || (off == best_off && best->flexible && !r->flexible);
}

static void report_difference(const struct record *r, const char *what, struct cfr_view expected, struct cfr_view has,
                              const char *remedy, const struct cfr_finding_sink *sink)
{
    char name[CFR_POLICY_SHOWN_MAX];
    char a[CFR_POLICY_SHOWN_MAX];
    char b[CFR_POLICY_SHOWN_MAX];
    const char *why = cfr_policy_difference(expected, has);

    cfr_finding_report(sink, CFR_FINDING_WRONG, CHECK, remedy,
                       "the federated credential \"%s\" expects the %s \"%s\", your token says \"%s\"%s%s",
                       cfr_policy_show(r->name, name), what, cfr_policy_show(expected, a), cfr_policy_show(has, b),
                       why[0] != '\0' ? ": " : "", why);
}

static void explain(const struct record *r, const struct cfr_policy_token *t, const struct cfr_finding_sink *sink)
{
    if (!cfr_view_eq(r->issuer, t->iss))
        report_difference(r, "issuer", r->issuer, t->iss,
                          "set `issuer` of the federated credential to exactly what the token says", sink);
    if (!r->flexible && !cfr_view_eq(r->subject, t->sub))
        report_difference(
            r, "subject", r->subject, t->sub,
            "set `subject` of the federated credential to exactly what the token says, or let the pod run as "
            "the other "
            "service account",
            sink);
    if (!has_audience(t, r->audience))
        report_difference(r, "audience", r->audience, t->aud_count != 0 ? t->aud[0] : (struct cfr_view){"", 0},
                          "set this audience in the projected volume (or in `token.request`), or change it in the "
                          "federated credential",
                          sink);
    if (r->audiences > 1)
        cfr_finding_report(sink, CFR_FINDING_WARNING, CHECK, "leave one",
                           "a federated credential has exactly one audience");
}

/* The one that is nearest to the token is what the operator meant. */
struct search {
    struct record best;
    unsigned off;
    size_t count;
};

static void check_record(const struct cfr_json *object, const struct cfr_policy_token *t, struct search *s)
{
    struct record r;
    unsigned off;

    if (!read_record(object, &r))
        return;
    off = mismatches(&r, t);
    if (s->count++ == 0 || is_better(&r, off, &s->best, s->off)) {
        s->best = r;
        s->off = off;
    }
}

static void check_records(const struct cfr_json *doc, const struct cfr_policy_token *t,
                          const struct cfr_finding_sink *sink)
{
    const struct cfr_json *list = cfr_json_is_array(cfr_json_get(doc, "value")) ? cfr_json_get(doc, "value") : doc;
    struct search s = {.count = 0};
    char name[CFR_POLICY_SHOWN_MAX];

    if (!cfr_json_is_array(list))
        check_record(list, t, &s);
    for (const struct cfr_json *o = cfr_json_is_array(list) ? cfr_json_first(list) : NULL; o != NULL;
         o = cfr_json_next(o))
        check_record(o, t, &s);
    if (s.count == 0)
        cfr_finding_report(sink, CFR_FINDING_WRONG, "trust.file", HOW, "the file holds no federated credential");
    else if (s.off != 0)
        explain(&s.best, t, sink);
    else if (s.best.flexible)
        cfr_finding_report(sink, CFR_FINDING_WARNING, CHECK, NULL,
                           "issuer and audience of \"%s\" fit; its expression on claims cannot be judged from here",
                           cfr_policy_show(s.best.name, name));
    else
        cfr_finding_report(sink, CFR_FINDING_OK, CHECK, NULL,
                           "the federated credential \"%s\" has the token's issuer, subject and audience",
                           cfr_policy_show(s.best.name, name));
    if (s.count > 1 && s.off != 0)
        cfr_finding_report(sink, CFR_FINDING_NOTE, CHECK, NULL,
                           "none of the %zu federated credentials fits; this finding is about the nearest", s.count);
}

void cfr_policy_azure(struct cfr_view document, const struct cfr_policy_token *token,
                      const struct cfr_finding_sink *sink)
{
    struct cfr_json *doc = NULL;
    struct cfr_err err = {0};

    if (cfr_json_parse(document, &doc, &err) != 0)
        cfr_finding_report(sink, CFR_FINDING_WRONG, "trust.file", HOW, "the file cannot be read: %s", err.text);
    else
        check_records(doc, token, sink);
    cfr_json_free(doc);
}
