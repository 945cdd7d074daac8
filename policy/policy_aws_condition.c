/* SPDX-License-Identifier: MIT */
/* Evaluation of the conditions of a trust policy's statement. */
#include "policy/policy_private.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>

/* An operator taken apart. */
struct cfr_op {
    char base[40];
    bool negated;
    bool like;
    bool no_case;
    bool null;
    bool if_exists;
    bool any; /* ForAnyValue */
    bool all; /* ForAllValues */
};

static bool parse_operator(struct cfr_view name, struct cfr_op *out)
{
    static const char *const prefixes[] = {"ForAnyValue:", "ForAllValues:"};
    size_t n;

    *out = (struct cfr_op){.negated = false};
    for (size_t i = 0; i < 2; i++) {
        n = strlen(prefixes[i]);
        if (name.n > n && cfr_view_is_nocase((struct cfr_view){name.p, n}, prefixes[i])) {
            out->any = i == 0;
            out->all = i == 1;
            name = (struct cfr_view){name.p + n, name.n - n};
        }
    }
    n = strlen("IfExists");
    if (name.n > n && cfr_view_is_nocase((struct cfr_view){name.p + name.n - n, n}, "IfExists")) {
        out->if_exists = true;
        name.n -= n;
    }
    (void)snprintf(out->base, sizeof out->base, "%.*s", (int)(name.n < 39 ? name.n : 39), name.p);
    out->null = cfr_view_is_nocase(name, "Null");
    out->like = cfr_view_is_nocase(name, "StringLike") || cfr_view_is_nocase(name, "StringNotLike");
    out->no_case =
        cfr_view_is_nocase(name, "StringEqualsIgnoreCase") || cfr_view_is_nocase(name, "StringNotEqualsIgnoreCase");
    out->negated = cfr_view_is_nocase(name, "StringNotEquals") || cfr_view_is_nocase(name, "StringNotLike") ||
                   cfr_view_is_nocase(name, "StringNotEqualsIgnoreCase");
    return out->null || out->like || out->no_case || out->negated || cfr_view_is_nocase(name, "StringEquals");
}

/* Value of a condition key. */
struct key {
    const char *what; /* "subject", "audience", or the claim in general */
    struct cfr_view own[CFR_POLICY_AWS_AUDIENCES_MAX];
    const struct cfr_view *values;
    size_t count;
};

/* False for a key that has nothing to do with the token. */
static bool find_key(const struct cfr_policy_aws *p, struct cfr_view name, struct key *out)
{
    struct cfr_view bare = cfr_sts_trust_bare_issuer(p->token->iss);
    struct cfr_view claim;

    *out = (struct key){.what = "claim"};
    if (name.n <= bare.n + 1 || name.p[bare.n] != ':' || bare.n >= CFR_AWS_PROVIDER_ARN_MAX ||
        strncasecmp(name.p, bare.p, bare.n) != 0)
        return false;
    claim = (struct cfr_view){name.p + bare.n + 1, name.n - bare.n - 1};
    if (cfr_view_is_nocase(claim, "sub")) {
        *out = (struct key){.what = "subject", .values = &p->token->sub, .count = p->token->sub.n != 0};
    } else if (cfr_view_is_nocase(claim, "aud")) {
        *out = (struct key){.what = "audience", .values = p->token->aud, .count = p->token->aud_count};
    } else if (cfr_view_is_nocase(claim, "amr")) {
        const struct cfr_json *amr = cfr_json_get(p->token->claims, "amr");

        for (const struct cfr_json *a = cfr_policy_first(amr); a != NULL && out->count < CFR_POLICY_AWS_AUDIENCES_MAX;
             a = cfr_policy_next(amr, a))
            out->count += cfr_json_string(a, &out->own[out->count]) ? 1 : 0;
        out->values = out->own;
    } else {
        return false;
    }
    return true;
}

static bool fits(const struct cfr_op *op, struct cfr_view wanted, struct cfr_view has)
{
    if (op->like)
        return cfr_policy_like(wanted, has);
    if (op->no_case)
        return wanted.n == has.n && strncasecmp(wanted.p, has.p, has.n) == 0;
    return cfr_view_eq(wanted, has);
}

static bool fits_any(const struct cfr_op *op, const struct cfr_json *wanted, struct cfr_view has)
{
    struct cfr_view text;

    for (const struct cfr_json *w = cfr_policy_first(wanted); w != NULL; w = cfr_policy_next(wanted, w)) {
        if (cfr_json_string(w, &text) && fits(op, text, has))
            return true;
    }
    return false;
}

static bool holds(const struct cfr_op *op, const struct cfr_json *wanted, const struct key *key)
{
    size_t good = 0;

    /* Of a negated operator every value has to be another one, unless it asks for any. */
    if (key->count == 0)
        return op->if_exists || op->all || (op->negated && !op->any);
    for (size_t i = 0; i < key->count; i++)
        good += fits_any(op, wanted, key->values[i]) != op->negated ? 1 : 0;
    return op->all || (op->negated && !op->any) ? good == key->count : good != 0;
}

/* Of Null: a text or a truth value, alone or in a list. */
static bool is_true(const struct cfr_json *wanted)
{
    const struct cfr_json *one = cfr_policy_first(wanted);
    struct cfr_view text;
    bool b = false;

    return cfr_json_string(one, &text) ? cfr_view_is_nocase(text, "true") : cfr_json_bool(one, &b) && b;
}

static bool has_variable(const struct cfr_json *wanted)
{
    struct cfr_view text;

    for (const struct cfr_json *w = cfr_policy_first(wanted); w != NULL; w = cfr_policy_next(wanted, w)) {
        if (cfr_json_string(w, &text) && cfr_view_find(text, "${") >= 0)
            return true;
    }
    return false;
}

/* True for a key that tokens of some other issuer have. */
static bool is_foreign(struct cfr_view name)
{
    static const char *const ends[] = {":sub", ":aud", ":amr"};

    for (size_t i = 0; i < sizeof ends / sizeof ends[0]; i++) {
        if (name.n > 4 && cfr_view_is_nocase((struct cfr_view){name.p + name.n - 4, 4}, ends[i]))
            return true;
    }
    return false;
}

/* The values of a condition as a list in quotes. */
static const char *list(const struct cfr_json *wanted, char out[CFR_POLICY_SHOWN_MAX])
{
    char one[CFR_POLICY_SHOWN_MAX];
    struct cfr_view text;
    size_t n = 0;

    out[0] = '\0';
    for (const struct cfr_json *w = cfr_policy_first(wanted); w != NULL && n + 8 < CFR_POLICY_SHOWN_MAX;
         w = cfr_policy_next(wanted, w)) {
        if (!cfr_json_string(w, &text))
            continue;
        (void)snprintf(out + n, CFR_POLICY_SHOWN_MAX - n, "%s\"%s\"", n != 0 ? " or " : "", cfr_policy_show(text, one));
        n = strlen(out);
    }
    return out;
}

static const char *remedy_of(const struct cfr_op *op, const struct key *key, const struct cfr_json *wanted,
                             const char **why)
{
    struct cfr_view text = {NULL, 0};

    *why = "";
    for (const struct cfr_json *w = cfr_policy_first(wanted); w != NULL && (*why)[0] == '\0';
         w = cfr_policy_next(wanted, w)) {
        for (size_t i = 0; cfr_json_string(w, &text) && i < key->count && (*why)[0] == '\0'; i++)
            *why = cfr_policy_difference(text, key->values[i]);
    }
    if (strstr(*why, "`*`") != NULL && !op->like)
        return "write StringLike in place of StringEquals: only there `*` matches anything";
    if (strcmp(key->what, "audience") == 0)
        return "set this audience in the projected volume (or in `token.request`), or change the condition; "
               "the identity "
               "provider in IAM must list it as a client ID, too";
    if (strcmp(key->what, "subject") == 0)
        return "change the condition, or let the pod run as that service account: the subject is "
               "system:serviceaccount:NAMESPACE:NAME";
    return "change the condition";
}

static void report_foreign(const struct cfr_policy_aws *p, struct cfr_view name)
{
    char shown[CFR_POLICY_SHOWN_MAX];
    char own[CFR_POLICY_SHOWN_MAX];
    char keys[CFR_POLICY_SHOWN_MAX];

    cfr_policy_aws_mismatch(
        p, "name the key after the token's issuer, without https:// and with every letter of its path",
        "asks for the key \"%s\", which a token of the issuer %.200s does not have: its keys begin with "
        "\"%.200s:\"",
        cfr_policy_show(name, shown), cfr_policy_show(p->token->iss, own),
        cfr_policy_show(cfr_sts_trust_bare_issuer(p->token->iss), keys));
}

static void report_presence(const struct cfr_policy_aws *p, struct cfr_view name, bool there)
{
    char shown[CFR_POLICY_SHOWN_MAX];

    cfr_policy_aws_mismatch(p, "change the condition", "asks by Null for a token %s the key \"%s\", and yours has %s",
                            there ? "without" : "with", cfr_policy_show(name, shown), there ? "it" : "none");
}

static void report_values(const struct cfr_policy_aws *p, const struct cfr_op *op, struct cfr_view name,
                          const struct cfr_json *wanted, const struct key *key)
{
    struct cfr_policy_token as_list = *p->token;
    char shown[CFR_POLICY_SHOWN_MAX];
    char values[CFR_POLICY_SHOWN_MAX];
    char has[CFR_POLICY_SHOWN_MAX];
    const char *why;
    const char *remedy = remedy_of(op, key, wanted, &why);

    as_list.aud = key->values;
    as_list.aud_count = key->count;
    cfr_policy_aws_mismatch(p, remedy, "expects the %s %s%s (%s on \"%s\"), your token says %s%s%s", key->what,
                            op->negated ? "not " : "", list(wanted, values), op->base, cfr_policy_show(name, shown),
                            key->count != 0 ? cfr_policy_audiences(&as_list, has) : "none", why[0] != '\0' ? ": " : "",
                            why);
}

static enum cfr_policy_verdict check_condition(const struct cfr_policy_aws *p, const struct cfr_op *op,
                                               struct cfr_view name, const struct cfr_json *wanted)
{
    char shown[CFR_POLICY_SHOWN_MAX];
    struct key key;
    bool own = find_key(p, name, &key);
    bool fits;

    if (!own && !is_foreign(name))
        return cfr_policy_aws_unknown(p, "has a condition on \"%s\", which cannot be judged from here",
                                      cfr_policy_show(name, shown));
    fits = op->null ? (key.count == 0) == is_true(wanted) : holds(op, wanted, &key);
    /* The value of a variable could invert it. */
    if (!op->null && key.count != 0 && fits == op->negated && has_variable(wanted))
        return cfr_policy_aws_unknown(p, "compares \"%s\" with a policy variable, whose value is not known here",
                                      cfr_policy_show(name, shown));
    if (fits)
        return CFR_POLICY_YES;
    if (op->null)
        report_presence(p, name, key.count != 0);
    else if (!own)
        report_foreign(p, name);
    else
        report_values(p, op, name, wanted, &key);
    return CFR_POLICY_NO;
}

static enum cfr_policy_verdict worse(enum cfr_policy_verdict a, enum cfr_policy_verdict b)
{
    if (a == CFR_POLICY_NO || b == CFR_POLICY_NO)
        return CFR_POLICY_NO;
    return a == CFR_POLICY_UNKNOWN || b == CFR_POLICY_UNKNOWN ? CFR_POLICY_UNKNOWN : CFR_POLICY_YES;
}

enum cfr_policy_verdict cfr_policy_aws_conditions(const struct cfr_policy_aws *p, const struct cfr_json *statement)
{
    const struct cfr_json *conditions = cfr_json_get(statement, "Condition");
    enum cfr_policy_verdict all = CFR_POLICY_YES;
    char shown[CFR_POLICY_SHOWN_MAX];

    for (const struct cfr_json *o = cfr_json_first(conditions); o != NULL; o = cfr_json_next(o)) {
        struct cfr_op op;
        bool known = parse_operator(cfr_json_key(o), &op);

        for (const struct cfr_json *c = cfr_json_first(o); c != NULL; c = cfr_json_next(c))
            all = worse(all, known ? check_condition(p, &op, cfr_json_key(c), c)
                                   : cfr_policy_aws_unknown(p, "has a condition %s, which cannot be judged from here",
                                                            cfr_policy_show(cfr_json_key(o), shown)));
    }
    return all;
}
