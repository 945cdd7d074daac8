/* SPDX-License-Identifier: MIT */
/* A role's trust policy, evaluated for a token (the IAM user guide: policy elements, condition operators,
 * keys of OIDC providers). */
#include "agent/doctor/policy/policy_private.h"

#include "base/str.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#define CHECK  "trust.policy"
#define ACTION "sts:AssumeRoleWithWebIdentity"

void cfr_policy_aws_mismatch(const struct cfr_policy_aws *p, const char *remedy, const char *fmt, ...)
{
    char text[CFR_FINDING_TEXT_MAX];
    va_list ap;

    if (p->quiet)
        return;
    va_start(ap, fmt);
    (void)vsnprintf(text, sizeof text, fmt, ap);
    va_end(ap);
    cfr_finding_report(p->sink, CFR_FINDING_WRONG, CHECK, remedy, "statement %zu of the trust policy %s", p->number,
                       text);
}

enum cfr_policy_verdict cfr_policy_aws_unknown(const struct cfr_policy_aws *p, const char *fmt, ...)
{
    char text[CFR_FINDING_TEXT_MAX];
    va_list ap;

    va_start(ap, fmt);
    (void)vsnprintf(text, sizeof text, fmt, ap);
    va_end(ap);
    cfr_finding_report(p->sink, CFR_FINDING_WARNING, CHECK, NULL, "statement %zu of the trust policy %s", p->number,
                       text);
    return CFR_POLICY_UNKNOWN;
}

/* ---- one value or a list of them ---- */

const struct cfr_json *cfr_policy_first(const struct cfr_json *value)
{
    return cfr_json_is_array(value) ? cfr_json_first(value) : value;
}

const struct cfr_json *cfr_policy_next(const struct cfr_json *list, const struct cfr_json *value)
{
    return cfr_json_is_array(list) ? cfr_json_next(value) : NULL;
}

static bool is_action(struct cfr_view pattern)
{
    char low[64];
    char want[] = ACTION;

    if (pattern.n >= sizeof low)
        return false;
    for (size_t i = 0; i < pattern.n; i++)
        low[i] = (char)(pattern.p[i] >= 'A' && pattern.p[i] <= 'Z' ? pattern.p[i] + 32 : pattern.p[i]);
    for (char *c = want; *c != '\0'; c++)
        *c = (char)(*c >= 'A' && *c <= 'Z' ? *c + 32 : *c);
    return cfr_policy_like((struct cfr_view){low, pattern.n}, cfr_view_of(want));
}

static bool lists_action(const struct cfr_json *actions)
{
    struct cfr_view text;

    for (const struct cfr_json *a = cfr_policy_first(actions); a != NULL; a = cfr_policy_next(actions, a)) {
        if (cfr_json_string(a, &text) && is_action(text))
            return true;
    }
    return false;
}

static bool has_action(const struct cfr_json *statement)
{
    const struct cfr_json *others = cfr_json_get(statement, "NotAction");

    return others != NULL ? !lists_action(others) : lists_action(cfr_json_get(statement, "Action"));
}

/* ---- Principal ---- */

/* Whether VALUE is "*", or a list with it. */
static bool is_anybody(const struct cfr_json *value)
{
    struct cfr_view text;

    for (const struct cfr_json *v = cfr_policy_first(value); v != NULL; v = cfr_policy_next(value, v)) {
        if (cfr_json_string(v, &text) && cfr_view_is(text, "*"))
            return true;
    }
    return false;
}

static void report_provider(const struct cfr_policy_aws *p, const struct cfr_json *federated)
{
    char shown[CFR_POLICY_SHOWN_MAX];
    struct cfr_view nearest = {NULL, 0};
    const char *why = "";

    for (const struct cfr_json *f = cfr_policy_first(federated); f != NULL && why[0] == '\0';
         f = cfr_policy_next(federated, f)) {
        if (cfr_json_string(f, &nearest))
            why = cfr_policy_difference(nearest, cfr_view_of(p->provider));
    }
    if (nearest.n != 0 && !p->trusted)
        cfr_policy_aws_mismatch(p,
                                "change Principal.Federated to the ARN that the token needs, or have the token "
                                "issued by the other issuer",
                                "trusts the provider \"%s\", your token's issuer needs \"%s\"%s%s",
                                cfr_policy_show(nearest, shown), p->provider, why[0] != '\0' ? ": " : "", why);
}

static enum cfr_policy_verdict check_principal(const struct cfr_policy_aws *p, const struct cfr_json *statement)
{
    const struct cfr_json *principal = cfr_json_get(statement, "Principal");
    const struct cfr_json *federated = cfr_json_get(principal, "Federated");
    struct cfr_view text;

    if (cfr_json_get(statement, "NotPrincipal") != NULL)
        return cfr_policy_aws_unknown(p, "is written with NotPrincipal, which is not judged here");
    if (p->quiet && is_anybody(principal))
        return CFR_POLICY_YES;
    if (is_anybody(principal) || is_anybody(federated) || (p->quiet && is_anybody(cfr_json_get(principal, "AWS"))))
        return cfr_policy_aws_unknown(p,
                                      "is for every principal (`*`); whether that includes tokens is not judged here");
    for (const struct cfr_json *f = cfr_policy_first(federated); f != NULL; f = cfr_policy_next(federated, f)) {
        if (cfr_json_string(f, &text) && cfr_view_is(text, p->provider))
            return CFR_POLICY_YES;
    }
    report_provider(p, federated);
    return CFR_POLICY_NO;
}

/* ---- statements ---- */

/* Numbers of statements; 0 = none. */
struct outcome {
    size_t allowed_by;
    size_t maybe_by;
    size_t denied_by;
    size_t maybe_denied_by;
    size_t about;   /* how many are about tokens at all */
    size_t trusted; /* how many of them trust the token's provider */
};

static bool is_about_tokens(const struct cfr_json *statement)
{
    const struct cfr_json *principal = cfr_json_get(statement, "Principal");

    return cfr_json_get(principal, "Federated") != NULL || is_anybody(principal) ||
           cfr_json_get(statement, "NotPrincipal") != NULL;
}

static void check_statement(struct cfr_policy_aws *p, const struct cfr_json *s, struct outcome *out)
{
    struct cfr_view effect = {NULL, 0};
    enum cfr_policy_verdict trusted;
    enum cfr_policy_verdict when;
    size_t *certain;
    size_t *perhaps;

    (void)cfr_json_string(cfr_json_get(s, "Effect"), &effect);
    p->quiet = cfr_view_is(effect, "Deny");
    if (!has_action(s))
        return;
    out->about += !p->quiet && is_about_tokens(s) ? 1 : 0;
    trusted = check_principal(p, s);
    out->trusted += !p->quiet && trusted == CFR_POLICY_YES ? 1 : 0;
    when = trusted != CFR_POLICY_NO ? cfr_policy_aws_conditions(p, s) : CFR_POLICY_NO;
    if (when == CFR_POLICY_NO)
        return;
    certain = p->quiet ? &out->denied_by : &out->allowed_by;
    perhaps = p->quiet ? &out->maybe_denied_by : &out->maybe_by;
    *(trusted == CFR_POLICY_YES && when == CFR_POLICY_YES ? certain : perhaps) = p->number;
}

/* A mismatch of one statement is no trouble where another one lets the token in. */
struct hold {
    const struct cfr_finding_sink *sink;
    const struct cfr_policy_aws *policy;
    bool all;
    bool denials; /* what a Deny leaves open */
};

static void pass_on(void *ctx, const struct cfr_finding *f)
{
    const struct hold *h = ctx;

    if (h->all || (h->denials && h->policy->quiet))
        h->sink->take(h->sink->ctx, f);
}

static void each_statement(struct cfr_policy_aws *p, const struct cfr_json *statements, struct outcome *out)
{
    *out = (struct outcome){.allowed_by = 0};
    p->number = 0;
    for (const struct cfr_json *s = cfr_policy_first(statements); s != NULL; s = cfr_policy_next(statements, s)) {
        p->number++;
        check_statement(p, s, out);
    }
}

static void report_allowed(const struct outcome *o, const struct cfr_finding_sink *sink)
{
    if (o->maybe_denied_by != 0)
        cfr_finding_report(
            sink, CFR_FINDING_WARNING, CHECK, NULL,
            "statement %zu of the trust policy lets this token in, unless statement %zu denies it, which "
            "could not be judged",
            o->allowed_by, o->maybe_denied_by);
    else
        cfr_finding_report(sink, CFR_FINDING_OK, CHECK, NULL, "statement %zu of the trust policy lets this token in",
                           o->allowed_by);
}

static void check_statements(const struct cfr_json *statements, const char *provider,
                             const struct cfr_policy_token *token, const struct cfr_finding_sink *sink)
{
    struct hold hold = {.sink = sink};
    struct cfr_finding_sink held = {pass_on, &hold};
    struct cfr_policy_aws p = {.token = token, .sink = &held};
    struct outcome o;

    hold.policy = &p;
    (void)snprintf(p.provider, sizeof p.provider, "%s", provider);
    each_statement(&p, statements, &o);
    if (o.denied_by != 0) {
        cfr_finding_report(sink, CFR_FINDING_WRONG, CHECK, "exclude the token from what that statement denies",
                           "statement %zu of the trust policy denies this token", o.denied_by);
        return;
    }
    if (o.allowed_by == 0 && o.about == 0)
        cfr_finding_report(sink, CFR_FINDING_WRONG, CHECK,
                           "add a statement with Effect Allow, Action " ACTION
                           ", and Principal.Federated the ARN of the identity provider",
                           "no statement of the trust policy allows " ACTION
                           " to an identity provider; it has to trust \"%s\"",
                           provider);
    hold.all = o.allowed_by == 0;
    hold.denials = true;
    p.trusted = o.trusted != 0;
    each_statement(&p, statements, &o);
    if (o.allowed_by != 0)
        report_allowed(&o, sink);
    else if (o.maybe_by != 0)
        cfr_finding_report(sink, CFR_FINDING_NOTE, CHECK, NULL,
                           "statement %zu lets this token in if what could not be judged holds", o.maybe_by);
}

/* IAM itself gives the policy percent-encoded in a string; its command line decodes it. */
static struct cfr_json *decode(struct cfr_view text)
{
    struct cfr_str plain = {.limit = CFR_POLICY_FILE_MAX};
    struct cfr_json *doc = NULL;

    for (size_t i = 0; i < text.n; i++) {
        char hex[3] = {0};
        int64_t byte = 0;

        if (text.p[i] == '%' && i + 2 < text.n) {
            memcpy(hex, text.p + i + 1, 2);
            for (size_t k = 0; k < 2; k++) {
                char c = hex[k];

                byte = byte * 16 + (c <= '9' ? c - '0' : (c | 32) - 'a' + 10);
            }
            hex[0] = (char)(byte & 0xff);
            i += 2;
        } else {
            hex[0] = text.p[i];
        }
        cfr_str_add(&plain, (struct cfr_view){hex, 1});
    }
    (void)cfr_json_parse(cfr_str_view(&plain), &doc, NULL);
    cfr_str_free(&plain);
    return doc;
}

static void check_document(const struct cfr_json *doc, const char *role_arn, const struct cfr_policy_token *token,
                           const struct cfr_finding_sink *sink)
{
    const struct cfr_json *role = cfr_json_get(doc, "Role") != NULL ? cfr_json_get(doc, "Role") : doc;
    const struct cfr_json *policy = cfr_json_get(role, "AssumeRolePolicyDocument");
    struct cfr_json *decoded = NULL;
    char provider[CFR_AWS_PROVIDER_ARN_MAX];
    char shown[CFR_POLICY_SHOWN_MAX];
    struct cfr_view text;

    if (cfr_json_string(cfr_json_get(role, "Arn"), &text) && !cfr_view_is(text, role_arn))
        cfr_finding_report(sink, CFR_FINDING_WARNING, CHECK, "give the file of the role that is configured",
                           "the file describes the role %s, and role_arn is %s", cfr_policy_show(text, shown),
                           role_arn);
    if (cfr_json_string(policy, &text))
        policy = decoded = decode(text);
    else if (policy == NULL)
        policy = role;
    if (cfr_json_get(policy, "Statement") == NULL)
        cfr_finding_report(sink, CFR_FINDING_WRONG, "trust.file",
                           "give the output of `aws iam get-role --role-name NAME`",
                           "the file holds no trust policy: it has no Statement");
    else if (!cfr_aws_identity_provider(role_arn, token->iss, provider))
        cfr_finding_report(sink, CFR_FINDING_WRONG, CHECK, "write `role_arn` as arn:aws:iam::ACCOUNT:role/NAME",
                           "the configured role_arn is no ARN of a role");
    else
        check_statements(cfr_json_get(policy, "Statement"), provider, token, sink);
    cfr_json_free(decoded);
}

void cfr_policy_aws(struct cfr_view document, const char *role_arn, const struct cfr_policy_token *token,
                    const struct cfr_finding_sink *sink)
{
    struct cfr_json *doc = NULL;
    struct cfr_err err = {0};

    if (cfr_json_parse(document, &doc, &err) != 0)
        cfr_finding_report(sink, CFR_FINDING_WRONG, "trust.file",
                           "give the output of `aws iam get-role --role-name NAME`", "the file cannot be read: %s",
                           err.text);
    else
        check_document(doc, role_arn, token, sink);
    cfr_json_free(doc);
}
