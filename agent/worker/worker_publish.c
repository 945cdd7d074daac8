/* SPDX-License-Identifier: MIT */
/* What becomes of a grant: judged, published, written down, announced. */
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

static int64_t keep_previous_ms(const struct cfr_worker *w)
{
    return w->config->keep_previous_ms >= 0 ? w->config->keep_previous_ms : w->host->config->keep_previous_ms;
}

/* How long GRANT lives, by the clock of who granted it where that is known to differ from ours. */
static int64_t life_of(const struct cfr_grant *grant, int64_t server_date_s, struct cfr_now now)
{
    int64_t base_ms = cfr_clock_grantor_ms(server_date_s, now);

    return grant->expires_s == 0 ? INT64_MAX : grant->expires_s * 1000 - base_ms;
}

/* A mounted Secret is as good as configuration: what another one leads to replaces what the former one led to, however
 * long that lives. It may have been revoked. */
static bool source_changed(const struct cfr_worker *w)
{
    return w->config->secret != NULL && w->token_used != w->record.token_mark;
}

/* Whatever is granted now takes the place of what is there. */
static bool replaces(const struct cfr_worker *w)
{
    return w->forced || w->replace || source_changed(w) || cfr_config_is_issued(w->config) || w->minter != NULL;
}

static int judge_grant(const struct cfr_worker *w, int64_t life_ms, struct cfr_now now, struct cfr_err *err)
{
    char had[CFR_TIME_WORDS_MAX];
    char has[CFR_TIME_WORDS_MAX];

    if (life_ms <= 0)
        return cfr_err_set(err, CFR_E_ANSWER, "the answer's credential expired %s ago: look at this machine's clock",
                           cfr_time_words(-life_ms, has));
    if (replaces(w) || !cfr_lifecycle_valid(&w->c, now))
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
        cfr_log(CFR_LOG_INFO, w->config->name, cfr_worker_state_name(w),
                "%s generation %" PRIu64 ", which does not expire", first ? "published first" : "published",
                w->record.generation);
    else
        cfr_log(CFR_LOG_INFO, w->config->name, cfr_worker_state_name(w),
                "%s generation %" PRIu64 "%s%s, valid for %s, next refresh in %s",
                first ? "published first" : "published", w->record.generation, w->record.identity != NULL ? " of " : "",
                w->record.identity != NULL ? w->record.identity : "",
                cfr_time_words(w->c.life.expires_ms - now.wall_ms, life),
                cfr_time_words(w->c.refresh_wall_ms - now.wall_ms, next));
}

/* An exchange begins a life now; what is passed on is already some way into its own. */
static void begin_life(struct cfr_worker *w, const struct cfr_worker_granted *g, int64_t life_ms, struct cfr_now now)
{
    struct cfr_refresh_life life = {g->grant->issued_s * 1000, g->grant->expires_s * 1000};
    int64_t hint_ms = g->grant->refresh_s * 1000;
    int64_t soonest_ms;

    if (g->begins_now || g->grant->expires_s == 0)
        cfr_lifecycle_renewed(&w->c, now, life_ms, cfr_worker_window_ms(w), cfr_worker_jitter(w));
    else
        (void)cfr_lifecycle_adopted(&w->c, now, life, 0, cfr_worker_jitter(w));
    /* Advice, not orders: a grantor that says "at once" each time must not keep us at it. */
    soonest_ms = w->c.life.expires_ms != INT64_MAX
                     ? w->c.life.issued_ms + (w->c.life.expires_ms - w->c.life.issued_ms) / 2
                     : now.wall_ms + CFR_WORKER_LOOK_AGAIN_MS;
    if (hint_ms != 0 && hint_ms < soonest_ms)
        hint_ms = soonest_ms;
    if (hint_ms > now.wall_ms && hint_ms < w->c.refresh_wall_ms) {
        w->c.refresh_wall_ms = hint_ms;
        w->c.refresh_boot_ms = now.boot_ms + (hint_ms - now.wall_ms);
    }
}

/* What is published lives no longer than the token in it. */
static int64_t published_life(const struct cfr_worker *w, const struct cfr_worker_granted *g, struct cfr_now now)
{
    int64_t life_ms = life_of(g->grant, g->server_date_s, now);
    struct cfr_grant token = {.expires_s = g->token_expires_s};
    int64_t token_ms = life_of(&token, g->server_date_s, now);

    return token_ms < life_ms && cfr_config_publishes_token(w->config) ? token_ms : life_ms;
}

static uint64_t next_generation(const struct cfr_worker *w)
{
    uint64_t newest = w->known ? 0 : cfr_publish_newest(w->config);

    return (newest > w->record.generation ? newest : w->record.generation) + 1;
}

struct moment {
    uint64_t generation;
    int64_t life_ms;
    struct cfr_now now;
};

/* Hands everything to the targets in the cluster, which take their time. */
static int deliver(struct cfr_worker *w, const struct cfr_worker_granted *g, const struct moment *m, bool *changed,
                   struct cfr_err *err)
{
    struct cfr_publish_render render = {w->config->name, &g->from, g->grant, m->generation, NULL};
    int64_t expires_ms = m->life_ms == INT64_MAX ? INT64_MAX : m->now.wall_ms + m->life_ms;

    if (w->delivery == NULL)
        return 0;
    *changed = true;
    return cfr_publish_secret_request(w->delivery, &render, expires_ms, m->now, err);
}

/* GENERATION stands, and consumers are to know. */
static void tell_all(struct cfr_worker *w, uint64_t generation, struct cfr_now now)
{
    bool first = w->record.generation == 0;

    remember_generation(w, generation, now);
    cfr_worker_ack_published(w);
    if (!cfr_worker_hooks_wait(w))
        cfr_hook_request(w->hooks, generation, first, now);
    w->first_delivery = w->first_delivery || first;
    cfr_worker_save(w);
    cfr_worker_mint_published(w);
    announce(w, first, now);
    cfr_worker_step(w, CFR_EVENT_PUBLISHED);
}

/* What stands is what stood. */
static void tell_none(struct cfr_worker *w)
{
    cfr_worker_save(w);
    cfr_worker_mint_published(w);
    cfr_worker_step(w, CFR_EVENT_SAME);
}

void cfr_worker_publish(struct cfr_worker *w, const struct cfr_worker_granted *granted)
{
    struct cfr_now now = cfr_clock_now();
    struct cfr_grant *grant = granted->grant;
    int64_t life_ms = published_life(w, granted, now);
    uint64_t generation = next_generation(w);
    bool first = w->record.generation == 0;
    bool known = w->known || (!first && cfr_publish_verify(w->config, &w->record, NULL) == 0);
    bool changed = false;
    struct cfr_err err = {0};
    int rc = judge_grant(w, life_ms, now, &err);

    w->known = false;
    grant->issued_s = grant->issued_s != 0 ? grant->issued_s : now.wall_ms / 1000;
    if (rc == 0 && w->delivery != NULL)
        rc = cfr_publish_secret_rehearse(
            w->config, &(struct cfr_publish_render){w->config->name, &granted->from, grant, generation, NULL}, &err);
    if (rc == 0)
        rc = cfr_publish(w->config, &granted->from, grant, generation, now.wall_ms / 1000, &w->record, &changed, &err);
    if (rc == 0)
        rc = deliver(w, granted, &(struct moment){generation, life_ms, now}, &changed, &err);
    if (rc != 0) {
        cfr_worker_keep(w, grant, life_ms, false, replaces(w));
        w->exchanges_failed[cfr_err_class(rc)]++;
        cfr_worker_fail(w, &err, -1);
        return;
    }
    cfr_worker_clear_error(w);
    w->exchanges_ok++;
    begin_life(w, granted, life_ms, now);
    finish_rotation(w);
    remember_life(w, grant, now);
    w->known = true;
    cfr_worker_keep(w, grant, life_ms, true, true);
    /* What stands without being on record, after a crash or a lost state directory, nobody was told of either. */
    if (changed || w->config->publish.count == 0 || !known)
        tell_all(w, generation, now);
    else
        tell_none(w);
}

void cfr_worker_publish_found(struct cfr_worker *w, int64_t issued_s)
{
    struct cfr_now now = cfr_clock_now();
    uint64_t generation = cfr_publish_newest(w->config);

    finish_rotation(w);
    w->known = true;
    if (generation == w->record.generation) {
        tell_none(w);
        return;
    }
    w->record.issued_ms = issued_s * 1000;
    w->record.expires_ms = w->c.life.expires_ms;
    w->record.last_success_s = now.wall_ms / 1000;
    free(w->record.identity);
    w->record.identity = NULL;
    tell_all(w, generation, now);
}
