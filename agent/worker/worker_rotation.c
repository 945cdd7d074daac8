/* SPDX-License-Identifier: MIT */
/* A worker whose credential is a rotated key: its calls of the rotator. */
#include "agent/worker/worker_private.h"

#include <stdlib.h>
#include <string.h>

static bool used_by_all(void *ctx)
{
    return cfr_worker_ack_all(ctx);
}

static bool is_published(void *ctx, const char *id)
{
    const struct cfr_worker *w = ctx;

    return cfr_publisher_holds_key(w->targets, &w->record, id);
}

static bool has_published(void *ctx)
{
    const struct cfr_worker *w = ctx;

    return cfr_publisher_holds_made_key(w->targets);
}

static bool published_key(void *ctx, struct cfr_publish_minted *out)
{
    const struct cfr_worker *w = ctx;

    if (w->record.key == NULL || !cfr_publisher_holds_key(w->targets, &w->record, w->record.key->id))
        return false;
    *out = *w->record.key;
    return true;
}

static bool is_own(void *ctx, const char *id)
{
    const struct cfr_worker *w = ctx;

    return cfr_publish_record_has_made(&w->record, id);
}

/* Without memory for it, an operator deletes the key. */
static void note_own(void *ctx, const char *id)
{
    struct cfr_worker *w = ctx;

    if (!cfr_publish_record_has_made(&w->record, id) && cfr_publish_record_add_made(&w->record, id, NULL) == 0)
        cfr_worker_save(w);
}

static void end_search(struct cfr_worker *w)
{
    cfr_publish_search_end(w->search);
    w->search = NULL;
}

static void on_found(void *ctx, int rc, struct cfr_rotation_found *found, struct cfr_err *err)
{
    struct cfr_worker *w = ctx;

    end_search(w);
    cfr_rotator_found(w->rotator, rc, found, err);
    cfr_worker_wake(w);
}

static int find(void *ctx, struct cfr_rotation_found *found, struct cfr_err *err)
{
    struct cfr_worker *w = ctx;

    end_search(w);
    return cfr_publish_find(w->config, w->host->kube, on_found, w, &w->search, found, err);
}

static void replan(void *ctx)
{
    cfr_worker_wake(ctx);
}

int cfr_worker_rotation_open(struct cfr_worker *w, struct cfr_err *err)
{
    const struct cfr_rotator_context context = {
        .http = w->host->http,
        .kube = w->host->kube,
        .state_fd = w->host->state_fd,
        .draining = &w->host->draining,
        .offer = w->host->offer,
        .offer_ctx = w->host->offer_ctx,
        .used_by_all = used_by_all,
        .is_published = is_published,
        .has_published = has_published,
        .published_key = published_key,
        .is_own = is_own,
        .note_own = note_own,
        .find = find,
        .replan = replan,
        .ctx = w,
    };

    return w->config->mint != NULL ? cfr_rotator_open(&context, w->config, w->spread, &w->rotator, err) : 0;
}

void cfr_worker_rotation_close(struct cfr_worker *w)
{
    end_search(w);
    cfr_rotator_close(w->rotator);
}

bool cfr_worker_needs_admin(const struct cfr_worker *w, const char *name)
{
    return w->rotator != NULL && strcmp(w->config->mint->with, name) == 0 &&
           (w->rotate_wanted || w->record.generation == 0 || cfr_rotator_needs_admin(w->rotator));
}

void cfr_worker_rotation_rebind(struct cfr_worker *w)
{
    end_search(w);
    cfr_rotator_rebind(w->rotator, w->config);
    /* Its age may be another now. */
    if (cfr_lifecycle_is_settled(&w->life) && cfr_rotator_is_settled(w->rotator))
        cfr_lifecycle_refresh_at(&w->life, cfr_clock_now(), cfr_rotator_due_ms(w->rotator));
    /* `or` may be new. */
    cfr_worker_admin_changed(w, w->config->mint->with);
}

bool cfr_worker_rotation_adopt(struct cfr_worker *w, struct cfr_now now)
{
    if (!cfr_rotator_is_settled(w->rotator))
        return false;
    cfr_lifecycle_refresh_at(&w->life, now, cfr_rotator_due_ms(w->rotator));
    return now.wall_ms < w->life.refresh_wall_ms;
}

void cfr_worker_rotation_start(struct cfr_worker *w, cfr_source_exchange_fn *done)
{
    bool known = w->record.generation != 0 && cfr_publisher_verify(w->targets, &w->record, NULL) == 0 &&
                 !cfr_publish_secret_lost(w->delivery);

    /* A rotation that was begun before this one was asked for does not count for it (follow_up). */
    w->forced = w->rotate_wanted && cfr_rotator_counts(w->rotator) && !cfr_rotator_adopts(w->rotator);
    w->token_used = 0;
    cfr_rotator_start(w->rotator, w->rotate_wanted, w->replace, !known && !w->replace, done, w);
}

/* Nothing was made: what is published, since ISSUED_MS, goes on. If the clock was set back behind that, it would be due
 * at once, again and again. */
static void go_on(struct cfr_worker *w, int64_t issued_ms)
{
    struct cfr_now now = cfr_clock_now();
    struct cfr_refresh_life life = {issued_ms < now.wall_ms ? issued_ms : now.wall_ms, cfr_rotator_ends_ms(w->rotator)};

    cfr_worker_clear_error(w);
    (void)cfr_lifecycle_adopted(&w->life, now, life, 0, cfr_worker_jitter(w));
}

/* A rotation was asked for while another one was in progress, which has ended: not before, because a start while the
 * key is on its way to a target would publish the same key again. */
static void follow_up(struct cfr_worker *w)
{
    if (w->rotate_wanted)
        cfr_lifecycle_try_again(&w->life);
}

enum cfr_event cfr_worker_rotation_collect(struct cfr_worker *w, struct cfr_source_exchange_result *result)
{
    struct cfr_worker_granted *g;
    struct cfr_publish_minted found;

    cfr_api_status_observe(&w->duration, result->duration_s);
    if (result->rc == 0 && result->grant != NULL) {
        g = calloc(1, sizeof *g);
        if (g == NULL) {
            result->rc = cfr_err_nomem(&result->err);
        } else {
            /* It may be of a rotation that began since the start. */
            w->forced = w->rotate_wanted && (w->forced || cfr_rotator_counts(w->rotator));
            cfr_grant_move(&g->grant, result->grant);
            (void)cfr_rotator_fresh(w->rotator, &g->minted);
            g->from.minted = &g->minted;
            g->begins_now = true;
            w->granted = g;
            return CFR_EVENT_GRANTED;
        }
    }
    if (result->rc != 0) {
        enum cfr_event event = cfr_worker_pass_on(w, result);

        if (event != CFR_EVENT_NONE)
            return event;
        w->exchanges_failed[cfr_err_class(result->rc)]++;
        return cfr_worker_fail(w, &result->err, result->retry_after_s);
    }
    if (cfr_rotator_fresh(w->rotator, &found)) {
        /* An earlier run published it, and came no further. */
        go_on(w, found.minted_s * 1000);
        return cfr_worker_publish_found(w, &found);
    }
    go_on(w, w->record.issued_ms);
    cfr_lifecycle_refresh_at(&w->life, cfr_clock_now(), cfr_rotator_due_ms(w->rotator));
    follow_up(w);
    return CFR_EVENT_SAME;
}

void cfr_worker_rotation_step(struct cfr_worker *w)
{
    struct cfr_now now = cfr_clock_now();

    cfr_rotator_step(w->rotator);
    if (cfr_lifecycle_is_settled(&w->life) &&
        (cfr_rotator_must_replace(w->rotator) || cfr_rotator_has_news(w->rotator)))
        cfr_lifecycle_refresh_at(&w->life, now, now.wall_ms);
    else if (w->life.state == CFR_STATE_BACKOFF && cfr_rotator_takes_news(w->rotator))
        cfr_lifecycle_retry_at(&w->life, now.boot_ms);
}

void cfr_worker_rotation_published(struct cfr_worker *w)
{
    struct cfr_publish_minted given;

    /* What has arrived may be the key before (that of `with`, where it was passed on), while a target here cannot take
     * the new one. */
    if (cfr_rotator_fresh(w->rotator, &given) && (w->record.key == NULL || strcmp(given.id, w->record.key->id) != 0))
        return;
    /* Until the cluster holds it, too, the pending secret stays, and the old key's grace does not begin. */
    if (cfr_publish_secret_pending(w->delivery))
        return;
    if (cfr_worker_is_passed_on(w)) {
        cfr_worker_pass_on_published(w);
        return;
    }
    w->pass_on_logged = false;
    cfr_rotator_published(w->rotator, w->record.generation);
    cfr_lifecycle_refresh_at(&w->life, cfr_clock_now(), cfr_rotator_due_ms(w->rotator));
    follow_up(w);
}
