/* SPDX-License-Identifier: MIT */
/* Whether a credential can be used, and how that went over the last day. */
#include "agent/worker/worker_private.h"

bool cfr_worker_is_ready(const struct cfr_worker *w)
{
    struct cfr_now now = cfr_clock_now();

    return cfr_lifecycle_valid(&w->life, now) && !w->lost && cfr_publish_secret_valid(w->delivery, now) &&
           !w->source_missing && !cfr_worker_lacks_served(w) && !cfr_worker_producer_report(w).refused;
}

bool cfr_worker_counts(const struct cfr_worker *w)
{
    return w->config->required &&
           (!w->config->admin_only || w->host->admin_needed(w->host->offer_ctx, w->config->name));
}

const char *cfr_worker_error(const struct cfr_worker *w)
{
    return w->error != NULL ? w->error : cfr_publish_secret_error(w->delivery);
}

/* Nothing is known before the first result, and while what was removed is put back. */
static enum cfr_api_history_health health_of(const struct cfr_worker *w, struct cfr_now now)
{
    bool failing = cfr_worker_error(w) != NULL || w->trouble.failures != 0;
    bool expired = w->life.published && !cfr_lifecycle_valid(&w->life, now);

    if (cfr_worker_is_ready(w))
        return failing ? CFR_API_HISTORY_FAILING : CFR_API_HISTORY_GOOD;
    return failing || expired || cfr_worker_producer_report(w).refused ? CFR_API_HISTORY_UNUSABLE
                                                                       : CFR_API_HISTORY_UNKNOWN;
}

void cfr_worker_note_health(struct cfr_worker *w)
{
    struct cfr_now now = cfr_clock_now();
    bool ready = cfr_worker_is_ready(w);

    if (!ready || !w->was_ready)
        cfr_loop_soon(&w->host->moved);
    w->was_ready = ready;
    cfr_api_history_note(&w->history, now.wall_ms / 1000, health_of(w, now));
}

struct cfr_api_history cfr_worker_history(const struct cfr_worker *w)
{
    return w->history;
}

void cfr_worker_give_history(struct cfr_worker *w, const struct cfr_api_history *history)
{
    w->history = *history;
}
