/* SPDX-License-Identifier: MIT */
/* Life of a worker, and its status. */
#include "agent/worker/worker_private.h"

#include "agent/config/schema.h"
#include "agent/loop/slow_file.h"
#include "agent/publish/targets.h"
#include "agent/source/token_file.h"
#include "base/log.h"
#include "base/time.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void read_record(struct cfr_worker *w)
{
    struct cfr_err err = {0};
    int rc = cfr_publish_record_load(w->host->state_fd, w->config->name, &w->record, &err);

    if (rc != 0 && rc != CFR_E_MISSING)
        cfr_log(CFR_LOG_WARN, w->config->name, cfr_worker_state_name(w), "ignoring the saved state: %s", err.text);
}

/* For what CONFIG and its HOOKS may put there. */
static int fit_record(struct cfr_worker *w, const struct cfr_config_credential *config, const struct cfr_hooks *hooks,
                      struct cfr_err *err)
{
    const struct cfr_publish_record_room room = {
        .targets = (uint16_t)config->publish.count,
        .hooks = (uint16_t)cfr_hook_count(hooks),
        .consumers = (uint16_t)(config->acknowledge.count + cfr_hook_count(hooks)),
    };

    return cfr_publish_record_fit(&w->record, room, err);
}

static void restore_hooks(struct cfr_worker *w, struct cfr_now now)
{
    bool same = w->record.digest == w->config->digest && w->record.hook_count == cfr_hook_count(w->hooks);
    bool behind = false;
    /* Not before everything is in the cluster; then they are requested again. */
    bool later = cfr_worker_hooks_wait(w) && cfr_publish_secret_pending(w->delivery);

    cfr_worker_set_issued(w);
    for (size_t i = 0; i < w->record.hook_count; i++)
        behind = behind || w->record.hook_done[i] < w->record.generation;
    /* Hooks that were changed while one was pending are all run once more: a reload too many does no harm. */
    for (size_t i = 0; i < cfr_hook_count(w->hooks); i++)
        cfr_hook_restore(w->hooks, i,
                         later    ? w->record.generation
                         : same   ? w->record.hook_done[i]
                         : behind ? 0
                                  : w->record.generation,
                         w->record.generation, now);
}

/* By machine (a pod's name, a node's) and credential: neither a fleet nor one agent's credentials move in step. */
static double spread_of(const struct cfr_config_credential *config)
{
    char text[320] = "";

    (void)gethostname(text, 255);
    text[255] = '\0';
    (void)snprintf(text + strlen(text), sizeof text - strlen(text), "/%.60s", config->name);
    return cfr_refresh_spread(text);
}

int cfr_worker_open(struct cfr_host *host, const struct cfr_config_credential *config, struct cfr_worker **out,
                    struct cfr_err *err)
{
    struct cfr_worker *w = calloc(1, sizeof *w);
    int rc;

    if (w == NULL)
        return cfr_err_nomem(err);
    w->host = host;
    w->config = config;
    w->source = cfr_source_of(config);
    w->provider = cfr_config_provider(config, NULL);
    w->task.run = cfr_worker_run;
    w->turn.owner = w;
    if (w->provider != NULL && w->source->may_send(config))
        cfr_fair_queue_expect(&host->turns, w->provider);
    w->spread = spread_of(config);
    w->retire_boot_ms = INT64_MAX;
    w->forget_boot_ms = INT64_MAX;
    w->look_boot_ms = INT64_MAX;
    w->save_boot_ms = INT64_MAX;
    w->source_watcher = (struct cfr_watcher){.changed = cfr_worker_on_source_changed, .ctx = w};
    w->target_watcher = (struct cfr_watcher){.changed = cfr_worker_on_targets_changed, .ctx = w};
    w->ca_watcher = (struct cfr_watcher){.changed = cfr_worker_on_ca_changed, .ctx = w};
    w->token.overdue_boot_ms = INT64_MAX;
    cfr_lifecycle_init(&w->life, w->source->ages);
    rc = cfr_hook_open(config, host->http, host->kube, host->hook_attempts, cfr_worker_on_hook, w, &w->hooks, err);
    if (rc == 0)
        rc = cfr_publish_secret_open(config, host->kube, cfr_worker_on_delivered, w, &w->delivery, err);
    if (rc == 0)
        rc = cfr_publisher_open(config, &host->crew, cfr_worker_on_targets, w, &w->targets, err);
    if (rc == 0) {
        read_record(w);
        w->recover = true;
        rc = fit_record(w, config, w->hooks, err);
    }
    if (rc == 0)
        rc = cfr_worker_ack_open(w, cfr_worker_on_acknowledged, err);
    if (rc == 0) {
        rc = cfr_worker_producer_open(w, err);
        if (rc != 0)
            cfr_worker_ack_close(w);
    }
    if (rc != 0) {
        if (w->hooks != NULL)
            cfr_hook_close(w->hooks);
        cfr_publish_secret_close(w->delivery);
        cfr_publisher_close(w->targets);
        cfr_publish_record_free(&w->record);
        free(w);
        return rc;
    }
    *out = w;
    return 0;
}

/* What each Secret of the cluster was last seen to hold. False if one is behind: what it should hold is not kept. */
static bool restore_delivery(struct cfr_worker *w)
{
    cfr_publish_secret_restore(w->delivery, &w->record, cfr_worker_producer_report(w).made);
    return !cfr_publish_secret_lost(w->delivery);
}

static bool adopt_life(struct cfr_worker *w, struct cfr_now now, struct cfr_refresh_life life)
{
    bool fresh = cfr_lifecycle_adopted(&w->life, now, life, cfr_worker_window_ms(w), cfr_worker_jitter(w));

    return cfr_worker_producer_adopt(w, now, fresh);
}

/* Adopts what is published, if it is what the configuration wants. True if nothing needs to be exchanged now. */
static bool adopt(struct cfr_worker *w, struct cfr_now now)
{
    struct cfr_refresh_life life = {w->record.issued_ms, w->record.expires_ms};
    struct cfr_err err = {0};
    bool wanted = w->record.digest_material == w->config->digest_material;
    bool fresh;

    /* Before all else: whatever the first exchange is for, it also does what was promised. */
    w->rotate_wanted = w->record.pending_reason != NULL;
    /* What was in memory only is gone. */
    if (w->record.generation == 0 || w->config->publish.count == 0)
        return false;
    if (wanted && cfr_publisher_verify(w->targets, &w->record, &err) != 0) {
        cfr_log(CFR_LOG_INFO, w->config->name, cfr_worker_state_name(w), "published files are missing: %s", err.text);
        return false;
    }
    fresh = wanted && adopt_life(w, now, life);
    w->replace = !wanted;
    w->token_used = w->record.token_mark;
    w->token.issued_s = w->record.token_issued_s;
    w->token.expires_s = w->record.token_expires_s;
    w->token.mark = w->record.token_mark;
    if (w->record.retire_ms != 0)
        w->retire_boot_ms = now.boot_ms + (w->record.retire_ms > now.wall_ms ? w->record.retire_ms - now.wall_ms : 0);
    /* With another configuration they may be other Secrets. */
    return wanted && restore_delivery(w) && fresh && !w->rotate_wanted && !cfr_worker_must_keep(w);
}

/* Where the source decides on the provider, it has to be read first: the provider decides how early a refresh is due.
 */
static void learn_provider(struct cfr_worker *w)
{
    struct cfr_worker_inputs r;

    if (!w->source->names_provider)
        return;
    cfr_worker_read(w, &r);
    cfr_source_inputs_free(&r.source);
}

/* What a crash has left goes now, or before the next publish. */
static void clean_up(struct cfr_worker *w)
{
    struct cfr_err err = {0};
    int rc = cfr_publisher_is_busy(w->targets)
                 ? 1
                 : cfr_publisher_start(w->targets, CFR_PUBLISHER_RECOVER, NULL, &w->record, &err);

    if (rc == 0)
        cfr_worker_wake(w);
}

void cfr_worker_start(struct cfr_worker *w)
{
    struct cfr_err err = {0};

    /* Where we may not look ourselves, what is there is learnt first. */
    w->starting = cfr_publisher_is_remote(w->targets) &&
                  cfr_publisher_start(w->targets, CFR_PUBLISHER_RECOVER, NULL, &w->record, &err) >= 0;
    if (w->starting)
        cfr_worker_wake(w);
    else
        cfr_worker_begin(w);
}

/* Without the watch, a retry at its own time finds the new file. */
static void watch_ca(void *ctx, const struct cfr_field_text *ca)
{
    struct cfr_worker *w = ctx;

    if (!cfr_slow_file_is(ca->text))
        (void)cfr_watch_add(w->host->watch, ca->text, &w->ca_watcher, NULL);
}

static void watch_ca_files(struct cfr_worker *w)
{
    if (w->host->watch == NULL)
        return;
    cfr_watch_remove(w->host->watch, &w->ca_watcher);
    cfr_field_each(&cfr_config_credential_table, w->config, CFR_FIELD_CA_FILE, watch_ca, w);
}

/* The source, the targets and the CA files. */
static void watch(struct cfr_worker *w)
{
    struct cfr_err err = {0};

    watch_ca_files(w);
    /* Where a Secret has been read, everything that follows from it is watched already. */
    if (w->watched == NULL && w->host->watch != NULL)
        w->unwatched = cfr_source_inputs_watch(w->config, NULL, w->host->watch, &w->source_watcher, &err) != 0;
    if (err.code != 0)
        cfr_log(CFR_LOG_WARN, w->config->name, cfr_worker_state_name(w), "%s; polling once a minute", err.text);
    if (w->host->watch != NULL && cfr_publisher_watch(w->targets, w->host->watch, &w->target_watcher, &err) != 0)
        cfr_log(CFR_LOG_WARN, w->config->name, cfr_worker_state_name(w), "%s; polling once a minute", err.text);
}

void cfr_worker_watch(struct cfr_worker *w)
{
    watch(w);
    cfr_worker_ack_watch(w);
    /* It may have changed before. What the cloud refused has its own time. */
    if (w->life.state == CFR_STATE_WAITING && !w->turn.queued)
        cfr_worker_on_source(w);
}

void cfr_worker_begin(struct cfr_worker *w)
{
    struct cfr_now now = cfr_clock_now();
    bool fresh;
    char words[CFR_TIME_WORDS_MAX];

    w->trouble.begun_boot_ms = now.boot_ms;
    learn_provider(w);
    fresh = adopt(w, now);

    watch(w);
    restore_hooks(w, now);
    cfr_worker_ack_watch(w);
    if (cfr_worker_ack_look(w))
        cfr_worker_save(w);
    if (fresh) {
        int64_t overdue_ms = cfr_source_token_file_overdue_ms(w->token.issued_s, w->token.expires_s);

        w->token.overdue_boot_ms = overdue_ms == INT64_MAX ? INT64_MAX : now.boot_ms + overdue_ms - now.wall_ms;
        clean_up(w);
        cfr_worker_feed(w, CFR_EVENT_ADOPT);
        cfr_log(
            CFR_LOG_INFO, w->config->name, cfr_worker_state_name(w), "generation %" PRIu64 " is still good%s%s: kept",
            w->record.generation, w->life.life.expires_ms == INT64_MAX ? "" : " for ",
            w->life.life.expires_ms == INT64_MAX ? "" : cfr_time_words(w->life.life.expires_ms - now.wall_ms, words));
        cfr_worker_on_source(w);
    } else {
        /* By its timer, because thousands that are done at once are too many for one turn of the loop. */
        cfr_lifecycle_retry_at(&w->life, now.boot_ms);
        cfr_worker_feed(w, CFR_EVENT_NONE);
    }
}

bool cfr_worker_is_saving(const struct cfr_worker *w)
{
    return w->save_boot_ms != INT64_MAX;
}

bool cfr_worker_is_saved(struct cfr_worker *w)
{
    if (cfr_worker_is_saving(w))
        cfr_worker_save(w);
    return !cfr_worker_is_saving(w);
}

void cfr_worker_close(struct cfr_worker *w)
{
    if (w->life.state != CFR_STATE_STOPPED)
        cfr_worker_feed(w, CFR_EVENT_STOP);
    if (w->host->watch != NULL) {
        cfr_watch_remove(w->host->watch, &w->source_watcher);
        cfr_watch_remove(w->host->watch, &w->target_watcher);
        cfr_watch_remove(w->host->watch, &w->ca_watcher);
    }
    cfr_worker_ack_close(w);
    cfr_hook_close(w->hooks);
    cfr_publish_secret_close(w->delivery);
    cfr_publisher_close(w->targets);
    cfr_worker_drop_granted(&w->granted);
    cfr_worker_drop_granted(&w->held);
    cfr_worker_producer_close(w);
    cfr_loop_off(&w->task);
    cfr_worker_drop_kept(w);
    cfr_slow_write_close(&w->saving);
    cfr_publish_record_free(&w->record);
    free(w->watched);
    free(w->warning);
    free(w->note);
    free(w->error);
    free(w->last_reason);
    free(w);
}

/* What a source names itself is the inputs' own, and of a key nothing is borrowed. */
static void rebind_granted(struct cfr_worker *w, struct cfr_worker_granted *g)
{
    if (g != NULL && g->from.provider != NULL && !w->source->names_provider)
        g->from.provider = cfr_config_provider(w->config, &g->from.config);
}

int cfr_worker_rebind(struct cfr_worker *w, const struct cfr_config_credential *config, struct cfr_err *err)
{
    bool same_hooks = config->digest == w->config->digest;
    struct cfr_hooks *hooks = NULL;

    if (!same_hooks && cfr_hook_open(config, w->host->http, w->host->kube, w->host->hook_attempts, cfr_worker_on_hook,
                                     w, &hooks, err) != 0)
        return err->code;
    if (!same_hooks && fit_record(w, config, hooks, err) != 0) {
        cfr_hook_close(hooks);
        return CFR_E_NOMEM;
    }
    if (!same_hooks) {
        cfr_worker_save(w);
        cfr_worker_ack_close(w);
        w->config = config;
        cfr_hook_close(w->hooks);
        w->hooks = hooks;
        if (cfr_worker_ack_open(w, cfr_worker_on_acknowledged, err) != 0)
            cfr_log(CFR_LOG_ERROR, config->name, cfr_worker_state_name(w), "cannot read acknowledgements: %s",
                    err->text);
        restore_hooks(w, cfr_clock_now());
        watch_ca_files(w);
        cfr_worker_ack_watch(w);
        (void)cfr_worker_ack_look(w);
        cfr_worker_save(w);
    }
    w->config = config;
    cfr_hook_rebind(w->hooks, config);
    cfr_publish_secret_rebind(w->delivery, config);
    cfr_publisher_rebind(w->targets, config);
    rebind_granted(w, w->granted);
    rebind_granted(w, w->held);
    if (w->exchange != NULL)
        cfr_source_exchange_rebind(w->exchange, config);
    cfr_worker_producer_rebind(w);
    cfr_worker_review_kept(w);
    cfr_worker_wake(w);
    return 0;
}

void cfr_worker_abandon(const struct cfr_worker *w)
{
    cfr_worker_producer_abandon(w);
}

const struct cfr_config_credential *cfr_worker_config(const struct cfr_worker *w)
{
    return w->config;
}

bool cfr_worker_is_busy(const struct cfr_worker *w)
{
    return w->exchange != NULL || cfr_worker_producer_report(w).busy || cfr_hook_running(w->hooks) ||
           cfr_publish_secret_running(w->delivery) || cfr_publisher_is_busy(w->targets);
}

enum cfr_worker_outcome cfr_worker_outcome(const struct cfr_worker *w)
{
    const struct cfr_source_report report = cfr_worker_producer_report(w);

    /* What is left of a rotation, and is due, belongs to it. */
    if (report.continues || cfr_publisher_is_busy(w->targets))
        return CFR_WORKER_BUSY;
    /* The source may have changed. */
    if (w->look_boot_ms <= cfr_clock_now().boot_ms)
        return CFR_WORKER_BUSY;
    if (w->life.state == CFR_STATE_FRESH && report.refused)
        return CFR_WORKER_BAD;
    if (w->life.state == CFR_STATE_FRESH &&
        (cfr_publish_secret_pending(w->delivery) || cfr_publish_secret_unseen(w->delivery)))
        return cfr_publish_secret_stuck(w->delivery) != 0 ? CFR_WORKER_BAD : CFR_WORKER_BUSY;
    if (w->life.state == CFR_STATE_FRESH && !cfr_hook_pending(w->hooks))
        return cfr_hook_failed(w->hooks) ? CFR_WORKER_BAD : CFR_WORKER_GOOD;
    if (w->life.state == CFR_STATE_BACKOFF && cfr_err_class(w->error_code) == CFR_CLASS_STOP)
        return CFR_WORKER_BAD;
    if ((w->life.state == CFR_STATE_BACKOFF || w->life.state == CFR_STATE_WAITING) && w->error_code == CFR_E_CONFIG)
        return CFR_WORKER_BAD;
    return CFR_WORKER_BUSY;
}

void cfr_worker_status(struct cfr_worker *w, struct cfr_now now, struct cfr_api_status_credential *out)
{
    int64_t next = cfr_lifecycle_deadline(&w->life);
    int64_t delivered_ms = cfr_publish_secret_expires_ms(w->delivery);
    int64_t set_back_ms = cfr_clock_set_back_ms(now, w->life.life.expires_ms, w->life.expires_boot_ms);
    /* A Secret that is behind may end before what is published here. */
    int64_t expires_ms =
        delivered_ms != 0 && delivered_ms < w->life.life.expires_ms ? delivered_ms : w->life.life.expires_ms;

    *out = (struct cfr_api_status_credential){
        .name = w->config->name,
        .state = cfr_worker_state_name(w),
        .provider = w->provider != NULL ? w->provider->name : w->source->name,
        .source = w->source->describe(w->config),
        .identity = w->record.identity,
        .required = cfr_worker_counts(w),
        .published = w->life.published && !w->lost && delivered_ms != 0,
        .unserved = cfr_worker_lacks_served(w),
        .source_missing = w->source_missing,
        .generation = w->record.generation,
        .issued_s = w->life.published ? (w->life.life.issued_ms - set_back_ms) / 1000 : 0,
        .expires_s = !w->life.published || expires_ms == INT64_MAX ? 0 : (expires_ms - set_back_ms) / 1000,
        .refresh_s = next == INT64_MAX ? 0 : (now.wall_ms + (next - now.boot_ms)) / 1000,
        .last_success_s = w->record.last_success_s,
        .token_issued_s = w->token.issued_s,
        .token_expires_s = w->token.expires_s,
        .token_overdue = w->token.overdue,
        .token_requested = w->token.requested,
        .token_note = w->token.sub_path ? "a subPath mount, which never changes" : w->warning,
        .error = w->error,
        .error_code = w->error_code,
        .error_s = w->error_s,
        .failures = w->life.backoff.failures,
        .tries_left = cfr_lifecycle_tries_left(&w->life, now, cfr_err_class(w->error_code)),
        .skew_known = w->skew_known,
        .skew_s = w->skew_s,
        .reason = w->rotate_wanted ? w->record.pending_reason : w->last_reason,
        .exchanges_ok = w->exchanges_ok,
        .duration = w->duration,
        .hooks = cfr_hook_status(w->hooks),
        .hook_count = cfr_hook_count(w->hooks),
        .deliveries = cfr_publish_secret_status(w->delivery),
        .delivery_count = cfr_publish_secret_count(w->delivery),
        .history = &w->history,
    };
    cfr_worker_note_health(w);
    /* A refresh is due by either clock. */
    if (cfr_lifecycle_is_settled(&w->life) && w->life.refresh_wall_ms / 1000 < out->refresh_s)
        out->refresh_s = w->life.refresh_wall_ms / 1000;
    cfr_worker_ack_status(w, now, out);
    cfr_worker_producer_status(w, out);
    memcpy(out->exchanges_failed, w->exchanges_failed, sizeof out->exchanges_failed);
    /* The boot clock may know better than a wall clock that was set back. */
    if (w->life.published && !cfr_lifecycle_valid(&w->life, now) && out->expires_s > now.wall_ms / 1000)
        out->expires_s = now.wall_ms / 1000;
}
