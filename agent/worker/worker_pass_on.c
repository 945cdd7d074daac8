/* SPDX-License-Identifier: MIT */
/* A worker whose key may not be created, and that passes the administrator's own key on meanwhile. */
#include "agent/worker/worker_private.h"

#include "base/hash.h"

#include <stdlib.h>
#include <string.h>

#define RETRY_MS       CFR_HOUR_MS
#define RETRY_LEAST_MS CFR_MINUTE_MS

bool cfr_worker_is_passed_on(const struct cfr_worker *w)
{
    /* With another configuration the mark is of another source. */
    return w->rotator != NULL && w->record.generation != 0 && w->record.token_mark != 0 &&
           w->record.digest_material == w->config->digest_material && !cfr_rotator_has_key(w->rotator);
}

/* Never 0. */
static uint64_t mark_of(const struct cfr_grant *grant)
{
    uint64_t h = CFR_HASH_START;

    for (size_t i = 0; i < grant->field_count; i++) {
        struct cfr_view value = cfr_grant_get(grant, grant->fields[i].name);

        h = cfr_hash_add(h, grant->fields[i].name, strlen(grant->fields[i].name) + 1);
        h = cfr_hash_add(h, value.p, value.n);
    }
    return h != 0 ? h : 1;
}

/* Full jitter, so that a fleet does not ask at once. */
static void plan_retry(struct cfr_worker *w)
{
    struct cfr_now now = cfr_clock_now();
    int64_t delay_ms = (int64_t)(cfr_clock_chance() * RETRY_MS);

    cfr_lifecycle_refresh_at(&w->life, now, now.wall_ms + (delay_ms > RETRY_LEAST_MS ? delay_ms : RETRY_LEAST_MS));
}

static void report(struct cfr_worker *w, const struct cfr_err *err)
{
    char subject[CFR_ROTATION_SUBJECT_MAX];

    cfr_config_mint_subject(w->config->mint, subject);
    cfr_log(w->pass_on_logged ? CFR_LOG_DEBUG : CFR_LOG_WARN, w->config->name, cfr_worker_state_name(w),
            "%s may not create keys of %s: publishing its own key until it may; consumers have the rights of %s (%s)",
            w->config->mint->with, subject, w->config->mint->with, err->text);
    w->pass_on_logged = true;
}

/* Gives GRANT, which is moved out of, to be published. */
static int make_granted(struct cfr_worker *w, struct cfr_grant *grant)
{
    struct cfr_worker_granted *g = calloc(1, sizeof *g);

    if (g == NULL)
        return CFR_E_NOMEM;
    cfr_grant_move(&g->grant, grant);
    g->begins_now = true;
    w->granted = g;
    return 0;
}

enum cfr_event cfr_worker_pass_on(struct cfr_worker *w, const struct cfr_source_exchange_result *result)
{
    bool already = cfr_worker_is_passed_on(w);
    bool refused = cfr_rotator_may_not(w->rotator) && !cfr_publisher_holds_made_key(w->targets);
    struct cfr_refresh_life life = {w->record.issued_ms, INT64_MAX};
    struct cfr_grant grant = {0};
    enum cfr_event event = CFR_EVENT_NONE;
    bool same;
    uint64_t mark;

    if (w->config->mint->otherwise == NULL || (!refused && !already))
        return CFR_EVENT_NONE;
    if (cfr_rotator_pass_on(w->rotator, &grant, NULL) != 0) {
        cfr_grant_free(&grant);
        return CFR_EVENT_NONE;
    }
    mark = mark_of(&grant);
    same = already && mark == w->record.token_mark && !w->replace && !cfr_publish_secret_lost(w->delivery) &&
           cfr_publisher_verify(w->targets, &w->record, NULL) == 0;
    w->token_used = mark;
    if (same && refused) {
        report(w, &result->err);
        cfr_worker_clear_error(w);
        (void)cfr_lifecycle_adopted(&w->life, cfr_clock_now(), life, 0, cfr_worker_jitter(w));
        w->known = true;
        w->lost = false;
        cfr_rotator_clear_failure(w->rotator);
        plan_retry(w);
        event = CFR_EVENT_SAME;
    } else if (!same && make_granted(w, &grant) == 0) {
        if (refused)
            report(w, &result->err);
        event = CFR_EVENT_GRANTED;
    }
    /* What was asked for is a key that is made. */
    w->forced = w->forced && event == CFR_EVENT_NONE;
    cfr_grant_free(&grant);
    return event;
}

void cfr_worker_pass_on_published(struct cfr_worker *w)
{
    cfr_rotator_clear_failure(w->rotator);
    plan_retry(w);
}

void cfr_worker_admin_changed(struct cfr_worker *w, const char *name)
{
    struct cfr_now now = cfr_clock_now();

    if (w->rotator == NULL || w->config->mint->otherwise == NULL || strcmp(w->config->mint->with, name) != 0 ||
        cfr_rotator_has_key(w->rotator))
        return;
    if (w->life.state == CFR_STATE_BACKOFF)
        cfr_lifecycle_retry_at(&w->life, now.boot_ms);
    else if (cfr_lifecycle_is_settled(&w->life))
        cfr_lifecycle_refresh_at(&w->life, now, now.wall_ms);
    else
        return;
    cfr_worker_wake(w);
}
