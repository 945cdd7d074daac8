/* SPDX-License-Identifier: MIT */
/* A worker whose source is a producer (agent/source/producer.h): its calls of the row, and what follows. Without a
 * producer all of them do nothing. */
#include "agent/worker/worker_private.h"

#include <stdlib.h>

static bool used_by_all(void *ctx)
{
    return cfr_worker_ack_all(ctx);
}

static void save(void *ctx)
{
    cfr_worker_save(ctx);
}

static void wake(void *ctx)
{
    cfr_worker_wake(ctx);
}

int cfr_worker_producer_open(struct cfr_worker *w, struct cfr_err *err)
{
    const struct cfr_source_client client = {
        .http = w->host->http,
        .kube = w->host->kube,
        .state_fd = w->host->state_fd,
        .spread = w->spread,
        .draining = &w->host->draining,
        .offer = w->host->offer,
        .offer_ctx = w->host->offer_ctx,
        .record = &w->record,
        .targets = w->targets,
        .delivery = w->delivery,
        .used_by_all = used_by_all,
        .save = save,
        .wake = wake,
        .ctx = w,
    };

    return w->source->producer != NULL ? w->source->producer->open(&client, w->config, &w->production, err) : 0;
}

void cfr_worker_producer_close(struct cfr_worker *w)
{
    if (w->production != NULL)
        w->source->producer->close(w->production);
    w->production = NULL;
}

struct cfr_source_report cfr_worker_producer_report(const struct cfr_worker *w)
{
    struct cfr_source_report report = {.made = false};

    if (w->production != NULL)
        w->source->producer->report(w->production, &report);
    return report;
}

/* Has the producer started now, or as soon as that is possible. */
static void start_soon(struct cfr_worker *w)
{
    struct cfr_now now = cfr_clock_now();

    if (w->life.state == CFR_STATE_BACKOFF)
        cfr_lifecycle_retry_at(&w->life, now.boot_ms);
    else if (cfr_lifecycle_is_settled(&w->life))
        cfr_lifecycle_refresh_at(&w->life, now, now.wall_ms);
    else
        return;
    cfr_worker_wake(w);
}

void cfr_worker_dependency_changed(struct cfr_worker *w, const char *name)
{
    if (w->production != NULL && w->source->producer->changed(w->production, name))
        start_soon(w);
}

bool cfr_worker_needs(const struct cfr_worker *w, const char *name)
{
    return w->production != NULL &&
           w->source->producer->needs(w->production, name, w->rotate_wanted || w->record.generation == 0);
}

void cfr_worker_producer_rebind(struct cfr_worker *w)
{
    int64_t due_ms;

    if (w->production == NULL)
        return;
    w->source->producer->rebind(w->production, w->config);
    if (cfr_lifecycle_is_settled(&w->life) && w->source->producer->adopt(w->production, &due_ms))
        cfr_lifecycle_refresh_at(&w->life, cfr_clock_now(), due_ms);
    cfr_worker_dependency_changed(w, NULL);
}

void cfr_worker_producer_abandon(const struct cfr_worker *w)
{
    if (w->production != NULL)
        w->source->producer->abandon(w->production);
}

bool cfr_worker_producer_adopt(struct cfr_worker *w, struct cfr_now now, bool fresh)
{
    int64_t due_ms;

    if (w->production == NULL)
        return fresh;
    if (!w->source->producer->adopt(w->production, &due_ms))
        return false;
    cfr_lifecycle_refresh_at(&w->life, now, due_ms);
    return now.wall_ms < w->life.refresh_wall_ms;
}

/* What is published since ISSUED_MS remains. If the clock was set back before that, a start would be due at once,
 * repeatedly. */
static void keep_life(struct cfr_worker *w, int64_t issued_ms, int64_t ends_ms)
{
    struct cfr_now now = cfr_clock_now();
    struct cfr_refresh_life life = {issued_ms < now.wall_ms ? issued_ms : now.wall_ms, ends_ms};

    cfr_worker_clear_error(w);
    (void)cfr_lifecycle_adopted(&w->life, now, life, 0, cfr_worker_jitter(w));
}

/* One was requested during a start, which has ended: not before, because a start while the grant is on its way to a
 * target would publish the same grant again. */
static void follow_up(struct cfr_worker *w)
{
    if (w->rotate_wanted)
        cfr_lifecycle_try_again(&w->life);
}

static enum cfr_event take_grant(struct cfr_worker *w, struct cfr_source_exchange_result *result)
{
    const struct cfr_source_produced *p = &result->produced;
    struct cfr_worker_granted *g = calloc(1, sizeof *g);

    if (g == NULL) {
        (void)cfr_err_nomem(&result->err);
        return CFR_EVENT_FAILED;
    }
    cfr_grant_move(&g->grant, result->grant);
    if (p->key != NULL) {
        g->minted = *p->key;
        g->from.minted = &g->minted;
    }
    g->begins_now = true;
    w->granted = g;
    return CFR_EVENT_GRANTED;
}

/* Nothing is granted: what is published is good. */
static enum cfr_event keep_published(struct cfr_worker *w, const struct cfr_source_produced *p)
{
    if (p->key != NULL) {
        /* An earlier run published it, and came no further. */
        keep_life(w, p->key->minted_s * 1000, p->ends_ms);
        return cfr_worker_publish_found(w, p->key);
    }
    keep_life(w, w->record.issued_ms, p->ends_ms);
    cfr_lifecycle_refresh_at(&w->life, cfr_clock_now(), p->due_ms);
    if (p->mark != 0) {
        w->known = true;
        w->lost = false;
    } else {
        follow_up(w);
    }
    return CFR_EVENT_SAME;
}

enum cfr_event cfr_worker_producer_collect(struct cfr_worker *w, struct cfr_source_exchange_result *result)
{
    const struct cfr_source_produced *p = &result->produced;

    cfr_api_status_observe(&w->duration, result->duration_s);
    if (result->rc == 0) {
        w->forced = w->rotate_wanted && p->counts;
        w->token_used = p->mark;
        if (result->grant == NULL)
            return keep_published(w, p);
        if (take_grant(w, result) == CFR_EVENT_GRANTED)
            return CFR_EVENT_GRANTED;
    }
    w->exchanges_failed[cfr_err_class(result->err.code)]++;
    return cfr_worker_fail(w, &result->err, result->retry_after_s);
}

void cfr_worker_produce(struct cfr_worker *w, cfr_source_exchange_fn *done)
{
    bool intact = w->record.generation != 0 && cfr_publisher_verify(w->targets, &w->record, NULL) == 0 &&
                  !cfr_publish_secret_lost(w->delivery);
    const struct cfr_source_order order = {
        .wanted = w->rotate_wanted, .again = w->replace, .lost = !intact && !w->replace};

    w->forced = false;
    w->token_used = 0;
    w->source->producer->start(w->production, order, done, w);
}

void cfr_worker_producer_cancel(struct cfr_worker *w)
{
    if (w->production != NULL)
        w->source->producer->cancel(w->production);
}

void cfr_worker_producer_step(struct cfr_worker *w)
{
    bool failed = w->life.state == CFR_STATE_BACKOFF;
    struct cfr_now now;

    if (w->production == NULL || !w->source->producer->step(w->production, failed))
        return;
    now = cfr_clock_now();
    if (failed)
        cfr_lifecycle_retry_at(&w->life, now.boot_ms);
    else if (cfr_lifecycle_is_settled(&w->life))
        cfr_lifecycle_refresh_at(&w->life, now, now.wall_ms);
}

void cfr_worker_producer_published(struct cfr_worker *w)
{
    int64_t due_ms;
    bool ended;

    /* Until the cluster holds it, the pending secret remains, and the old key's grace does not begin. */
    if (w->production == NULL || cfr_publish_secret_pending(w->delivery))
        return;
    ended = w->source->producer->published(w->production, w->record.generation, &due_ms);
    if (ended || due_ms != INT64_MAX)
        cfr_lifecycle_refresh_at(&w->life, cfr_clock_now(), due_ms);
    if (ended)
        follow_up(w);
}

bool cfr_worker_producer_resume(struct cfr_worker *w, const struct cfr_kube_where *where)
{
    return w->production != NULL && w->source->producer->resume(w->production, where);
}

int cfr_worker_producer_may_request(const struct cfr_worker *w, struct cfr_err *err)
{
    return w->production != NULL ? w->source->producer->may_request(w->production, err) : 0;
}

void cfr_worker_producer_request(struct cfr_worker *w)
{
    if (w->production != NULL)
        w->source->producer->request(w->production);
}

void cfr_worker_producer_status(const struct cfr_worker *w, struct cfr_api_status_credential *out)
{
    if (w->production != NULL)
        w->source->producer->status(w->production, out);
}
