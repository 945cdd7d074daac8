/* SPDX-License-Identifier: MIT */
/* One credential's work. */
#include "agent/worker.h"

#include "agent/publish.h"
#include "agent/token_file.h"
#include "base/log.h"
#include "base/time.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define SKEW_MS 30000        /* a server's clock this far from ours is believed over ours */
#define LESS_LIFE_MS 1000    /* answers are dated in whole seconds */
#define LOOK_AGAIN_MS 60000  /* an overdue token is looked at once a minute */

static const char *state_of(const struct cfr_worker *w)
{
    return cfr_credential_state_name(w->c.state);
}

static int64_t window_of(const struct cfr_worker *w)
{
    const void *config;
    const struct cfr_sts_provider *provider = cfr_config_provider(w->config, &config);

    return provider != NULL ? provider->consumer_window_ms : 0;
}

static struct cfr_refresh_jitter jitter_of(const struct cfr_worker *w)
{
    return (struct cfr_refresh_jitter){w->spread, cfr_clock_chance()};
}

static int64_t earlier(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

/* After everything that may have moved a deadline. */
static void plan(struct cfr_worker *w)
{
    int64_t at = w->queued ? INT64_MAX : cfr_credential_deadline(&w->c);

    at = earlier(at, cfr_hooks_deadline(w->hooks));
    at = earlier(at, w->retire_boot_ms);
    at = earlier(at, w->token.overdue_boot_ms);
    if (w->c.again && w->c.state != CFR_STATE_EXCHANGING && !w->queued)
        at = 0;
    if (!cfr_timers_set(&w->host->timers, &w->timer, at))
        cfr_log(CFR_LOG_ERROR, w->config->name, state_of(w), "out of memory for a timer");
}

static void save(struct cfr_worker *w)
{
    struct cfr_err err = {0};

    w->record.hook_count = cfr_hooks_count(w->hooks);
    for (size_t i = 0; i < w->record.hook_count; i++)
        w->record.hook_done[i] = cfr_hooks_done(w->hooks, i);
    w->record.digest = w->config->digest;
    if (cfr_record_save(w->host->state_fd, w->config->name, &w->record, &err) != 0)
        cfr_log(CFR_LOG_WARN, w->config->name, state_of(w),
                "cannot write down what was published, so a restart will exchange again: %s", err.text);
}

static void clear_error(struct cfr_worker *w)
{
    free(w->error);
    w->error = NULL;
    w->error_code = 0;
}

/* The same words but for those that hold digits: request ids and times differ from one failure to the next. */
static bool same_words(const char *a, const char *b)
{
    while (*a != '\0' || *b != '\0') {
        size_t n = strcspn(a, " ");
        size_t m = strcspn(b, " ");
        bool counts = strcspn(a, "0123456789") >= n || strcspn(b, "0123456789") >= m;

        if (counts && (n != m || memcmp(a, b, n) != 0))
            return false;
        a += n + strspn(a + n, " ");
        b += m + strspn(b + m, " ");
    }
    return true;
}

/* Each error once: the same one again is only news for a debugger. */
static void note_error(struct cfr_worker *w, const struct cfr_err *err, int64_t retry_ms)
{
    bool again = w->error != NULL && w->error_code == err->code && same_words(w->error, err->text);
    char words[CFR_TIME_WORDS_MAX];

    w->error_s = cfr_clock_now().wall_ms / 1000;
    cfr_log(again                                                   ? CFR_LOG_DEBUG
            : cfr_err_class(err->code) == CFR_CLASS_RETRY           ? CFR_LOG_WARN
                                                                    : CFR_LOG_ERROR,
            w->config->name, state_of(w), "%s [%s, %s]; next try in %s%s", err->text, cfr_err_name(err->code),
            cfr_err_class_name(cfr_err_class(err->code)), cfr_time_words(retry_ms, words),
            w->c.published ? "; what is published stays" : "");
    clear_error(w);
    w->error = strdup(err->text);
    w->error_code = err->code;
}

static void step(struct cfr_worker *w, enum cfr_event event);

static void fail(struct cfr_worker *w, const struct cfr_err *err, int64_t retry_after_s)
{
    int64_t delay_ms = cfr_credential_failed(&w->c, cfr_clock_now(), cfr_err_class(err->code),
                                             retry_after_s < 0 ? -1 : retry_after_s * 1000, cfr_clock_chance());

    step(w, CFR_EVENT_FAILED);
    note_error(w, err, delay_ms);
    plan(w);
}

/* ---- the subject token ---- */

/* The token file as it was just read. */
struct reading {
    struct cfr_token_file token;
    struct cfr_err err;
    int64_t wait_ms;
    int rc;
};

static void read_token(const struct cfr_worker *w, struct reading *r)
{
    r->err = (struct cfr_err){0};
    r->rc = cfr_token_file_read(w->config->token, cfr_clock_now().wall_ms, &r->token, &r->wait_ms, &r->err);
}

static void note_token(struct cfr_worker *w, const struct cfr_token_file *t, struct cfr_now now)
{
    int64_t overdue_ms = cfr_token_file_overdue_ms(t->issued_s, t->expires_s);

    if (t->mark != 0 && t->mark != w->token.mark && w->token.overdue)
        cfr_log(CFR_LOG_INFO, w->config->name, state_of(w), "the token file was renewed at last");
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
    note_error(w, err, delay_ms);
    plan(w);
}

/* The token should have been replaced and may have been, unnoticed: look, and say so if it was not. */
static void check_overdue(struct cfr_worker *w, struct cfr_now now)
{
    struct cfr_token_file t;
    struct cfr_err err = {0};
    int64_t wait_ms;
    uint64_t known = w->token.mark;
    bool sub_path;
    char words[CFR_TIME_WORDS_MAX];

    /* Before all else: a new token that cannot be used yet (queued, exchanging) leaves the deadline as it is. */
    w->token.overdue_boot_ms = now.boot_ms + LOOK_AGAIN_MS;
    if (cfr_token_file_read(w->config->token, now.wall_ms, &t, &wait_ms, &err) == 0 && t.mark != known) {
        cfr_token_file_free(&t);
        cfr_worker_on_token(w);
        return;
    }
    cfr_token_file_free(&t);
    sub_path = cfr_file_is_mount(w->config->token->file);
    if (!w->token.overdue)
        cfr_log(CFR_LOG_WARN, w->config->name, state_of(w),
                "the token in %s is %s old, past 80 %% of its life, and nobody has replaced it: %s",
                w->config->token->file, cfr_time_words(now.wall_ms - w->token.issued_s * 1000, words),
                sub_path ? "it is a subPath mount, which never changes; mount the whole volume"
                         : "look at the kubelet of this node");
    w->token.overdue = true;
    w->token.sub_path = sub_path;
}

/* ---- publishing ---- */

static void finish_rotation(struct cfr_worker *w)
{
    if (!w->forced)
        return;
    w->forced = false;
    w->rotate_wanted = false;
    free(w->last_reason);
    w->last_reason = w->record.pending_reason;
    w->record.pending_reason = NULL;
}

static int64_t keep_previous_ms(const struct cfr_worker *w)
{
    return w->config->keep_previous_ms >= 0 ? w->config->keep_previous_ms : w->host->config->keep_previous_ms;
}

/* How long GRANT lives, by the clock of who granted it where that is known to differ from ours. */
static int64_t life_of(const struct cfr_grant *grant, int64_t server_date_s, struct cfr_now now)
{
    int64_t skew_ms = server_date_s != 0 ? server_date_s * 1000 - now.wall_ms : 0;
    int64_t base_ms = skew_ms > SKEW_MS || skew_ms < -SKEW_MS ? server_date_s * 1000 : now.wall_ms;

    return grant->expires_s == 0 ? INT64_MAX : grant->expires_s * 1000 - base_ms;
}

static int judge_grant(const struct cfr_worker *w, int64_t life_ms, struct cfr_now now, struct cfr_err *err)
{
    char had[CFR_TIME_WORDS_MAX];
    char has[CFR_TIME_WORDS_MAX];

    if (life_ms <= 0)
        return cfr_err_set(err, CFR_E_ANSWER, "the answer's credential expired %s ago: look at this machine's clock",
                           cfr_time_words(-life_ms, has));
    if (w->forced || w->replace || !cfr_credential_valid(&w->c, now))
        return 0;
    /* The clock was set back behind its beginning: nobody can say how much of its life is left. */
    if (now.wall_ms < w->c.life.issued_ms)
        return 0;
    if (life_ms != INT64_MAX && now.wall_ms + life_ms < w->c.life.expires_ms - LESS_LIFE_MS)
        return cfr_err_set(err, CFR_E_WORSE,
                           "the answer lives %s, less than the %s that are left of what is published: not published",
                           cfr_time_words(life_ms, has), cfr_time_words(w->c.life.expires_ms - now.wall_ms, had));
    return 0;
}

/* What is known of the content that stands, whether or not this run wrote it. */
static void remember_life(struct cfr_worker *w, struct cfr_grant *grant, struct cfr_now now)
{
    w->record.issued_ms = w->c.life.issued_ms;
    w->record.expires_ms = w->c.life.expires_ms;
    w->record.last_success_s = now.wall_ms / 1000;
    w->record.digest_material = w->config->digest_material;
    w->record.token_mark = w->token_used;
    w->record.token_issued_s = w->token.issued_s;
    w->record.token_expires_s = w->token.expires_s;
    free(w->record.identity);
    w->record.identity = grant->identity;
    grant->identity = NULL;
    w->replace = false;
}

static void remember_generation(struct cfr_worker *w, uint64_t generation, struct cfr_now now)
{
    int64_t keep_ms = keep_previous_ms(w);

    w->record.retire_ms = now.wall_ms + keep_ms;
    w->retire_boot_ms = now.boot_ms + keep_ms;
    w->record.generation = generation;
}

static void announce(const struct cfr_worker *w, bool first, struct cfr_now now)
{
    char life[CFR_TIME_WORDS_MAX];
    char next[CFR_TIME_WORDS_MAX];

    if (w->c.life.expires_ms == INT64_MAX)
        cfr_log(CFR_LOG_INFO, w->config->name, state_of(w), "%s generation %" PRIu64 ", which does not expire",
                first ? "published first" : "published", w->record.generation);
    else
        cfr_log(CFR_LOG_INFO, w->config->name, state_of(w),
                "%s generation %" PRIu64 "%s%s, valid for %s, next refresh in %s",
                first ? "published first" : "published", w->record.generation,
                w->record.identity != NULL ? " of " : "", w->record.identity != NULL ? w->record.identity : "",
                cfr_time_words(w->c.life.expires_ms - now.wall_ms, life),
                cfr_time_words(w->c.refresh_wall_ms - now.wall_ms, next));
}

/* An exchange begins a life now; a token that is passed on is already some way into its own. */
static void begin_life(struct cfr_worker *w, const struct cfr_grant *grant, int64_t life_ms, struct cfr_now now)
{
    struct cfr_refresh_life life = {grant->issued_s * 1000, grant->expires_s * 1000};

    if (w->config->exchange != NULL)
        cfr_credential_renewed(&w->c, now, life_ms, window_of(w), jitter_of(w));
    else
        (void)cfr_credential_adopted(&w->c, now, life, 0, jitter_of(w));
}

static uint64_t next_generation(const struct cfr_worker *w)
{
    uint64_t newest = cfr_publish_newest(w->config);

    return (newest > w->record.generation ? newest : w->record.generation) + 1;
}

static void publish(struct cfr_worker *w, struct cfr_grant *grant, int64_t server_date_s)
{
    struct cfr_now now = cfr_clock_now();
    int64_t life_ms = life_of(grant, server_date_s, now);
    uint64_t generation = next_generation(w);
    bool first = w->record.generation == 0;
    bool known = !first && cfr_publish_verify(w->config, &w->record, NULL) == 0;
    bool changed = false;
    struct cfr_err err = {0};
    int rc = judge_grant(w, life_ms, now, &err);

    grant->issued_s = grant->issued_s != 0 ? grant->issued_s : now.wall_ms / 1000;
    if (rc == 0)
        rc = cfr_publish(w->config, grant, generation, now.wall_ms / 1000, &w->record, &changed, &err);
    if (rc != 0) {
        w->exchanges_failed[cfr_err_class(rc)]++;
        fail(w, &err, -1);
        return;
    }
    clear_error(w);
    w->exchanges_ok++;
    begin_life(w, grant, life_ms, now);
    finish_rotation(w);
    remember_life(w, grant, now);
    /* What stands without being on record, after a crash or a lost state directory, nobody was told of either. */
    if (changed || !known) {
        remember_generation(w, generation, now);
        cfr_hooks_request(w->hooks, generation, first, now);
        save(w);
        announce(w, first, now);
        step(w, CFR_EVENT_PUBLISHED);
    } else {
        save(w);
        step(w, CFR_EVENT_SAME);
    }
}

/* ---- exchanging ---- */

static void on_exchanged(void *ctx, struct cfr_exchange_result *result)
{
    struct cfr_worker *w = ctx;

    w->exchange = NULL;
    w->host->active--;
    cfr_status_observe(&w->duration, result->duration_s);
    if (result->rc != 0) {
        w->exchanges_failed[cfr_err_class(result->rc)]++;
        fail(w, &result->err, result->retry_after_s);
    } else {
        step(w, CFR_EVENT_GRANTED);
        publish(w, result->grant, result->server_date_s);
    }
    plan(w);
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
    fail(w, &err, -1);
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
        fail(w, &err, -1);
    } else {
        step(w, CFR_EVENT_GRANTED);
        publish(w, &grant, 0);
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

    clear_error(w);
    (void)cfr_credential_adopted(&w->c, now, life, 0, jitter_of(w));
    step(w, CFR_EVENT_ADOPT);
    if (w->c.refresh_boot_ms < now.boot_ms + LOOK_AGAIN_MS) {
        int64_t left_ms = life.expires_ms - now.wall_ms;

        w->c.refresh_boot_ms = now.boot_ms + (left_ms / 4 < LOOK_AGAIN_MS ? left_ms / 4 : LOOK_AGAIN_MS) + 250;
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
    step(w, CFR_EVENT_GO);
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

static void try(struct cfr_worker *w)
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
        read_token(w, r);
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
        try(w);
        plan(w);
    }
}

static void tell(struct cfr_worker *w)
{
    cfr_hooks_step(w->hooks, cfr_clock_now());
    if (w->c.state == CFR_STATE_RELOADING && !cfr_hooks_pending(w->hooks))
        step(w, CFR_EVENT_TOLD);
}

static void cancel(struct cfr_worker *w)
{
    dequeue(w);
    if (w->exchange == NULL)
        return;
    cfr_exchange_cancel(w->exchange);
    w->exchange = NULL;
    w->host->active--;
}

static void step(struct cfr_worker *w, enum cfr_event event)
{
    switch (cfr_credential_step(&w->c, event)) {
    case CFR_TODO_TRY:
        try(w);
        break;
    case CFR_TODO_TELL:
        tell(w);
        break;
    case CFR_TODO_CANCEL:
        cancel(w);
        break;
    case CFR_TODO_REFUSE:
        cfr_log(CFR_LOG_DEBUG, w->config->name, state_of(w), "event %s means nothing here",
                cfr_credential_event_name(event));
        break;
    default: /* SEND and PUBLISH are done by whoever gave the event, who holds what they need */
        break;
    }
}

/* ---- events ---- */

/* The last attempt did not fail for its token: the same one is no reason to try before the time that was planned. */
static bool is_outage(const struct cfr_worker *w)
{
    return w->c.state == CFR_STATE_BACKOFF && (w->error_code == CFR_E_NET || w->error_code == CFR_E_TIMEOUT ||
                                               w->error_code == CFR_E_THROTTLED || w->error_code == CFR_E_UNAVAILABLE);
}

void cfr_worker_on_token(struct cfr_worker *w)
{
    struct reading r;
    bool settled = w->c.state == CFR_STATE_FRESH || w->c.state == CFR_STATE_RELOADING;

    read_token(w, &r);
    if (settled && r.rc != 0) {
        /* Told now, not when the refresh that needs it is due. */
        note_error(w, &r.err, w->c.refresh_boot_ms - cfr_clock_now().boot_ms);
    } else if (settled && r.token.mark == w->token_used) {
        /* A volume swap that left this token as it was is no reason to go to the cloud. */
        clear_error(w);
    } else if (r.rc != 0 || r.token.mark != w->token_used || !is_outage(w)) {
        if (w->c.state == CFR_STATE_WAITING)
            w->c.failures = 0;
        w->reading = &r;
        step(w, CFR_EVENT_TOKEN);
        w->reading = NULL;
        plan(w);
    }
    cfr_token_file_free(&r.token);
}

static void retire(struct cfr_worker *w)
{
    struct cfr_err err = {0};

    if (cfr_publish_retire(w->config, &err) != 0) {
        cfr_log(CFR_LOG_WARN, w->config->name, state_of(w), "cannot remove the previous generation: %s", err.text);
        w->retire_boot_ms = cfr_clock_now().boot_ms + LOOK_AGAIN_MS;
        return;
    }
    w->retire_boot_ms = INT64_MAX;
    w->record.retire_ms = 0;
    save(w);
}

void cfr_worker_on_timer(struct cfr_worker *w)
{
    struct cfr_now now = cfr_clock_now();

    if (w->retire_boot_ms <= now.boot_ms)
        retire(w);
    if (w->token.overdue_boot_ms <= now.boot_ms)
        check_overdue(w, now);
    cfr_hooks_step(w->hooks, now);
    if (w->c.again && w->c.state != CFR_STATE_EXCHANGING && !w->queued) {
        w->c.again = false;
        step(w, CFR_EVENT_TOKEN);
    } else if (!w->queued && cfr_credential_due(&w->c, now)) {
        step(w, CFR_EVENT_DUE);
    }
    plan(w);
}

void cfr_worker_on_tick(struct cfr_worker *w)
{
    struct cfr_err err = {0};

    if (w->c.state == CFR_STATE_FRESH && w->record.generation != 0 && cfr_publish_present(w->config, &err) != 0) {
        cfr_log(CFR_LOG_WARN, w->config->name, state_of(w), "what was published is gone, so it is published anew: %s",
                err.text);
        step(w, CFR_EVENT_DUE);
    }
    cfr_worker_on_timer(w);
}

void cfr_worker_on_child(struct cfr_worker *w)
{
    cfr_hooks_child(w->hooks, cfr_clock_now());
    cfr_hooks_step(w->hooks, cfr_clock_now());
    plan(w);
}

void cfr_worker_on_clock(struct cfr_worker *w)
{
    /* What was wrong may have been the clock: a token from the future, a certificate that is not valid yet. */
    bool blamed = w->c.state == CFR_STATE_WAITING ||
                  (w->c.state == CFR_STATE_BACKOFF && cfr_err_class(w->error_code) != CFR_CLASS_RETRY);

    if (!w->queued && (blamed || cfr_credential_due(&w->c, cfr_clock_now()))) {
        step(w, CFR_EVENT_DUE);
        plan(w);
    }
}

static void on_hook(void *ctx, const char *name, uint64_t generation, const char *error, bool news)
{
    struct cfr_worker *w = ctx;

    if (error != NULL)
        cfr_log(news ? CFR_LOG_WARN : CFR_LOG_DEBUG, w->config->name, state_of(w), "hook \"%s\" failed: %s", name,
                error);
    else
        cfr_log(CFR_LOG_INFO, w->config->name, state_of(w), "hook \"%s\" done for generation %" PRIu64, name,
                generation);
    save(w);
    if (!cfr_hooks_pending(w->hooks) && w->c.state == CFR_STATE_RELOADING)
        step(w, CFR_EVENT_TOLD);
    plan(w);
}

int cfr_worker_rotate(struct cfr_worker *w, const char *reason, uint64_t *replaces, struct cfr_err *err)
{
    bool named = reason != NULL && reason[0] != '\0';
    char *before;
    char *copy;
    int rc;

    *replaces = w->record.generation;
    if (named && cfr_record_has_reason(&w->record, reason))
        return cfr_err_set(err, CFR_E_CONFLICT, "%s was already rotated for the reason \"%s\"", w->config->name, reason);
    copy = strdup(named ? reason : "");
    if (copy == NULL)
        return cfr_err_set(err, CFR_E_NOMEM, "out of memory");
    rc = named ? cfr_record_add_reason(&w->record, reason, err) : 0;
    if (rc != 0) {
        free(copy);
        return rc;
    }
    before = w->record.pending_reason;
    w->record.pending_reason = copy;
    w->record.digest = w->config->digest;
    /* Written down before it is promised: a crash must neither forget it nor do it twice. */
    rc = cfr_record_save(w->host->state_fd, w->config->name, &w->record, err);
    if (rc != 0) {
        w->record.pending_reason = before;
        free(copy);
        if (named)
            cfr_record_drop_reason(&w->record);
        return cfr_err_prefix(err, "cannot write down the rotation");
    }
    free(before);
    cfr_log(CFR_LOG_INFO, w->config->name, state_of(w), "rotation asked for%s%s", named ? ": " : "",
            named ? reason : "");
    w->rotate_wanted = true;
    /* An exchange that is under way began before this was asked, and does not count for it. */
    w->forced = false;
    step(w, CFR_EVENT_ROTATE);
    plan(w);
    return 0;
}

/* ---- life ---- */

static void read_record(struct cfr_worker *w)
{
    struct cfr_err err = {0};
    int rc = cfr_record_load(w->host->state_fd, w->config->name, &w->record, &err);

    if (rc != 0 && rc != CFR_E_MISSING)
        cfr_log(CFR_LOG_WARN, w->config->name, state_of(w), "what an earlier run wrote down is of no use: %s", err.text);
    rc = cfr_publish_recover(w->config, &err);
    if (rc != 0)
        cfr_log(CFR_LOG_WARN, w->config->name, state_of(w), "cannot clean up after an earlier run: %s", err.text);
}

static void restore_hooks(struct cfr_worker *w, struct cfr_now now)
{
    bool same = w->record.digest == w->config->digest && w->record.hook_count == cfr_hooks_count(w->hooks);
    bool behind = false;

    for (size_t i = 0; i < w->record.hook_count; i++)
        behind = behind || w->record.hook_done[i] < w->record.generation;
    /* Hooks that were changed while one was pending are all run once more: a reload too many does no harm. */
    for (size_t i = 0; i < cfr_hooks_count(w->hooks); i++)
        cfr_hooks_restore(w->hooks, i,
                          same     ? w->record.hook_done[i]
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
        return cfr_err_set(err, CFR_E_NOMEM, "out of memory");
    w->host = host;
    w->config = config;
    w->spread = spread_of(config);
    w->retire_boot_ms = INT64_MAX;
    w->token.overdue_boot_ms = INT64_MAX;
    cfr_credential_init(&w->c);
    rc = cfr_hooks_open(config, host->http, host->hook_attempts, on_hook, w, &w->hooks, err);
    if (rc != 0) {
        free(w);
        return rc;
    }
    read_record(w);
    *out = w;
    return 0;
}

/* Takes over what stands, if it is what the configuration wants. True if nothing needs to be exchanged now. */
static bool adopt(struct cfr_worker *w, struct cfr_now now)
{
    struct cfr_refresh_life life = {w->record.issued_ms, w->record.expires_ms};
    struct cfr_err err = {0};
    bool wanted = w->record.digest_material == w->config->digest_material;
    bool fresh;

    /* Before all else: whatever the first exchange is for, it also does what was promised. */
    w->rotate_wanted = w->record.pending_reason != NULL;
    if (w->record.generation == 0)
        return false;
    if (wanted && cfr_publish_verify(w->config, &w->record, &err) != 0) {
        cfr_log(CFR_LOG_INFO, w->config->name, state_of(w), "what was published is not there any more: %s", err.text);
        return false;
    }
    fresh = wanted && cfr_credential_adopted(&w->c, now, life, window_of(w), jitter_of(w));
    w->replace = !wanted;
    w->token_used = w->record.token_mark;
    w->token.issued_s = w->record.token_issued_s;
    w->token.expires_s = w->record.token_expires_s;
    w->token.mark = w->record.token_mark;
    if (w->record.retire_ms != 0)
        w->retire_boot_ms = now.boot_ms + (w->record.retire_ms > now.wall_ms ? w->record.retire_ms - now.wall_ms : 0);
    return fresh && !w->rotate_wanted;
}

void cfr_worker_start(struct cfr_worker *w)
{
    struct cfr_now now = cfr_clock_now();
    struct cfr_err err = {0};
    bool fresh = adopt(w, now);
    char words[CFR_TIME_WORDS_MAX];

    if (w->host->watch != NULL && cfr_watch_add(w->host->watch, w->config->token->file, w, &err) != 0)
        cfr_log(CFR_LOG_WARN, w->config->name, state_of(w), "%s; the token is looked at once a minute instead", err.text);
    restore_hooks(w, now);
    if (fresh) {
        int64_t overdue_ms = cfr_token_file_overdue_ms(w->token.issued_s, w->token.expires_s);

        w->token.overdue_boot_ms = overdue_ms == INT64_MAX ? INT64_MAX : now.boot_ms + overdue_ms - now.wall_ms;
        step(w, CFR_EVENT_ADOPT);
        cfr_log(CFR_LOG_INFO, w->config->name, state_of(w), "generation %" PRIu64 " is still good for %s: kept",
                w->record.generation, cfr_time_words(w->c.life.expires_ms - now.wall_ms, words));
        cfr_hooks_step(w->hooks, now);
        cfr_worker_on_token(w);
    } else {
        step(w, CFR_EVENT_DUE);
        cfr_hooks_step(w->hooks, now);
    }
    plan(w);
}

void cfr_worker_close(struct cfr_worker *w)
{
    if (w->c.state != CFR_STATE_STOPPED)
        step(w, CFR_EVENT_STOP);
    if (w->host->watch != NULL)
        cfr_watch_remove(w->host->watch, w);
    cfr_timers_remove(&w->host->timers, &w->timer);
    cfr_hooks_close(w->hooks);
    cfr_record_free(&w->record);
    free(w->error);
    free(w->last_reason);
    free(w);
}

int cfr_worker_rebind(struct cfr_worker *w, const struct cfr_config_credential *config, struct cfr_err *err)
{
    bool same_hooks = config->digest == w->config->digest;
    struct cfr_hooks *hooks = NULL;

    if (!same_hooks && cfr_hooks_open(config, w->host->http, w->host->hook_attempts, on_hook, w, &hooks, err) != 0)
        return err->code;
    if (!same_hooks) {
        save(w);
        w->config = config;
        cfr_hooks_close(w->hooks);
        w->hooks = hooks;
        restore_hooks(w, cfr_clock_now());
        save(w);
        tell(w);
    }
    w->config = config;
    cfr_hooks_rebind(w->hooks, config);
    if (w->exchange != NULL)
        cfr_exchange_rebind(w->exchange, config);
    plan(w);
    return 0;
}

enum cfr_worker_outcome cfr_worker_outcome(const struct cfr_worker *w)
{
    if (w->c.state == CFR_STATE_FRESH && !cfr_hooks_pending(w->hooks))
        return cfr_hooks_failed(w->hooks) ? CFR_WORKER_BAD : CFR_WORKER_GOOD;
    if (w->c.state == CFR_STATE_BACKOFF &&
        (cfr_err_class(w->error_code) == CFR_CLASS_STOP || w->error_code == CFR_E_CONFIG))
        return CFR_WORKER_BAD;
    return CFR_WORKER_BUSY;
}

void cfr_worker_status(struct cfr_worker *w, struct cfr_now now, struct cfr_status_credential *out)
{
    const void *config;
    const struct cfr_sts_provider *provider = cfr_config_provider(w->config, &config);
    int64_t next = cfr_credential_deadline(&w->c);

    *out = (struct cfr_status_credential){
        .name = w->config->name,
        .state = state_of(w),
        .provider = provider != NULL ? provider->name : "token",
        .identity = w->record.identity,
        .required = w->config->required,
        .published = w->c.published,
        .generation = w->record.generation,
        .issued_s = w->c.published ? w->c.life.issued_ms / 1000 : 0,
        .expires_s = !w->c.published || w->c.life.expires_ms == INT64_MAX ? 0 : w->c.life.expires_ms / 1000,
        .refresh_s = next == INT64_MAX ? 0 : (now.wall_ms + (next - now.boot_ms)) / 1000,
        .last_success_s = w->record.last_success_s,
        .token_issued_s = w->token.issued_s,
        .token_expires_s = w->token.expires_s,
        .token_overdue = w->token.overdue,
        .token_note = w->token.sub_path ? "a subPath mount, which never changes" : NULL,
        .error = w->error,
        .error_code = w->error_code,
        .error_s = w->error_s,
        .failures = w->c.failures,
        .reason = w->rotate_wanted ? w->record.pending_reason : w->last_reason,
        .exchanges_ok = w->exchanges_ok,
        .duration = w->duration,
        .hooks = cfr_hooks_status(w->hooks),
        .hook_count = cfr_hooks_count(w->hooks),
    };
    memcpy(out->exchanges_failed, w->exchanges_failed, sizeof out->exchanges_failed);
    /* The boot clock may know better than a wall clock that was set back. */
    if (w->c.published && !cfr_credential_valid(&w->c, now) && out->expires_s > now.wall_ms / 1000)
        out->expires_s = now.wall_ms / 1000;
}
