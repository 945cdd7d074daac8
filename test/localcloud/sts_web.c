/* SPDX-License-Identifier: MIT */
/* STS AssumeRoleWithWebIdentity. */
#include "sts_call.h"
#include "web_identity.h"

#include <stdlib.h>
#include <string.h>

static int check(struct lc_call *call, struct lc_ask *ask)
{
    static const struct lc_rule rules[] = {
        {"RoleArn", "roleArn", 20, 2048, NULL, NULL, true, false},
        {"RoleSessionName", "roleSessionName", 2, 64, "_+=,.@-", "[\\w+=,.@-]*", true, false},
        {"WebIdentityToken", "webIdentityToken", 4, 20000, NULL, NULL, true, true},
        {"ProviderId", "providerId", 4, 2048, NULL, NULL, false, false},
    };
    struct lc_checks checks = {0};

    lc_checks_params(&checks, &call->params, rules, sizeof rules / sizeof rules[0]);
    if (lc_call_ask(call, &checks, 2048, ask) != 0) {
        lc_checks_free(&checks);
        return -1;
    }
    if (lc_call_checked(call, &checks) != 0) {
        return -1;
    }
    if (lc_params_get(&call->params, "ProviderId") != NULL) {
        return lc_refuse(&call->refusal, 400, "ValidationError",
                         "ProviderId is only for OAuth 2.0 access tokens, not for OpenID Connect ID tokens");
    }
    return lc_call_policy(call, 0, ask);
}

static void write_answer(struct lc_call *call, const struct lc_role *role, const struct lc_web_identity *identity,
                         const struct lc_ask *ask, const struct lc_session *session)
{
    char *provider = lc_text_format("arn:%s:iam::%s:oidc-provider/%s", role->partition, role->account,
                                    identity->issuer + strlen("https://"));
    struct lc_answer answer;

    lc_answer_start(&answer, &call->reply->body, call->json, "AssumeRoleWithWebIdentityResponse", NULL);
    lc_answer_open(&answer, "AssumeRoleWithWebIdentityResult");
    lc_answer_text(&answer, "Audience", identity->audience);
    lc_call_write_user(&answer, role, session->name);
    lc_answer_text(&answer, "Provider", provider == NULL ? "" : provider);
    lc_call_write_credentials(call, &answer, session);
    lc_answer_text(&answer, "SubjectFromWebIdentityToken", identity->subject);
    if (ask->packed_size > 0) {
        lc_answer_integer(&answer, "PackedPolicySize", ask->packed_size);
    } else {
        lc_answer_maybe(&answer, "PackedPolicySize", NULL);
    }
    lc_answer_maybe(&answer, "SourceIdentity", identity->source_identity);
    lc_call_write_end(call, &answer, "AssumeRoleWithWebIdentity");
    free(provider);
}

int lc_sts_web_identity(struct lc_call *call)
{
    struct lc_ask ask = {0};
    struct lc_web_identity identity = {0};
    struct lc_session session = {0};
    const struct lc_role *role = NULL;
    int result = check(call, &ask);

    if (result != 0 || lc_web_identity_check(call->cloud, lc_params_get(&call->params, "RoleArn"),
                                             lc_params_get(&call->params, "WebIdentityToken"), &identity, &role,
                                             &call->refusal) != 0) {
        return -1;
    }
    result = lc_call_duration(call, role, false, &ask);
    if (result == 0) {
        result = lc_call_issue(call, role, identity.source_identity, identity.transitive, &ask, &session);
    }
    if (result == 0) {
        write_answer(call, role, &identity, &ask, &session);
    }
    lc_session_free(&session);
    lc_web_identity_free(&identity);
    return result;
}
