/* SPDX-License-Identifier: MIT */
/* Answers of container credential endpoints. */
#include "sts/aws/container_private.h"

#include "base/json.h"
#include "base/time.h"
#include "sts/aws/error_private.h"
#include "wire/aws.h"

#include <string.h>

#define EARLIEST_S   INT64_C(1262304000) /* 2010-01-01 */

#define HINT_AGAIN   "this is usually temporary"
#define HINT_EXPIRED "the token has expired. Is the token file still renewed?"
#define HINT_TOKEN                                                                                                     \
    "the Pod Identity agent does not accept this token; it must be the pod's own, with audience "                      \
    "pods.eks.amazonaws.com: check it with `credfresh inspect`"
#define HINT_NONE                                                                                                      \
    "no Pod Identity association exists for this service account; create one in EKS, or name another "                 \
    "`endpoint`"

/* The Pod Identity agent writes plain text that has the name of the upstream's error in it. */
static const struct cfr_error_table_row rows[] = {
    {NULL, "ExpiredToken", 0, CFR_E_TOKEN_EXPIRED, HINT_EXPIRED},
    {NULL, "token is expired", 0, CFR_E_TOKEN_EXPIRED, HINT_EXPIRED},
    {NULL, "InvalidToken", 0, CFR_E_TOKEN, HINT_TOKEN},
    {NULL, "Service account token", 0, CFR_E_TOKEN, HINT_TOKEN},
    {NULL, "ResourceNotFound", 0, CFR_E_DENIED, HINT_NONE},
    {NULL, "AccessDenied", 0, CFR_E_DENIED,
     "the association's role does not trust pods.eks.amazonaws.com (sts:AssumeRole and sts:TagSession), or "
     "the node may "
     "not call eks-auth:AssumeRoleForPodIdentity"},
    {NULL, "Access Denied", 403, CFR_E_DENIED,
     "the Pod Identity agent refuses the request's Host or token; check `endpoint`, which must be one of the agent's "
     "addresses"},
    {NULL, "InvalidParameter", 0, CFR_E_REJECTED, HINT_TOKEN},
    {NULL, "InvalidRequest", 0, CFR_E_REJECTED, "correct what the message names"},
    {NULL, "Throttling", 0, CFR_E_THROTTLED, "AWS limits the rate of calls; " HINT_AGAIN},
    {NULL, "TooManyRequests", 0, CFR_E_THROTTLED, "AWS limits the rate of calls; " HINT_AGAIN},
    {NULL, "InternalServer", 0, CFR_E_UNAVAILABLE, "AWS is unavailable; " HINT_AGAIN},
    {NULL, "ServiceUnavailable", 0, CFR_E_UNAVAILABLE, "AWS is unavailable; " HINT_AGAIN},
    {NULL, NULL, 400, CFR_E_REJECTED, "the endpoint does not accept the request; check the token and `endpoint`"},
    {NULL, NULL, 401, CFR_E_DENIED, "the endpoint does not accept the token; check it with `credfresh inspect`"},
    {NULL, NULL, 403, CFR_E_DENIED, "the endpoint does not accept the token; check it with `credfresh inspect`"},
    {NULL, NULL, 404, CFR_E_REJECTED, "there are no container credentials at this URL; check `endpoint`"},
    {NULL, NULL, 405, CFR_E_REJECTED, "there are no container credentials at this URL; check `endpoint`"},
    {NULL, NULL, 200, CFR_E_ANSWER, "the endpoint reports an error; " HINT_AGAIN},
    {0},
};

/* A member that the endpoints write in different cases. */
static struct cfr_view member(const struct cfr_json *doc, const char *upper, const char *lower)
{
    struct cfr_view v = {NULL, 0};

    if (!cfr_json_string(cfr_json_get(doc, upper), &v))
        (void)cfr_json_string(cfr_json_get(doc, lower), &v);
    return v;
}

static int refuse(const struct cfr_wire_reply *reply, const struct cfr_json *doc, struct cfr_view token,
                  struct cfr_err *err)
{
    struct cfr_error_table r = {
        .rows = rows,
        .status = reply->status,
        .request_id = reply->request_id,
        .secrets = &token,
        .secret_count = 1,
    };

    r.code = member(doc, "Code", "code");
    r.message = member(doc, "Message", "message");
    if (doc == NULL && cfr_view_find(reply->content_type, "html") < 0)
        r.message = reply->body;
    if (cfr_error_table_find(cfr_wire_aws_error_rows, r.status, r.code, r.message) != NULL) {
        r.rows = cfr_wire_aws_error_rows;
    } else if (r.code.n != 0) {
        /* With a code of its own, the message need not repeat it. */
        const struct cfr_error_table_row *row = cfr_error_table_find(rows, r.status, r.code, r.code);

        if (row != NULL && row->message != NULL) {
            struct cfr_error_table_row by_code[] = {{NULL, NULL, 0, row->result, row->hint}, {0}};

            r.rows = by_code;
            return cfr_error_table_set(&r, err);
        }
    }
    return cfr_error_table_set(&r, err);
}

static int copy(const struct cfr_json *doc, const char *key, const char *field, struct cfr_grant *g,
                struct cfr_err *err)
{
    struct cfr_view v = {NULL, 0};

    if (!cfr_json_string(cfr_json_get(doc, key), &v) || v.n == 0)
        return cfr_err_set(err, CFR_E_ANSWER, "the answer has no %s", key);
    if (!cfr_view_printable(v) || memchr(v.p, ' ', v.n) != NULL)
        return cfr_err_set(err, CFR_E_ANSWER, "the answer's %s holds a space or a character that is not printable",
                           key);
    return cfr_grant_set(g, field, v, err);
}

static int copy_expiry(const struct cfr_json *doc, struct cfr_grant *g, struct cfr_err *err)
{
    struct cfr_view text;
    int64_t at = 0;

    if (!cfr_json_string(cfr_json_get(doc, "Expiration"), &text) || !cfr_time_parse(text, &at))
        return cfr_err_set(err, CFR_E_ANSWER, "the answer's Expiration is missing or not a time");
    if (at < EARLIEST_S)
        return cfr_err_set(err, CFR_E_ANSWER, "the answer's Expiration lies in a year before 2010");
    g->expires_s = at;
    return 0;
}

static int copy_identity(const struct cfr_json *doc, struct cfr_grant *g, struct cfr_err *err)
{
    struct cfr_view v;
    int64_t digits;
    int rc = 0;

    if (cfr_json_string(cfr_json_get(doc, "RoleArn"), &v) && cfr_view_starts(v, "arn:"))
        rc = cfr_grant_set_identity(g, v, err);
    if (rc == 0 && cfr_json_string(cfr_json_get(doc, "AccountId"), &v) && v.n == 12 && cfr_view_int(v, &digits))
        rc = cfr_grant_set(g, CFR_FIELD_AWS_ACCOUNT_ID, v, err);
    return rc;
}

static int read_keys(const struct cfr_json *doc, struct cfr_grant *g, struct cfr_err *err)
{
    int rc = copy(doc, "AccessKeyId", CFR_FIELD_AWS_ACCESS_KEY_ID, g, err);

    if (rc == 0)
        rc = copy(doc, "SecretAccessKey", CFR_FIELD_AWS_SECRET_ACCESS_KEY, g, err);
    if (rc == 0)
        rc = copy(doc, "Token", CFR_FIELD_AWS_SESSION_TOKEN, g, err);
    if (rc == 0)
        rc = copy_expiry(doc, g, err);
    return rc != 0 ? rc : copy_identity(doc, g, err);
}

int cfr_aws_container_answer(const struct cfr_wire_reply *reply, struct cfr_view token, struct cfr_grant *grant,
                             struct cfr_err *err)
{
    struct cfr_json *doc = NULL;
    int rc = cfr_json_parse(reply->body, &doc, err);
    struct cfr_view code;

    if (rc != 0)
        doc = NULL;
    code = member(doc, "Code", "code");
    if (rc != CFR_E_NOMEM && (reply->status != 200 || (code.n != 0 && !cfr_view_is(code, "Success"))))
        rc = refuse(reply, doc, token, err);
    else if (rc == 0)
        rc = read_keys(doc, grant, err);
    cfr_json_free(doc);
    return rc;
}
