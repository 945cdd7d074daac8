/* SPDX-License-Identifier: MIT */
/* Source: a rotated key. The worker knows only this file's row; the rotator does the work. */
#include "agent/rotation/rotated_key_private.h"

#include <stdlib.h>
#include <string.h>

/* ---- what the rotator asks ---- */

static bool used_by_all(void *ctx)
{
    const struct cfr_rotator_key *k = ctx;

    return k->client.used_by_all(k->client.ctx);
}

static bool is_published(void *ctx, const char *id)
{
    const struct cfr_rotator_key *k = ctx;

    return cfr_publisher_holds_key(k->client.targets, k->client.record, id);
}

static bool has_published(void *ctx)
{
    const struct cfr_rotator_key *k = ctx;

    return cfr_publisher_holds_made_key(k->client.targets);
}

static bool published_key(void *ctx, struct cfr_publish_minted *out)
{
    const struct cfr_rotator_key *k = ctx;
    const struct cfr_publish_minted *key = k->client.record->key;

    if (key == NULL || !is_published(ctx, key->id))
        return false;
    *out = *key;
    return true;
}

static bool is_own(void *ctx, const char *id)
{
    const struct cfr_rotator_key *k = ctx;

    return cfr_publish_record_has_made(k->client.record, id);
}

/* Without memory for it, an operator deletes the key. */
static void note_own(void *ctx, const char *id)
{
    struct cfr_rotator_key *k = ctx;

    if (!is_own(ctx, id) && cfr_publish_record_add_made(k->client.record, id, NULL) == 0)
        k->client.save(k->client.ctx);
}

static void end_search(struct cfr_rotator_key *k)
{
    cfr_publish_search_end(k->search);
    k->search = NULL;
}

static void on_found(void *ctx, int rc, struct cfr_rotation_found *found, struct cfr_err *err)
{
    struct cfr_rotator_key *k = ctx;

    end_search(k);
    cfr_rotator_found(k->rotator, rc, found, err);
    k->client.wake(k->client.ctx);
}

static int find(void *ctx, struct cfr_rotation_found *found, struct cfr_err *err)
{
    struct cfr_rotator_key *k = ctx;

    end_search(k);
    return cfr_publish_find(k->config, k->client.kube, on_found, k, &k->search, found, err);
}

static void replan(void *ctx)
{
    struct cfr_rotator_key *k = ctx;

    k->client.wake(k->client.ctx);
}

/* ---- life ---- */

static int open_key(const struct cfr_source_client *client, const struct cfr_config_credential *c, void **state,
                    struct cfr_err *err)
{
    struct cfr_rotator_key *k = calloc(1, sizeof *k);
    const struct cfr_rotator_context context = {
        .http = client->http,
        .kube = client->kube,
        .state_fd = client->state_fd,
        .draining = client->draining,
        .offer = client->offer,
        .offer_ctx = client->offer_ctx,
        .used_by_all = used_by_all,
        .is_published = is_published,
        .has_published = has_published,
        .published_key = published_key,
        .is_own = is_own,
        .note_own = note_own,
        .find = find,
        .replan = replan,
        .ctx = k,
    };
    int rc;

    if (k == NULL)
        return cfr_err_nomem(err);
    k->client = *client;
    k->config = c;
    rc = cfr_rotator_open(&context, c, client->spread, &k->rotator, err);
    if (rc == 0)
        *state = k;
    else
        free(k);
    return rc;
}

static void close_key(void *state)
{
    struct cfr_rotator_key *k = state;

    end_search(k);
    cfr_rotator_close(k->rotator);
    free(k);
}

static void rebind(void *state, const struct cfr_config_credential *c)
{
    struct cfr_rotator_key *k = state;

    end_search(k);
    k->config = c;
    cfr_rotator_rebind(k->rotator, c);
}

static void abandon(const void *state)
{
    const struct cfr_rotator_key *k = state;

    cfr_rotator_report_leftover(k->rotator);
}

/* ---- starts ---- */

static bool adopt(void *state, int64_t *due_ms)
{
    const struct cfr_rotator_key *k = state;

    *due_ms = cfr_rotator_due_ms(k->rotator);
    return cfr_rotator_is_settled(k->rotator);
}

static void on_done(void *ctx, struct cfr_source_exchange_result *r)
{
    struct cfr_rotator_key *k = ctx;
    struct cfr_publish_minted key;
    struct cfr_grant passed_on = {0};

    if (r->rc == 0) {
        /* A rotation that began since the start counts, too. */
        r->produced = (struct cfr_source_produced){
            .key = cfr_rotator_fresh(k->rotator, &key) ? &key : NULL,
            .counts = k->counts || (r->grant != NULL && cfr_rotator_counts(k->rotator)),
            .due_ms = cfr_rotator_due_ms(k->rotator),
            .ends_ms = cfr_rotator_ends_ms(k->rotator),
        };
    } else {
        cfr_rotator_key_pass_on(k, r, &passed_on);
    }
    k->done(k->done_ctx, r);
    cfr_grant_free(&passed_on);
}

static void start(void *state, struct cfr_source_order order, cfr_source_exchange_fn *done, void *ctx)
{
    struct cfr_rotator_key *k = state;

    /* A rotation that began before one was requested does not count for the request. */
    k->counts = cfr_rotator_counts(k->rotator) && !cfr_rotator_adopts(k->rotator);
    k->again = order.again;
    k->done = done;
    k->done_ctx = ctx;
    cfr_rotator_start(k->rotator, order.wanted, order.again, order.lost, on_done, k);
}

static void cancel(void *state)
{
    struct cfr_rotator_key *k = state;

    cfr_rotator_cancel(k->rotator);
}

static bool published(void *state, uint64_t generation, int64_t *due_ms)
{
    struct cfr_rotator_key *k = state;
    const struct cfr_publish_minted *recorded = k->client.record->key;
    struct cfr_publish_minted given;

    *due_ms = INT64_MAX;
    /* It may be the key before (that of `with`, where it was passed on), while a target here cannot take the new one.
     */
    if (cfr_rotator_fresh(k->rotator, &given) && (recorded == NULL || strcmp(given.id, recorded->id) != 0))
        return false;
    if (cfr_rotator_key_is_passed_on(k)) {
        cfr_rotator_clear_failure(k->rotator);
        *due_ms = cfr_rotator_key_retry_ms();
        return false;
    }
    k->pass_on_logged = false;
    cfr_rotator_published(k->rotator, generation);
    *due_ms = cfr_rotator_due_ms(k->rotator);
    return true;
}

/* ---- events ---- */

static bool step(void *state, bool failed)
{
    struct cfr_rotator_key *k = state;

    cfr_rotator_step(k->rotator);
    return failed ? cfr_rotator_takes_news(k->rotator)
                  : cfr_rotator_must_replace(k->rotator) || cfr_rotator_has_news(k->rotator);
}

static int64_t deadline(void *state)
{
    const struct cfr_rotator_key *k = state;

    return cfr_rotator_deadline(k->rotator);
}

static bool resume(void *state, const struct cfr_kube_where *where)
{
    struct cfr_rotator_key *k = state;

    return cfr_rotator_resume(k->rotator, where);
}

static bool needs(void *state, const char *name, bool due)
{
    const struct cfr_rotator_key *k = state;

    return strcmp(k->config->mint->with, name) == 0 && (due || cfr_rotator_needs_admin(k->rotator));
}

/* Creating a key may be permitted now, or the key that takes its place may be another. */
static bool changed(void *state, const char *name)
{
    const struct cfr_rotator_key *k = state;
    const struct cfr_config_mint *mint = k->config->mint;

    return mint->otherwise != NULL && (name == NULL || strcmp(mint->with, name) == 0) &&
           !cfr_rotator_has_key(k->rotator);
}

static int may_request(const void *state, struct cfr_err *err)
{
    const struct cfr_rotator_key *k = state;

    if (cfr_rotator_key_is_passed_on(k))
        return cfr_err_set(err, CFR_E_USAGE,
                           "%s publishes the key of `mint.with`, which may not create keys, so there is nothing to "
                           "rotate; allow it to create keys",
                           k->config->name);
    if (cfr_rotator_may_be_asked(k->rotator, err) == 0)
        return 0;
    err->code = CFR_E_UNAVAILABLE;
    return cfr_err_prefix(err, "%s cannot be rotated now", k->config->name);
}

static void request(void *state)
{
    struct cfr_rotator_key *k = state;

    k->counts = false;
    cfr_rotator_ask(k->rotator);
}

/* ---- what it shows ---- */

static void report(void *state, struct cfr_source_report *out)
{
    const struct cfr_rotator_key *k = state;

    *out = (struct cfr_source_report){
        .made = !cfr_rotator_key_is_passed_on(k),
        .busy = cfr_rotator_is_busy(k->rotator),
        .writing = cfr_rotator_is_writing(k->rotator),
        .continues = cfr_rotator_goes_on(k->rotator),
        .refused = cfr_rotator_is_refused(k->rotator),
        .old_gone = cfr_rotator_old_is_gone(k->rotator),
    };
}

static void status(void *state, struct cfr_api_status_credential *out)
{
    const struct cfr_rotator_key *k = state;

    out->provider = cfr_rotator_provider(k->rotator);
    cfr_rotator_status(k->rotator, cfr_rotator_key_is_passed_on(k), &out->mint);
}

/* ---- the row ---- */

static bool matches(const struct cfr_config_credential *c)
{
    return c->mint != NULL;
}

static const char *describe(const struct cfr_config_credential *c)
{
    (void)c;
    return "mint";
}

static bool send_nothing(const struct cfr_config_credential *c)
{
    (void)c;
    return false;
}

static int read_nothing(const struct cfr_source_env *env, const struct cfr_config_credential *c,
                        struct cfr_source_inputs *out, int64_t *wait_ms, struct cfr_err *err)
{
    (void)env;
    (void)c;
    (void)out;
    (void)wait_ms;
    (void)err;
    return 0;
}

static int refuse(const struct cfr_source_env *env, const struct cfr_config_credential *c,
                  const struct cfr_source_inputs *m, struct cfr_grant *out, struct cfr_err *err)
{
    (void)env;
    (void)c;
    (void)m;
    (void)out;
    return cfr_err_set(err, CFR_E_CONFIG, "only a running agent publishes a rotated key");
}

static const struct cfr_source_producer producer = {
    .open = open_key,
    .close = close_key,
    .rebind = rebind,
    .abandon = abandon,
    .adopt = adopt,
    .start = start,
    .cancel = cancel,
    .published = published,
    .step = step,
    .deadline = deadline,
    .resume = resume,
    .needs = needs,
    .changed = changed,
    .may_request = may_request,
    .request = request,
    .report = report,
    .status = status,
};

const struct cfr_source_ops cfr_rotator_source = {
    .producer = &producer,
    .name = "mint",
    .lasting = true,
    .replaces = true,
    .matches = matches,
    .describe = describe,
    .may_send = send_nothing,
    .read = read_nothing,
    .grant = refuse,
};
