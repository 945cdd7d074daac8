/* SPDX-License-Identifier: MIT */
/* One exchange under way. */
#include "agent/exchange.h"

#include "agent/clock.h"
#include "base/str.h"

#include <stdlib.h>

#define REQUEST_TIMEOUT_MS 30000
#define STEPS_MAX 8

struct cfr_exchange {
    struct cfr_http *http;
    const struct cfr_config_credential *credential;
    struct cfr_sts_exchange x;
    struct cfr_sts_request request;
    struct cfr_secret token;
    char *subject;
    void *handle;
    double duration_s;
    cfr_exchange_fn *done;
    void *ctx;
};

static const char *environment(const char *name)
{
    return getenv(name);
}

static void destroy(struct cfr_exchange *e)
{
    cfr_sts_exchange_free(&e->x);
    cfr_sts_request_free(&e->request);
    cfr_secret_free(&e->token);
    free(e->subject);
    free(e);
}

static struct cfr_sts_input input_of(const struct cfr_exchange *e)
{
    return (struct cfr_sts_input){
        .credential = e->credential->name,
        .token = cfr_secret_view(&e->token),
        .subject = cfr_view_of(e->subject),
        .now_s = cfr_clock_now().wall_ms / 1000,
        .env = environment,
    };
}

static void on_answer(void *ctx, const struct cfr_http_answer *answer);

static int send_step(struct cfr_exchange *e, struct cfr_err *err)
{
    struct cfr_sts_input in = input_of(e);
    struct cfr_http_request http = {
        .answer_max = CFR_STS_ANSWER_MAX,
        .timeout_ms = REQUEST_TIMEOUT_MS,
    };
    int rc;

    cfr_sts_request_free(&e->request);
    rc = e->x.provider->build(&e->x, &in, &e->request, err);
    if (rc != 0)
        return rc;
    http.method = e->request.method;
    http.url = e->request.url;
    http.ca_file = e->request.ca_file;
    http.headers = e->request.headers;
    http.header_count = e->request.header_count;
    http.body = &e->request.body;
    return cfr_http_start(e->http, &http, on_answer, e, &e->handle, err);
}

static void finish(struct cfr_exchange *e, struct cfr_exchange_result *result)
{
    e->handle = NULL;
    result->grant = &e->x.grant;
    result->duration_s = e->duration_s;
    e->done(e->ctx, result);
    destroy(e);
}

static int read_answer(struct cfr_exchange *e, const struct cfr_http_answer *answer, struct cfr_err *err)
{
    struct cfr_sts_input in = input_of(e);
    struct cfr_sts_reply reply = {answer->status, answer->content_type, answer->body, answer->request_id, answer->header};
    int rc;

    if (answer->error != 0) {
        *err = answer->err;
        return answer->error;
    }
    rc = e->x.provider->parse(&e->x, &in, &reply, err);
    if (rc == CFR_STS_MORE && e->x.step >= STEPS_MAX)
        return cfr_err_set(err, CFR_E_INTERNAL, "the exchange takes more than %d requests", STEPS_MAX);
    /* A consumer may read both, and they belong together. */
    if (rc == CFR_STS_DONE)
        rc = cfr_grant_set(&e->x.grant, CFR_FIELD_TOKEN, cfr_secret_view(&e->token), err);
    return rc;
}

static void on_answer(void *ctx, const struct cfr_http_answer *answer)
{
    struct cfr_exchange *e = ctx;
    struct cfr_exchange_result result = {
        .retry_after_s = answer->retry_after_s,
        .server_date_s = answer->date_s,
    };

    e->handle = NULL;
    e->duration_s += answer->duration_s;
    result.rc = read_answer(e, answer, &result.err);
    if (result.rc == CFR_STS_MORE) {
        result.rc = send_step(e, &result.err);
        if (result.rc == 0)
            return;
    }
    finish(e, &result);
}

int cfr_exchange_start(struct cfr_http *http, const struct cfr_config_credential *credential,
                       struct cfr_secret *token, struct cfr_view subject, cfr_exchange_fn *done, void *ctx,
                       struct cfr_exchange **out, struct cfr_err *err)
{
    struct cfr_exchange *e = calloc(1, sizeof *e);
    int rc;

    if (e == NULL)
        return cfr_err_set(err, CFR_E_NOMEM, "out of memory");
    e->http = http;
    e->credential = credential;
    e->done = done;
    e->ctx = ctx;
    e->x.provider = cfr_config_provider(credential, &e->x.config);
    cfr_secret_move(&e->token, token);
    e->subject = cfr_str_dup(subject);
    rc = e->subject == NULL ? cfr_err_set(err, CFR_E_NOMEM, "out of memory") : send_step(e, err);
    if (rc != 0) {
        destroy(e);
        return rc;
    }
    *out = e;
    return 0;
}

void cfr_exchange_cancel(struct cfr_exchange *e)
{
    if (e->handle != NULL)
        cfr_http_cancel(e->http, e->handle);
    destroy(e);
}

void cfr_exchange_rebind(struct cfr_exchange *e, const struct cfr_config_credential *credential)
{
    e->credential = credential;
    e->x.provider = cfr_config_provider(credential, &e->x.config);
}
