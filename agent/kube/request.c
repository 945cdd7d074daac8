/* SPDX-License-Identifier: MIT */
/* Requests to API servers: headers, sending, waiting for an exec plugin, and the retry after a 401. */
#include "agent/kube/client_private.h"
#include "agent/loop/process.h"
#include "base/base64.h"
#include "base/redact.h"
#include "base/str.h"

#include <stdlib.h>
#include <string.h>

#define ANSWER_MAX  262144 /* unless the request says more */
#define TIMEOUT_MS  30000
#define HEADERS_OWN 3 /* Accept, Content-Type, Authorization */
#define HEADER_MAX  262144
#define URL_MAX     65536
#define SECRETS_MAX 2

struct cfr_kube_call {
    struct cfr_kube_call *prev;
    struct cfr_kube_call *next;
    struct cfr_kube *kube;
    struct cfr_kube_context *context;
    char *method;
    char *path;
    char *content_type;
    const struct cfr_secret *body;
    size_t answer_max;
    const char *accept;
    cfr_http_part_fn *part;
    int64_t timeout_ms;
    cfr_kube_fn *done;
    void *ctx;
    void *http;
    uint64_t waits_for;       /* run of the context's plugin, 0 = none */
    uint64_t sent_credential; /* number of the plugin's credential that was sent */
    bool retried;
    bool ended; /* DONE is being called */
    double duration_s;
    struct cfr_secret secrets[SECRETS_MAX]; /* as sent: the token; or the password, bare and encoded */
};

static void free_call(struct cfr_kube_call *c)
{
    for (size_t i = 0; i < SECRETS_MAX; i++)
        cfr_secret_free(&c->secrets[i]);
    free(c->method);
    free(c->path);
    free(c->content_type);
    free(c);
}

static void link_call(struct cfr_kube_call *c)
{
    c->next = c->kube->calls;
    if (c->next != NULL)
        c->next->prev = c;
    c->kube->calls = c;
    c->context->calls++;
}

static void unlink_call(struct cfr_kube_call *c)
{
    if (c->prev != NULL)
        c->prev->next = c->next;
    else
        c->kube->calls = c->next;
    if (c->next != NULL)
        c->next->prev = c->prev;
    c->context->calls--;
}

/* ---- sending ---- */

static int start_header(struct cfr_secret *h, const char *name, struct cfr_view value, struct cfr_err *err)
{
    int rc;

    cfr_secret_init(h, HEADER_MAX);
    rc = cfr_secret_append_str(h, name, err);
    return rc == 0 ? cfr_secret_append(h, value, err) : rc;
}

static int store_secrets(struct cfr_kube_call *c, const struct cfr_kube_identity *id, struct cfr_err *err)
{
    ptrdiff_t colon = cfr_view_find(id->basic, ":");
    int rc;

    for (size_t i = 0; i < SECRETS_MAX; i++) {
        cfr_secret_free(&c->secrets[i]);
        cfr_secret_init(&c->secrets[i], HEADER_MAX);
    }
    c->sent_credential = c->context->plugin.number;
    if (id->token.n != 0)
        return cfr_secret_append(&c->secrets[0], id->token, err);
    if (colon < 0)
        return 0;
    rc = cfr_secret_append(&c->secrets[0], (struct cfr_view){id->basic.p + colon + 1, id->basic.n - (size_t)colon - 1},
                           err);
    return rc == 0 ? cfr_base64_encode(id->basic, &c->secrets[1], err) : rc;
}

static int make_headers(const struct cfr_kube_call *c, const struct cfr_kube_identity *id, struct cfr_secret *headers,
                        size_t *count, struct cfr_err *err)
{
    const struct cfr_kube_config *config = &c->context->config;
    int rc = start_header(&headers[(*count)++], "Accept: ", cfr_view_of(c->accept), err);

    if (rc == 0 && c->content_type != NULL)
        rc = start_header(&headers[(*count)++], "Content-Type: ", cfr_view_of(c->content_type), err);
    if (rc == 0 && id->token.n != 0)
        rc = start_header(&headers[(*count)++], "Authorization: Bearer ", id->token, err);
    else if (rc == 0 && id->basic.n != 0)
        rc = start_header(&headers[(*count)++], "Authorization: Basic ", cfr_secret_view(&c->secrets[1]), err);
    for (size_t i = 0; rc == 0 && i < config->header_count; i++)
        rc = start_header(&headers[(*count)++], "", cfr_secret_view(&config->headers[i]), err);
    return rc;
}

static void on_answer(void *ctx, const struct cfr_http_answer *answer);

static size_t on_part(void *ctx, struct cfr_view bytes)
{
    struct cfr_kube_call *c = ctx;

    /* A watch may last for minutes. */
    cfr_kube_note_answer(c->kube, c->context, 0, 200);
    return c->part(c->ctx, bytes);
}

static int start_http(struct cfr_kube_call *c, const struct cfr_kube_identity *id, const char *url,
                      const struct cfr_secret *headers, size_t count, struct cfr_err *err)
{
    const struct cfr_kube_config *config = &c->context->config;
    struct cfr_http_request r = {
        .method = c->method,
        .url = url,
        .ca_pem = id->ca,
        .client_cert = id->cert,
        .client_key = id->key,
        .server_name = config->server_name,
        .proxy = config->proxy.len != 0 ? config->proxy.p : NULL,
        .direct = config->proxy.len == 0,
        .headers = headers,
        .header_count = count,
        .body = c->body,
        .answer_max = c->answer_max,
        .part = c->part != NULL ? on_part : NULL,
        .timeout_ms = c->timeout_ms,
    };

    return cfr_http_start(c->kube->http, &r, on_answer, c, &c->http, err);
}

static int send_now(struct cfr_kube_call *c, struct cfr_err *err)
{
    struct cfr_kube_identity id = cfr_kube_context_identity(c->context);
    struct cfr_str url = {.limit = URL_MAX};
    struct cfr_secret *headers = calloc(HEADERS_OWN + c->context->config.header_count, sizeof *headers);
    size_t count = 0;
    int rc;

    cfr_str_addf(&url, "%s%s", c->context->config.server, c->path);
    if (headers == NULL || url.failed)
        rc = cfr_err_nomem(err);
    else
        rc = store_secrets(c, &id, err);
    if (rc == 0)
        rc = make_headers(c, &id, headers, &count, err);
    if (rc == 0)
        rc = start_http(c, &id, url.p, headers, count, err);
    for (size_t i = 0; i < count; i++)
        cfr_secret_free(&headers[i]);
    free(headers);
    cfr_str_free(&url);
    return rc;
}

static void on_plugin(struct cfr_task *task);

static int start_plugin(struct cfr_kube_context *p, struct cfr_now now, struct cfr_err *err)
{
    int rc = cfr_kube_exec_plugin_start(&p->plugin, &p->config, cfr_kube_context_identity(p).ca, err);

    if (rc != 0)
        return rc;
    p->plugin_task.run = on_plugin;
    cfr_loop_at(&p->plugin_task, now.boot_ms + p->kube->plugin_limit_ms);
    cfr_loop_child(&p->plugin_child, p->plugin.pid, &p->plugin_task);
    return 0;
}

/* Waits for the plugin's run, which is started unless one is under way. */
static int wait_for_plugin(struct cfr_kube_call *c, struct cfr_now now, struct cfr_err *err)
{
    struct cfr_kube_context *p = c->context;
    int rc = 0;

    if (p->plugin.pid == 0)
        rc = start_plugin(p, now, err);
    if (rc == 0)
        c->waits_for = p->plugin.run;
    return rc == 0 ? 0 : cfr_err_prefix(err, "%s", p->kubeconfig);
}

static int refresh_and_send(struct cfr_kube_call *c, bool force, struct cfr_err *err)
{
    struct cfr_now now = cfr_clock_now();
    int rc = cfr_kube_refresh(c->kube, c->context, force, now, err);

    if (rc != 0)
        return rc;
    if (c->context->config.plugin != NULL && !cfr_kube_exec_plugin_fresh(&c->context->plugin, now))
        return wait_for_plugin(c, now, err);
    return send_now(c, err);
}

/* ---- answers ---- */

static void finish(struct cfr_kube_call *c, const struct cfr_kube_answer *answer, struct cfr_view warnings)
{
    struct cfr_view secrets[SECRETS_MAX];
    struct cfr_kube_answer whole = *answer;
    char warning[CFR_REDACT_MAX];

    whole.secrets = secrets;
    for (size_t i = 0; i < SECRETS_MAX; i++) {
        if (c->secrets[i].len != 0)
            secrets[whole.secret_count++] = cfr_secret_view(&c->secrets[i]);
    }
    whole.warning = cfr_redact(warnings, secrets, whole.secret_count, warning);
    whole.duration_s = c->duration_s;
    c->ended = true;
    cfr_kube_note_answer(c->kube, c->context, answer->error, answer->status);
    unlink_call(c);
    c->done(c->ctx, &whole);
    free_call(c);
}

static void finish_with_error(struct cfr_kube_call *c, int rc, const struct cfr_err *why)
{
    struct cfr_kube_answer answer = {.error = rc, .err = *why, .retry_after_s = -1};

    finish(c, &answer, (struct cfr_view){NULL, 0});
}

/* Reads the identity again and repeats the request once. */
static void send_again(struct cfr_kube_call *c)
{
    struct cfr_err err = {0};
    int rc;

    c->retried = true;
    /* Another call may have done it already. */
    if (c->sent_credential == c->context->plugin.number)
        c->context->plugin.usable = false;
    rc = refresh_and_send(c, true, &err);
    if (rc == 0)
        return;
    (void)cfr_err_prefix(&err, "the API server no longer accepts our identity (401)");
    finish_with_error(c, rc, &err);
}

static void on_answer(void *ctx, const struct cfr_http_answer *a)
{
    struct cfr_kube_call *c = ctx;
    struct cfr_kube_answer answer = {
        .error = a->error,
        .err = a->err,
        .status = a->status,
        .body = a->body,
        .retry_after_s = a->retry_after_s,
        .date_s = a->date_s,
        .renewed = a->renewed,
        .audit_id = a->request_id,
    };

    c->http = NULL;
    c->duration_s += a->duration_s;
    if (a->error == 0 && a->status == 401 && !c->retried)
        send_again(c);
    else
        finish(c, &answer, a->warning);
}

/* The first that waits for this run; the list may change whenever DONE is called. */
static struct cfr_kube_call *next_waiting(const struct cfr_kube *k, const struct cfr_kube_context *p, uint64_t run)
{
    for (struct cfr_kube_call *c = k->calls; c != NULL; c = c->next) {
        /* NOLINTNEXTLINE(clang-analyzer-unix.Malloc): what is destroyed has left the list before */
        if (c->context == p && c->waits_for == run)
            return c;
    }
    return NULL;
}

/* P's plugin has ended, or its time is over: the calls that wait for its run continue or fail. */
static void on_plugin(struct cfr_task *task)
{
    struct cfr_kube_context *p = CFR_TASK_OWNER(task, struct cfr_kube_context, plugin_task);
    struct cfr_kube_exec_plugin *l = &p->plugin;
    struct cfr_kube_call *c;
    struct cfr_err why = {0};
    uint64_t run = l->run;
    int rc;

    cfr_loop_child_off(&p->plugin_child);
    rc = cfr_process_has_ended(l->pid) ? cfr_kube_exec_plugin_ended(l, &why) : cfr_kube_exec_plugin_overdue(l, &why);
    if (rc != 0)
        (void)cfr_err_prefix(&why, "%s", p->kubeconfig);
    while ((c = next_waiting(p->kube, p, run)) != NULL) {
        struct cfr_err err = why;
        int sent = rc;

        c->waits_for = 0;
        if (sent == 0)
            sent = send_now(c, &err);
        if (sent != 0)
            finish_with_error(c, sent, &err);
    }
}

/* ---- the calls ---- */

static int check_request(const struct cfr_kube_request *r, struct cfr_err *err)
{
    if (r->path[0] != '/' || strpbrk(r->path, " \t\r\n#") != NULL)
        return cfr_err_set(err, CFR_E_INTERNAL, "not a path of the API: %.128s", r->path);
    return 0;
}

static int copy_request(struct cfr_kube_call *c, const struct cfr_kube_request *r, struct cfr_err *err)
{
    c->method = cfr_str_dup(cfr_view_of(r->method));
    c->path = cfr_str_dup(cfr_view_of(r->path));
    c->content_type = r->content_type != NULL ? cfr_str_dup(cfr_view_of(r->content_type)) : NULL;
    c->body = r->body;
    c->answer_max = r->answer_max != 0 ? r->answer_max : ANSWER_MAX;
    c->accept = r->accept != NULL ? r->accept : "application/json";
    c->part = r->part;
    c->timeout_ms = r->timeout_ms != 0 ? r->timeout_ms : TIMEOUT_MS;
    if (c->method == NULL || c->path == NULL || (r->content_type != NULL && c->content_type == NULL))
        return cfr_err_nomem(err);
    return 0;
}

int cfr_kube_start(struct cfr_kube *k, const struct cfr_kube_where *where, const struct cfr_kube_request *request,
                   cfr_kube_fn *done, void *ctx, struct cfr_kube_call **out, struct cfr_err *err)
{
    struct cfr_err own = {0};
    struct cfr_kube_call *c = calloc(1, sizeof *c);
    int rc = check_request(request, &own);

    if (c == NULL)
        return cfr_err_nomem(err);
    c->kube = k;
    c->done = done;
    c->ctx = ctx;
    if (rc == 0)
        rc = copy_request(c, request, &own);
    if (rc == 0) {
        c->context = cfr_kube_context_of(k, where, cfr_clock_now(), &own);
        rc = c->context != NULL ? refresh_and_send(c, false, &own) : CFR_E_NOMEM;
    }
    if (rc != 0) {
        free_call(c);
        return cfr_err_set(err, rc, "%s", own.text);
    }
    link_call(c);
    if (out != NULL)
        *out = c;
    return 0;
}

void cfr_kube_cancel(struct cfr_kube_call *c)
{
    if (c == NULL || c->ended)
        return;
    cfr_http_cancel(c->kube->http, c->http);
    unlink_call(c);
    free_call(c);
}
