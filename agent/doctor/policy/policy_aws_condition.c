/* SPDX-License-Identifier: MIT */
/* Evaluation of the conditions of a trust policy's statement: StringEquals and StringLike on subject and audience.
 * AWS's policy simulator judges the rest. */
#include "agent/doctor/policy/policy_private.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>

/* Value of a condition key. */
struct key {
    const char *what; /* "subject" or "audience" */
    const struct cfr_view *values;
    size_t count;
};

/* False for a key of other tokens, or of none. */
static bool find_key(const struct cfr_policy_aws *p, struct cfr_view name, struct key *out)
{
    struct cfr_view bare = cfr_sts_trust_bare_issuer(p->token->iss);
    struct cfr_view claim;

    *out = (struct key){.what = "claim"};
    if (name.n <= bare.n + 1 || name.p[bare.n] != ':' || bare.n >= CFR_AWS_PROVIDER_ARN_MAX ||
        strncasecmp(name.p, bare.p, bare.n) != 0)
        return false;
    claim = (struct cfr_view){name.p + bare.n + 1, name.n - bare.n - 1};
    if (cfr_view_is_nocase(claim, "sub"))
        *out = (struct key){"subject", &p->token->sub, p->token->sub.n != 0};
    else if (cfr_view_is_nocase(claim, "aud"))
        *out = (struct key){"audience", p->token->aud, p->token->aud_count};
    return out->values != NULL;
}

static bool fits(bool like, const struct cfr_json *wanted, const struct key *key)
{
    struct cfr_view text;

    for (const struct cfr_json *w = cfr_policy_first(wanted); w != NULL; w = cfr_policy_next(wanted, w)) {
        for (size_t i = 0; cfr_json_string(w, &text) && i < key->count; i++) {
            if (like ? cfr_policy_like(text, key->values[i]) : cfr_view_eq(text, key->values[i]))
                return true;
        }
    }
    return false;
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
    static const char *const ends[] = {":sub", ":aud"};

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

static const char *remedy_of(bool like, const struct key *key, const struct cfr_json *wanted, const char **why)
{
    struct cfr_view text = {NULL, 0};

    *why = "";
    for (const struct cfr_json *w = cfr_policy_first(wanted); w != NULL && (*why)[0] == '\0';
         w = cfr_policy_next(wanted, w)) {
        for (size_t i = 0; cfr_json_string(w, &text) && i < key->count && (*why)[0] == '\0'; i++)
            *why = cfr_policy_difference(text, key->values[i]);
    }
    if (strstr(*why, "`*`") != NULL && !like)
        return "write StringLike in place of StringEquals: only there `*` matches anything";
    if (strcmp(key->what, "audience") == 0)
        return "set this audience in the projected volume (or in `token.request`), or change the condition; "
               "the identity "
               "provider in IAM must list it as a client ID, too";
    return "change the condition, or let the pod run as that service account: the subject is "
           "system:serviceaccount:NAMESPACE:NAME";
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

static void report_values(const struct cfr_policy_aws *p, bool like, struct cfr_view name,
                          const struct cfr_json *wanted, const struct key *key)
{
    struct cfr_policy_token as_list = *p->token;
    char shown[CFR_POLICY_SHOWN_MAX];
    char values[CFR_POLICY_SHOWN_MAX];
    char has[CFR_POLICY_SHOWN_MAX];
    const char *why;
    const char *remedy = remedy_of(like, key, wanted, &why);

    as_list.aud = key->values;
    as_list.aud_count = key->count;
    cfr_policy_aws_mismatch(p, remedy, "expects the %s %s (%s on \"%s\"), your token says %s%s%s", key->what,
                            list(wanted, values), like ? "StringLike" : "StringEquals", cfr_policy_show(name, shown),
                            key->count != 0 ? cfr_policy_audiences(&as_list, has) : "none", why[0] != '\0' ? ": " : "",
                            why);
}

static enum cfr_policy_verdict check_condition(const struct cfr_policy_aws *p, bool like, struct cfr_view name,
                                               const struct cfr_json *wanted)
{
    char shown[CFR_POLICY_SHOWN_MAX];
    struct key key;
    bool own = find_key(p, name, &key);

    if (!own && !is_foreign(name))
        return cfr_policy_aws_unknown(p, "has a condition on \"%s\", which cannot be judged from here",
                                      cfr_policy_show(name, shown));
    if (own && fits(like, wanted, &key))
        return CFR_POLICY_YES;
    if (own && has_variable(wanted))
        return cfr_policy_aws_unknown(p, "compares \"%s\" with a policy variable, whose value is not known here",
                                      cfr_policy_show(name, shown));
    if (own)
        report_values(p, like, name, wanted, &key);
    else
        report_foreign(p, name);
    return CFR_POLICY_NO;
}

enum cfr_policy_verdict cfr_policy_aws_conditions(const struct cfr_policy_aws *p, const struct cfr_json *statement)
{
    const struct cfr_json *conditions = cfr_json_get(statement, "Condition");
    enum cfr_policy_verdict all = CFR_POLICY_YES;
    char shown[CFR_POLICY_SHOWN_MAX];

    for (const struct cfr_json *o = cfr_json_first(conditions); o != NULL; o = cfr_json_next(o)) {
        bool like = cfr_view_is_nocase(cfr_json_key(o), "StringLike");
        bool known = like || cfr_view_is_nocase(cfr_json_key(o), "StringEquals");

        for (const struct cfr_json *c = cfr_json_first(o); c != NULL; c = cfr_json_next(c)) {
            enum cfr_policy_verdict one =
                known ? check_condition(p, like, cfr_json_key(c), c)
                      : cfr_policy_aws_unknown(p, "has a condition %s, which cannot be judged from here",
                                               cfr_policy_show(cfr_json_key(o), shown));

            if (one == CFR_POLICY_NO || all == CFR_POLICY_YES)
                all = one;
        }
    }
    return all;
}
