/* SPDX-License-Identifier: MIT */
/* A POST to a service of AWS. */
#include "sts/aws/request_private.h"

#include "base/str.h"
#include "wire/sigv4.h"

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

static int set_signature(const struct cfr_aws_request *p, struct cfr_sts_request *out, struct cfr_err *err)
{
    struct cfr_sigv4_request r = {
        .method = out->method,
        .path = p->endpoint->path,
        .host = p->endpoint->host,
        .content_type = p->content_type,
        .body = cfr_secret_view(&out->body),
        .region = p->endpoint->region,
        .service = p->service,
        .access_key_id = p->keys->id,
        .secret_access_key = p->keys->secret,
        .session_token = p->keys->session_token,
        .now_s = p->now_s,
    };
    char date[CFR_SIGV4_DATE_MAX];
    struct cfr_secret authorization;
    int rc;

    if (r.access_key_id.n == 0 || r.secret_access_key.n == 0 || r.region[0] == '\0')
        return cfr_err_set(err, CFR_E_INTERNAL, "a request to %s cannot be signed: no keys or no region", p->service);
    if (p->target != NULL)
        r.headers[0] = (struct cfr_sigv4_header){"x-amz-target", p->target};
    cfr_secret_init(&authorization, 1024);
    rc = cfr_sigv4_sign(&r, date, &authorization, err);
    if (rc == 0)
        rc = cfr_sts_request_header(out, "X-Amz-Date", cfr_view_of(date), err);
    if (rc == 0 && r.session_token.n != 0)
        rc = cfr_sts_request_header(out, "X-Amz-Security-Token", r.session_token, err);
    if (rc == 0)
        rc = cfr_sts_request_header(out, "Authorization", cfr_secret_view(&authorization), err);
    cfr_secret_free(&authorization);
    return rc;
}

int cfr_aws_request_build(const struct cfr_aws_request *p, struct cfr_sts_request *out, struct cfr_err *err)
{
    int rc = set_url(p->endpoint, out, err);

    out->method = "POST";
    if (rc == 0)
        rc = cfr_sts_request_header(out, "Content-Type", cfr_view_of(p->content_type), err);
    if (rc == 0 && p->accept != NULL)
        rc = cfr_sts_request_header(out, "Accept", cfr_view_of(p->accept), err);
    if (rc == 0 && p->target != NULL)
        rc = cfr_sts_request_header(out, "X-Amz-Target", cfr_view_of(p->target), err);
    return rc != 0 || p->keys == NULL ? rc : set_signature(p, out, err);
}
