/* SPDX-License-Identifier: MIT */
/* Requests to the cloud whose keys are rotated. */
#include "agent/rotation/rotator_private.h"

#include "sts/aws/endpoint.h"
#include "wire/sigv4.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define REQUEST_TIMEOUT_MS 30000
#define AUTHORIZATION_MAX  1024

static void on_answer(void *ctx, const struct cfr_http_answer *answer);

static struct cfr_rotation_ask ask_of(const struct cfr_rotator *m, const struct cfr_grant *admin)
{
    return (struct cfr_rotation_ask){
        .op = m->call.op,
        .id = m->call.id,
        .name = m->r.journal.name,
        .now_s = cfr_clock_now().wall_ms / 1000,
        .admin = admin,
        .fresh = &m->seal.grant,
        .place = m->call.place,
    };
}

/* Who may do it. */
static int find_admin(const struct cfr_rotator *m, const struct cfr_grant **out, struct cfr_err *err)
{
    const char *name = m->config->mint->with;
    struct cfr_offer offer = {.why = "it is not there"};

    *out = NULL;
    if (m->call.op == CFR_ROTATION_VERIFY)
        return 0;
    if (m->world.offer(m->world.offer_ctx, name, &offer) && offer.grant != NULL) {
        *out = offer.grant;
        return 0;
    }
    return cfr_err_set(err, CFR_E_UNAVAILABLE, "the credential %s, which is to do it, has nothing to offer yet: %s",
                       name, offer.why != NULL ? offer.why : "try again in a moment");
}

/* ---- signing ---- */

static int add_signature(struct cfr_rotation_request *r, const struct cfr_aws_endpoint *at,
                         struct cfr_secret *authorization, struct cfr_err *err)
{
    struct cfr_sigv4_request sign = {
        .method = r->method,
        .path = at->path,
        .host = at->host,
        .content_type = r->content_type,
        .body = cfr_secret_view(&r->body),
        .region = r->sign_region,
        .service = r->sign_service,
        .access_key_id = r->sign_id,
        .secret_access_key = r->sign_secret,
        .session_token = r->sign_session,
        .now_s = cfr_clock_now().wall_ms / 1000,
    };
    char date[CFR_SIGV4_DATE_MAX];
    int rc = cfr_sigv4_sign(&sign, date, authorization, err);

    rc = rc != 0 ? rc : cfr_rotation_request_header(r, "X-Amz-Date", cfr_view_of(date), err);
    if (rc == 0 && r->sign_session.n != 0)
        rc = cfr_rotation_request_header(r, "X-Amz-Security-Token", r->sign_session, err);
    return rc != 0 ? rc : cfr_rotation_request_header(r, "Authorization", cfr_secret_view(authorization), err);
}

static int sign(struct cfr_rotation_request *r, struct cfr_err *err)
{
    struct cfr_aws_endpoint at;
    struct cfr_secret authorization;
    char url[2 * CFR_AWS_ENDPOINT_MAX + 16];
    int rc = cfr_aws_endpoint_parse(r->url, &at, err);

    if (rc != 0)
        return cfr_err_prefix(err, "the endpoint %.100s", r->url);
    /* As it is signed. */
    (void)snprintf(url, sizeof url, "%s://%s%s", at.tls ? "https" : "http", at.host, at.path);
    free(r->url);
    r->url = strdup(url);
    if (r->url == NULL)
        return cfr_err_set(err, CFR_E_NOMEM, "out of memory");
    cfr_secret_init(&authorization, AUTHORIZATION_MAX);
    rc = add_signature(r, &at, &authorization, err);
    cfr_secret_free(&authorization);
    return rc;
}

/* ---- sending ---- */

static int build(struct cfr_rotator *m, struct cfr_err *err)
{
    struct cfr_rotation_request *r = &m->call.request;
    const struct cfr_grant *admin;
    struct cfr_rotation_ask ask;
    int rc = find_admin(m, &admin, err);

    cfr_rotation_request_free(r);
    if (rc != 0)
        return rc;
    ask = ask_of(m, admin);
    rc = m->provider->build(m->provider_config, &ask, m->call.answer.next, r, err);
    if (rc == 0 && r->content_type != NULL)
        rc = cfr_rotation_request_header(r, "Content-Type", cfr_view_of(r->content_type), err);
    if (rc == 0 && r->sign_service != NULL)
        rc = sign(r, err);
    return rc;
}

static int send_request(struct cfr_rotator *m, struct cfr_err *err)
{
    struct cfr_rotation_request *r = &m->call.request;
    struct cfr_http_request http = {.answer_max = CFR_ROTATION_ANSWER_MAX, .timeout_ms = REQUEST_TIMEOUT_MS};
    int rc = build(m, err);

    if (rc != 0)
        return rc;
    http.method = r->method;
    http.url = r->url;
    http.ca_file = r->ca_file;
    http.headers = r->headers;
    http.header_count = r->header_count;
    http.body = &r->body;
    /* Another key would be made, of which nobody hears. */
    http.once = m->call.op == CFR_ROTATION_CREATE;
    return cfr_http_start(m->world.http, &http, on_answer, m, &m->call.handle, err);
}

static void on_tried(void *ctx, struct cfr_source_exchange_result *result)
{
    struct cfr_rotator *m = ctx;
    struct cfr_rotator_outcome o = {.rc = result->rc, .err = result->err, .retry_after_s = result->retry_after_s};

    m->call.trial = NULL;
    m->duration_s += result->duration_s;
    cfr_rotator_on_outcome(m, &o);
}

static int try_key(struct cfr_rotator *m, struct cfr_err *err)
{
    struct cfr_rotation_ask ask = ask_of(m, NULL);
    struct cfr_rotation_trial what = {.provider = NULL};
    int rc = m->provider->trial(m->provider_config, &ask, &what, err);

    return rc != 0 ? rc : cfr_rotator_verify_start(m->world.http, m->config, &what, on_tried, m, &m->call.trial, err);
}

int cfr_rotator_call(struct cfr_rotator *m, enum cfr_rotation_op op, const char *id, struct cfr_err *err)
{
    int rc;

    cfr_rotator_hang_up(m);
    m->call.op = op;
    m->call.place = 0;
    m->call.pages = 0;
    (void)snprintf(m->call.id, sizeof m->call.id, "%s", id != NULL ? id : "");
    rc = op == CFR_ROTATION_VERIFY && m->provider->trial != NULL ? try_key(m, err) : send_request(m, err);
    if (rc != 0)
        cfr_rotator_hang_up(m);
    return rc;
}

bool cfr_rotator_is_calling(const struct cfr_rotator *m)
{
    return m->call.handle != NULL || m->call.trial != NULL;
}

void cfr_rotator_hang_up(struct cfr_rotator *m)
{
    cfr_rotator_verify_cancel(m->call.trial);
    m->call.trial = NULL;
    cfr_http_cancel(m->world.http, m->call.handle);
    m->call.handle = NULL;
    cfr_rotation_request_free(&m->call.request);
    cfr_rotation_answer_free(&m->call.answer);
}

/* ---- answers ---- */

/* True if another request is wanted before there is an outcome: the next page, or the next place. */
static bool wants_more(struct cfr_rotator *m)
{
    if (m->call.op == CFR_ROTATION_LIST)
        return m->call.answer.next[0] != '\0';
    return m->call.op == CFR_ROTATION_VERIFY && ++m->call.place < m->provider->places(m->provider_config);
}

static int read_answer(struct cfr_rotator *m, const struct cfr_http_answer *answer, struct cfr_err *err)
{
    struct cfr_rotation_reply reply = {.status = answer->status,
                                       .content_type = answer->content_type,
                                       .body = answer->body,
                                       .request_id = answer->request_id};
    static const struct cfr_grant nobody;
    const struct cfr_grant *admin = NULL;
    struct cfr_rotation_ask ask;
    int rc;

    if (answer->error != 0) {
        *err = answer->err;
        return answer->error;
    }
    /* Only for what its answer must not repeat: it may have gone meanwhile. */
    (void)find_admin(m, &admin, NULL);
    ask = ask_of(m, admin != NULL ? admin : &nobody);
    rc = m->provider->parse(m->provider_config, &ask, &reply, &m->call.answer, err);
    if (rc == 0 && m->call.answer.next[0] != '\0' && ++m->call.pages == CFR_ROTATION_KEYS_MAX)
        return cfr_err_set(err, CFR_E_ANSWER, "the list of keys has no end: %d pages, and there are more",
                           CFR_ROTATION_KEYS_MAX);
    return rc;
}

static void on_answer(void *ctx, const struct cfr_http_answer *answer)
{
    struct cfr_rotator *m = ctx;
    struct cfr_rotator_outcome o = {.status = answer->error == 0 ? answer->status : 0,
                                    .retry_after_s = answer->retry_after_s};

    m->call.handle = NULL;
    m->duration_s += answer->duration_s;
    o.rc = read_answer(m, answer, &o.err);
    if (o.rc == 0 && wants_more(m)) {
        o.rc = send_request(m, &o.err);
        if (o.rc == 0)
            return;
    }
    cfr_rotator_on_outcome(m, &o);
}
