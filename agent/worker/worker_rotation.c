/* SPDX-License-Identifier: MIT */
/* A worker whose credential is a long-lived key that is rotated: what it asks of the minter, and what it
 * tells it. */
#include "agent/worker/worker_private.h"

#include "base/log.h"

static bool used_by_all(void *ctx)
{
    return cfr_worker_ack_all(ctx);
}

static bool stands(void *ctx, const char *id)
{
    const struct cfr_worker *w = ctx;

    return cfr_publish_stands(w->config, id);
}

static void replan(void *ctx)
{
    cfr_worker_plan(ctx);
}

int cfr_worker_mint_open(struct cfr_worker *w, struct cfr_err *err)
{
    const struct cfr_rotator_world world = {
        .http = w->host->http,
        .state_fd = w->host->state_fd,
        .draining = &w->host->draining,
        .offer = w->host->offer,
        .offer_ctx = w->host->offer_ctx,
        .used_by_all = used_by_all,
        .stands = stands,
        .replan = replan,
        .ctx = w,
    };

    return w->config->mint != NULL ? cfr_rotator_open(&world, w->config, w->spread, &w->minter, err) : 0;
}

void cfr_worker_mint_step(struct cfr_worker *w)
{
    if (w->minter != NULL)
        cfr_rotator_step(w->minter);
}

/* The refresh is the next rotation. */
static void set_due(struct cfr_worker *w, struct cfr_now now)
{
    int64_t due_ms = cfr_rotator_due_ms(w->minter);

    w->c.refresh_wall_ms = due_ms;
    w->c.refresh_boot_ms = now.boot_ms + (due_ms > now.wall_ms ? due_ms - now.wall_ms : 0);
}

bool cfr_worker_mint_adopt(struct cfr_worker *w, struct cfr_now now)
{
    if (!cfr_rotator_is_settled(w->minter))
        return false;
    set_due(w, now);
    return now.wall_ms < w->c.refresh_wall_ms;
}

/* Nothing had to be done after all. */
static void rest(struct cfr_worker *w)
{
    struct cfr_now now = cfr_clock_now();
    struct cfr_refresh_life life = {w->record.issued_ms, cfr_rotator_ends_ms(w->minter)};

    cfr_worker_clear_error(w);
    (void)cfr_lifecycle_adopted(&w->c, now, life, 0, cfr_worker_jitter(w));
    set_due(w, now);
    cfr_worker_step(w, CFR_EVENT_GRANTED);
    cfr_worker_step(w, CFR_EVENT_SAME);
}

/* An earlier run published it, and came no further. */
static void adopt(struct cfr_worker *w, int64_t minted_s)
{
    struct cfr_now now = cfr_clock_now();
    struct cfr_refresh_life life = {minted_s * 1000, cfr_rotator_ends_ms(w->minter)};

    cfr_worker_clear_error(w);
    (void)cfr_lifecycle_adopted(&w->c, now, life, 0, cfr_worker_jitter(w));
    cfr_worker_step(w, CFR_EVENT_GRANTED);
    cfr_worker_publish_found(w, minted_s);
}

static void publish(struct cfr_worker *w, struct cfr_source_exchange_result *result)
{
    struct cfr_publish_minted minted = {.minted_s = 0};
    struct cfr_worker_granted granted = {.grant = result->grant, .begins_now = true};

    minted.id = cfr_rotator_fresh(w->minter, &minted.minted_s);
    granted.from.minted = &minted;
    cfr_worker_step(w, CFR_EVENT_GRANTED);
    cfr_worker_publish(w, &granted);
}

static void on_minted(void *ctx, struct cfr_source_exchange_result *result)
{
    struct cfr_worker *w = ctx;
    int64_t minted_s = 0;

    cfr_api_status_observe(&w->duration, result->duration_s);
    if (result->rc != 0) {
        w->exchanges_failed[cfr_err_class(result->rc)]++;
        cfr_worker_fail(w, &result->err, result->retry_after_s);
    } else if (result->grant != NULL) {
        publish(w, result);
    } else if (cfr_rotator_fresh(w->minter, &minted_s) != NULL) {
        adopt(w, minted_s);
    } else {
        rest(w);
    }
    cfr_worker_plan(w);
}

void cfr_worker_mint_try(struct cfr_worker *w)
{
    bool known = w->record.generation != 0 && cfr_publish_verify(w->config, &w->record, NULL) == 0;

    /* One that was begun before it was asked for does not count for that, and is followed by another. */
    w->forced = w->rotate_wanted && cfr_rotator_counts(w->minter);
    w->c.again = w->rotate_wanted && !w->forced;
    w->token_used = 0;
    cfr_worker_step(w, CFR_EVENT_GO);
    cfr_rotator_start(w->minter, w->rotate_wanted || w->replace || !known, on_minted, w);
}

void cfr_worker_mint_published(struct cfr_worker *w)
{
    if (w->minter == NULL)
        return;
    cfr_rotator_published(w->minter, w->record.generation);
    set_due(w, cfr_clock_now());
}
