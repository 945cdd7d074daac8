/* SPDX-License-Identifier: MIT */
/* Requests to the cloud whose keys are rotated. */
#include "agent/rotation/shared_private.h"

#include "agent/loop/env.h"

#include <stdio.h>
#include <string.h>

#define REQUEST_LIMIT_MS 30000

static void on_answer(void *ctx, const struct cfr_http_answer *answer);

int64_t cfr_rotator_request_limit_ms(const struct cfr_rotator *m)
{
    bool less = m->shared != NULL && m->shared->takeover_ms / 3 < REQUEST_LIMIT_MS;

    return less ? m->shared->takeover_ms / 3 : REQUEST_LIMIT_MS;
}

static struct cfr_rotation_ask ask_of(const struct cfr_rotator *m, const struct cfr_grant *admin)
{
    return (struct cfr_rotation_ask){
        .op = m->call.op,
        .id = m->call.id,
        .owner = m->call.owner,
        .name = m->r.journal.name,
        .keep = {m->r.journal.current, m->r.journal.old,
                 m->call.confirming ? m->confirm.id : m->adoption.answer.made.id},
        .now_s = cfr_clock_now().wall_ms / 1000,
        .admin = admin,
        .fresh = m->call.confirming                       ? &m->confirm.answer.grant
                 : m->r.journal.step == CFR_ROTATION_REST ? &m->adoption.answer.grant
                                                          : &m->pending.grant,
        .place = m->call.place,
        .env = cfr_env_get,
    };
}

/* Nothing is needed to verify. */
static int find_admin(const struct cfr_rotator *m, const struct cfr_grant **out, struct cfr_err *err)
{
    *out = NULL;
    return m->call.op == CFR_ROTATION_VERIFY ? 0 : cfr_rotator_find_admin(m, out, err);
}

/* ---- sending ---- */

static void copy_account(char out[CFR_ROTATION_ACCOUNT_MAX], struct cfr_view account)
{
    size_t n = account.n < CFR_ROTATION_ACCOUNT_MAX ? account.n : 0;

    if (n != 0)
        memcpy(out, account.p, n);
    out[n] = '\0';
}

/* The keys of an owner in one account say nothing of those of another of the same name. */
static int check_account(struct cfr_rotator *m, const struct cfr_rotation_ask *ask, struct cfr_err *err)
{
    struct cfr_rotation_journal *j = &m->r.journal;
    struct cfr_view now = {NULL, 0};

    if (m->provider->account != NULL && ask->admin != NULL)
        now = m->provider->account(m->provider_config, ask);
    if (ask->op == CFR_ROTATION_LIST)
        copy_account(m->call.account, now);
    if (now.n == 0 || now.n >= sizeof j->account || cfr_view_is(now, j->account))
        return 0;
    if (j->account[0] != '\0')
        return cfr_err_set(err, CFR_E_CONFIG,
                           "`with` (%.63s) now belongs to %.*s, but the keys of %.200s were created in %s, where it "
                           "cannot manage them: set `with` back, or rename this credential to begin with new keys, and "
                           "delete the old ones yourself: %.200s",
                           m->config->mint->with, (int)now.n, now.p, j->subject, j->account,
                           j->current[0] != '\0' ? j->current : "none is published");
    if (ask->op == CFR_ROTATION_CREATE) {
        copy_account(j->account, now);
        m->save.unsaved = true;
    }
    return 0;
}

static int build(struct cfr_rotator *m, struct cfr_err *err)
{
    struct cfr_wire_request *r = &m->call.request;
    const struct cfr_grant *admin;
    struct cfr_rotation_ask ask;
    int rc = find_admin(m, &admin, err);

    cfr_wire_request_free(r);
    if (rc != 0)
        return rc;
    ask = ask_of(m, admin);
    rc = check_account(m, &ask, err);
    return rc == 0 ? m->provider->build(m->provider_config, &ask, m->call.answer.next, r, err) : rc;
}

static int send_request(struct cfr_rotator *m, struct cfr_err *err)
{
    struct cfr_wire_request *r = &m->call.request;
    struct cfr_http_request http = {.answer_max = CFR_ROTATION_ANSWER_MAX,
                                    .timeout_ms = cfr_rotator_request_limit_ms(m)};
    int rc = build(m, err);

    if (rc != 0)
        return rc;
    http.method = r->method;
    http.url = r->url;
    http.ca_file = cfr_env_ca_file(r);
    http.headers = r->headers;
    http.header_count = r->header_count;
    http.body = &r->body;
    /* Another key would be made, and its answer lost. */
    http.once = m->call.op == CFR_ROTATION_CREATE;
    return cfr_http_start(m->context.http, &http, on_answer, m, &m->call.handle, err);
}

static void on_tried(void *ctx, struct cfr_source_exchange_result *result)
{
    struct cfr_rotator *m = ctx;
    struct cfr_rotator_outcome o = {.rc = result->rc, .err = result->err, .retry_after_s = result->retry_after_s};

    m->call.trial = NULL;
    m->stats.duration_s += result->duration_s;
    cfr_rotator_on_outcome(m, &o);
}

static int try_key(struct cfr_rotator *m, struct cfr_err *err)
{
    struct cfr_rotation_ask ask = ask_of(m, NULL);
    struct cfr_rotation_trial what = {.provider = NULL};
    int rc = m->provider->trial(m->provider_config, &ask, &what, err);

    return rc == 0 ? cfr_rotator_verify_start(m->context.http, m->config, &what, on_tried, m, &m->call.trial, err) : rc;
}

static int begin(struct cfr_rotator *m, enum cfr_rotation_op op, const char *id, struct cfr_err *err)
{
    int rc;

    m->call.op = op;
    m->call.place = 0;
    m->call.pages = 0;
    (void)snprintf(m->call.id, sizeof m->call.id, "%s", id != NULL ? id : "");
    rc = op == CFR_ROTATION_VERIFY && m->provider->trial != NULL ? try_key(m, err) : send_request(m, err);
    if (rc != 0)
        cfr_rotator_hang_up(m);
    return rc;
}

int cfr_rotator_call(struct cfr_rotator *m, enum cfr_rotation_op op, const char *id, struct cfr_err *err)
{
    cfr_rotator_hang_up(m);
    return begin(m, op, id, err);
}

int cfr_rotator_call_to_confirm(struct cfr_rotator *m, enum cfr_rotation_op op, const char *id, struct cfr_err *err)
{
    cfr_rotator_hang_up(m);
    m->call.confirming = true;
    return begin(m, op, id, err);
}

int cfr_rotator_call_former(struct cfr_rotator *m, enum cfr_rotation_op op, struct cfr_err *err)
{
    const struct cfr_rotation_former *one = &m->r.journal.former[0];
    size_t n = strlen(m->provider->name);
    int rc;

    if (strncmp(one->subject, m->provider->name, n) != 0 || one->subject[n] != '/' || !m->provider->asks_owner)
        return cfr_err_set(err, CFR_E_CONFIG, "the credential %s cannot be asked to remove keys of %.200s",
                           m->config->mint->with, one->subject);
    cfr_rotator_hang_up(m);
    m->call.op = op;
    m->call.former = true;
    m->call.owner = one->subject + n + 1;
    (void)snprintf(m->call.id, sizeof m->call.id, "%s", one->id);
    rc = send_request(m, err);
    if (rc != 0)
        cfr_rotator_hang_up(m);
    return rc;
}

/* The next of the rights. */
static int try_right(struct cfr_rotator *m, struct cfr_err *err)
{
    const struct cfr_rotation_provider *p = m->provider;
    const struct cfr_rotation_keys *seen = &m->r.seen;

    m->call.op = p->rights[m->call.right];
    (void)snprintf(m->call.id, sizeof m->call.id, "%s",
                   m->call.op == CFR_ROTATION_LAST_USED && seen->count != 0 ? seen->key[0].id : p->absent);
    return send_request(m, err);
}

int cfr_rotator_try_rights(struct cfr_rotator *m, struct cfr_err *err)
{
    int rc;

    cfr_rotator_hang_up(m);
    m->call.rights = true;
    m->call.right = 0;
    rc = try_right(m, err);
    if (rc != 0)
        cfr_rotator_hang_up(m);
    return rc;
}

bool cfr_rotator_is_calling(const struct cfr_rotator *m)
{
    return m->call.handle != NULL || m->call.trial != NULL || m->save.saving;
}

void cfr_rotator_hang_up(struct cfr_rotator *m)
{
    cfr_rotator_verify_cancel(m->call.trial);
    m->call.trial = NULL;
    cfr_http_cancel(m->context.http, m->call.handle);
    m->call.handle = NULL;
    m->call.rights = false;
    m->call.former = false;
    m->call.confirming = false;
    m->call.owner = NULL;
    cfr_wire_request_free(&m->call.request);
    cfr_rotation_answer_free(&m->call.answer);
}

/* ---- answers ---- */

/* True if another request is wanted before there is an outcome: the next page, place or right. */
static bool wants_more(struct cfr_rotator *m)
{
    if (m->call.rights)
        return ++m->call.right < m->provider->right_count;
    if (m->call.op == CFR_ROTATION_LIST)
        return m->call.answer.next[0] != '\0';
    if (m->call.op != CFR_ROTATION_VERIFY)
        return false;
    return ++m->call.place < (m->provider->places != NULL ? m->provider->places(m->provider_config) : 1);
}

static int read_answer(struct cfr_rotator *m, const struct cfr_http_answer *answer, struct cfr_err *err)
{
    struct cfr_wire_reply reply = {.status = answer->status,
                                   .content_type = answer->content_type,
                                   .body = answer->body,
                                   .request_id = answer->request_id};
    static const struct cfr_grant none;
    const struct cfr_grant *admin = NULL;
    struct cfr_rotation_ask ask;
    int rc;

    if (answer->error != 0) {
        *err = answer->err;
        return answer->error;
    }
    /* Only for what its answer must not repeat: it may have gone meanwhile. */
    (void)find_admin(m, &admin, NULL);
    ask = ask_of(m, admin != NULL ? admin : &none);
    rc = m->provider->parse(m->provider_config, &ask, &reply, &m->call.answer, err);
    if (rc == 0 && m->call.answer.next[0] != '\0' && ++m->call.pages == CFR_ROTATION_KEYS_MAX)
        return cfr_err_set(err, CFR_E_ANSWER, "the list of keys has no end: %d pages, and there are more",
                           CFR_ROTATION_KEYS_MAX);
    return rc;
}

static void on_answer(void *ctx, const struct cfr_http_answer *answer)
{
    struct cfr_rotator *m = ctx;
    struct cfr_rotator_outcome o = {.status = answer->error == 0 ? answer->status : 0,
                                    .retry_after_s = answer->retry_after_s};

    m->call.handle = NULL;
    m->stats.duration_s += answer->duration_s;
    o.rc = read_answer(m, answer, &o.err);
    if (o.rc == 0 && wants_more(m)) {
        o.rc = m->call.rights ? try_right(m, &o.err) : send_request(m, &o.err);
        if (o.rc == 0)
            return;
    }
    cfr_rotator_on_outcome(m, &o);
}
