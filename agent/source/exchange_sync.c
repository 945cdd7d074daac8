/* SPDX-License-Identifier: MIT */
/* Blocking exchange, for programs without a loop of their own. */
#include "agent/source/exchange_sync.h"

#include "agent/loop/backoff.h"
#include "base/time.h"

#include <time.h>

struct waiting {
    cfr_source_exchange_fn *done;
    void *ctx;
    bool ended;
};

static void on_exchanged(void *ctx, struct cfr_source_exchange_result *result)
{
    struct waiting *w = ctx;

    w->ended = true;
    w->done(w->ctx, result);
}

static int exchange(const struct cfr_config_credential *c, struct cfr_source_inputs *m, int64_t end_boot_ms,
                    struct waiting *w, struct cfr_http *http, struct cfr_kube *kube, struct cfr_err *err)
{
    int64_t begun_boot_ms = cfr_clock_now().boot_ms;
    struct cfr_exchange *e = NULL;
    char words[CFR_TIME_WORDS_MAX];
    int rc = cfr_source_exchange_start(http, kube, c, m, on_exchanged, w, &e, err);

    if (rc != 0)
        return rc;
    rc = cfr_http_run(http, &w->ended, end_boot_ms, err);
    if (w->ended)
        return 0;
    cfr_source_exchange_cancel(e);
    if (rc == CFR_E_TIMEOUT)
        (void)cfr_err_set(err, rc, "the exchange took more than %s",
                          cfr_time_words(cfr_clock_now().boot_ms - begun_boot_ms, words));
    return rc;
}

int cfr_source_sync_exchange(const struct cfr_config_credential *c, struct cfr_source_inputs *m, int64_t end_boot_ms,
                             cfr_source_exchange_fn *done, void *ctx, struct cfr_err *err)
{
    struct waiting w = {done, ctx, false};
    struct cfr_http *http = NULL;
    struct cfr_kube *kube = NULL;
    int rc = cfr_http_open(&http, err);

    if (rc == 0)
        rc = cfr_kube_open(http, &kube, err);
    if (rc == 0)
        rc = exchange(c, m, end_boot_ms, &w, http, kube, err);
    if (kube != NULL)
        cfr_kube_close(kube);
    if (http != NULL)
        cfr_http_close(http);
    return rc;
}

/* ---- retries ---- */

#define LEAST_MS 500 /* that a try must have */

int cfr_source_sync_retry(cfr_source_sync_try_fn *try, void *ctx, int64_t end_boot_ms, struct cfr_err *err)
{
    int64_t begun_boot_ms = cfr_clock_now().boot_ms;
    struct cfr_backoff backoff = {0};
    struct cfr_err last = {0};
    char words[CFR_TIME_WORDS_MAX];
    int rc;

    for (;;) {
        struct cfr_backoff_cause cause = {.retry_after_s = -1};
        int64_t now_ms;
        int64_t pause_ms;

        *err = (struct cfr_err){0};
        rc = try(ctx, &cause.retry_after_s, err);
        if (rc == 0)
            return 0;
        now_ms = cfr_clock_now().boot_ms;
        /* That the time is up says less than why the try before it failed. */
        if (rc == CFR_E_TIMEOUT && now_ms >= end_boot_ms && last.code != 0) {
            *err = last;
            rc = last.code;
        }
        last = *err;
        cause.class = cfr_err_class(rc);
        cause.left_ms = end_boot_ms - now_ms;
        pause_ms = cfr_backoff_failed(&backoff, &cause, cfr_clock_chance());
        if (cause.class != CFR_CLASS_RETRY || pause_ms + LEAST_MS > cause.left_ms)
            break;
        (void)nanosleep(&(struct timespec){pause_ms / 1000, (long)(pause_ms % 1000) * 1000000L}, NULL);
    }
    if (backoff.failures > 1)
        (void)cfr_err_prefix(err, "tried %u times in %s", (unsigned)backoff.failures,
                             cfr_time_words(cfr_clock_now().boot_ms - begun_boot_ms, words));
    return rc;
}

/* ---- with what it begins with ---- */

struct collecting {
    const struct cfr_config_credential *credential;
    int64_t end_boot_ms;
    struct cfr_grant *out;
    struct cfr_err *err;
    int64_t retry_after_s;
    int rc;
};

/* The times of a grant are by the grantor's clock; the caller compares them with ours. */
static void shift_times(struct cfr_grant *g, int64_t server_date_s)
{
    struct cfr_now now = cfr_clock_now();
    int64_t skew_s = (cfr_clock_grantor_ms(server_date_s, now) - now.wall_ms) / 1000;

    g->issued_s = g->issued_s != 0 ? g->issued_s - skew_s : 0;
    g->expires_s = g->expires_s != 0 ? g->expires_s - skew_s : 0;
}

static void collect(void *ctx, struct cfr_source_exchange_result *result)
{
    struct collecting *t = ctx;

    t->rc = result->rc;
    t->retry_after_s = result->retry_after_s;
    if (t->rc != 0) {
        *t->err = result->err;
        return;
    }
    cfr_grant_move(t->out, result->grant);
    shift_times(t->out, result->server_date_s);
}

/* The source is read for each try: the next token may be there by then. */
static int try_grant(void *ctx, int64_t *retry_after_s, struct cfr_err *err)
{
    struct collecting *t = ctx;
    struct cfr_source_inputs m;
    int64_t wait_ms;
    int rc;

    t->err = err;
    t->rc = 0;
    t->retry_after_s = -1;
    rc = cfr_source_inputs_read(t->credential, cfr_clock_now().wall_ms, false, &m, &wait_ms, err);
    if (rc == 0 && cfr_source_inputs_is_final(&m))
        rc = cfr_source_inputs_grant(&m, t->out, err);
    else if (rc == 0)
        rc = cfr_source_sync_exchange(t->credential, &m, t->end_boot_ms, collect, t, err);
    cfr_source_inputs_free(&m);
    *retry_after_s = t->retry_after_s;
    return rc != 0 ? rc : t->rc;
}

int cfr_source_sync_grant(const struct cfr_config_credential *c, int64_t end_boot_ms, struct cfr_grant *out,
                          struct cfr_err *err)
{
    struct collecting t = {.credential = c, .end_boot_ms = end_boot_ms, .out = out};

    *out = (struct cfr_grant){0};
    return cfr_source_sync_retry(try_grant, &t, end_boot_ms, err);
}
