/* SPDX-License-Identifier: MIT */
/* GetCallerIdentity. */
#include "sts/aws/verify_private.h"

#include "base/redact.h"
#include "sts/aws/answer_private.h"
#include "sts/aws/error_private.h"
#include "sts/aws/keys_private.h"
#include "sts/aws/params_private.h"
#include "wire/aws.h"
#include "wire/form.h"

#include <string.h>

int cfr_aws_verify_build(const struct cfr_wire_aws_endpoint *endpoint, const struct cfr_grant *grant, int64_t now_s,
                         struct cfr_wire_request *out, struct cfr_err *err)
{
    struct cfr_wire_aws_keys keys = cfr_aws_keys_granted(grant);
    struct cfr_wire_aws_call post = {
        .endpoint = endpoint,
        .service = "sts",
        .content_type = CFR_FORM_TYPE,
        .accept = CFR_AWS_ANSWER_TYPE,
        .keys = &keys,
        .now_s = now_s,
    };
    int rc;

    cfr_secret_init(&out->body, CFR_STS_BODY_MAX);
    rc = cfr_secret_append_str(&out->body, "Action=" CFR_AWS_VERIFY_OPERATION "&Version=2011-06-15", err);
    return rc != 0 ? rc : cfr_wire_aws_request(&post, out, err);
}

static int refuse(const struct cfr_wire_reply *reply, const struct cfr_aws_answer *answer,
                  const struct cfr_grant *grant, struct cfr_err *err)
{
    const struct cfr_view secrets[] = {
        cfr_grant_get(grant, CFR_FIELD_AWS_SECRET_ACCESS_KEY),
        cfr_grant_get(grant, CFR_FIELD_AWS_SESSION_TOKEN),
    };
    const struct cfr_aws_refusal r = {
        .status = reply->status,
        .answer = answer,
        .request_id = reply->request_id,
        .call = CFR_AWS_VERIFY,
        .who = cfr_view_of(grant->identity),
        .secrets = secrets,
        .secret_count = sizeof secrets / sizeof secrets[0],
    };

    int rc = cfr_aws_error_set(&r, err);

    (void)cfr_err_prefix(err, "verify");
    return rc;
}

/* True if ARN is a session of ROLE: the account and the role's name, of which the session's ARN drops the
 * path. */
static bool is_session_of(const char *arn, const char *role)
{
    struct cfr_view session = cfr_aws_params_arn_part(arn, 5);
    const char *slash = strrchr(role, '/');
    size_t n = slash != NULL ? strlen(slash + 1) : 0;

    return n != 0 && cfr_view_starts(session, "assumed-role/") && session.n > 13 + n &&
           memcmp(session.p + 13, slash + 1, n) == 0 && session.p[13 + n] == '/' &&
           cfr_view_eq(cfr_aws_params_arn_part(arn, 4), cfr_aws_params_arn_part(role, 4));
}

static bool same(const char *arn, const char *granted)
{
    if (granted == NULL || strcmp(arn, granted) == 0)
        return true;
    return cfr_view_is(cfr_aws_params_arn_part(granted, 2), "iam") && is_session_of(arn, granted);
}

static int another(struct cfr_view got, struct cfr_view granted, struct cfr_err *err)
{
    char shown[2][CFR_REDACT_MAX];

    return cfr_err_set(
        err, CFR_E_DENIED,
        "verify: the granted keys belong to %.150s, not to %.150s; nothing is published. Check `endpoint`",
        cfr_redact(got, NULL, 0, shown[0]), cfr_redact(granted, NULL, 0, shown[1]));
}

static int compare(const struct cfr_aws_answer *a, struct cfr_grant *g, struct cfr_err *err)
{
    struct cfr_view arn = cfr_aws_answer_get(a, CFR_AWS_ARN);
    struct cfr_view account = cfr_aws_answer_get(a, CFR_AWS_ACCOUNT);
    struct cfr_view granted = cfr_grant_get(g, CFR_FIELD_AWS_ACCOUNT_ID);
    int rc;

    if (arn.n == 0 || account.n == 0)
        return cfr_err_set(err, CFR_E_ANSWER, "verify: the answer to GetCallerIdentity has no %s",
                           arn.n == 0 ? "Arn" : "Account");
    if (granted.n != 0 && !cfr_view_eq(granted, account))
        return another(account, granted, err);
    if (memchr(arn.p, '\0', arn.n) != NULL || !same(arn.p, g->identity))
        return another(arn, cfr_view_of(g->identity), err);
    rc = cfr_grant_set_identity(g, arn, err);
    return rc != 0 ? rc : cfr_grant_set(g, CFR_FIELD_AWS_ACCOUNT_ID, account, err);
}

int cfr_aws_verify_parse(const struct cfr_wire_reply *reply, struct cfr_grant *grant, struct cfr_err *err)
{
    struct cfr_aws_answer answer;
    int rc = cfr_aws_answer_read(CFR_AWS_VERIFY_OPERATION, reply->content_type, reply->body, &answer, err);

    if (rc != CFR_E_NOMEM && (reply->status != 200 || cfr_aws_answer_get(&answer, CFR_AWS_CODE).n != 0))
        rc = refuse(reply, &answer, grant, err);
    else if (rc == 0)
        rc = compare(&answer, grant, err);
    else
        (void)cfr_err_prefix(err, "verify");
    cfr_aws_answer_free(&answer);
    return rc;
}
