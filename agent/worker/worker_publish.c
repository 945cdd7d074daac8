/* SPDX-License-Identifier: MIT */
/* Publishing a grant: is it good enough, does it fit, publish, record, notify. */
#include "agent/worker/worker_private.h"

#include "base/log.h"
#include "base/time.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define LESS_LIFE_MS   1000 /* answers are dated in whole seconds */
#define UNRECORDED_MAX 16   /* generations that crashes have kept from being recorded */

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

/* Whatever is granted now takes the place of what is there. A source that decides on the provider is as good as
 * configuration: what another one leads to replaces what the former one led to. It may have been revoked. */
static bool replaces(const struct cfr_worker *w)
{
    bool other_source = w->source->names_provider && w->token_used != w->record.token_mark;

    return w->forced || w->replace || other_source || w->source->replaces;
}

static int check_life(const struct cfr_worker *w, int64_t life_ms, struct cfr_now now, struct cfr_err *err)
{
    char had[CFR_TIME_WORDS_MAX];
    char has[CFR_TIME_WORDS_MAX];
    int64_t left_ms = cfr_lifecycle_expires_ms(&w->life, now) - now.wall_ms;
    int rc = cfr_source_exchange_check_life(life_ms, err);

    if (rc != 0)
        return rc;
    if (replaces(w) || !cfr_lifecycle_valid(&w->life, now))
        return 0;
    /* The clock was set back behind its beginning: how much of its life is left is not known. */
    if (now.wall_ms < w->life.life.issued_ms)
        return 0;
    if (life_ms != INT64_MAX && life_ms < left_ms - LESS_LIFE_MS)
        return cfr_err_set(err, CFR_E_WORSE,
                           "not published: valid for %s, but the published credential is valid for another %s",
                           cfr_time_words(life_ms, has), cfr_time_words(left_ms, had));
    return 0;
}

static void log_published(const struct cfr_worker *w, bool first, struct cfr_now now)
{
    char life[CFR_TIME_WORDS_MAX];
    char next[CFR_TIME_WORDS_MAX];
    const struct cfr_log_fields fields = cfr_worker_log_fields(w, 0);

    if (w->life.life.expires_ms == INT64_MAX)
        cfr_log_with(&fields, CFR_LOG_INFO, w->config->name, cfr_worker_state_name(w),
                     "%s generation %" PRIu64 ", which does not expire", first ? "published first" : "published",
                     w->record.generation);
    else
        cfr_log_with(&fields, CFR_LOG_INFO, w->config->name, cfr_worker_state_name(w),
                     "%s generation %" PRIu64 "%s%s, valid for %s, next refresh in %s",
                     first ? "published first" : "published", w->record.generation,
                     w->record.identity != NULL ? " of " : "", w->record.identity != NULL ? w->record.identity : "",
                     cfr_time_words(w->life.life.expires_ms - now.wall_ms, life),
                     cfr_time_words(w->life.refresh_wall_ms - now.wall_ms, next));
}

/* An exchange begins a life now; what is passed on is already some way into its own. */
static void begin_life(struct cfr_worker *w, const struct cfr_worker_granted *g, int64_t life_ms, struct cfr_now now)
{
    struct cfr_refresh_life life = {g->grant.issued_s * 1000, g->grant.expires_s * 1000};
    struct cfr_refresh_jitter jitter = cfr_worker_jitter(w);

    if (g->begins_now || g->grant.expires_s == 0)
        cfr_lifecycle_renewed(&w->life, now, life_ms, cfr_worker_window_ms(w), jitter);
    else
        cfr_lifecycle_passed_on(&w->life, now, life, jitter);
    if (g->grant.refresh_s != 0)
        cfr_lifecycle_advise(&w->life, now, g->grant.refresh_s * 1000);
}

/* GENERATION is published: records it, has consumers notified. */
static void record_generation(struct cfr_worker *w, uint64_t generation, struct cfr_now now)
{
    int64_t keep_ms =
        w->config->keep_previous_ms >= 0 ? w->config->keep_previous_ms : w->host->config->keep_previous_ms;
    bool first = w->record.generation == 0;

    w->record.retire_ms = now.wall_ms + keep_ms;
    w->retire_boot_ms = now.boot_ms + keep_ms;
    w->record.generation = generation;
    cfr_worker_ack_published(w);
    /* A quick consumer has it in use before we know that it is published. */
    (void)cfr_worker_ack_look(w);
    cfr_worker_set_issued(w);
    if (!cfr_worker_hooks_wait(w))
        cfr_hook_request(w->hooks, generation, first, now);
    w->first_delivery = w->first_delivery || first;
    cfr_worker_save(w);
}

static enum cfr_event finish_changed(struct cfr_worker *w, uint64_t generation, struct cfr_now now)
{
    bool first = w->record.generation == 0;

    record_generation(w, generation, now);
    cfr_worker_producer_published(w);
    log_published(w, first, now);
    return CFR_EVENT_PUBLISHED;
}

/* What is published is what was published before. */
static enum cfr_event finish_same(struct cfr_worker *w)
{
    cfr_worker_save(w);
    cfr_worker_producer_published(w);
    return CFR_EVENT_SAME;
}

/* The number of what is at the targets, as far as it goes together with the record: others may be able to write there.
 * Without a directory the record alone knows. */
static uint64_t find_generation(const struct cfr_worker *w)
{
    uint64_t recorded = w->record.generation;
    uint64_t newest = cfr_publisher_newest(w->targets);

    return newest == 0 || (recorded != 0 && newest > recorded + UNRECORDED_MAX) ? recorded : newest;
}

/* The number of what is published next. */
static uint64_t next_generation(const struct cfr_worker *w)
{
    uint64_t newest = w->known ? 0 : find_generation(w);

    return (newest > w->record.generation ? newest : w->record.generation) + 1;
}

void cfr_worker_drop_granted(struct cfr_worker_granted **granted)
{
    if (*granted != NULL) {
        cfr_grant_free(&(*granted)->grant);
        cfr_source_inputs_free(&(*granted)->inputs);
    }
    free(*granted);
    *granted = NULL;
}

/* Nothing was published. */
static enum cfr_event fail_publish(struct cfr_worker *w, const struct cfr_err *err)
{
    const struct cfr_worker_plan *plan = &w->granted->plan;

    if (!w->granted->again)
        w->exchanges_failed[cfr_err_class(err->code)]++;
    cfr_worker_keep(w, &w->granted->grant, plan->life_ms, plan->session_ms, false, replaces(w));
    return cfr_worker_fail(w, err, -1);
}

enum cfr_event cfr_worker_publish(struct cfr_worker *w)
{
    struct cfr_now now = cfr_clock_now();
    struct cfr_worker_granted *g = w->granted;
    struct cfr_grant *grant = &g->grant;
    int64_t life_ms = cfr_source_exchange_life_ms(grant->expires_s, g->server_date_s, now);
    int64_t token_ms = cfr_source_exchange_life_ms(g->token_expires_s, g->server_date_s, now);
    struct cfr_publish_job job = {.now = now, .delivery = w->delivery, .again = g->recorded};
    struct cfr_err err = {0};
    int rc;

    w->publishing = true;
    if (cfr_publisher_is_busy(w->targets))
        return CFR_EVENT_NONE;
    g->plan = (struct cfr_worker_plan){
        .begun = true, .generation = next_generation(w), .now = now, .life_ms = life_ms, .session_ms = life_ms};
    g->plan.known = w->known || (w->record.generation != 0 && cfr_publisher_verify(w->targets, &w->record, NULL) == 0);
    /* 1. Is it good enough? What is published lives no longer than the token in it, and no less than what is there. */
    if (token_ms < life_ms && cfr_config_publishes_token(w->config))
        g->plan.life_ms = token_ms;
    rc = check_life(w, g->plan.life_ms, now, &err);
    /* 2. Publish it, unless it does not fit a target: then nothing has changed. */
    grant->issued_s = grant->issued_s != 0 ? grant->issued_s : now.wall_ms / 1000;
    job.render = (struct cfr_publish_render){w->config->name, &g->from, grant, g->plan.generation, NULL};
    job.expires_ms = g->plan.life_ms == INT64_MAX ? INT64_MAX : now.wall_ms + g->plan.life_ms;
    w->known = false;
    if (rc == 0)
        rc = cfr_publisher_start(w->targets, CFR_PUBLISHER_PUBLISH | (w->recover ? CFR_PUBLISHER_RECOVER : 0), &job,
                                 &w->record, &err);
    if (rc == 1)
        return CFR_EVENT_NONE;
    if (rc == 0)
        return cfr_worker_publish_ended(w);
    w->publishing = false;
    return fail_publish(w, &err);
}

/* Some of the targets could not take it: it is kept for them, so that they need no other. */
static enum cfr_event hold(struct cfr_worker *w, const struct cfr_err *err)
{
    cfr_worker_drop_granted(&w->held);
    w->held = w->granted;
    w->granted = NULL;
    w->held->again = true;
    return cfr_worker_fail(w, err, -1);
}

/* Records what is known of it, whether or not this run wrote it. Unless it is at ALL targets, what keeps one from it
 * goes on: with the next try after a longer pause. */
static void record_grant(struct cfr_worker *w, bool all)
{
    struct cfr_worker_granted *g = w->granted;
    const struct cfr_worker_plan *plan = &g->plan;
    const struct cfr_backoff backoff = w->life.backoff;

    if (all)
        cfr_worker_clear_error(w);
    w->exchanges_ok += g->again ? 0 : 1;
    begin_life(w, g, plan->life_ms, plan->now);
    if (!all && g->recorded)
        w->life.backoff = backoff;
    finish_rotation(w);
    w->record.issued_ms = w->life.life.issued_ms;
    w->record.expires_ms = w->life.life.expires_ms;
    w->record.last_success_s = plan->now.wall_ms / 1000;
    w->record.digest_material = w->config->digest_material;
    w->record.token_mark = w->token_used;
    w->record.token_issued_s = w->token.issued_s;
    w->record.token_expires_s = w->token.expires_s;
    /* Without memory for it, a key that is shared is published once more after a restart. */
    (void)cfr_publish_record_set_key(&w->record, g->from.minted, NULL);
    free(w->record.identity);
    w->record.identity = g->grant.identity != NULL ? strdup(g->grant.identity) : NULL;
    w->replace = false;
}

static enum cfr_event end_token(struct cfr_worker *w, const struct cfr_publisher_outcome *out);

enum cfr_event cfr_worker_publish_ended(struct cfr_worker *w)
{
    struct cfr_worker_granted *g = w->granted;
    struct cfr_publisher_outcome out;
    struct cfr_grant copy = {0};
    enum cfr_event event;
    bool all;

    cfr_publisher_finish(w->targets, &w->record, &out);
    w->publishing = false;
    w->recover = false;
    if (g->plan.token_only)
        return end_token(w, &out);
    all = out.failed == 0;
    /* A long-lived key counts as published once it is everywhere. */
    if (!all && (out.done == 0 || w->source->lasting)) {
        if (w->source->lasting || cfr_grant_copy(&copy, &g->grant, NULL) != 0)
            return fail_publish(w, &out.err);
        w->exchanges_failed[cfr_err_class(out.err.code)] += g->again ? 0 : 1;
        cfr_worker_keep(w, &copy, g->plan.life_ms, g->plan.session_ms, false, replaces(w));
        cfr_grant_free(&copy);
        return hold(w, &out.err);
    }
    /* 3. Record what is known of it, whether or not this run wrote it. */
    if (all || out.changed || !g->recorded)
        record_grant(w, all);
    w->known = all;
    w->lost = !all;
    if (all || cfr_grant_copy(&copy, &g->grant, NULL) == 0)
        cfr_worker_keep(w, all ? &g->grant : &copy, g->plan.life_ms, g->plan.session_ms, true, true);
    cfr_grant_free(&copy);
    /* 4. Notify consumers. What is published without being on record, after a crash or a lost state directory, they may
     * not have been notified of either. */
    event = out.changed || w->config->publish.count == 0 || (!g->plan.known && !g->recorded)
                ? finish_changed(w, g->plan.generation, g->plan.now)
                : finish_same(w);
    g->recorded = true;
    if (all)
        cfr_worker_drop_granted(&w->held);
    return all ? event : hold(w, &out.err);
}

bool cfr_worker_publish_again(struct cfr_worker *w, uint64_t mark)
{
    struct cfr_worker_granted *g = w->held;
    struct cfr_now now = cfr_clock_now();
    int64_t past_ms;

    if (g == NULL)
        return false;
    past_ms = now.wall_ms - g->plan.now.wall_ms;
    w->held = NULL;
    /* What it lives is known by the clock of then; most of it should be left. Where it is published, it is not renewed
     * later than it would be without a target in the way. */
    if (mark != w->token_used || w->rotate_wanted || w->replace || past_ms < 0 || past_ms > g->plan.life_ms / 2 ||
        (g->recorded && (cfr_refresh_due(w->life.life, w->life.refresh_wall_ms, now.wall_ms) ||
                         w->life.refresh_boot_ms <= now.boot_ms))) {
        cfr_worker_drop_granted(&g);
        return false;
    }
    if (g->server_date_s != 0)
        g->server_date_s += past_ms / 1000;
    g->plan.begun = false;
    w->granted = g;
    return true;
}

/* True if the token of INPUTS is better than the published one. One that is requested is new at each try: it takes the
 * place of one that is near its end. */
static bool is_better_token(const struct cfr_worker *w, const struct cfr_worker_granted *g, int64_t expires_s,
                            struct cfr_now now)
{
    const struct cfr_publish_record *r = &w->record;
    int64_t life_s = r->token_expires_s - r->token_issued_s;

    if (expires_s != 0 && (expires_s < r->token_expires_s || expires_s <= now.wall_ms / 1000))
        return false;
    if (g->token_expires_s != 0)
        return now.wall_ms / 1000 > r->token_issued_s + life_s * 8 / 10;
    return g->inputs.mark != r->token_mark && g->inputs.mark != w->token_alone;
}

static void report_token(struct cfr_worker *w, const struct cfr_err *err)
{
    if (cfr_log_once_is_news(&w->token_error, err))
        cfr_log(CFR_LOG_WARN, w->config->name, cfr_worker_state_name(w),
                "cannot publish the new token without new keys: %s", err->text);
}

void cfr_worker_publish_token(struct cfr_worker *w)
{
    struct cfr_worker_granted *g = w->granted;
    struct cfr_now now = cfr_clock_now();
    const struct cfr_grant *grant = NULL;
    int64_t expires_s = g == NULL ? 0 : g->token_expires_s != 0 ? g->token_expires_s : g->inputs.expires_s;
    struct cfr_err err = {0};
    int64_t session_ms;
    int rc;

    /* 1. Is there a new token, and a session that it can be published with? */
    if (g == NULL || g->inputs.token.len == 0 || w->record.generation == 0 || cfr_publisher_is_busy(w->targets) ||
        !is_better_token(w, g, expires_s, now))
        return;
    session_ms = cfr_worker_kept_with_token(w, cfr_secret_view(&g->inputs.token), &grant, &err);
    if (grant != NULL) {
        /* 2. Publish both: what lives shorter decides, as always. */
        struct cfr_publish_job job = {.render = {w->config->name, &g->from, grant, next_generation(w), NULL},
                                      .now = now,
                                      .expires_ms = expires_s != 0 && expires_s * 1000 < session_ms ? expires_s * 1000
                                                                                                    : session_ms,
                                      .delivery = w->delivery};

        g->plan = (struct cfr_worker_plan){
            .begun = true,
            .token_only = true,
            .generation = job.render.generation,
            .now = now,
            .session_ms = session_ms,
            .token_issued_s = g->token_expires_s != 0 ? g->token_issued_s : g->inputs.issued_s,
            .token_expires_s = expires_s,
            .token_mark = g->inputs.mark,
            .expires_ms = job.expires_ms,
        };
        /* Until all of it is: some targets may have the new generation after an error. */
        w->known = false;
        rc = cfr_publisher_start(w->targets, CFR_PUBLISHER_PUBLISH, &job, &w->record, &err);
        cfr_worker_kept_published(w);
        w->publishing = rc == 1;
        if (rc == 0)
            (void)cfr_worker_publish_ended(w);
    }
    if (err.code != 0)
        report_token(w, &err);
}

/* 3. Records the token's times, but not its mark: it is not exchanged yet. */
static enum cfr_event end_token(struct cfr_worker *w, const struct cfr_publisher_outcome *out)
{
    const struct cfr_worker_plan *plan = &w->granted->plan;
    struct cfr_now now = plan->now;
    char life[CFR_TIME_WORDS_MAX];

    w->known = out->failed == 0;
    if (out->failed != 0)
        report_token(w, &out->err);
    if (out->failed != 0 || !out->changed)
        return CFR_EVENT_NONE;
    w->token_error = (struct cfr_log_once){0};
    cfr_lifecycle_extended(&w->life, now, plan->expires_ms);
    w->record.expires_ms = w->life.life.expires_ms;
    w->record.token_issued_s = plan->token_issued_s;
    w->record.token_expires_s = plan->token_expires_s;
    w->token_alone = plan->token_mark;
    w->lost = false;
    record_generation(w, plan->generation, now);
    cfr_log(CFR_LOG_INFO, w->config->name, cfr_worker_state_name(w),
            "published generation %" PRIu64 ": the new token, with the last session, %s%s", w->record.generation,
            plan->session_ms > now.wall_ms ? "which is valid for " : "which has expired",
            plan->session_ms > now.wall_ms ? cfr_time_words(plan->session_ms - now.wall_ms, life) : "");
    return CFR_EVENT_NONE;
}

enum cfr_event cfr_worker_publish_found(struct cfr_worker *w, const struct cfr_publish_minted *minted)
{
    struct cfr_now now = cfr_clock_now();
    uint64_t generation = find_generation(w);

    finish_rotation(w);
    (void)cfr_publish_record_set_key(&w->record, minted, NULL);
    w->known = true;
    w->lost = false;
    if (generation == w->record.generation)
        return finish_same(w);
    cfr_publisher_found(w->targets, &w->record);
    w->record.issued_ms = minted->minted_s * 1000;
    /* It is a key that was created, not one that takes its place. */
    w->record.token_mark = 0;
    w->record.expires_ms = w->life.life.expires_ms;
    w->record.last_success_s = now.wall_ms / 1000;
    free(w->record.identity);
    w->record.identity = NULL;
    return finish_changed(w, generation, now);
}
