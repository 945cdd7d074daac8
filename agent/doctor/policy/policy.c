/* SPDX-License-Identifier: MIT */
/* What the provider's row says of trust, and text functions shared by the comparisons of trust documents. */
#include "agent/doctor/policy/policy_private.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>

const char *cfr_policy_show(struct cfr_view text, char out[CFR_POLICY_SHOWN_MAX])
{
    return cfr_view_show(text, out, CFR_POLICY_SHOWN_MAX);
}

static struct cfr_view without_slash(struct cfr_view v)
{
    return v.n != 0 && v.p[v.n - 1] == '/' ? (struct cfr_view){v.p, v.n - 1} : v;
}

static bool same_but_case(struct cfr_view a, struct cfr_view b)
{
    return a.n == b.n && a.n != 0 && strncasecmp(a.p, b.p, a.n) == 0;
}

const char *cfr_policy_difference(struct cfr_view expected, struct cfr_view has)
{
    if (same_but_case(expected, has))
        return "upper and lower case differ";
    if (cfr_view_eq(cfr_view_trim(expected), cfr_view_trim(has)))
        return "there is white space around one of them";
    if (cfr_view_eq(without_slash(expected), without_slash(has)))
        return "a slash at the end counts";
    if (cfr_view_eq(cfr_sts_trust_bare_issuer(expected), cfr_sts_trust_bare_issuer(has)))
        return "https:// before it counts";
    if (memchr(expected.p != NULL ? expected.p : "", '*', expected.n) != NULL && cfr_policy_like(expected, has))
        return "`*` is taken literally here";
    return "";
}

bool cfr_policy_like(struct cfr_view pattern, struct cfr_view text)
{
    size_t p = 0;
    size_t t = 0;
    size_t star = SIZE_MAX; /* position of the last `*`, and how far it reaches */
    size_t reach = 0;

    while (t < text.n) {
        if (p < pattern.n && pattern.p[p] == '*') {
            star = p++;
            reach = t;
        } else if (p < pattern.n && (pattern.p[p] == '?' || pattern.p[p] == text.p[t])) {
            p++;
            t++;
        } else if (star != SIZE_MAX) {
            p = star + 1;
            t = ++reach;
        } else {
            return false;
        }
    }
    while (p < pattern.n && pattern.p[p] == '*')
        p++;
    return p == pattern.n;
}

const char *cfr_policy_audiences(const struct cfr_policy_token *token, char out[CFR_POLICY_SHOWN_MAX])
{
    char one[CFR_POLICY_SHOWN_MAX];
    size_t n = 0;

    (void)snprintf(out, CFR_POLICY_SHOWN_MAX, "no audience");
    for (size_t i = 0; i < token->aud_count && n + 8 < CFR_POLICY_SHOWN_MAX; i++) {
        (void)snprintf(out + n, CFR_POLICY_SHOWN_MAX - n, "%s\"%s\"", i != 0 ? ", " : "",
                       cfr_policy_show(token->aud[i], one));
        n = strlen(out);
    }
    return out;
}

static struct cfr_sts_trust show_token(const struct cfr_policy_token *token, const struct cfr_finding_sink *sink)
{
    struct cfr_sts_trust t = {
        .iss = token->iss, .sub = token->sub, .aud = token->aud, .aud_count = token->aud_count, .sink = sink};

    (void)cfr_view_show(token->iss, t.shown_iss, sizeof t.shown_iss);
    (void)cfr_view_show(token->sub, t.shown_sub, sizeof t.shown_sub);
    (void)cfr_policy_audiences(token, t.shown_aud);
    return t;
}

void cfr_policy_needed(const struct cfr_sts_provider *provider, const void *config, const char *(*env)(const char *),
                       const struct cfr_policy_token *token, const struct cfr_finding_sink *sink)
{
    struct cfr_sts_trust t = show_token(token, sink);

    t.env = env;
    if (provider->trust_needed != NULL && cfr_sts_needs_token(provider, config))
        provider->trust_needed(config, &t);
}

void cfr_policy_refused(const struct cfr_sts_provider *provider, const char *text, const struct cfr_policy_token *token,
                        const struct cfr_finding_sink *sink)
{
    struct cfr_sts_trust t = show_token(token, sink);

    if (provider->trust_refused != NULL)
        provider->trust_refused(text, &t);
}
