/* SPDX-License-Identifier: MIT */
/* The AWS provider: requests and answers, step by step. */
#include "sts/aws.h"

#include "base/str.h"
#include "sts/aws_answer.h"
#include "sts/aws_endpoint.h"
#include "sts/aws_error.h"
#include "sts/aws_params.h"
#include "sts/aws_place.h"
#include "sts/sigv4.h"

#include <stdio.h>

/* The widest window of the SDKs (15 min), and time for an outage in front of it. */
#define CONSUMER_WINDOW_MS INT64_C(1200000)
#define CONTENT_TYPE       "application/x-www-form-urlencoded"

static const char *operation(unsigned step)
{
    return step == 0 ? "AssumeRoleWithWebIdentity" : "AssumeRole";
}

static int check_step(const struct cfr_sts_aws *c, unsigned step, const char *(*env)(const char *),
                      struct cfr_err *err)
{
    const char *role = step == 0 ? c->role_arn : cfr_sts_aws_step_at(c, step - 1)->role_arn;
    struct cfr_aws_endpoint endpoint;
    int rc = cfr_aws_place_resolve(c, step, env, &endpoint, err);

    if (rc != 0)
        return rc;
    if (!endpoint.custom && cfr_aws_params_arn_part(role, 4).n == 0)
        return cfr_err_set(err, CFR_E_CONFIG, "role_arn: it has no account; AWS needs its 12 digits");
    if (step != 0 && endpoint.region[0] == '\0')
        return cfr_err_set(err, CFR_E_CONFIG,
                           "region: then_assume signs its requests and needs to know for which region; write "
                           "`region: eu-west-1` (or whichever the endpoint serves)");
    if (c->ca_file != NULL && !endpoint.tls)
        return cfr_err_set(err, CFR_E_CONFIG,
                           "ca_file: it has no effect with an http endpoint; leave it out");
    return 0;
}

static int check(const void *config, const char *(*env)(const char *), struct cfr_err *err)
{
    const struct cfr_sts_aws *c = config;

    for (unsigned step = 0; step <= c->then_assume.count; step++) {
        int rc = check_step(c, step, env, err);

        if (rc != 0 && step != 0)
            return cfr_err_prefix(err, "then_assume step %u", step);
        if (rc != 0)
            return rc;
    }
    return 0;
}

static int set_url(const struct cfr_aws_endpoint *e, struct cfr_sts_request *out, struct cfr_err *err)
{
    struct cfr_str url = {.limit = (size_t)3 * CFR_AWS_ENDPOINT_MAX};

    cfr_str_addf(&url, "%s://%s%s", e->tls ? "https" : "http", e->host, e->path);
    if (url.failed) {
        cfr_str_free(&url);
        return cfr_err_set(err, CFR_E_NOMEM, "out of memory");
    }
    out->url = url.p;
    return 0;
}

static int set_headers(const struct cfr_sts_aws *c, struct cfr_sts_request *out, struct cfr_err *err)
{
    int rc = cfr_sts_request_header(out, "Content-Type", cfr_view_of(CONTENT_TYPE), err);

    return rc != 0 ? rc
                   : cfr_sts_request_header(
                         out, "Accept",
                         cfr_view_of(c->accept == CFR_STS_AWS_JSON ? "application/json" : "text/xml"), err);
}

/* Signs with the keys that the step before was granted. */
static int set_signature(const struct cfr_sts_exchange *x, const struct cfr_sts_input *in,
                         const struct cfr_aws_endpoint *e, struct cfr_sts_request *out, struct cfr_err *err)
{
    struct cfr_sigv4_request r = {
        .method = out->method,
        .path = e->path,
        .host = e->host,
        .content_type = CONTENT_TYPE,
        .body = cfr_secret_view(&out->body),
        .region = e->region,
        .service = "sts",
        .access_key_id = cfr_grant_get(&x->grant, CFR_FIELD_AWS_ACCESS_KEY_ID),
        .secret_access_key = cfr_grant_get(&x->grant, CFR_FIELD_AWS_SECRET_ACCESS_KEY),
        .session_token = cfr_grant_get(&x->grant, CFR_FIELD_AWS_SESSION_TOKEN),
        .now_s = in->now_s,
    };
    char date[CFR_SIGV4_DATE_MAX];
    struct cfr_secret authorization;
    int rc;

    if (r.access_key_id.n == 0 || r.secret_access_key.n == 0 || r.region[0] == '\0')
        return cfr_err_set(err, CFR_E_INTERNAL, "step %u cannot be signed: no keys or no region", x->step);
    cfr_secret_init(&authorization, 1024);
    rc = cfr_sigv4_sign(&r, date, &authorization, err);
    if (rc == 0)
        rc = cfr_sts_request_header(out, "X-Amz-Date", cfr_view_of(date), err);
    if (rc == 0)
        rc = cfr_sts_request_header(out, "X-Amz-Security-Token", r.session_token, err);
    if (rc == 0)
        rc = cfr_sts_request_header(out, "Authorization", cfr_secret_view(&authorization), err);
    cfr_secret_free(&authorization);
    return rc;
}

static int set_body(const struct cfr_sts_exchange *x, const struct cfr_sts_input *in,
                    struct cfr_sts_request *out, struct cfr_err *err)
{
    const struct cfr_sts_aws *c = x->config;
    const struct cfr_sts_aws_step *s = x->step == 0 ? NULL : cfr_sts_aws_step_at(c, x->step - 1);
    char buf[CFR_AWS_SESSION_NAME_MAX + 1];
    const char *name =
        cfr_aws_params_session_name(s != NULL && s->session_name != NULL ? s->session_name : c->session_name,
                                    in->subject, in->credential, buf);

    cfr_secret_init(&out->body, CFR_STS_BODY_MAX);
    return s != NULL ? cfr_aws_params_assume_role(s, name, &out->body, err)
                     : cfr_aws_params_web_identity(c, name, in->token, &out->body, err);
}

static int build(const struct cfr_sts_exchange *x, const struct cfr_sts_input *in,
                 struct cfr_sts_request *out, struct cfr_err *err)
{
    const struct cfr_sts_aws *c = x->config;
    struct cfr_aws_endpoint endpoint;
    int rc;

    if (x->step > c->then_assume.count)
        return cfr_err_set(err, CFR_E_INTERNAL, "there is no step %u", x->step);
    rc = cfr_aws_place_resolve(c, x->step, in->env, &endpoint, err);
    out->method = "POST";
    out->ca_file = c->ca_file;
    if (rc == 0)
        rc = set_url(&endpoint, out, err);
    if (rc == 0)
        rc = set_headers(c, out, err);
    if (rc == 0)
        rc = set_body(x, in, out, err);
    if (rc == 0 && x->step != 0)
        rc = set_signature(x, in, &endpoint, out, err);
    return rc;
}

static int refuse(const struct cfr_sts_exchange *x, const struct cfr_sts_input *in,
                  const struct cfr_sts_reply *reply, const struct cfr_aws_answer *answer, struct cfr_err *err)
{
    const struct cfr_view secrets[] = {
        in->token,
        cfr_grant_get(&x->grant, CFR_FIELD_AWS_SECRET_ACCESS_KEY),
        cfr_grant_get(&x->grant, CFR_FIELD_AWS_SESSION_TOKEN),
        cfr_aws_answer_get(answer, CFR_AWS_SECRET),
        cfr_aws_answer_get(answer, CFR_AWS_SESSION_TOKEN),
    };
    const struct cfr_aws_refusal r = {
        .status = reply->status,
        .answer = answer,
        .request_id = reply->request_id,
        .who = x->step == 0 ? in->subject : cfr_view_of(x->grant.identity),
        .chained = x->step != 0,
        .secrets = secrets,
        .secret_count = sizeof secrets / sizeof secrets[0],
    };

    return cfr_aws_error_set(&r, err);
}

static int take_grant(struct cfr_sts_exchange *x, const struct cfr_sts_input *in,
                      const struct cfr_aws_answer *answer, struct cfr_err *err)
{
    const struct cfr_sts_aws *c = x->config;
    const char *role = x->step == 0 ? c->role_arn : cfr_sts_aws_step_at(c, x->step - 1)->role_arn;
    char region[CFR_AWS_REGION_MAX];
    struct cfr_grant fresh = {0};
    int rc = cfr_aws_answer_grant(answer, role, &fresh, err);

    if (rc == 0 && cfr_aws_place_region(c, in->env, region)[0] != '\0')
        rc = cfr_grant_set(&fresh, CFR_FIELD_AWS_REGION, cfr_view_of(region), err);
    if (rc != 0) {
        cfr_grant_free(&fresh);
        return rc;
    }
    cfr_grant_move(&x->grant, &fresh);
    if (x->step == c->then_assume.count)
        return CFR_STS_DONE;
    x->step++;
    return CFR_STS_MORE;
}

static int parse(struct cfr_sts_exchange *x, const struct cfr_sts_input *in,
                 const struct cfr_sts_reply *reply, struct cfr_err *err)
{
    const struct cfr_sts_aws *c = x->config;
    struct cfr_aws_answer answer;
    int rc;

    if (x->step > c->then_assume.count)
        return cfr_err_set(err, CFR_E_INTERNAL, "there is no step %u", x->step);
    rc = cfr_aws_answer_read(operation(x->step), reply->content_type, reply->body, &answer, err);
    /* What came with an error status decides by its status alone if it cannot be read: a page from a proxy,
     * say. */
    if (rc != CFR_E_NOMEM && (reply->status != 200 || cfr_aws_answer_get(&answer, CFR_AWS_CODE).n != 0))
        rc = refuse(x, in, reply, &answer, err);
    else if (rc == 0)
        rc = take_grant(x, in, &answer, err);
    cfr_aws_answer_free(&answer);
    return rc;
}

const struct cfr_sts_provider cfr_sts_aws_provider = {
    .name = "aws",
    .table = &cfr_sts_aws_table,
    .consumer_window_ms = CONSUMER_WINDOW_MS,
    .check = check,
    .build = build,
    .parse = parse,
};
