/* SPDX-License-Identifier: MIT */
/* One try: look at the token, wait for a turn, exchange. */
#include "agent/worker_inside.h"

#include "agent/publish.h"
#include "base/log.h"
#include "base/time.h"

void cfr_worker_read_token(const struct cfr_worker *w, struct reading *r)
{
    r->err = (struct cfr_err){0};
    r->rc = cfr_token_file_read(w->config->token, cfr_clock_now().wall_ms, &r->token, &r->wait_ms, &r->err);
}

static void note_token(struct cfr_worker *w, const struct cfr_token_file *t, struct cfr_now now)
{
    int64_t overdue_ms = cfr_token_file_overdue_ms(t->issued_s, t->expires_s);

    if (t->mark != 0 && t->mark != w->token.mark && w->token.overdue)
        cfr_log(CFR_LOG_INFO, w->config->name, cfr_worker_state_name(w), "the token file was renewed at last");
    w->token.issued_s = t->issued_s;
    w->token.expires_s = t->expires_s;
    /* A token known from an earlier run has no deadline yet. */
    if (t->mark != 0 && (t->mark != w->token.mark || w->token.overdue_boot_ms == INT64_MAX)) {
        w->token.mark = t->mark;
        w->token.overdue = false;
        w->token.overdue_boot_ms = overdue_ms == INT64_MAX ? INT64_MAX : now.boot_ms + overdue_ms - now.wall_ms;
    }
}

static void token_refused(struct cfr_worker *w, const struct cfr_err *err, int64_t wait_ms)
{
    struct cfr_now now = cfr_clock_now();
    int64_t delay_ms = cfr_credential_failed(&w->c, now, cfr_err_class(err->code), -1, cfr_clock_chance());

    if (wait_ms >= 0) {
        delay_ms = wait_ms;
        w->c.retry_boot_ms = now.boot_ms + wait_ms;
    }
    cfr_worker_note_error(w, err, delay_ms);
    cfr_worker_plan(w);
}

/* The token should have been replaced and may have been, unnoticed: look, and say so if it was not. */
void cfr_worker_check_overdue(struct cfr_worker *w, struct cfr_now now)
{
    struct cfr_token_file t;
    struct cfr_err err = {0};
    int64_t wait_ms;
    uint64_t known = w->token.mark;
    bool sub_path;
    char words[CFR_TIME_WORDS_MAX];

    /* Before all else: a new token that cannot be used yet (queued, exchanging) leaves the deadline as it is. */
    w->token.overdue_boot_ms = now.boot_ms + CFR_WORKER_LOOK_AGAIN_MS;
    if (cfr_token_file_read(w->config->token, now.wall_ms, &t, &wait_ms, &err) == 0 && t.mark != known) {
        cfr_token_file_free(&t);
        cfr_worker_on_token(w);
        return;
    }
    cfr_token_file_free(&t);
    sub_path = cfr_file_is_mount(w->config->token->file);
    if (!w->token.overdue)
        cfr_log(CFR_LOG_WARN, w->config->name, cfr_worker_state_name(w),
                "the token in %s is %s old, past 80 %% of its life, and nobody has replaced it: %s",
                w->config->token->file, cfr_time_words(now.wall_ms - w->token.issued_s * 1000, words),
                sub_path ? "it is a subPath mount, which never changes; mount the whole volume"
                         : "look at the kubelet of this node");
    w->token.overdue = true;
    w->token.sub_path = sub_path;
}

static void on_exchanged(void *ctx, struct cfr_exchange_result *result)
{
    struct cfr_worker *w = ctx;

    w->exchange = NULL;
    w->host->active--;
    cfr_status_observe(&w->duration, result->duration_s);
    if (result->rc != 0) {
        w->exchanges_failed[cfr_err_class(result->rc)]++;
        cfr_worker_fail(w, &result->err, result->retry_after_s);
    } else {
        cfr_worker_step(w, CFR_EVENT_GRANTED);
        cfr_worker_publish(w, result->grant, result->server_date_s);
    }
    cfr_worker_plan(w);
    cfr_worker_serve_queue(w->host);
}

static void start_exchange(struct cfr_worker *w, struct cfr_token_file *t)
{
    struct cfr_err err = {0};
    int rc = cfr_exchange_start(w->host->http, w->config, &t->token, cfr_view_of(t->subject), on_exchanged, w,
                                &w->exchange, &err);

    if (rc == 0) {
        w->host->active++;
        return;
    }
    w->exchanges_failed[cfr_err_class(rc)]++;
    cfr_worker_fail(w, &err, -1);
}

/* No exchange: the token is what is published. */
static void pass_through(struct cfr_worker *w, struct cfr_token_file *t)
{
    struct cfr_grant grant = {0};
    struct cfr_err err = {0};
    int rc = cfr_grant_set(&grant, CFR_FIELD_TOKEN, cfr_secret_view(&t->token), &err);

    if (rc == 0)
        rc = cfr_grant_set_identity(&grant, cfr_view_of(t->subject), &err);
    grant.issued_s = t->issued_s;
    grant.expires_s = t->expires_s;
    if (rc != 0) {
        cfr_worker_fail(w, &err, -1);
    } else {
        cfr_worker_step(w, CFR_EVENT_GRANTED);
        cfr_worker_publish(w, &grant, 0);
    }
    cfr_grant_free(&grant);
}

static bool same_token_still_good(const struct cfr_worker *w, const struct cfr_token_file *t)
{
    return w->config->exchange == NULL && !w->rotate_wanted && !w->replace && w->record.generation != 0 &&
           t->mark == w->record.token_mark && cfr_publish_verify(w->config, &w->record, NULL) == 0;
}

/* The token itself is published and is still the same: wait for the next one. */
static void rest(struct cfr_worker *w, const struct cfr_token_file *t)
{
    struct cfr_now now = cfr_clock_now();
    struct cfr_refresh_life life = {t->issued_s * 1000, t->expires_s * 1000};

    cfr_worker_clear_error(w);
    (void)cfr_credential_adopted(&w->c, now, life, 0, cfr_worker_jitter(w));
    cfr_worker_step(w, CFR_EVENT_ADOPT);
    if (w->c.refresh_boot_ms < now.boot_ms + CFR_WORKER_LOOK_AGAIN_MS) {
        int64_t left_ms = life.expires_ms - now.wall_ms;

        w->c.refresh_boot_ms = now.boot_ms + (left_ms / 4 < CFR_WORKER_LOOK_AGAIN_MS ? left_ms / 4 : CFR_WORKER_LOOK_AGAIN_MS) + 250;
        w->c.refresh_wall_ms = now.wall_ms + (w->c.refresh_boot_ms - now.boot_ms);
    }
}

static void use_token(struct cfr_worker *w, struct cfr_token_file *t)
{
    if (same_token_still_good(w, t)) {
        rest(w, t);
        return;
    }
    w->token_used = t->mark;
    w->forced = w->rotate_wanted;
    w->c.again = false;
    cfr_worker_step(w, CFR_EVENT_GO);
    if (w->config->exchange != NULL)
        start_exchange(w, t);
    else
        pass_through(w, t);
}

static void enqueue(struct cfr_worker *w)
{
    w->queued = true;
    w->queue_next = NULL;
    if (w->host->queue_tail != NULL)
        w->host->queue_tail->queue_next = w;
    else
        w->host->queue_head = w;
    w->host->queue_tail = w;
}

static void dequeue(struct cfr_worker *w)
{
    struct cfr_worker **at = &w->host->queue_head;
    struct cfr_worker *before = NULL;

    for (; *at != NULL && *at != w; at = &(*at)->queue_next)
        before = *at;
    if (*at == NULL)
        return;
    *at = w->queue_next;
    if (w->host->queue_tail == w)
        w->host->queue_tail = before;
    w->queued = false;
    w->queue_next = NULL;
}

void cfr_worker_try(struct cfr_worker *w)
{
    struct reading own;
    struct reading *r = w->reading;

    if (w->queued)
        return;
    if (w->config->exchange != NULL && w->host->active >= w->host->config->max_concurrent_exchanges) {
        enqueue(w);
        return;
    }
    if (r == NULL) {
        r = &own;
        cfr_worker_read_token(w, r);
    }
    note_token(w, &r->token, cfr_clock_now());
    if (r->rc != 0)
        token_refused(w, &r->err, r->wait_ms);
    else
        use_token(w, &r->token);
    if (r == &own)
        cfr_token_file_free(&own.token);
}

void cfr_worker_serve_queue(struct cfr_host *host)
{
    while (host->queue_head != NULL && host->active < host->config->max_concurrent_exchanges) {
        struct cfr_worker *w = host->queue_head;

        dequeue(w);
        cfr_worker_try(w);
        cfr_worker_plan(w);
    }
}

void cfr_worker_cancel(struct cfr_worker *w)
{
    dequeue(w);
    if (w->exchange == NULL)
        return;
    cfr_exchange_cancel(w->exchange);
    w->exchange = NULL;
    w->host->active--;
}
