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

/* The statement for the role's trust policy, as a whole policy. */
static void add_policy(struct cfr_str *out, const struct cfr_sts_trust *t, const char *provider)
{
    const char *const claims[][2] = {{"sub", t->shown_sub}, {"aud", NULL}};
    char bare[CFR_STS_TRUST_SHOWN_MAX];
    char audience[CFR_STS_TRUST_SHOWN_MAX];
    char key[CFR_STS_TRUST_SHOWN_MAX + 8];

    (void)cfr_view_show(cfr_sts_trust_bare_issuer(t->iss), bare, sizeof bare);
    cfr_str_addz(out, "{\n  \"Version\": \"2012-10-17\",\n  \"Statement\": [{\n    \"Effect\": \"Allow\",\n"
                      "    \"Principal\": {\"Federated\": ");
    cfr_str_add_json(out, cfr_view_of(provider));
    cfr_str_addz(out, "},\n    \"Action\": \"sts:AssumeRoleWithWebIdentity\",\n"
                      "    \"Condition\": {\"StringEquals\": {");
    for (size_t i = 0; i < 2; i++) {
        const char *value = claims[i][1] != NULL ? claims[i][1] : cfr_sts_trust_audience(t, audience);

        (void)snprintf(key, sizeof key, "%s:%s", bare, claims[i][0]);
        cfr_str_addz(out, i == 0 ? "\n      " : ",\n      ");
        cfr_str_add_json(out, cfr_view_of(key));
        cfr_str_addz(out, ": ");
        cfr_str_add_json(out, cfr_view_of(value));
    }
    cfr_str_addz(out, "\n    }}\n  }]\n}\n");
}

void cfr_aws_trust_needed(const void *config, const struct cfr_sts_trust *t)
{
    const struct cfr_aws *c = config;
    const char *role = c->role_arn != NULL ? strrchr(c->role_arn, '/') : NULL;
    struct cfr_str paste = {.limit = CFR_STS_TRUST_PASTE_MAX};
    char provider[CFR_AWS_PROVIDER_ARN_MAX];
    char audience[CFR_STS_TRUST_SHOWN_MAX];
    char remedy[256];

    if (role == NULL || !cfr_aws_identity_provider(c->role_arn, t->iss, provider))
        return;
    add_policy(&paste, t, provider);
    (void)snprintf(remedy, sizeof remedy,
                   "save it as trust.json: `aws iam update-assume-role-policy --role-name %.64s --policy-document "
                   "file://trust.json`; or compare the present one: --trust-policy FILE",
                   role + 1);
    cfr_finding_report_paste(t->sink, CFR_STS_TRUST_NEEDED, remedy, paste.failed ? NULL : paste.p,
                             "the trust policy of %.300s must allow this token, for example:", c->role_arn);
    cfr_str_free(&paste);
    cfr_str_addz(&paste, "aws iam create-open-id-connect-provider --url ");
    cfr_sts_trust_add_quoted(&paste, t->shown_iss);
    cfr_str_addz(&paste, " --client-id-list ");
    cfr_sts_trust_add_quoted(&paste, cfr_sts_trust_audience(t, audience));
    cfr_str_addz(&paste, "\n");
    cfr_finding_report_paste(t->sink, CFR_STS_TRUST_NEEDED, NULL, paste.failed ? NULL : paste.p,
                             "the identity provider \"%s\" must exist in IAM, with %s among its client IDs", provider,
                             t->shown_aud);
    cfr_str_free(&paste);
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
