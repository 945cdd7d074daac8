/* SPDX-License-Identifier: MIT */
/* Events of a worker: the interpreter of its lifecycle, and the callbacks that lead to it. */
#include "agent/worker/worker_private.h"

#include "agent/source/token_file.h"
#include "base/log.h"
#include "base/time.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* A source that cannot be read is looked at again after 0.2, 0.4, ... 3.2 seconds, 6.2 in all. */
#define UNREADABLE_LOOKS   5
#define UNREADABLE_LOOK_MS INT64_C(200)

#define STORM              16   /* turns that leave memory worth giving back */
#define BUSY_LOOK_MS       1000 /* while other work at the targets is in progress */
#define RESUME_MS          1000 /* in which all begin that waited for one API server */

/* ---- the interpreter ---- */

static void drop_inputs(struct cfr_worker *w)
{
    if (w->inputs != NULL)
        cfr_source_inputs_free(&w->inputs->source);
    free(w->inputs);
    w->inputs = NULL;
}

static enum cfr_event notify(struct cfr_worker *w)
{
    return cfr_hook_pending(w->hooks) ? CFR_EVENT_NONE : CFR_EVENT_NOTIFIED;
}

static void cancel(struct cfr_worker *w)
{
    cfr_fair_queue_leave(&w->host->turns, &w->turn);
    w->publishing = false;
    cfr_worker_producer_cancel(w);
    if (w->exchange != NULL)
        cfr_source_exchange_cancel(w->exchange);
    w->exchange = NULL;
}

void cfr_worker_feed(struct cfr_worker *w, enum cfr_event event)
{
    while (event != CFR_EVENT_NONE) {
        enum cfr_event given = event;
        enum cfr_state before = w->life.state;
        enum cfr_lifecycle_action action = cfr_lifecycle_step(&w->life, given);

        event = CFR_EVENT_NONE;
        if (w->life.state != before)
            cfr_log(CFR_LOG_DEBUG, w->config->name, cfr_worker_state_name(w), "%s: was %s",
                    cfr_lifecycle_event_name(given), cfr_lifecycle_state_name(before));
        switch (action) {
        case CFR_ACTION_NOTHING:
            break;
        case CFR_ACTION_ACQUIRE:
            event = cfr_worker_acquire(w);
            break;
        case CFR_ACTION_AGAIN:
            cfr_lifecycle_try_again(&w->life);
            break;
        case CFR_ACTION_PUBLISH:
            event = cfr_worker_publish(w);
            break;
        case CFR_ACTION_TOKEN:
            cfr_worker_publish_token(w);
            break;
        case CFR_ACTION_NOTIFY:
            event = notify(w);
            break;
        case CFR_ACTION_CANCEL:
            cancel(w);
            break;
        case CFR_ACTION_REFUSE:
            cfr_log(CFR_LOG_DEBUG, w->config->name, cfr_worker_state_name(w), "event %s means nothing here",
                    cfr_lifecycle_event_name(given));
            break;
        }
    }
    drop_inputs(w);
    if (!w->publishing)
        cfr_worker_drop_granted(&w->granted);
    if (w->exchange == NULL)
        cfr_fair_queue_end(&w->host->turns, &w->turn);
    cfr_worker_note_health(w);
    cfr_worker_rearm(w);
}

bool cfr_worker_queue_ready(const struct cfr_host *host)
{
    return !host->draining && !cfr_publisher_is_crowded(&host->crew) &&
           cfr_fair_queue_ready(&host->turns, host->config->max_concurrent_exchanges);
}

static void give_memory_back(struct cfr_host *host)
{
    if (host->begun < STORM || host->turns.active != 0 || !cfr_publisher_is_idle(&host->crew) ||
        cfr_fair_queue_ready(&host->turns, host->config->max_concurrent_exchanges))
        return;
    host->begun = 0;
    cfr_http_rest(host->http);
}

void cfr_worker_serve_queue(struct cfr_host *host)
{
    int64_t until_boot_ms = cfr_clock_now().boot_ms + CFR_HOST_TURN_MS;
    struct cfr_worker *w;

    while (!host->draining && !cfr_publisher_is_crowded(&host->crew) && cfr_clock_now().boot_ms <= until_boot_ms &&
           (w = cfr_fair_queue_take(&host->turns, host->config->max_concurrent_exchanges)) != NULL) {
        cfr_fair_queue_begin(&host->turns, &w->turn, w->provider);
        host->begun++;
        cfr_worker_feed(w, CFR_EVENT_TURN);
    }
    give_memory_back(host);
}

/* ---- the source ---- */

/* The last attempt did not fail for its source: the same one is no reason to try before the time that was planned. */
static bool is_outage(const struct cfr_worker *w)
{
    return w->life.state == CFR_STATE_BACKOFF &&
           (w->error_code == CFR_E_NET || w->error_code == CFR_E_TIMEOUT || w->error_code == CFR_E_THROTTLED ||
            w->error_code == CFR_E_UNAVAILABLE);
}

/* Kubelets before Kubernetes 1.27 swap a volume first and then give its files their owner (their pull request 114464):
 * a quick reader finds a token that it may not read yet. What a slow file system brings is there at the next look. */
static bool comes_soon(struct cfr_worker *w, const struct cfr_worker_inputs *r)
{
    if ((r->rc != CFR_E_PERM && r->rc != CFR_E_TIMEOUT) || w->looks == UNREADABLE_LOOKS)
        return false;
    w->look_boot_ms = cfr_clock_now().boot_ms + (UNREADABLE_LOOK_MS << w->looks);
    w->looks++;
    return true;
}

/* Keeps what was read for the acquire that follows; without memory it reads again. */
static void keep_inputs(struct cfr_worker *w, struct cfr_worker_inputs *r)
{
    drop_inputs(w);
    w->inputs = malloc(sizeof *w->inputs);
    if (w->inputs == NULL)
        return;
    *w->inputs = *r;
    r->source = (struct cfr_source_inputs){.mark = 0};
}

/* Reads the source and gives the event that follows, if any: a volume swap that left everything as it was is no reason
 * to go to the cloud. */
static void read_source(struct cfr_worker *w)
{
    struct cfr_worker_inputs r;
    enum cfr_event event = CFR_EVENT_NONE;
    bool settled = cfr_lifecycle_is_settled(&w->life);

    w->look_boot_ms = INT64_MAX;
    cfr_worker_read(w, &r);
    cfr_worker_forget_admin(w, r.rc);
    if (comes_soon(w, &r)) {
        cfr_log(CFR_LOG_DEBUG, w->config->name, cfr_worker_state_name(w), "%s; checking again soon", r.err.text);
    } else if (settled && r.rc != 0) {
        /* Reported now, not when the refresh that needs it is due. */
        cfr_worker_note_error(w, &r.err, w->life.state,
                              w->life.refresh_boot_ms != INT64_MAX ? w->life.refresh_boot_ms - cfr_clock_now().boot_ms
                                                                   : INT64_MAX);
    } else if (settled && r.source.mark == w->token_used) {
        cfr_worker_clear_error(w);
        cfr_worker_note_token(w, &r.source);
        cfr_worker_note_request(w, &r.source);
        cfr_worker_review_kept(w);
    } else if (w->polled && !settled &&
               (r.rc != 0 || (w->life.state == CFR_STATE_BACKOFF && r.source.mark == w->token_used))) {
        /* What failed is tried again at its own time. */
        cfr_log(CFR_LOG_DEBUG, w->config->name, cfr_worker_state_name(w), "the source is as it was");
    } else if (r.rc != 0 || r.source.mark != w->token_used ||
               !(is_outage(w) || w->life.state == CFR_STATE_EXCHANGING || w->life.state == CFR_STATE_PUBLISHING)) {
        keep_inputs(w, &r);
        event = CFR_EVENT_SOURCE;
    }
    cfr_source_inputs_free(&r.source);
    cfr_worker_feed(w, event);
}

void cfr_worker_on_source(struct cfr_worker *w)
{
    w->looks = 0;
    w->polled = false;
    read_source(w);
}

void cfr_worker_on_source_changed(void *ctx)
{
    cfr_worker_on_source(ctx);
}

void cfr_worker_look_soon(struct cfr_worker *w)
{
    w->looks = 0;
    w->polled = false;
    w->look_boot_ms = cfr_clock_now().boot_ms;
    cfr_worker_feed(w, CFR_EVENT_NONE);
}

/* Until the token of R is overdue by the wall clock, which is what decides; 0 if it is, or if a request takes its
 * place.
 */
static int64_t early_ms(const struct cfr_worker_inputs *r, struct cfr_now now)
{
    int64_t at_ms = cfr_source_token_file_overdue_ms(r->source.issued_s, r->source.expires_s);

    return r->rc != 0 || r->source.requested || at_ms == INT64_MAX || at_ms <= now.wall_ms ? 0 : at_ms - now.wall_ms;
}

/* A token that is not replaced gives one more session just before it expires, which lasts after that. Not where what is
 * published ends with the token. */
static void use_last(struct cfr_worker *w, struct cfr_now now)
{
    int64_t at_ms = cfr_source_token_file_last_use_ms(w->token.issued_s, w->token.expires_s);
    char words[CFR_TIME_WORDS_MAX];

    if (w->token.used_last || w->provider == NULL || w->token.expires_s == 0 ||
        w->token.expires_s * 1000 <= now.wall_ms || cfr_config_publishes_token(w->config) ||
        !cfr_lifecycle_is_settled(&w->life))
        return;
    if (at_ms > now.wall_ms) {
        if (now.boot_ms + at_ms - now.wall_ms < w->token.overdue_boot_ms)
            w->token.overdue_boot_ms = now.boot_ms + at_ms - now.wall_ms;
        return;
    }
    w->token.used_last = true;
    cfr_log(CFR_LOG_WARN, w->config->name, cfr_worker_state_name(w),
            "the token expires in %s and has not been replaced: exchanging it once more",
            cfr_time_words(w->token.expires_s * 1000 - now.wall_ms, words));
    cfr_worker_feed(w, CFR_EVENT_DUE);
}

/* The token should have been replaced and may have been, unnoticed: looks, and warns if it was not. */
static void check_overdue(struct cfr_worker *w, struct cfr_now now)
{
    struct cfr_worker_inputs r;
    uint64_t known = w->token.mark;
    bool gone;
    bool renewed;
    int64_t early;
    char words[CFR_TIME_WORDS_MAX];

    /* First of all: a new token that cannot be used yet (queued, exchanging) leaves the deadline as it is. */
    w->token.overdue_boot_ms = now.boot_ms + CFR_LIFECYCLE_LOOK_AGAIN_MS;
    cfr_worker_read(w, &r);
    gone = r.source.token_path == NULL;
    renewed = r.rc == 0 && !r.source.requested && r.source.mark != known;
    early = early_ms(&r, now);
    if (!gone && !renewed && early == 0) {
        w->token.sub_path = cfr_file_leads_to_mount(r.source.token_path);
        if (!w->token.overdue)
            cfr_log(CFR_LOG_WARN, w->config->name, cfr_worker_state_name(w),
                    "the token in %s is %s old, past 80 %% of its lifetime, and it has not been replaced: %s",
                    r.source.token_path, cfr_time_words(now.wall_ms - w->token.issued_s * 1000, words),
                    w->token.sub_path ? "it is a subPath mount, which never changes; mount the whole volume"
                                      : "look at the kubelet of this node");
    }
    cfr_source_inputs_free(&r.source);
    if (gone)
        w->token.overdue_boot_ms = INT64_MAX;
    if (gone || renewed) {
        cfr_worker_on_source(w);
        return;
    }
    if (early > 0) {
        w->token.overdue_boot_ms = now.boot_ms + early;
        return;
    }
    w->token.overdue = true;
    if (w->config->token == NULL || w->config->token->request == NULL)
        use_last(w, now);
    if (!w->token.requested && !w->token.refused && w->config->token != NULL && w->config->token->request != NULL)
        cfr_worker_feed(w, CFR_EVENT_SOURCE);
}

/* ---- the timer, the clock, processes ---- */

static void end_retire(struct cfr_worker *w, const struct cfr_publisher_outcome *out)
{
    if (out->failed != 0) {
        cfr_log(CFR_LOG_WARN, w->config->name, cfr_worker_state_name(w), "cannot remove the previous generation: %s",
                out->err.text);
        w->retire_boot_ms = cfr_clock_now().boot_ms + CFR_LIFECYCLE_LOOK_AGAIN_MS;
        return;
    }
    cfr_worker_ack_retired(w);
    w->record.retire_ms = 0;
    cfr_worker_save(w);
}

static void end_forget(struct cfr_worker *w, const struct cfr_publisher_outcome *out)
{
    w->forgotten = out->failed == 0;
    cfr_worker_save(w);
    if (w->forgotten)
        return;
    w->forget_boot_ms = cfr_clock_now().boot_ms + CFR_LIFECYCLE_LOOK_AGAIN_MS;
    cfr_log(CFR_LOG_WARN, w->config->name, cfr_worker_state_name(w), "cannot remove the previous values of the key: %s",
            out->err.text);
}

/* While nothing is under way that writes them. */
static bool may_check_targets(const struct cfr_worker *w)
{
    /* A new token is published alone in any state. */
    return w->record.generation != 0 && !w->publishing &&
           (cfr_lifecycle_is_settled(&w->life) || w->life.state == CFR_STATE_BACKOFF ||
            w->life.state == CFR_STATE_WAITING);
}

/* Was what is published removed or overwritten? Hooks that are pending, and may fail without it, do not hold that up;
 * a retry that is planned brings it back itself. */
static void check_targets(struct cfr_worker *w)
{
    bool settled = cfr_lifecycle_is_settled(&w->life);
    struct cfr_err err = {0};

    if (!may_check_targets(w) || (!settled && (w->lost || !w->life.published)) ||
        (settled ? cfr_publisher_verify(w->targets, &w->record, &err)
                 : cfr_publisher_verify_left(w->targets, &w->record, &err)) == 0)
        return;
    cfr_log(CFR_LOG_WARN, w->config->name, cfr_worker_state_name(w),
            "published files changed or are missing, publishing again%s: %s", settled ? "" : " once it can be renewed",
            err.text);
    w->known = false;
    w->lost = true;
    w->restore_boot_ms = cfr_clock_now().boot_ms + CFR_LIFECYCLE_LOOK_AGAIN_MS;
    cfr_worker_feed(w, settled ? CFR_EVENT_DUE : CFR_EVENT_NONE);
}

/* Work at the targets but a publish has ended. */
static void end_work(struct cfr_worker *w)
{
    struct cfr_publisher_outcome out;

    cfr_publisher_finish(w->targets, &w->record, &out);
    if (out.work == CFR_PUBLISHER_RETIRE)
        end_retire(w, &out);
    if (out.work == CFR_PUBLISHER_FORGET)
        end_forget(w, &out);
    if (out.work == CFR_PUBLISHER_RECOVER) {
        w->recover = false;
        if (out.failed != 0)
            cfr_log(CFR_LOG_WARN, w->config->name, cfr_worker_state_name(w), "cannot clean up after an earlier run: %s",
                    out.err.text);
    }
    if (w->starting) {
        w->starting = false;
        cfr_worker_begin(w);
    } else if (out.work == CFR_PUBLISHER_LOOK) {
        check_targets(w);
    }
}

/* Goes on with an acquire that waits for a child's end. */
static void resume_acquire(struct cfr_worker *w)
{
    if (!w->acquire_after || cfr_publisher_is_busy(w->targets))
        return;
    w->acquire_after = false;
    if (w->life.state == CFR_STATE_WAITING)
        cfr_worker_feed(w, CFR_EVENT_TURN);
}

/* Does what the end of work at the targets was waited for. */
static void follow_targets(struct cfr_worker *w)
{
    if (!cfr_publisher_has_ended(w->targets))
        return;
    if (w->publishing && w->granted != NULL && w->granted->plan.begun)
        cfr_worker_feed(w, cfr_worker_publish_ended(w));
    else
        end_work(w);
    if (w->publishing && !cfr_publisher_is_busy(w->targets))
        cfr_worker_feed(w, cfr_worker_publish(w));
    resume_acquire(w);
}

void cfr_worker_on_targets(void *ctx)
{
    cfr_worker_wake(ctx);
}

/* Begins WORK at the targets. False if other work is under way, or it could not be begun. */
static bool begin_work(struct cfr_worker *w, unsigned work)
{
    struct cfr_err err = {0};
    int rc;

    if (cfr_publisher_is_busy(w->targets))
        return false;
    rc = cfr_publisher_start(w->targets, work, NULL, &w->record, &err);
    if (rc < 0)
        cfr_log(CFR_LOG_WARN, w->config->name, cfr_worker_state_name(w), "cannot check the published files: %s",
                err.text);
    if (rc == 0)
        follow_targets(w);
    return rc >= 0;
}

static void retire(struct cfr_worker *w)
{
    w->retire_boot_ms = INT64_MAX;
    if (!begin_work(w, CFR_PUBLISHER_RETIRE))
        w->retire_boot_ms = cfr_clock_now().boot_ms + BUSY_LOOK_MS;
}

/* The old key is deleted: so are its values, in place. Another generation would be news to consumers. */
static void forget(struct cfr_worker *w)
{
    bool gone = w->record.key != NULL && cfr_worker_producer_report(w).old_gone;
    int64_t now_ms = cfr_clock_now().boot_ms;

    w->forgotten = w->forgotten && gone;
    if (!gone || w->forgotten || !cfr_lifecycle_is_settled(&w->life)) {
        w->forget_boot_ms = INT64_MAX;
        return;
    }
    if (w->forget_boot_ms != INT64_MAX && w->forget_boot_ms > now_ms)
        return;
    w->forget_boot_ms = now_ms + BUSY_LOOK_MS;
    if (cfr_publisher_is_busy(w->targets) || !cfr_publisher_may_forget(w->targets, &w->record))
        return;
    /* A crash on the way must not look like a loss. */
    cfr_worker_save(w);
    cfr_publish_secret_forget_old(w->delivery, now_ms);
    (void)begin_work(w, CFR_PUBLISHER_FORGET);
    if (w->forgotten)
        w->forget_boot_ms = INT64_MAX;
}

static void on_timer(struct cfr_worker *w)
{
    struct cfr_now now = cfr_clock_now();
    enum cfr_event event;

    cfr_publisher_step(w->targets, now);
    follow_targets(w);
    if (w->save_boot_ms <= now.boot_ms)
        cfr_worker_save(w);
    cfr_worker_report_trouble(w);
    if (cfr_worker_ack_step(w, now))
        cfr_worker_save(w);
    if (cfr_worker_ack_retire_at(w) <= now.boot_ms)
        retire(w);
    if (w->look_boot_ms <= now.boot_ms)
        read_source(w);
    if (w->token.overdue_boot_ms <= now.boot_ms)
        check_overdue(w, now);
    cfr_publish_secret_step(w->delivery, now);
    w->news = false;
    cfr_worker_producer_step(w);
    forget(w);
    if (w->life.state == CFR_STATE_RELOADING && !cfr_hook_pending(w->hooks))
        cfr_worker_feed(w, CFR_EVENT_NOTIFIED);
    cfr_lifecycle_lost(&w->life, now, cfr_publish_secret_lost(w->delivery), w->source->may_send(w->config));
    event = w->turn.queued || w->acquire_after ? CFR_EVENT_NONE : cfr_lifecycle_next_event(&w->life, now);
    if (event == CFR_EVENT_DUE)
        w->token.refused = w->token.refused && !cfr_lifecycle_is_settled(&w->life);
    cfr_worker_feed(w, event);
}

void cfr_worker_run(struct cfr_task *task)
{
    on_timer(CFR_TASK_OWNER(task, struct cfr_worker, task));
}

static void check_targets_now(struct cfr_worker *w)
{
    if (!cfr_publisher_is_remote(w->targets))
        check_targets(w);
    else if (may_check_targets(w))
        (void)begin_work(w, CFR_PUBLISHER_LOOK);
}

/* A program that removes it again and again does not cause an exchange each time. */
void cfr_worker_on_targets_changed(void *ctx)
{
    struct cfr_worker *w = ctx;

    if (cfr_clock_now().boot_ms >= w->restore_boot_ms)
        check_targets_now(w);
}

void cfr_worker_on_tick(struct cfr_worker *w)
{
    cfr_worker_review_kept(w);
    check_targets_now(w);
    if (cfr_worker_ack_look(w))
        cfr_worker_save(w);
    on_timer(w);
    if (w->unwatched) {
        cfr_worker_look_soon(w);
        w->polled = true;
    }
}

void cfr_worker_on_child(struct cfr_worker *w)
{
    cfr_publisher_step(w->targets, cfr_clock_now());
    follow_targets(w);
    resume_acquire(w);
    if (w->save_boot_ms != INT64_MAX) {
        cfr_worker_save(w);
        cfr_worker_rearm(w);
    } else if (cfr_publisher_is_busy(w->targets)) {
        cfr_worker_rearm(w);
    }
    if (cfr_worker_producer_report(w).writing)
        cfr_worker_wake(w);
}

void cfr_worker_on_clock(struct cfr_worker *w)
{
    /* The clock may be what was wrong: a token from the future, a certificate that is not valid yet. */
    bool blamed = w->life.state == CFR_STATE_WAITING ||
                  (w->life.state == CFR_STATE_BACKOFF && cfr_err_class(w->error_code) != CFR_CLASS_RETRY);
    bool due;

    w->skew_known = false;
    cfr_worker_producer_step(w);
    due = !w->turn.queued && (blamed || cfr_lifecycle_due(&w->life, cfr_clock_now()));
    cfr_worker_feed(w, due ? CFR_EVENT_DUE : CFR_EVENT_NONE);
}

/* The server of the token that could not be requested, or of the state that a producer shares. */
static bool waits_for(struct cfr_worker *w, const struct cfr_kube_where *where)
{
    const struct cfr_config_request *request = w->config->token != NULL ? w->config->token->request : NULL;
    bool token = request != NULL && w->token.missing &&
                 cfr_kube_where_is(&(struct cfr_kube_where){request->kubeconfig, request->context}, where);

    return cfr_worker_producer_resume(w, where) || token;
}

void cfr_worker_resume(struct cfr_worker *w, const struct cfr_kube_where *where)
{
    struct cfr_now now = cfr_clock_now();
    bool delivers = cfr_publish_secret_resume(w->delivery, where, now);
    bool waits = waits_for(w, where);

    cfr_hook_resume(w->hooks, true, now);
    if (waits && w->life.state == CFR_STATE_BACKOFF)
        cfr_lifecycle_retry_at(&w->life, now.boot_ms + (int64_t)(cfr_clock_chance() * RESUME_MS));
    if (delivers || waits)
        cfr_worker_wake(w);
}

/* The last try failed for what the CA file holds, or could not read it. */
static bool blames_ca(const struct cfr_worker *w)
{
    return w->life.state == CFR_STATE_BACKOFF &&
           (w->error_code == CFR_E_TLS || cfr_err_class(w->error_code) == CFR_CLASS_LOCAL);
}

void cfr_worker_on_ca_changed(void *ctx)
{
    struct cfr_worker *w = ctx;
    struct cfr_now now = cfr_clock_now();
    bool waits = blames_ca(w);

    if (waits)
        cfr_lifecycle_retry_at(&w->life, now.boot_ms);
    cfr_hook_resume(w->hooks, false, now);
    if (waits)
        cfr_worker_wake(w);
}

/* ---- consumers ---- */

void cfr_worker_on_acknowledged(void *ctx)
{
    struct cfr_worker *w = ctx;

    if (cfr_worker_ack_look(w))
        cfr_worker_save(w);
    cfr_worker_wake(w);
}

void cfr_worker_on_hook(void *ctx, const char *name, uint64_t generation, const char *error, bool news)
{
    struct cfr_worker *w = ctx;
    struct cfr_log_fields fields = cfr_worker_log_fields(w, 0);

    fields.hook = name;
    if (error != NULL)
        cfr_log_with(&fields, news ? CFR_LOG_WARN : CFR_LOG_DEBUG, w->config->name, cfr_worker_state_name(w),
                     "hook \"%s\" failed: %s", name, error);
    else
        cfr_log_with(&fields, CFR_LOG_INFO, w->config->name, cfr_worker_state_name(w),
                     "hook \"%s\" done for generation %" PRIu64, name, generation);
    (void)cfr_worker_ack_hooks(w);
    cfr_worker_save(w);
    cfr_worker_wake(w);
}

void cfr_worker_on_delivered(void *ctx, const char *name, uint64_t generation, const struct cfr_err *err, bool news)
{
    struct cfr_worker *w = ctx;
    bool all;

    if (err != NULL) {
        bool named = strstr(err->text, name) != NULL;

        cfr_log(news ? CFR_LOG_WARN : CFR_LOG_DEBUG, w->config->name, cfr_worker_state_name(w), "%s%s%s [%s, %s]",
                named ? "" : name, named ? "" : ": ", err->text, cfr_err_name(err->code),
                cfr_err_class_name(cfr_err_class(err->code)));
        if (cfr_publish_secret_lost(w->delivery))
            cfr_worker_save(w);
    } else if (news) {
        cfr_log(CFR_LOG_INFO, w->config->name, cfr_worker_state_name(w), "%s holds generation %" PRIu64, name,
                generation);
        all = !cfr_publish_secret_pending(w->delivery);
        /* Where nothing is published on this machine, this is the moment that consumers wait for. */
        if (all && cfr_worker_hooks_wait(w))
            cfr_hook_request(w->hooks, generation, w->first_delivery, cfr_clock_now());
        w->first_delivery = w->first_delivery && !all;
        cfr_worker_save(w);
        if (all)
            cfr_worker_producer_published(w);
    }
    cfr_worker_wake(w);
}

/* ---- operators ---- */

/* A rotation that would change nothing, or that is not begun, must not use up its reason. */
static int check_rotation(const struct cfr_worker *w, struct cfr_err *err)
{
    const struct cfr_source_ops *source = cfr_source_of(w->config);
    const char *fixed = source->fixed != NULL ? source->fixed(w->config, w->found_final) : NULL;

    if (fixed != NULL)
        return cfr_err_set(err, CFR_E_USAGE, "%s %s", w->config->name, fixed);
    return cfr_worker_producer_may_request(w, err);
}

int cfr_worker_rotate(struct cfr_worker *w, const char *reason, uint64_t *replaces, struct cfr_err *err)
{
    bool named = reason != NULL && reason[0] != '\0';
    char *before;
    char *copy;
    int rc = check_rotation(w, err);

    *replaces = w->record.generation;
    if (rc != 0)
        return rc;
    if (named && cfr_publish_record_has_reason(&w->record, reason))
        return cfr_err_set(err, CFR_E_CONFLICT, "%s was already rotated for the reason \"%s\"", w->config->name,
                           reason);
    copy = strdup(named ? reason : "");
    if (copy == NULL)
        return cfr_err_nomem(err);
    rc = named ? cfr_publish_record_add_reason(&w->record, reason, err) : 0;
    if (rc != 0) {
        free(copy);
        return rc;
    }
    before = w->record.pending_reason;
    w->record.pending_reason = copy;
    w->record.digest = w->config->digest;
    /* Written down before it is promised: a crash must neither forget it nor do it twice. */
    rc = cfr_worker_write_record(w, err);
    if (rc < 0) {
        w->record.pending_reason = before;
        free(copy);
        if (named)
            cfr_publish_record_drop_reason(&w->record);
        return cfr_err_prefix(err, "cannot write down the rotation");
    }
    free(before);
    cfr_log(CFR_LOG_INFO, w->config->name, cfr_worker_state_name(w), "rotation asked for%s%s", named ? ": " : "",
            named ? reason : "");
    w->rotate_wanted = true;
    /* An exchange that is under way began before this was asked, and does not count for it. */
    w->forced = false;
    cfr_worker_producer_request(w);
    cfr_worker_feed(w, CFR_EVENT_ROTATE);
    return 0;
}
