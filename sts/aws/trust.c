/* SPDX-License-Identifier: MIT */
/* Advice on the trust of IAM roles, identity providers and pod identity associations. */
#include "sts/aws/aws_private.h"

#include "sts/aws/aws.h"
#include "sts/core/trust.h"

#include <stdio.h>
#include <string.h>

bool cfr_aws_identity_provider(const char *role_arn, struct cfr_view iss, char out[CFR_AWS_PROVIDER_ARN_MAX])
{
    const char *partition = strchr(role_arn, ':');
    const char *service = partition != NULL ? strchr(partition + 1, ':') : NULL;
    const char *account = service != NULL ? strstr(service, "::") : NULL;
    struct cfr_view bare = cfr_sts_trust_bare_issuer(iss);

    if (account == NULL)
        return false;
    (void)snprintf(out, CFR_AWS_PROVIDER_ARN_MAX, "arn:%.*s:iam::%.*s:oidc-provider/%.*s",
                   (int)(service - partition - 1), partition + 1, (int)strcspn(account + 2, ":"), account + 2,
                   (int)bare.n, bare.n != 0 ? bare.p : "");
    (void)cfr_view_show(cfr_view_of(out), out, CFR_AWS_PROVIDER_ARN_MAX);
    return true;
}

void cfr_aws_trust_needed(const void *config, const struct cfr_sts_trust *t)
{
    const struct cfr_aws *c = config;
    char provider[CFR_AWS_PROVIDER_ARN_MAX];
    char bare[CFR_STS_TRUST_SHOWN_MAX];

    if (c->role_arn == NULL || !cfr_aws_identity_provider(c->role_arn, t->iss, provider))
        return;
    (void)cfr_view_show(cfr_sts_trust_bare_issuer(t->iss), bare, sizeof bare);
    cfr_finding_report(
        t->sink, CFR_FINDING_NOTE, CFR_STS_TRUST_NEEDED,
        "compare with `aws iam get-role --role-name NAME`, or give its output: --trust-policy FILE",
        "the trust policy of %.300s must allow sts:AssumeRoleWithWebIdentity to Principal.Federated \"%s\" "
        "with "
        "the Condition StringEquals \"%s:sub\": \"%s\" and \"%s:aud\": %s",
        c->role_arn, provider, bare, t->shown_sub, bare, t->shown_aud);
    cfr_finding_report(t->sink, CFR_FINDING_NOTE, CFR_STS_TRUST_NEEDED,
                       "compare with `aws iam get-open-id-connect-provider --open-id-connect-provider-arn ARN`",
                       "the identity provider \"%s\" must exist in IAM, with %s among its client IDs", provider,
                       t->shown_aud);
}

void cfr_aws_trust_refused(const char *text, const struct cfr_sts_trust *t)
{
    if (strstr(text, "InvalidIdentityToken") != NULL && strstr(text, "audience") != NULL)
        cfr_finding_report(
            t->sink, CFR_FINDING_WRONG, CFR_STS_TRUST_REFUSED,
            "`aws iam add-client-id-to-open-id-connect-provider`, or set an audience in the projected volume "
            "that "
            "is listed",
            "the identity provider in IAM lists none of the token's audiences (%s) as a client ID", t->shown_aud);
    else if (strstr(text, "No OpenIDConnect provider") != NULL)
        cfr_finding_report(
            t->sink, CFR_FINDING_WRONG, CFR_STS_TRUST_REFUSED, "`aws iam create-open-id-connect-provider`",
            "there is no identity provider in the role's account for the token's issuer %s", t->shown_iss);
    else if (strstr(text, "AccessDenied") != NULL && strstr(text, "AssumeRoleWithWebIdentity") != NULL)
        cfr_finding_report(t->sink, CFR_FINDING_NOTE, CFR_STS_TRUST_REFUSED,
                           "give the role's trust policy: --trust-policy FILE",
                           "AWS does not say whether the role is missing or which part of its trust policy does not "
                           "match; the policy must have the following");
}

void cfr_aws_container_trust_needed(const void *config, const struct cfr_sts_trust *t)
{
    (void)config;
    cfr_finding_report(
        t->sink, CFR_FINDING_NOTE, CFR_STS_TRUST_NEEDED, "compare with `aws eks list-pod-identity-associations`",
        "the cluster must have a pod identity association for %s, and the token the audience of its agent "
        "(it has %s)",
        t->shown_sub, t->shown_aud);
}
