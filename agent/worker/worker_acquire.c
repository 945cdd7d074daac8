/* SPDX-License-Identifier: MIT */
/* One try: look at the token, wait for a turn, exchange. */
#include "agent/worker/worker_private.h"

#include "agent/publish/targets.h"
#include "base/log.h"
#include "base/time.h"

#include <stdlib.h>
#include <string.h>

/* What a Secret says of itself, once. */
static void note_mounted(struct cfr_worker *w, const struct cfr_source_inputs *m)
{
    if (m->mounted.note[0] == '\0' || (w->note != NULL && strcmp(w->note, m->mounted.note) == 0))
        return;
    cfr_log(CFR_LOG_WARN, w->config->name, cfr_worker_state_name(w), "the Secret in %s: %s",
            w->config->secret->directory, m->mounted.note);
    free(w->note);
    w->note = strdup(m->mounted.note);
}

/* A Secret that names another token now. True if that is watched from now on. */
static bool follow_mounted(struct cfr_worker *w, const struct cfr_source_inputs *m)
{
    const char *path = w->config->token == NULL || w->config->token->file == NULL ? m->token_path : NULL;
    struct cfr_err err = {0};

    if (path == NULL || (w->watched != NULL && strcmp(w->watched, path) == 0) || w->host->watch == NULL)
        return false;
    free(w->watched);
    w->watched = strdup(path);
    cfr_watch_remove(w->host->watch, &w->token_watcher);
    if (cfr_source_inputs_watch(w->config, m, w->host->watch, &w->token_watcher, &err) != 0)
        cfr_log(CFR_LOG_WARN, w->config->name, cfr_worker_state_name(w), "%s; it is looked at once a minute instead",
                err.text);
    return true;
}

static void read_material(struct cfr_worker *w, struct reading *r)
{
    struct cfr_now now = cfr_clock_now();

    r->err = (struct cfr_err){0};
    r->rc = cfr_source_inputs_read(w->config, now.wall_ms, w->token.refused, &r->material, &r->wait_ms, &r->err);
    if (r->rc == 0 && r->material.issued)
        r->rc = cfr_service_ca_mark(w->host->service_ca, now, &r->material.mark, &r->err);
}

void cfr_worker_read(struct cfr_worker *w, struct reading *r)
{
    read_material(w, r);
    /* Also when the token at that path is not there yet, or no good: it is what will change. What came before the watch
     * would be missed, so it is read once more. */
    if (w->config->secret != NULL && follow_mounted(w, &r->material)) {
        cfr_source_inputs_free(&r->material);
        read_material(w, r);
    }
    if (r->rc != 0)
        return;
    w->provider = r->material.provider;
    if (w->config->secret != NULL)
        note_mounted(w, &r->material);
}

static void note_request(struct cfr_worker *w, const struct cfr_source_inputs *m)
{
    bool fallback = m->requested && m->token_path != NULL;

    if (fallback && !w->token.requested)
        cfr_log(CFR_LOG_WARN, w->config->name, cfr_worker_state_name(w),
                "tokens are asked of the API server from now on, until the file is renewed: %s", m->stood_in_for);
    else if (!m->requested && w->token.requested && m->token_path != NULL)
        cfr_log(CFR_LOG_INFO, w->config->name, cfr_worker_state_name(w),
                w->token.refused ? "the API server gave none, so the token in %s is used while it is good"
                                 : "the token file %s is good again and is used instead of requests",
                m->token_path);
    w->token.requested = m->requested;
}

static void note_token(struct cfr_worker *w, const struct cfr_source_inputs *t, struct cfr_now now)
{
    int64_t overdue_ms = cfr_source_token_file_overdue_ms(t->issued_s, t->expires_s);

    if (t->requested && t->token_mark != 0 && !w->token.overdue) {
        w->token.overdue = true;
        w->token.sub_path = cfr_file_is_mount(t->token_path);
        w->token.mark = t->token_mark;
        w->token.overdue_boot_ms = now.boot_ms + CFR_WORKER_LOOK_AGAIN_MS;
    }
    if (t->requested)
        return;
    if (t->mark != 0 && t->mark != w->token.mark && w->token.overdue)
        cfr_log(CFR_LOG_INFO, w->config->name, cfr_worker_state_name(w), "the token file was renewed at last");
    w->token.issued_s = t->issued_s;
    w->token.expires_s = t->expires_s;
    /* A token known from an earlier run has no deadline yet. */
    if (t->mark != 0 && (t->mark != w->token.mark || w->token.overdue_boot_ms == INT64_MAX)) {
        w->token.mark = t->mark;
        w->token.overdue = false;
        w->token.refused = false;
        w->token.overdue_boot_ms = overdue_ms == INT64_MAX ? INT64_MAX : now.boot_ms + overdue_ms - now.wall_ms;
    }
}

void cfr_worker_note_source(struct cfr_worker *w, const struct cfr_source_inputs *m)
{
    note_token(w, m, cfr_clock_now());
    note_request(w, m);
}

static void token_refused(struct cfr_worker *w, const struct cfr_err *err, int64_t wait_ms)
{
    struct cfr_now now = cfr_clock_now();
    int64_t delay_ms = cfr_lifecycle_failed(&w->c, now, cfr_err_class(err->code), -1, cfr_clock_chance());

    if (wait_ms >= 0) {
        delay_ms = wait_ms;
        w->c.retry_boot_ms = now.boot_ms + wait_ms;
    }
    cfr_worker_note_error(w, err, delay_ms);
    cfr_worker_plan(w);
}

/* Until M's token is overdue by the wall clock, which is what decides; 0 if it is, or if a request stands in for it. */
static int64_t early_ms(const struct reading *r, struct cfr_now now)
{
    int64_t at_ms = cfr_source_token_file_overdue_ms(r->material.issued_s, r->material.expires_s);

    return r->rc != 0 || r->material.requested || at_ms == INT64_MAX || at_ms <= now.wall_ms ? 0 : at_ms - now.wall_ms;
}

/* The token should have been replaced and may have been, unnoticed: look, and say so if it was not. */
void cfr_worker_check_overdue(struct cfr_worker *w, struct cfr_now now)
{
    struct reading r;
    uint64_t known = w->token.mark;
    char words[CFR_TIME_WORDS_MAX];

    /* Before all else: a new token that cannot be used yet (queued, exchanging) leaves the deadline as it is. */
    w->token.overdue_boot_ms = now.boot_ms + CFR_WORKER_LOOK_AGAIN_MS;
    cfr_worker_read(w, &r);
    if (r.material.token_path == NULL)
        w->token.overdue_boot_ms = INT64_MAX;
    if (r.material.token_path == NULL || (r.rc == 0 && !r.material.requested && r.material.mark != known)) {
        cfr_source_inputs_free(&r.material);
        cfr_worker_on_token(w);
        return;
    }
    if (early_ms(&r, now) > 0) {
        w->token.overdue_boot_ms = now.boot_ms + early_ms(&r, now);
        cfr_source_inputs_free(&r.material);
        return;
    }
    w->token.sub_path = cfr_file_is_mount(r.material.token_path);
    if (!w->token.overdue)
        cfr_log(CFR_LOG_WARN, w->config->name, cfr_worker_state_name(w),
                "the token in %s is %s old, past 80 %% of its life, and nobody has replaced it: %s",
                r.material.token_path, cfr_time_words(now.wall_ms - w->token.issued_s * 1000, words),
                w->token.sub_path ? "it is a subPath mount, which never changes; mount the whole volume"
                                  : "look at the kubelet of this node");
    cfr_source_inputs_free(&r.material);
    w->token.overdue = true;
    if (!w->token.requested && !w->token.refused && w->config->token != NULL && w->config->token->request != NULL)
        cfr_worker_step(w, CFR_EVENT_TOKEN);
}

/* The request that stands in for an overdue file did not even bring a token: until the next refresh the file has to do.
 */
static void not_asked(struct cfr_worker *w, int64_t token_expires_s)
{
    if (w->token.requested && w->token.overdue && token_expires_s == 0)
        w->token.refused = true;
}

static void note_skew(struct cfr_worker *w, int64_t server_date_s)
{
    if (server_date_s == 0)
        return;
    w->skew_known = true;
    w->skew_s = server_date_s - cfr_clock_now().wall_ms / 1000;
}

static void on_exchanged(void *ctx, struct cfr_source_exchange_result *result)
{
    struct cfr_worker *w = ctx;

    w->exchange = NULL;
    cfr_fair_queue_end(&w->host->turns, &w->turn);
    cfr_api_status_observe(&w->duration, result->duration_s);
    note_skew(w, result->server_date_s);
    if (result->rc != 0) {
        w->exchanges_failed[cfr_err_class(result->rc)]++;
        not_asked(w, result->token_expires_s);
        cfr_worker_fail(w, &result->err, result->retry_after_s);
    } else {
        struct cfr_worker_granted granted = {
            .grant = result->grant,
            .from = {result->provider, result->config, result->contents, result->content_count, NULL},
            .server_date_s = result->server_date_s,
            .token_expires_s = result->token_expires_s,
            .begins_now = true,
        };

        if (result->token_expires_s != 0) {
            w->token.issued_s = result->token_issued_s;
            w->token.expires_s = result->token_expires_s;
        }
        cfr_worker_step(w, CFR_EVENT_GRANTED);
        cfr_worker_publish(w, &granted);
    }
    cfr_worker_plan(w);
    cfr_worker_serve_queue(w->host);
}

static void start_exchange(struct cfr_worker *w, struct cfr_source_inputs *m)
{
    struct cfr_err err = {0};
    int rc;

    /* Before the start, because what needs no request ends within it. */
    cfr_fair_queue_begin(&w->host->turns, &w->turn, w->provider);
    rc = cfr_source_exchange_start(w->host->http, w->host->kube, w->config, m, on_exchanged, w, &w->exchange, &err);
    if (rc == 0)
        return;
    cfr_fair_queue_end(&w->host->turns, &w->turn);
    w->exchanges_failed[cfr_err_class(rc)]++;
    not_asked(w, 0);
    cfr_worker_fail(w, &err, -1);
}

/* No exchange: what was read is what is published. */
static void pass_on(struct cfr_worker *w, struct cfr_source_inputs *m)
{
    struct cfr_grant grant = {0};
    struct cfr_worker_granted granted = {.grant = &grant};
    struct cfr_err err = {0};
    int rc = m->issued ? cfr_service_ca_grant(w->host->service_ca, w->config, cfr_clock_now(), &grant, &err)
                       : cfr_source_inputs_grant(m, &grant, &err);

    if (rc != 0) {
        cfr_worker_fail(w, &err, -1);
    } else {
        cfr_worker_step(w, CFR_EVENT_GRANTED);
        cfr_worker_publish(w, &granted);
    }
    cfr_grant_free(&grant);
}

/* A certificate that is to be replaced though its CA stays. */
static bool is_old(const struct cfr_worker *w, const struct cfr_source_inputs *m)
{
    struct cfr_now now = cfr_clock_now();

    return m->issued &&
           (cfr_refresh_due(w->c.life, w->c.refresh_wall_ms, now.wall_ms) || w->c.refresh_boot_ms <= now.boot_ms);
}

static bool same_still_good(struct cfr_worker *w, const struct cfr_source_inputs *t)
{
    bool same = cfr_source_inputs_is_final(t) && !is_old(w, t) && !w->rotate_wanted && !cfr_worker_must_keep(w) &&
                !w->replace && w->record.generation != 0 && t->mark == w->record.token_mark &&
                !cfr_publish_secret_lost(w->delivery);

    if (same)
        w->known = cfr_publish_verify(w->config, &w->record, NULL) == 0;
    return same && w->known;
}

/* What is published was only passed on, and is still the same: wait for the next one. */
static void rest(struct cfr_worker *w, const struct cfr_source_inputs *t)
{
    struct cfr_now now = cfr_clock_now();
    struct cfr_refresh_life life = {t->issued_s * 1000, t->expires_s != 0 ? t->expires_s * 1000 : INT64_MAX};

    if (t->issued)
        life = w->c.life;
    cfr_worker_clear_error(w);
    (void)cfr_lifecycle_adopted(&w->c, now, life, 0, cfr_worker_jitter(w));
    cfr_worker_step(w, CFR_EVENT_ADOPT);
    if (w->c.refresh_boot_ms < now.boot_ms + CFR_WORKER_LOOK_AGAIN_MS) {
        int64_t left_ms = life.expires_ms - now.wall_ms;

        w->c.refresh_boot_ms =
            now.boot_ms + (left_ms / 4 < CFR_WORKER_LOOK_AGAIN_MS ? left_ms / 4 : CFR_WORKER_LOOK_AGAIN_MS) + 250;
        w->c.refresh_wall_ms = now.wall_ms + (w->c.refresh_boot_ms - now.boot_ms);
    }
}

static void use(struct cfr_worker *w, struct cfr_source_inputs *t)
{
    if (w->minter != NULL) {
        cfr_worker_mint_try(w);
        return;
    }
    if (same_still_good(w, t)) {
        rest(w, t);
        return;
    }
    w->token_used = t->mark;
    w->forced = w->rotate_wanted;
    w->c.again = false;
    cfr_worker_step(w, CFR_EVENT_GO);
    if (cfr_source_inputs_is_final(t))
        pass_on(w, t);
    else
        start_exchange(w, t);
}

/* Its turn has come, or it needs none. */
static void try_now(struct cfr_worker *w)
{
    struct reading own;
    struct reading *r = w->reading;

    if (r == NULL) {
        r = &own;
        cfr_worker_read(w, r);
    }
    note_token(w, &r->material, cfr_clock_now());
    if (r->rc == 0)
        note_request(w, &r->material);
    if (r->rc != 0)
        token_refused(w, &r->err, r->wait_ms);
    else
        use(w, &r->material);
    if (r == &own)
        cfr_source_inputs_free(&own.material);
}

void cfr_worker_try(struct cfr_worker *w)
{
    struct cfr_fair_queue *turns = &w->host->turns;

    if (w->turn.queued)
        return;
    if (!w->host->draining && (!cfr_config_may_send(w->config) ||
                               cfr_fair_queue_may_begin(turns, w->provider, w->host->config->max_concurrent_exchanges)))
        try_now(w);
    else
        cfr_fair_queue_add(turns, &w->turn, w->provider);
}

bool cfr_worker_queue_ready(const struct cfr_host *host)
{
    return !host->draining && cfr_fair_queue_ready(&host->turns, host->config->max_concurrent_exchanges);
}

void cfr_worker_serve_queue(struct cfr_host *host)
{
    int64_t until_boot_ms = cfr_clock_now().boot_ms + CFR_HOST_TURN_MS;
    struct cfr_worker *w;

    if (host->serving)
        return;
    host->serving = true;
    while (!host->draining && cfr_clock_now().boot_ms <= until_boot_ms &&
           (w = cfr_fair_queue_take(&host->turns, host->config->max_concurrent_exchanges)) != NULL) {
        try_now(w);
        cfr_worker_plan(w);
    }
    host->serving = false;
}

void cfr_worker_cancel(struct cfr_worker *w)
{
    cfr_fair_queue_leave(&w->host->turns, &w->turn);
    if (w->minter != NULL)
        cfr_rotator_cancel(w->minter);
    if (w->exchange == NULL)
        return;
    cfr_source_exchange_cancel(w->exchange);
    w->exchange = NULL;
    cfr_fair_queue_end(&w->host->turns, &w->turn);
}
