/* SPDX-License-Identifier: MIT */
/* The state machine at work: deadlines, errors, and the events that drive it. */
#include "agent/worker/worker_private.h"

#include "agent/publish/targets.h"
#include "base/log.h"
#include "base/time.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* What cannot be read is looked at again after 0.2, 0.4, ... 3.2 seconds, 6.2 in all. */
#define UNREADABLE_LOOKS   5
#define UNREADABLE_LOOK_MS INT64_C(200)

const char *cfr_worker_state_name(const struct cfr_worker *w)
{
    return cfr_lifecycle_state_name(w->c.state);
}

int64_t cfr_worker_window_ms(const struct cfr_worker *w)
{
    return w->provider != NULL ? w->provider->consumer_window_ms : 0;
}

struct cfr_refresh_jitter cfr_worker_jitter(const struct cfr_worker *w)
{
    return (struct cfr_refresh_jitter){w->spread, cfr_clock_chance()};
}

static int64_t earlier(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

/* After everything that may have moved a deadline. */
void cfr_worker_plan(struct cfr_worker *w)
{
    int64_t at = w->turn.queued ? INT64_MAX : cfr_lifecycle_deadline(&w->c);

    at = earlier(at, cfr_hook_deadline(w->hooks));
    at = earlier(at, cfr_publish_secret_deadline(w->delivery));
    at = earlier(at, cfr_worker_ack_retire_at(w));
    at = earlier(at, cfr_worker_ack_deadline(w));
    at = earlier(at, w->token.overdue_boot_ms);
    at = earlier(at, w->look_boot_ms);
    at = earlier(at, cfr_rotator_deadline(w->minter));
    if (w->c.again && w->c.state != CFR_STATE_EXCHANGING && !w->turn.queued)
        at = 0;
    if (!cfr_timer_heap_set(&w->host->timers, &w->timer, at))
        cfr_log(CFR_LOG_ERROR, w->config->name, cfr_worker_state_name(w), "out of memory for a timer");
}

void cfr_worker_save(struct cfr_worker *w)
{
    struct cfr_err err = {0};

    w->record.hook_count = cfr_hook_count(w->hooks);
    for (size_t i = 0; i < w->record.hook_count; i++)
        w->record.hook_done[i] = cfr_hook_done(w->hooks, i);
    w->record.delivered_count = cfr_publish_secret_count(w->delivery);
    for (size_t i = 0; i < w->record.delivered_count; i++)
        w->record.delivered[i] = cfr_publish_secret_done(w->delivery, i);
    cfr_worker_ack_save(w);
    w->record.digest = w->config->digest;
    if (cfr_publish_record_save(w->host->state_fd, w->config->name, &w->record, &err) != 0)
        cfr_log(CFR_LOG_WARN, w->config->name, cfr_worker_state_name(w),
                "cannot write down what was published, so a restart will exchange again: %s", err.text);
}

void cfr_worker_clear_error(struct cfr_worker *w)
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
void cfr_worker_note_error(struct cfr_worker *w, const struct cfr_err *err, int64_t retry_ms)
{
    bool again = w->error != NULL && w->error_code == err->code && same_words(w->error, err->text);
    char words[CFR_TIME_WORDS_MAX];
    const char *when = retry_ms == INT64_MAX ? "when what was read changes" : cfr_time_words(retry_ms, words);

    w->error_s = cfr_clock_now().wall_ms / 1000;
    cfr_log(again                                         ? CFR_LOG_DEBUG
            : cfr_err_class(err->code) == CFR_CLASS_RETRY ? CFR_LOG_WARN
                                                          : CFR_LOG_ERROR,
            w->config->name, cfr_worker_state_name(w), "%s [%s, %s]; next try %s%s%s", err->text,
            cfr_err_name(err->code), cfr_err_class_name(cfr_err_class(err->code)), retry_ms == INT64_MAX ? "" : "in ",
            when, w->c.published ? "; what is published stays" : "");
    cfr_worker_clear_error(w);
    w->error = strdup(err->text);
    w->error_code = err->code;
}

void cfr_worker_fail(struct cfr_worker *w, const struct cfr_err *err, int64_t retry_after_s)
{
    int64_t delay_ms = cfr_lifecycle_failed(&w->c, cfr_clock_now(), cfr_err_class(err->code),
                                            retry_after_s < 0 ? -1 : retry_after_s * 1000, cfr_clock_chance());

    cfr_worker_step(w, CFR_EVENT_FAILED);
    cfr_worker_note_error(w, err, delay_ms);
    cfr_worker_plan(w);
}

void cfr_worker_tell(struct cfr_worker *w)
{
    cfr_hook_step(w->hooks, cfr_clock_now());
    if (w->c.state == CFR_STATE_RELOADING && !cfr_hook_pending(w->hooks))
        cfr_worker_step(w, CFR_EVENT_TOLD);
}

void cfr_worker_step(struct cfr_worker *w, enum cfr_event event)
{
    switch (cfr_lifecycle_step(&w->c, event)) {
    case CFR_TODO_TRY:
        cfr_worker_try(w);
        break;
    case CFR_TODO_TELL:
        cfr_worker_tell(w);
        break;
    case CFR_TODO_CANCEL:
        cfr_worker_cancel(w);
        break;
    case CFR_TODO_REFUSE:
        cfr_log(CFR_LOG_DEBUG, w->config->name, cfr_worker_state_name(w), "event %s means nothing here",
                cfr_lifecycle_event_name(event));
        break;
    default: /* SEND and PUBLISH are done by whoever gave the event, who holds what they need */
        break;
    }
}

/* The last attempt did not fail for its token: the same one is no reason to try before the time that was planned. */
static bool is_outage(const struct cfr_worker *w)
{
    return w->c.state == CFR_STATE_BACKOFF && (w->error_code == CFR_E_NET || w->error_code == CFR_E_TIMEOUT ||
                                               w->error_code == CFR_E_THROTTLED || w->error_code == CFR_E_UNAVAILABLE);
}

/* Kubelets before Kubernetes 1.27 swap a volume first and then give its files their owner (their pull request 114464):
 * who is quick finds a token that is not his yet. */
static bool comes_soon(struct cfr_worker *w, const struct reading *r)
{
    if (r->rc != CFR_E_PERM || w->looks == UNREADABLE_LOOKS)
        return false;
    w->look_boot_ms = cfr_clock_now().boot_ms + (UNREADABLE_LOOK_MS << w->looks);
    w->looks++;
    cfr_worker_plan(w);
    return true;
}

static void look(struct cfr_worker *w)
{
    struct reading r;
    bool settled = w->c.state == CFR_STATE_FRESH || w->c.state == CFR_STATE_RELOADING;

    w->look_boot_ms = INT64_MAX;
    cfr_worker_read(w, &r);
    if (comes_soon(w, &r)) {
        cfr_log(CFR_LOG_DEBUG, w->config->name, cfr_worker_state_name(w), "%s; it is looked at again soon", r.err.text);
    } else if (settled && r.rc != 0) {
        /* Told now, not when the refresh that needs it is due. */
        cfr_worker_note_error(
            w, &r.err, w->c.refresh_boot_ms != INT64_MAX ? w->c.refresh_boot_ms - cfr_clock_now().boot_ms : INT64_MAX);
    } else if (settled && r.material.mark == w->token_used) {
        /* A volume swap that left this token as it was is no reason to go to the cloud. */
        cfr_worker_clear_error(w);
        cfr_worker_note_source(w, &r.material);
    } else if (r.rc != 0 || r.material.mark != w->token_used || !(is_outage(w) || w->c.state == CFR_STATE_EXCHANGING)) {
        if (w->c.state == CFR_STATE_WAITING)
            w->c.failures = 0;
        w->reading = &r;
        cfr_worker_step(w, CFR_EVENT_TOKEN);
        w->reading = NULL;
        cfr_worker_plan(w);
    }
    cfr_source_inputs_free(&r.material);
}

void cfr_worker_on_token(struct cfr_worker *w)
{
    w->looks = 0;
    look(w);
}

void cfr_worker_look_soon(struct cfr_worker *w)
{
    w->looks = 0;
    w->look_boot_ms = cfr_clock_now().boot_ms;
    cfr_worker_plan(w);
}

static void retire(struct cfr_worker *w)
{
    struct cfr_err err = {0};

    if (cfr_publish_retire(w->config, &err) != 0) {
        cfr_log(CFR_LOG_WARN, w->config->name, cfr_worker_state_name(w), "cannot remove the previous generation: %s",
                err.text);
        w->retire_boot_ms = cfr_clock_now().boot_ms + CFR_WORKER_LOOK_AGAIN_MS;
        return;
    }
    cfr_worker_ack_retired(w);
    w->retire_boot_ms = INT64_MAX;
    w->record.retire_ms = 0;
    cfr_worker_save(w);
}

void cfr_worker_on_timer(struct cfr_worker *w)
{
    struct cfr_now now = cfr_clock_now();

    cfr_worker_ack_step(w, now);
    if (cfr_worker_ack_retire_at(w) <= now.boot_ms)
        retire(w);
    if (w->look_boot_ms <= now.boot_ms)
        look(w);
    if (w->token.overdue_boot_ms <= now.boot_ms)
        cfr_worker_check_overdue(w, now);
    cfr_hook_step(w->hooks, now);
    cfr_publish_secret_step(w->delivery, now);
    cfr_worker_mint_step(w);
    if (w->c.again && w->c.state != CFR_STATE_EXCHANGING && !w->turn.queued) {
        w->c.again = false;
        cfr_worker_step(w, CFR_EVENT_TOKEN);
    } else if (!w->turn.queued && cfr_lifecycle_due(&w->c, now)) {
        w->token.refused = w->token.refused && w->c.state != CFR_STATE_FRESH;
        cfr_worker_step(w, CFR_EVENT_DUE);
    }
    cfr_worker_plan(w);
}

void cfr_worker_on_tick(struct cfr_worker *w)
{
    struct cfr_err err = {0};

    cfr_worker_review_kept(w);
    if (w->c.state == CFR_STATE_FRESH && w->record.generation != 0 && cfr_publish_present(w->config, &err) != 0) {
        cfr_log(CFR_LOG_WARN, w->config->name, cfr_worker_state_name(w),
                "what was published is gone, so it is published anew: %s", err.text);
        w->known = false;
        cfr_worker_step(w, CFR_EVENT_DUE);
    }
    cfr_worker_ack_look(w);
    cfr_worker_on_timer(w);
}

void cfr_worker_on_child(struct cfr_worker *w)
{
    cfr_hook_child(w->hooks, cfr_clock_now());
    cfr_hook_step(w->hooks, cfr_clock_now());
    cfr_worker_plan(w);
}

void cfr_worker_on_clock(struct cfr_worker *w)
{
    /* What was wrong may have been the clock: a token from the future, a certificate that is not valid yet. */
    bool blamed = w->c.state == CFR_STATE_WAITING ||
                  (w->c.state == CFR_STATE_BACKOFF && cfr_err_class(w->error_code) != CFR_CLASS_RETRY);

    cfr_worker_mint_step(w);
    if (!w->turn.queued && (blamed || cfr_lifecycle_due(&w->c, cfr_clock_now())))
        cfr_worker_step(w, CFR_EVENT_DUE);
    cfr_worker_plan(w);
}

void cfr_worker_on_hook(void *ctx, const char *name, uint64_t generation, const char *error, bool news)
{
    struct cfr_worker *w = ctx;

    if (error != NULL)
        cfr_log(news ? CFR_LOG_WARN : CFR_LOG_DEBUG, w->config->name, cfr_worker_state_name(w),
                "hook \"%s\" failed: %s", name, error);
    else
        cfr_log(CFR_LOG_INFO, w->config->name, cfr_worker_state_name(w), "hook \"%s\" done for generation %" PRIu64,
                name, generation);
    cfr_worker_ack_hooks(w);
    cfr_worker_save(w);
    cfr_worker_mint_step(w);
    if (!cfr_hook_pending(w->hooks) && w->c.state == CFR_STATE_RELOADING)
        cfr_worker_step(w, CFR_EVENT_TOLD);
    cfr_worker_plan(w);
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
    } else {
        cfr_log(CFR_LOG_INFO, w->config->name, cfr_worker_state_name(w), "%s holds generation %" PRIu64, name,
                generation);
        all = !cfr_publish_secret_pending(w->delivery);
        /* Where nothing is published on this machine, this is the moment that consumers wait for. */
        if (all && cfr_worker_hooks_wait(w))
            cfr_hook_request(w->hooks, generation, w->first_delivery, cfr_clock_now());
        w->first_delivery = w->first_delivery && !all;
        cfr_worker_save(w);
        cfr_hook_step(w->hooks, cfr_clock_now());
    }
    cfr_worker_plan(w);
}

bool cfr_worker_hooks_wait(const struct cfr_worker *w)
{
    return w->delivery != NULL && cfr_publish_secret_count(w->delivery) == w->config->publish.count;
}

int cfr_worker_rotate(struct cfr_worker *w, const char *reason, uint64_t *replaces, struct cfr_err *err)
{
    bool named = reason != NULL && reason[0] != '\0';
    char *before;
    char *copy;
    int rc;

    *replaces = w->record.generation;
    if (named && cfr_publish_record_has_reason(&w->record, reason))
        return cfr_err_set(err, CFR_E_CONFLICT, "%s was already rotated for the reason \"%s\"", w->config->name,
                           reason);
    copy = strdup(named ? reason : "");
    if (copy == NULL)
        return cfr_err_set(err, CFR_E_NOMEM, "out of memory");
    rc = named ? cfr_publish_record_add_reason(&w->record, reason, err) : 0;
    if (rc != 0) {
        free(copy);
        return rc;
    }
    before = w->record.pending_reason;
    w->record.pending_reason = copy;
    w->record.digest = w->config->digest;
    /* Written down before it is promised: a crash must neither forget it nor do it twice. */
    rc = cfr_publish_record_save(w->host->state_fd, w->config->name, &w->record, err);
    if (rc != 0) {
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
    cfr_worker_step(w, CFR_EVENT_ROTATE);
    cfr_worker_plan(w);
    return 0;
}
