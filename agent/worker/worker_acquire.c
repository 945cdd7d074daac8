/* SPDX-License-Identifier: MIT */
/* The acquire: what a credential begins with is looked at, and exchanged, or passed on as it is. */
#include "agent/worker/worker_private.h"

#include <stdlib.h>

static int make_granted(struct cfr_worker *w, struct cfr_err *err)
{
    cfr_worker_drop_granted(&w->granted);
    w->granted = calloc(1, sizeof *w->granted);
    return w->granted != NULL ? 0 : cfr_err_nomem(err);
}

/* The request that takes the place of an overdue file did not even bring a token: until the next refresh the file has
 * to do. */
static void note_refused_request(struct cfr_worker *w, int64_t token_expires_s)
{
    w->token.missing = w->token.requested && token_expires_s == 0;
    if (w->token.requested && w->token.overdue && token_expires_s == 0)
        w->token.refused = true;
}

static enum cfr_event fail_exchange(struct cfr_worker *w, const struct cfr_err *err, int64_t retry_after_s)
{
    w->exchanges_failed[cfr_err_class(err->code)]++;
    return cfr_worker_fail(w, err, retry_after_s);
}

/* Takes the inputs of RESULT, and what they are rendered with, into an empty w->granted. */
static int move_inputs(struct cfr_worker *w, struct cfr_source_exchange_result *result, struct cfr_err *err)
{
    struct cfr_worker_granted *g;
    int rc = make_granted(w, err);

    if (rc != 0)
        return rc;
    g = w->granted;
    cfr_source_inputs_move(&g->inputs, result->inputs);
    g->from =
        (struct cfr_publish_from){result->provider, result->config, g->inputs.contents, g->inputs.content_count, NULL};
    g->server_date_s = result->server_date_s;
    g->token_issued_s = result->token_issued_s;
    g->token_expires_s = result->token_expires_s;
    g->begins_now = true;
    return 0;
}

/* Takes what came of an exchange into w->granted: with a grant, or after a failure without. */
static enum cfr_event collect(struct cfr_worker *w, struct cfr_source_exchange_result *result)
{
    cfr_api_status_observe(&w->duration, result->duration_s);
    cfr_worker_note_warning(w, result->warning);
    if (result->server_date_s != 0) {
        w->skew_known = true;
        w->skew_s = result->server_date_s - cfr_clock_now().wall_ms / 1000;
    }
    if (result->rc != 0) {
        note_refused_request(w, result->token_expires_s);
        /* A token that is refused is no better than the published one. */
        if (cfr_err_class(result->rc) == CFR_CLASS_RETRY)
            (void)move_inputs(w, result, NULL);
        return fail_exchange(w, &result->err, result->retry_after_s);
    }
    if (move_inputs(w, result, &result->err) != 0)
        return fail_exchange(w, &result->err, -1);
    cfr_grant_move(&w->granted->grant, result->grant);
    if (result->token_expires_s != 0) {
        w->token.issued_s = result->token_issued_s;
        w->token.expires_s = result->token_expires_s;
    }
    return CFR_EVENT_GRANTED;
}

static void on_exchanged(void *ctx, struct cfr_source_exchange_result *result)
{
    struct cfr_worker *w = ctx;
    enum cfr_event event = collect(w, result);

    /* An exchange without a request ends before it is known: the acquire that started it goes on. */
    if (w->exchange == NULL)
        return;
    w->exchange = NULL;
    cfr_worker_feed(w, event);
}

static void on_produced(void *ctx, struct cfr_source_exchange_result *result)
{
    struct cfr_worker *w = ctx;

    cfr_worker_feed(w, cfr_worker_producer_collect(w, result));
}

/* What was only passed on is published and still the same. A certificate has to be young, too. */
static bool is_same(struct cfr_worker *w, const struct cfr_source_inputs *m)
{
    struct cfr_now now = cfr_clock_now();
    bool old = w->source->ages && (cfr_refresh_due(w->life.life, w->life.refresh_wall_ms, now.wall_ms) ||
                                   w->life.refresh_boot_ms <= now.boot_ms);
    bool same = cfr_source_inputs_is_final(m) && !old && !w->rotate_wanted && !cfr_worker_must_keep(w) && !w->replace &&
                w->record.generation != 0 && m->mark == w->record.token_mark && !cfr_publish_secret_lost(w->delivery);

    if (same)
        w->known = cfr_publisher_verify(w->targets, &w->record, NULL) == 0;
    w->lost = w->lost && !(same && w->known);
    return same && w->known;
}

/* What needs no exchange is granted at once, or once a child has read it. */
static enum cfr_event grant_as_it_is(struct cfr_worker *w, const struct cfr_source_env *env,
                                     struct cfr_source_inputs *from)
{
    struct cfr_err err = {0};
    int rc = make_granted(w, &err);

    if (rc == 0)
        rc = cfr_source_grant(env, w->config, from, &w->granted->grant, &err);
    w->acquire_after = rc == CFR_SOURCE_LATER;
    if (rc == 0)
        return CFR_EVENT_GRANTED;
    cfr_worker_drop_granted(&w->granted);
    return rc == CFR_SOURCE_LATER ? CFR_EVENT_NONE : cfr_worker_fail(w, &err, -1);
}

static enum cfr_event begin_exchange(struct cfr_worker *w, struct cfr_source_inputs *from)
{
    struct cfr_host *host = w->host;
    struct cfr_err err = {0};

    /* By the provider that was read just now. */
    cfr_fair_queue_end(&host->turns, &w->turn);
    cfr_fair_queue_begin(&host->turns, &w->turn, w->provider);
    if (cfr_source_exchange_start(host->http, host->kube, w->config, from, on_exchanged, w, &w->exchange, &err) != 0) {
        note_refused_request(w, 0);
        return fail_exchange(w, &err, -1);
    }
    if (w->exchange != NULL)
        return CFR_EVENT_SENT;
    return w->granted != NULL ? CFR_EVENT_GRANTED : CFR_EVENT_FAILED;
}

enum cfr_event cfr_worker_acquire(struct cfr_worker *w)
{
    struct cfr_host *host = w->host;
    struct cfr_worker_inputs in = {.rc = 0};
    struct cfr_source_inputs *from = &in.source;
    const struct cfr_source_env env = cfr_worker_source_env(w);
    struct cfr_now now = env.now;
    enum cfr_event event = CFR_EVENT_NONE;

    /* 0. Work at the targets ends first. */
    if (cfr_publisher_is_busy(w->targets)) {
        w->acquire_after = true;
        return CFR_EVENT_NONE;
    }
    /* 1. Wait for a turn, which cfr_worker_serve_queue gives. */
    if (w->turn.queued)
        return CFR_EVENT_NONE;
    if (host->draining ||
        (w->source->may_send(w->config) && !w->turn.active &&
         (cfr_publisher_is_crowded(&host->crew) ||
          !cfr_fair_queue_may_begin(&host->turns, w->provider, host->config->max_concurrent_exchanges)))) {
        cfr_fair_queue_add(&host->turns, &w->turn, w->provider);
        return CFR_EVENT_NONE;
    }
    /* 2. Look at the source, unless the event that leads here has just done so. */
    if (w->inputs != NULL) {
        in = *w->inputs;
        w->inputs->source = (struct cfr_source_inputs){.mark = 0};
    } else {
        cfr_worker_read(w, &in);
    }
    cfr_worker_note_token(w, from);
    if (in.rc == 0)
        cfr_worker_note_request(w, from);
    if (in.rc != 0) {
        /* 3. It cannot be used: try later, sooner if it says when it can be. */
        int64_t delay_ms = cfr_lifecycle_failed(&w->life, now, cfr_err_class(in.err.code), -1, cfr_clock_chance());

        cfr_worker_forget_admin(w, in.rc);
        if (in.wait_ms >= 0)
            cfr_lifecycle_retry_at(&w->life, now.boot_ms + in.wait_ms);
        cfr_worker_note_error(w, &in.err, w->life.state, in.wait_ms >= 0 ? in.wait_ms : delay_ms);
    } else if (w->production != NULL) {
        /* 4. A producer finds out what is to be done. */
        cfr_worker_produce(w, on_produced);
        event = CFR_EVENT_SENT;
    } else if (is_same(w, from)) {
        /* 5. It is what is published: wait for the next one. */
        struct cfr_refresh_life life = {from->issued_s * 1000,
                                        from->expires_s != 0 ? from->expires_s * 1000 : INT64_MAX};

        cfr_worker_clear_error(w);
        cfr_lifecycle_rest(&w->life, now, w->source->ages ? w->life.life : life, cfr_worker_jitter(w));
        event = CFR_EVENT_ADOPT;
    } else if (cfr_worker_publish_again(w, from->mark)) {
        /* 6. What was granted for it is good, and only has to be published where it could not be. */
        event = CFR_EVENT_GRANTED;
    } else {
        /* 7. Exchange it, or pass it on. */
        w->token_used = from->mark;
        w->forced = w->rotate_wanted;
        event = cfr_source_inputs_is_final(from) ? grant_as_it_is(w, &env, from) : begin_exchange(w, from);
    }
    cfr_source_inputs_free(from);
    return event;
}
