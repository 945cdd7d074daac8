/* SPDX-License-Identifier: MIT */
/* Publishing a grant: is it good enough, does it fit, publish, record, notify. */
#include "agent/worker/worker_private.h"

#include "agent/publish/targets.h"
#include "base/log.h"
#include "base/time.h"

#include <inttypes.h>
#include <stdlib.h>

#define LESS_LIFE_MS 1000 /* answers are dated in whole seconds */

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

/* How long something lives that expires at EXPIRES_S (0 = never), by the grantor's clock where that is known to differ
 * from ours. */
static int64_t life_ms_of(int64_t expires_s, int64_t server_date_s, struct cfr_now now)
{
    return expires_s == 0 ? INT64_MAX : expires_s * 1000 - cfr_clock_grantor_ms(server_date_s, now);
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

    if (life_ms <= 0)
        return cfr_err_set(err, CFR_E_ANSWER, "the answer's credential expired %s ago: look at this machine's clock",
                           cfr_time_words(-life_ms, has));
    if (replaces(w) || !cfr_lifecycle_valid(&w->life, now))
        return 0;
    /* The clock was set back behind its beginning: how much of its life is left is not known. */
    if (now.wall_ms < w->life.life.issued_ms)
        return 0;
    if (life_ms != INT64_MAX && now.wall_ms + life_ms < w->life.life.expires_ms - LESS_LIFE_MS)
        return cfr_err_set(err, CFR_E_WORSE,
                           "the answer lives %s, less than the %s that are left of what is published: not published",
                           cfr_time_words(life_ms, has), cfr_time_words(w->life.life.expires_ms - now.wall_ms, had));
    return 0;
}

static void log_published(const struct cfr_worker *w, bool first, struct cfr_now now)
{
    char life[CFR_TIME_WORDS_MAX];
    char next[CFR_TIME_WORDS_MAX];

    if (w->life.life.expires_ms == INT64_MAX)
        cfr_log(CFR_LOG_INFO, w->config->name, cfr_worker_state_name(w),
                "%s generation %" PRIu64 ", which does not expire", first ? "published first" : "published",
                w->record.generation);
    else
        cfr_log(CFR_LOG_INFO, w->config->name, cfr_worker_state_name(w),
                "%s generation %" PRIu64 "%s%s, valid for %s, next refresh in %s",
                first ? "published first" : "published", w->record.generation, w->record.identity != NULL ? " of " : "",
                w->record.identity != NULL ? w->record.identity : "",
                cfr_time_words(w->life.life.expires_ms - now.wall_ms, life),
                cfr_time_words(w->life.refresh_wall_ms - now.wall_ms, next));
}

/* An exchange begins a life now; what is passed on is already some way into its own. */
static void begin_life(struct cfr_worker *w, const struct cfr_worker_granted *g, int64_t life_ms, struct cfr_now now)
{
    struct cfr_refresh_life life = {g->grant.issued_s * 1000, g->grant.expires_s * 1000};

    if (g->begins_now || g->grant.expires_s == 0)
        cfr_lifecycle_renewed(&w->life, now, life_ms, cfr_worker_window_ms(w), cfr_worker_jitter(w));
    else
        (void)cfr_lifecycle_adopted(&w->life, now, life, 0, cfr_worker_jitter(w));
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
    if (!cfr_worker_hooks_wait(w))
        cfr_hook_request(w->hooks, generation, first, now);
    w->first_delivery = w->first_delivery || first;
    cfr_worker_save(w);
}

static enum cfr_event finish_changed(struct cfr_worker *w, uint64_t generation, struct cfr_now now)
{
    bool first = w->record.generation == 0;

    record_generation(w, generation, now);
    if (w->rotator != NULL)
        cfr_worker_rotation_published(w);
    log_published(w, first, now);
    return CFR_EVENT_PUBLISHED;
}

/* What is published is what was published before. */
static enum cfr_event finish_same(struct cfr_worker *w)
{
    cfr_worker_save(w);
    if (w->rotator != NULL)
        cfr_worker_rotation_published(w);
    return CFR_EVENT_SAME;
}

/* The number of what is published next. */
static uint64_t next_generation(const struct cfr_worker *w)
{
    uint64_t newest = w->known ? 0 : cfr_publish_newest(w->config);

    return (newest > w->record.generation ? newest : w->record.generation) + 1;
}

enum cfr_event cfr_worker_publish(struct cfr_worker *w)
{
    struct cfr_now now = cfr_clock_now();
    struct cfr_worker_granted *g = w->granted;
    struct cfr_grant *grant = &g->grant;
    int64_t life_ms = life_ms_of(grant->expires_s, g->server_date_s, now);
    int64_t token_ms = life_ms_of(g->token_expires_s, g->server_date_s, now);
    int64_t session_ms = life_ms;
    uint64_t generation = next_generation(w);
    bool known = w->known || (w->record.generation != 0 && cfr_publish_verify(w->config, &w->record, NULL) == 0);
    struct cfr_publish_job job = {
        .render = {w->config->name, &g->from, grant, generation, NULL}, .now = now, .delivery = w->delivery};
    bool changed = false;
    struct cfr_err err = {0};
    int rc;

    /* 1. Is it good enough? What is published lives no longer than the token in it, and no less than what is there. */
    if (token_ms < life_ms && cfr_config_publishes_token(w->config))
        life_ms = token_ms;
    rc = check_life(w, life_ms, now, &err);
    /* 2. Publish it, unless it does not fit a target: then nothing has changed. */
    grant->issued_s = grant->issued_s != 0 ? grant->issued_s : now.wall_ms / 1000;
    job.expires_ms = life_ms == INT64_MAX ? INT64_MAX : now.wall_ms + life_ms;
    w->known = false;
    if (rc == 0)
        rc = cfr_publish(w->config, &job, &w->record, &changed, &err);
    if (rc != 0) {
        cfr_worker_keep(w, grant, life_ms, session_ms, false, replaces(w));
        w->exchanges_failed[cfr_err_class(rc)]++;
        return cfr_worker_fail(w, &err, -1);
    }
    /* 3. Record what is known of it, whether or not this run wrote it. */
    cfr_worker_clear_error(w);
    w->exchanges_ok++;
    begin_life(w, g, life_ms, now);
    finish_rotation(w);
    w->record.issued_ms = w->life.life.issued_ms;
    w->record.expires_ms = w->life.life.expires_ms;
    w->record.last_success_s = now.wall_ms / 1000;
    w->record.digest_material = w->config->digest_material;
    w->record.token_mark = w->token_used;
    w->record.token_issued_s = w->token.issued_s;
    w->record.token_expires_s = w->token.expires_s;
    free(w->record.identity);
    w->record.identity = grant->identity;
    grant->identity = NULL;
    w->replace = false;
    w->known = true;
    w->lost = false;
    cfr_worker_keep(w, grant, life_ms, session_ms, true, true);
    /* 4. Notify consumers. What is published without being on record, after a crash or a lost state directory, they may
     * not have been notified of either. */
    return changed || w->config->publish.count == 0 || !known ? finish_changed(w, generation, now) : finish_same(w);
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

void cfr_worker_publish_token(struct cfr_worker *w)
{
    struct cfr_worker_granted *g = w->granted;
    struct cfr_now now = cfr_clock_now();
    const struct cfr_grant *grant = NULL;
    int64_t expires_s = g == NULL ? 0 : g->token_expires_s != 0 ? g->token_expires_s : g->inputs.expires_s;
    char life[CFR_TIME_WORDS_MAX];
    bool changed = false;
    struct cfr_err err = {0};
    int64_t session_ms;
    int rc = 0;

    /* 1. Is there a new token, and a session that it can be published with? */
    if (g == NULL || g->inputs.token.len == 0 || w->record.generation == 0 || !is_better_token(w, g, expires_s, now))
        return;
    session_ms = cfr_worker_kept_with_token(w, cfr_secret_view(&g->inputs.token), &grant, &err);
    if (grant != NULL) {
        /* 2. Publish both: what lives shorter decides, as always. */
        struct cfr_publish_job job = {.render = {w->config->name, &g->from, grant, next_generation(w), NULL},
                                      .now = now,
                                      .expires_ms = expires_s != 0 && expires_s * 1000 < session_ms ? expires_s * 1000
                                                                                                    : session_ms,
                                      .delivery = w->delivery};

        /* Until all of it is: some targets may have the new generation after an error. */
        w->known = false;
        rc = cfr_publish(w->config, &job, &w->record, &changed, &err);
        cfr_worker_kept_published(w);
        w->known = rc == 0;
        if (rc == 0 && changed) {
            /* 3. Record the token's times, but not its mark: it is not exchanged yet. */
            cfr_lifecycle_extended(&w->life, now, job.expires_ms);
            w->record.expires_ms = w->life.life.expires_ms;
            w->record.token_issued_s = g->token_expires_s != 0 ? g->token_issued_s : g->inputs.issued_s;
            w->record.token_expires_s = expires_s;
            w->token_alone = g->inputs.mark;
            w->lost = false;
            record_generation(w, job.render.generation, now);
            cfr_log(CFR_LOG_INFO, w->config->name, cfr_worker_state_name(w),
                    "published generation %" PRIu64 ": the new token, with the last session, %s%s",
                    w->record.generation, session_ms > now.wall_ms ? "which is valid for " : "which has expired",
                    session_ms > now.wall_ms ? cfr_time_words(session_ms - now.wall_ms, life) : "");
        }
    }
    if (err.code != 0 && cfr_log_once_is_news(&w->token_error, &err))
        cfr_log(CFR_LOG_WARN, w->config->name, cfr_worker_state_name(w), "cannot publish the new token alone: %s",
                err.text);
    else if (changed)
        w->token_error = (struct cfr_log_once){0};
}

enum cfr_event cfr_worker_publish_found(struct cfr_worker *w, int64_t issued_s)
{
    struct cfr_now now = cfr_clock_now();
    uint64_t generation = cfr_publish_newest(w->config);

    finish_rotation(w);
    w->known = true;
    w->lost = false;
    if (generation == w->record.generation)
        return finish_same(w);
    cfr_publish_found(w->config, &w->record);
    w->record.issued_ms = issued_s * 1000;
    w->record.expires_ms = w->life.life.expires_ms;
    w->record.last_success_s = now.wall_ms / 1000;
    free(w->record.identity);
    w->record.identity = NULL;
    return finish_changed(w, generation, now);
}
