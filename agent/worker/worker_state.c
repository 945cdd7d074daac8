/* SPDX-License-Identifier: MIT */
/* A worker's timer, record and errors. */
#include "agent/worker/worker_private.h"

#include "agent/loop/unit.h"
#include "base/log.h"
#include "base/time.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const char *cfr_worker_state_name(const struct cfr_worker *w)
{
    return cfr_lifecycle_state_name(w->life.state);
}

int64_t cfr_worker_window_ms(const struct cfr_worker *w)
{
    return w->provider != NULL ? w->provider->consumer_window_ms : 0;
}

struct cfr_refresh_jitter cfr_worker_jitter(const struct cfr_worker *w)
{
    /* A token that is published as it is is renewed exactly as the kubelet would. */
    bool token = w->provider == NULL && !w->source->lasting && !w->source->ages;
    bool phased = w->provider != NULL && !w->source->lasting && w->source->may_send(w->config);

    return (struct cfr_refresh_jitter){token ? 0 : w->spread, cfr_clock_chance(), phased && !w->provider->lives_vary};
}

bool cfr_worker_hooks_wait(const struct cfr_worker *w)
{
    return w->delivery != NULL && cfr_publish_secret_count(w->delivery) == w->config->publish.count;
}

static int64_t earlier(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

static struct cfr_trouble_life life_of(const struct cfr_worker *w)
{
    const struct cfr_lifecycle *c = &w->life;

    return (struct cfr_trouble_life){
        .published = c->published,
        .valid = cfr_lifecycle_valid(c, cfr_clock_now()),
        .lifetime_ms = c->life.expires_ms != INT64_MAX ? c->life.expires_ms - c->life.issued_ms : INT64_MAX,
        .expires_boot_ms = c->expires_boot_ms,
    };
}

static int64_t trouble_deadline(const struct cfr_worker *w)
{
    const struct cfr_trouble_life life = life_of(w);

    return w->life.state == CFR_STATE_STOPPED ? INT64_MAX : cfr_trouble_deadline(&w->trouble, &life);
}

void cfr_worker_rearm(struct cfr_worker *w)
{
    int64_t at = w->turn.queued || w->acquire_after ? INT64_MAX : cfr_lifecycle_wake_at(&w->life);

    at = earlier(at, cfr_publish_secret_deadline(w->delivery));
    at = earlier(at, cfr_publisher_deadline(w->targets));
    at = earlier(at, cfr_worker_ack_retire_at(w));
    at = earlier(at, cfr_worker_ack_deadline(w));
    at = earlier(at, w->token.overdue_boot_ms);
    at = earlier(at, w->look_boot_ms);
    at = earlier(at, w->forget_boot_ms);
    at = earlier(at, w->save_boot_ms);
    if (w->production != NULL)
        at = earlier(at, w->source->producer->deadline(w->production));
    at = earlier(at, trouble_deadline(w));
    if (w->news)
        at = 0;
    cfr_loop_at(&w->task, at);
}

void cfr_worker_wake(struct cfr_worker *w)
{
    w->news = true;
    cfr_worker_rearm(w);
}

void cfr_worker_set_issued(struct cfr_worker *w)
{
    const struct cfr_publish_minted *key =
        w->config->mint != NULL && w->config->mint->state != NULL ? w->record.key : NULL;

    cfr_hook_set_issued(w->hooks, key != NULL ? key->number : 0,
                        key != NULL ? key->minted_s * 1000 : w->record.issued_ms);
}

int cfr_worker_write_record(struct cfr_worker *w, struct cfr_err *err)
{
    int rc = cfr_publish_record_save(&w->saving, w->host->state_fd, w->config->name, &w->record, err);
    bool waits = rc == CFR_SLOW_WRITE_UNDER_WAY || rc == CFR_E_TIMEOUT;

    w->save_boot_ms = waits ? cfr_clock_now().boot_ms + CFR_SLOW_WRITE_LOOK_MS : INT64_MAX;
    if (rc == 0)
        w->save_error = (struct cfr_log_once){0};
    return rc;
}

void cfr_worker_save(struct cfr_worker *w)
{
    struct cfr_err err = {0};

    w->record.hook_count = cfr_hook_count(w->hooks);
    for (size_t i = 0; i < w->record.hook_count; i++)
        w->record.hook_done[i] = cfr_hook_done(w->hooks, i);
    w->record.delivered_count = cfr_publish_secret_count(w->delivery);
    w->record.run = cfr_publish_secret_run(w->delivery);
    for (size_t i = 0; i < w->record.delivered_count; i++)
        w->record.delivered[i] = cfr_publish_secret_done(w->delivery, i);
    cfr_worker_ack_record(w);
    w->record.digest = w->config->digest;
    if (cfr_worker_write_record(w, &err) < 0 && cfr_log_once_is_news(&w->save_error, &err))
        cfr_log(CFR_LOG_WARN, w->config->name, cfr_worker_state_name(w),
                "cannot save the state, so a restart will exchange again: %s: %s", w->host->config->state_dir,
                err.text);
}

struct cfr_log_fields cfr_worker_log_fields(const struct cfr_worker *w, int code)
{
    int64_t expires_ms = cfr_lifecycle_expires_ms(&w->life, cfr_clock_now());

    return (struct cfr_log_fields){
        .code = code != 0 ? cfr_err_name(code) : NULL,
        .class = code != 0 ? cfr_err_class_name(cfr_err_class(code)) : NULL,
        .generation = w->record.generation,
        .expires_s = w->life.published && expires_ms != INT64_MAX ? expires_ms / 1000 : 0,
        .attempt = w->trouble.failures,
    };
}

static void report_end(const struct cfr_worker *w, const struct cfr_trouble *was)
{
    int64_t now_ms = cfr_clock_now().boot_ms;
    char lasted[CFR_TIME_WORDS_MAX];
    char expired[CFR_TIME_WORDS_MAX];
    const struct cfr_log_fields fields = cfr_worker_log_fields(w, 0);

    cfr_log_with(&fields, CFR_LOG_INFO, w->config->name, cfr_worker_state_name(w),
                 "recovered after %" PRIu32 " failure%s in %s%s%s", was->failures, was->failures == 1 ? "" : "s",
                 cfr_time_words(now_ms - was->since_boot_ms, lasted), was->expired ? "; it was expired for " : "",
                 was->expired ? cfr_time_words(now_ms - was->expired_boot_ms, expired) : "");
}

void cfr_worker_report_trouble(struct cfr_worker *w)
{
    const struct cfr_trouble_life life = life_of(w);
    int64_t now_ms = cfr_clock_now().boot_ms;
    enum cfr_trouble_word word =
        w->life.state == CFR_STATE_STOPPED ? CFR_TROUBLE_NOTHING : cfr_trouble_due(&w->trouble, &life, now_ms);
    const struct cfr_trouble *t = &w->trouble;
    bool late = word == CFR_TROUBLE_EXPIRED || word == CFR_TROUBLE_STILL_EXPIRED;
    int64_t failing_ms = now_ms - w->trouble.since_boot_ms;
    char lasts[CFR_TIME_WORDS_MAX];
    char times[CFR_TIME_WORDS_MAX + 32] = "";
    char is[CFR_TIME_WORDS_MAX + 64];
    struct cfr_log_fields fields;

    if (word == CFR_TROUBLE_NOTHING)
        return;
    if (late)
        (void)snprintf(is, sizeof is, word == CFR_TROUBLE_EXPIRED ? "has expired" : "expired %s ago",
                       cfr_time_words(now_ms - t->expired_boot_ms, lasts));
    else if (!life.published)
        (void)snprintf(is, sizeof is, "is not published yet");
    else if (life.expires_boot_ms == INT64_MAX)
        (void)snprintf(is, sizeof is, "is published and does not expire");
    else
        (void)snprintf(is, sizeof is, "expires in %s", cfr_time_words(life.expires_boot_ms - now_ms, lasts));
    if (t->failures != 0)
        (void)snprintf(times, sizeof times, " (%" PRIu32 " time%s)", t->failures, t->failures == 1 ? "" : "s");
    fields = cfr_worker_log_fields(w, w->error_code);
    cfr_log_with(&fields, late ? CFR_LOG_ERROR : CFR_LOG_WARN, w->config->name, cfr_worker_state_name(w),
                 "%s; it could not be renewed%s%s%s%s%s", is, failing_ms >= 1000 ? " for " : "",
                 failing_ms >= 1000 ? cfr_time_words(failing_ms, lasts) : "", times, w->error != NULL ? ": " : "",
                 w->error != NULL ? w->error : "");
}

void cfr_worker_clear_error(struct cfr_worker *w)
{
    struct cfr_trouble was;

    free(w->error);
    w->error = NULL;
    w->error_code = 0;
    w->last_error = (struct cfr_log_once){.code = 0};
    if (cfr_trouble_ended(&w->trouble, &was))
        report_end(w, &was);
}

void cfr_worker_note_error(struct cfr_worker *w, const struct cfr_err *err, enum cfr_state state, int64_t retry_ms)
{
    bool news = cfr_log_once_is_news(&w->last_error, err);
    struct cfr_err why = *err;
    char words[CFR_TIME_WORDS_MAX];
    struct cfr_log_fields fields;
    const char *when = retry_ms == INT64_MAX ? "when the source changes" : cfr_time_words(retry_ms, words);

    cfr_unit_advise(&why);
    cfr_trouble_failed(&w->trouble, cfr_clock_now().boot_ms);
    fields = cfr_worker_log_fields(w, err->code);
    w->error_s = cfr_clock_now().wall_ms / 1000;
    cfr_log_with(&fields,
                 !news                                         ? CFR_LOG_DEBUG
                 : cfr_err_class(err->code) == CFR_CLASS_RETRY ? CFR_LOG_WARN
                                                               : CFR_LOG_ERROR,
                 w->config->name, cfr_lifecycle_state_name(state), "%s [%s, %s]; next try %s%s%s", why.text,
                 cfr_err_name(err->code), cfr_err_class_name(cfr_err_class(err->code)),
                 retry_ms == INT64_MAX ? "" : "in ", when,
                 w->life.published ? "; the last good credentials remain" : "");
    free(w->error);
    w->error = strdup(why.text);
    w->error_code = err->code;
}

enum cfr_event cfr_worker_fail(struct cfr_worker *w, const struct cfr_err *err, int64_t retry_after_s)
{
    int64_t delay_ms =
        cfr_lifecycle_failed(&w->life, cfr_clock_now(), cfr_err_class(err->code), retry_after_s, cfr_clock_chance());

    cfr_worker_note_error(w, err, CFR_STATE_BACKOFF, delay_ms);
    return CFR_EVENT_FAILED;
}
