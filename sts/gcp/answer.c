/* SPDX-License-Identifier: MIT */
/* Tokens in answers. */
#include "sts/gcp/answer_private.h"

#include "base/time.h"

/* Before this no token was ever granted: an expiry that old is a mistake, not a clock. */
#define EARLIEST_S INT64_C(1262304000) /* 2010-01-01 */
#define LATEST_S   INT64_C(253402300799)

static int check_expiry(int64_t expires_s, const char *what, struct cfr_err *err)
{
    return expires_s >= EARLIEST_S && expires_s <= LATEST_S
               ? 0
               : cfr_err_set(err, CFR_E_ANSWER, "the answer's %s expires at no sensible time", what);
}

static int read_bearer(const struct cfr_oauth_answer *answer, int64_t now_s, struct cfr_gcp_token *out,
                       struct cfr_err *err)
{
    struct cfr_view token;
    int rc = cfr_oauth_answer_bearer(answer, &token, err);

    if (rc != 0)
        return rc;
    if (answer->expires_in_s <= 0)
        return cfr_err_set(err, CFR_E_ANSWER, "the answer has no expires_in");
    out->expires_s = now_s + answer->expires_in_s;
    return cfr_secret_append(&out->value, token, err);
}

static bool is_plain(struct cfr_view token)
{
    for (size_t i = 0; i < token.n; i++) {
        if (token.p[i] <= 0x20 || token.p[i] > 0x7e)
            return false;
    }
    return token.n != 0 && token.n <= CFR_GRANT_VALUE_MAX;
}

static int read_id(struct cfr_view token, const char *member, struct cfr_gcp_token *out, struct cfr_err *err)
{
    int rc;

    if (token.n == 0)
        return cfr_err_set(err, CFR_E_ANSWER, "the answer has no %s", member);
    if (!is_plain(token) || !cfr_oauth_answer_jwt_expiry(token, &out->expires_s))
        return cfr_err_set(err, CFR_E_ANSWER, "the answer's %s is no JSON Web Token with an expiry", member);
    rc = check_expiry(out->expires_s, member, err);
    return rc != 0 ? rc : cfr_secret_append(&out->value, token, err);
}

static int read_iam_access(const struct cfr_json *doc, struct cfr_gcp_token *out, struct cfr_err *err)
{
    struct cfr_view token = {NULL, 0};
    struct cfr_view when = {NULL, 0};
    int rc;

    if (!cfr_json_string(cfr_json_get(doc, "accessToken"), &token) || token.n == 0)
        return cfr_err_set(err, CFR_E_ANSWER, "the answer has no accessToken");
    if (!is_plain(token))
        return cfr_err_set(err, CFR_E_ANSWER,
                           "the answer's accessToken holds a space or a character that is not printable");
    if (!cfr_json_string(cfr_json_get(doc, "expireTime"), &when) || !cfr_time_parse(when, &out->expires_s))
        return cfr_err_set(err, CFR_E_ANSWER, "the answer has no expireTime, or it is no RFC 3339 time");
    rc = check_expiry(out->expires_s, "accessToken", err);
    return rc != 0 ? rc : cfr_secret_append(&out->value, token, err);
}

static int read_iam(enum cfr_gcp_step step, struct cfr_view body, struct cfr_gcp_token *out, struct cfr_err *err)
{
    struct cfr_view token = {NULL, 0};
    struct cfr_json *doc;
    int rc = cfr_json_parse(body, &doc, err);

    if (rc != 0)
        return rc;
    if (step == CFR_GCP_STEP_IAM_ACCESS) {
        rc = read_iam_access(doc, out, err);
    } else {
        (void)cfr_json_string(cfr_json_get(doc, "token"), &token);
        rc = read_id(token, "token", out, err);
    }
    cfr_json_free(doc);
    return rc;
}

int cfr_gcp_answer_read(enum cfr_gcp_step step, const struct cfr_oauth_answer *answer, struct cfr_view body,
                        int64_t now_s, struct cfr_gcp_token *out, struct cfr_err *err)
{
    *out = (struct cfr_gcp_token){.id = step == CFR_GCP_STEP_KEY_ID || step == CFR_GCP_STEP_IAM_ID};
    cfr_secret_init(&out->value, CFR_GRANT_VALUE_MAX);
    switch (step) {
    case CFR_GCP_STEP_STS:
    case CFR_GCP_STEP_KEY_ACCESS:
        return read_bearer(answer, now_s, out, err);
    case CFR_GCP_STEP_KEY_ID:
        return read_id(cfr_oauth_answer_get(answer, CFR_OAUTH_ID_TOKEN), "id_token", out, err);
    case CFR_GCP_STEP_IAM_ID:
    case CFR_GCP_STEP_IAM_ACCESS:
        break;
    }
    return read_iam(step, body, out, err);
}
