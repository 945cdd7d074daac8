/* SPDX-License-Identifier: MIT */
/* Grants in memory: for clients of the local endpoints, and for a new token to be published with. */
#include "agent/worker/worker_private.h"

#include <stdlib.h>

#define SET_MS  1000
#define EVENT_S 60 /* when it is not known: the next try is for a file that changes */

/* The last grant of a credential that is served, or that publishes its token next to what that is exchanged for. */
struct cfr_worker_kept {
    struct cfr_grant grant;
    int64_t issued_s;
    int64_t expires_ms;      /* wall; INT64_MAX = never */
    int64_t expires_boot_ms; /* the same moment */
    int64_t session_ms;      /* when it expires without the token that it came with; wall; INT64_MAX = never */
    int64_t set_back_ms;     /* by how much the wall clock was set back since then */
    bool bare;               /* its token was wiped: nobody is served it */
};

static bool is_served(const struct cfr_worker *w)
{
    return !w->source->lasting && (w->config->served || w->wanted);
}

/* A new token is published with the last session while no newer one is granted. */
static bool accompanies_token(const struct cfr_worker *w)
{
    return !w->source->lasting && w->provider != NULL && cfr_config_publishes_token(w->config);
}

static bool is_valid(const struct cfr_worker_kept *k, struct cfr_now now)
{
    return k != NULL && now.wall_ms < k->expires_ms && now.boot_ms < k->expires_boot_ms;
}

/* Good enough to serve. */
static bool is_good(const struct cfr_worker_kept *k, struct cfr_now now)
{
    return is_valid(k, now) && !k->bare;
}

/* The same value while nothing was set: clients compare what they are served. */
static void note_set_back(struct cfr_worker_kept *k, struct cfr_now now)
{
    int64_t by_ms = cfr_clock_set_back_ms(now, k->expires_ms, k->expires_boot_ms);

    if (by_ms - k->set_back_ms >= SET_MS || k->set_back_ms - by_ms >= SET_MS)
        k->set_back_ms = by_ms;
}

void cfr_worker_free_kept(struct cfr_worker_kept *kept)
{
    if (kept != NULL)
        cfr_grant_free(&kept->grant);
    free(kept);
}

void cfr_worker_drop_kept(struct cfr_worker *w)
{
    cfr_worker_free_kept(w->kept);
    w->kept = NULL;
}

void cfr_worker_forget_admin(struct cfr_worker *w, int rc)
{
    if (rc != CFR_E_MISSING || !w->config->admin || w->config->secret == NULL || w->kept == NULL)
        return;
    cfr_log(CFR_LOG_WARN, w->config->name, cfr_worker_state_name(w),
            "the Secret was removed, so its keys were wiped: rotations pause until it exists again");
    cfr_worker_drop_kept(w);
}

struct cfr_worker_kept *cfr_worker_take_kept(struct cfr_worker *w)
{
    struct cfr_worker_kept *kept = w->kept;

    w->kept = NULL;
    return kept;
}

void cfr_worker_give_kept(struct cfr_worker *w, struct cfr_worker_kept *kept)
{
    cfr_worker_drop_kept(w);
    w->kept = kept;
    if (!is_served(w) && !accompanies_token(w))
        cfr_worker_drop_kept(w);
}

bool cfr_worker_lacks_served(const struct cfr_worker *w)
{
    return w->config->served && !w->source->lasting && !is_good(w->kept, cfr_clock_now());
}

bool cfr_worker_must_keep(const struct cfr_worker *w)
{
    return is_served(w) && !is_good(w->kept, cfr_clock_now());
}

void cfr_worker_kept_published(struct cfr_worker *w)
{
    if (w->kept == NULL)
        return;
    w->kept->bare = !is_served(w);
    if (w->kept->bare)
        (void)cfr_grant_set(&w->kept->grant, CFR_FIELD_TOKEN, (struct cfr_view){"", 0}, NULL);
}

void cfr_worker_keep(struct cfr_worker *w, struct cfr_grant *grant, int64_t life_ms, int64_t session_ms, bool published,
                     bool replaces)
{
    struct cfr_now now = cfr_clock_now();
    int64_t expires_boot_ms = life_ms == INT64_MAX ? INT64_MAX : now.boot_ms + life_ms;

    if ((!is_served(w) && !accompanies_token(w)) || life_ms <= 0 ||
        (!replaces && is_valid(w->kept, now) && !(w->kept->bare && is_served(w)) &&
         expires_boot_ms <= w->kept->expires_boot_ms))
        return;
    if (w->kept == NULL)
        w->kept = calloc(1, sizeof *w->kept);
    if (w->kept == NULL)
        return;
    w->kept->issued_s = now.wall_ms / 1000;
    w->kept->expires_ms = life_ms == INT64_MAX ? INT64_MAX : now.wall_ms + life_ms;
    w->kept->session_ms = session_ms == INT64_MAX ? INT64_MAX : now.wall_ms + session_ms;
    w->kept->expires_boot_ms = expires_boot_ms;
    w->kept->set_back_ms = 0;
    cfr_grant_move(&w->kept->grant, grant);
    /* Kept for a token to come, not for the one that it came with. */
    cfr_worker_kept_published(w);
    /* By now it belongs to the record. */
    if (w->kept->grant.identity == NULL && published && w->record.identity != NULL)
        (void)cfr_grant_set_identity(&w->kept->grant, cfr_view_of(w->record.identity), NULL);
    if (w->config->admin && w->host->admin_changed != NULL)
        w->host->admin_changed(w->host->offer_ctx, w->config->name);
}

void cfr_worker_review_kept(struct cfr_worker *w)
{
    if (w->kept != NULL && !accompanies_token(w) && (!is_served(w) || !is_good(w->kept, cfr_clock_now())))
        cfr_worker_drop_kept(w);
    /* In other states a try is under way or planned. */
    if (cfr_worker_must_keep(w) && !w->turn.queued && cfr_lifecycle_is_settled(&w->life)) {
        cfr_lifecycle_try_again(&w->life);
        cfr_worker_wake(w);
    }
}

int64_t cfr_worker_kept_with_token(struct cfr_worker *w, struct cfr_view token, const struct cfr_grant **out,
                                   struct cfr_err *err)
{
    *out = NULL;
    if (w->kept == NULL || !accompanies_token(w))
        return 0;
    if (cfr_grant_set(&w->kept->grant, CFR_FIELD_TOKEN, token, err) != 0)
        return err->code;
    *out = &w->kept->grant;
    note_set_back(w->kept, cfr_clock_now());
    return w->kept->session_ms == INT64_MAX ? INT64_MAX : w->kept->session_ms - w->kept->set_back_ms;
}

void cfr_worker_want(struct cfr_worker *w)
{
    if (cfr_lifecycle_want(&w->life))
        cfr_worker_rearm(w);
}

static int64_t retry_after_s(const struct cfr_worker *w, struct cfr_now now)
{
    int64_t at_ms = cfr_lifecycle_deadline(&w->life);
    int64_t left_ms;

    /* In other states it is under way, or about to be. */
    if (w->turn.queued || (w->life.state != CFR_STATE_WAITING && w->life.state != CFR_STATE_BACKOFF))
        return 1;
    if (at_ms == INT64_MAX)
        return EVENT_S;
    left_ms = at_ms - now.boot_ms;
    return left_ms > 1000 ? (left_ms + 999) / 1000 : 1;
}

void cfr_worker_offer(struct cfr_worker *w, struct cfr_offer *out)
{
    struct cfr_now now = cfr_clock_now();

    *out = (struct cfr_offer){.credential = w->config->name};
    if (is_good(w->kept, now)) {
        out->grant = &w->kept->grant;
        note_set_back(w->kept, now);
        out->issued_s = w->kept->issued_s - w->kept->set_back_ms / 1000;
        /* A second early: many clients use a credential to its last moment, and the call takes its time. */
        out->expires_s = w->kept->expires_ms == INT64_MAX ? 0 : (w->kept->expires_ms - w->kept->set_back_ms) / 1000 - 1;
        return;
    }
    if (w->source->lasting) {
        out->why = "a rotated key is kept only in the published files";
        out->retry_after_s = EVENT_S;
        return;
    }
    w->wanted = true;
    cfr_worker_review_kept(w);
    cfr_worker_want(w);
    /* The error itself, as the readiness page shows it: the client's user may see nothing else. */
    out->why = w->error != NULL ? w->error : "it is being exchanged; try again in a moment";
    out->retry_after_s = retry_after_s(w, now);
}
