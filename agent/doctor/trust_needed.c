/* SPDX-License-Identifier: MIT */
/* Requirements of a cloud's trust in a token, and the differences that a refusal names. */
#include "agent/doctor/trust_aws_private.h"

#include "sts/aws/aws.h"
#include "sts/aws/container.h"
#include "sts/azure/settings.h"
#include "sts/gcp/gcp.h"
#include "sts/oauth/oauth.h"
#include "sts/openstack/openstack.h"

#include <stdio.h>
#include <string.h>

#define CHECK "trust.needed"

/* One look. */
struct need {
    const void *config;
    const char *(*env)(const char *);
    const struct cfr_doctor_policy_token *token;
    const struct cfr_finding_sink *sink;
    char iss[CFR_DOCTOR_POLICY_SHOWN_MAX];
    char sub[CFR_DOCTOR_POLICY_SHOWN_MAX];
    char aud[CFR_DOCTOR_POLICY_SHOWN_MAX];
};

static void aws(const struct need *n)
{
    const struct cfr_aws *c = n->config;
    char provider[CFR_DOCTOR_POLICY_AWS_ARN_MAX];
    char bare[CFR_DOCTOR_POLICY_SHOWN_MAX];

    if (c->role_arn == NULL || !cfr_doctor_policy_aws_provider(c->role_arn, n->token->iss, provider))
        return;
    (void)cfr_doctor_policy_show(cfr_doctor_policy_bare_issuer(n->token->iss), bare);
    cfr_finding_report(
        n->sink, CFR_FINDING_NOTE, CHECK,
        "compare with `aws iam get-role --role-name NAME`, or give its output: --trust-policy FILE",
        "the trust policy of %.300s must allow sts:AssumeRoleWithWebIdentity to Principal.Federated \"%s\" "
        "with "
        "the Condition StringEquals \"%s:sub\": \"%s\" and \"%s:aud\": %s",
        c->role_arn, provider, bare, n->sub, bare, n->aud);
    cfr_finding_report(n->sink, CFR_FINDING_NOTE, CHECK,
                       "compare with `aws iam get-open-id-connect-provider --open-id-connect-provider-arn ARN`",
                       "the identity provider \"%s\" must exist in IAM, with %s among its client IDs", provider,
                       n->aud);
}

static void aws_container(const struct need *n)
{
    cfr_finding_report(
        n->sink, CFR_FINDING_NOTE, CHECK, "compare with `aws eks list-pod-identity-associations`",
        "the cluster must have a pod identity association for %s, and the token the audience of its agent "
        "(it has %s)",
        n->sub, n->aud);
}

/* True if the token is for a provider of a pool, and none of its audiences is AUDIENCE's. */
static bool names_other_pool(const char *audience, const struct cfr_doctor_policy_token *t)
{
    bool other = false;

    for (size_t i = 0; i < t->aud_count; i++) {
        struct cfr_view aud = cfr_doctor_policy_bare_issuer(t->aud[i]);

        if (cfr_view_is(aud, audience) || cfr_view_is(aud, audience + strspn(audience, "/")))
            return false;
        other = other || cfr_view_find(aud, "iam.googleapis.com/projects/") >= 0;
    }
    return other;
}

static void gcp(const struct need *n)
{
    const struct cfr_gcp *c = n->config;
    const char *pool = c->audience != NULL ? strstr(c->audience, "/projects/") : NULL;
    const char *end = pool != NULL ? strstr(pool, "/providers/") : NULL;

    if (end == NULL)
        return;
    cfr_finding_report(
        n->sink, CFR_FINDING_NOTE, CHECK,
        "compare with `gcloud iam workload-identity-pools providers describe ... --format json`, or give its "
        "output: --pool-provider FILE",
        "the provider %.400s must have the issuer \"%s\", %s among its allowed audiences (or no list, if "
        "that "
        "is its own name), and google.subject mapped, usually to assertion.sub: \"%s\"",
        c->audience, n->iss, n->aud, n->sub);
    if (names_other_pool(c->audience, n->token))
        cfr_finding_report(n->sink, CFR_FINDING_WARNING, CHECK,
                           "set the audience of the projected volume to that of the exchange, unless the "
                           "provider's list of allowed audiences names the other",
                           "the configured provider is %.400s, your token says %s", c->audience, n->aud);
    if (c->service_account != NULL)
        cfr_finding_report(n->sink, CFR_FINDING_NOTE, CHECK,
                           "compare with `gcloud iam service-accounts get-iam-policy SERVICE_ACCOUNT`",
                           "%.200s must grant roles/iam.workloadIdentityUser to "
                           "\"principal://iam.googleapis.com%.*s/subject/%s\"",
                           c->service_account, (int)(end - pool), pool, n->sub);
}

static void azure(const struct need *n)
{
    struct cfr_azure_settings place;
    const char *usual = "api://AzureADTokenExchange";

    if (cfr_azure_settings_of(n->config, n->env, &place, NULL) != 0)
        return;
    if (strstr(place.authority, "microsoftonline.us") != NULL)
        usual = "api://AzureADTokenExchangeUSGov";
    else if (strstr(place.authority, "partner.microsoftonline.cn") != NULL)
        usual = "api://AzureADTokenExchangeChina";
    cfr_finding_report(
        n->sink, CFR_FINDING_NOTE, CHECK,
        "compare with `az ad app federated-credential list --id CLIENT_ID`, or give its output: "
        "--federated-credential FILE",
        "the client %.64s in the tenant %.64s must have a federated credential with the issuer \"%s\", the "
        "subject \"%s\" and the audience %s (usual here: %s), all letter by letter",
        place.client, place.tenant, n->iss, n->sub, n->aud, usual);
}

static void openstack(const struct need *n)
{
    const struct cfr_openstack *c = n->config;

    if (cfr_openstack_way_of(c) != CFR_OPENSTACK_FEDERATION)
        return;
    cfr_finding_report(
        n->sink, CFR_FINDING_NOTE, CHECK,
        "compare with `openstack identity provider show` and `openstack mapping show`; the web server before "
        "Keystone must accept the token's issuer and audience, too",
        "the identity provider \"%.64s\" must have the remote id \"%s\", and the mapping of its protocol "
        "\"%.64s\" must make a user of the subject \"%s\"",
        c->identity_provider, n->iss, c->protocol != NULL ? c->protocol : "", n->sub);
}

static void oauth(const struct need *n)
{
    const struct cfr_oauth *c = n->config;

    cfr_finding_report(n->sink, CFR_FINDING_NOTE, CHECK, NULL,
                       "the server of %.300s must trust the issuer \"%s\" for the subject \"%s\" with the audience %s",
                       c->token_url, n->iss, n->sub, n->aud);
}

void cfr_doctor_policy_needed(const struct cfr_sts_provider *provider, const void *config,
                              const char *(*env)(const char *), const struct cfr_doctor_policy_token *token,
                              const struct cfr_finding_sink *sink)
{
    static const struct {
        const char *name;
        void (*say)(const struct need *n);
    } says[] = {{"aws", aws},     {"aws_container", aws_container}, {"gcp", gcp},
                {"azure", azure}, {"openstack", openstack},         {"oauth", oauth}};
    struct need n = {.config = config, .env = env, .token = token, .sink = sink};

    if (!cfr_sts_needs_token(provider, config))
        return;
    (void)cfr_doctor_policy_show(token->iss, n.iss);
    (void)cfr_doctor_policy_show(token->sub, n.sub);
    (void)cfr_doctor_policy_audiences(token, n.aud);
    for (size_t i = 0; i < sizeof says / sizeof says[0]; i++) {
        if (strcmp(says[i].name, provider->name) == 0)
            says[i].say(&n);
    }
}

/* ---- refusals ---- */

#define REFUSED "trust.refused"

/* The part of TEXT after WORDS, up to one of ENDS. */
static struct cfr_view after(const char *text, const char *words, const char *ends)
{
    const char *at = strstr(text, words);

    return at != NULL ? (struct cfr_view){at + strlen(words), strcspn(at + strlen(words), ends)}
                      : (struct cfr_view){NULL, 0};
}

static void presented(const char *text, const char *what, struct cfr_view has, const struct cfr_finding_sink *sink)
{
    char words[64];
    char shown[CFR_DOCTOR_POLICY_SHOWN_MAX];
    char own[CFR_DOCTOR_POLICY_SHOWN_MAX];
    struct cfr_view named;

    (void)snprintf(words, sizeof words, "presented assertion %s '", what);
    named = after(text, words, "'");
    if (named.n == 0)
        return;
    if (cfr_view_eq(named, has))
        cfr_finding_report(sink, CFR_FINDING_WRONG, REFUSED,
                           "set it in the client's federated credential to exactly this, letter by letter; "
                           "--federated-credential FILE shows the difference",
                           "no federated credential of the client has the %s \"%s\", which is what your token says",
                           what, cfr_doctor_policy_show(named, shown));
    else
        cfr_finding_report(sink, CFR_FINDING_WRONG, REFUSED, "run it again: the token may have been replaced meanwhile",
                           "Entra ID was shown the %s \"%s\", and the token that is there says \"%s\"", what,
                           cfr_doctor_policy_show(named, shown), cfr_doctor_policy_show(has, own));
}

static void refused_azure(const char *text, const struct cfr_doctor_policy_token *t,
                          const struct cfr_finding_sink *sink)
{
    struct cfr_view first = t->aud_count != 0 ? t->aud[0] : (struct cfr_view){NULL, 0};

    presented(text, "issuer", t->iss, sink);
    presented(text, "subject", t->sub, sink);
    presented(text, "audience", first, sink);
}

static void refused_gcp(const char *text, const struct cfr_doctor_policy_token *t, const struct cfr_finding_sink *sink)
{
    struct cfr_view expected = after(text, "expected audience ", " ");
    char shown[CFR_DOCTOR_POLICY_SHOWN_MAX];
    char own[CFR_DOCTOR_POLICY_SHOWN_MAX];

    while (expected.n != 0 && strchr(".,;", expected.p[expected.n - 1]) != NULL)
        expected.n--;
    if (expected.n == 0 || cfr_view_starts(expected, "[removed"))
        return;
    cfr_finding_report(sink, CFR_FINDING_WRONG, REFUSED,
                       "set this audience in the projected volume (or in `token.request`), or add the token's "
                       "to the provider's "
                       "allowed audiences",
                       "the provider expects the audience \"%s\", your token says %s",
                       cfr_doctor_policy_show(expected, shown), cfr_doctor_policy_audiences(t, own));
}

static void refused_aws(const char *text, const struct cfr_doctor_policy_token *t, const struct cfr_finding_sink *sink)
{
    char own[CFR_DOCTOR_POLICY_SHOWN_MAX];

    if (strstr(text, "InvalidIdentityToken") != NULL && strstr(text, "audience") != NULL)
        cfr_finding_report(
            sink, CFR_FINDING_WRONG, REFUSED,
            "`aws iam add-client-id-to-open-id-connect-provider`, or set an audience in the projected volume "
            "that "
            "is listed",
            "the identity provider in IAM lists none of the token's audiences (%s) as a client ID",
            cfr_doctor_policy_audiences(t, own));
    else if (strstr(text, "No OpenIDConnect provider") != NULL)
        cfr_finding_report(sink, CFR_FINDING_WRONG, REFUSED, "`aws iam create-open-id-connect-provider`",
                           "there is no identity provider in the role's account for the token's issuer %s",
                           cfr_doctor_policy_show(t->iss, own));
    else if (strstr(text, "AccessDenied") != NULL && strstr(text, "AssumeRoleWithWebIdentity") != NULL)
        cfr_finding_report(sink, CFR_FINDING_NOTE, REFUSED, "give the role's trust policy: --trust-policy FILE",
                           "AWS does not say which part of the trust policy did not match, or that there is no "
                           "such role; what it "
                           "must hold follows");
}

void cfr_doctor_policy_refused(const struct cfr_sts_provider *provider, const char *text,
                               const struct cfr_doctor_policy_token *token, const struct cfr_finding_sink *sink)
{
    if (strcmp(provider->name, "azure") == 0)
        refused_azure(text, token, sink);
    else if (strcmp(provider->name, "gcp") == 0)
        refused_gcp(text, token, sink);
    else if (strcmp(provider->name, "aws") == 0)
        refused_aws(text, token, sink);
}
