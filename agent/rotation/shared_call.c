/* SPDX-License-Identifier: MIT */
/* Requests about the Secret that holds a shared rotation. */
#include "agent/rotation/shared_private.h"

#include "base/base64.h"
#include "base/log.h"
#include "files/state.h"
#include "kube/status.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define HIDDEN_MAX (2 + 2 * CFR_GRANT_FIELDS_MAX)

struct cfr_kube_where cfr_rotator_shared_where(const struct cfr_rotator_shared *s)
{
    return (struct cfr_kube_where){s->kubeconfig, s->context};
}

static struct cfr_k8s_shared_place place_of(const struct cfr_rotator_shared *s)
{
    return (struct cfr_k8s_shared_place){s->namespace_name, s->name};
}

void cfr_rotator_shared_hang_up(struct cfr_rotator_shared *s)
{
    cfr_kube_cancel(s->call);
    s->call = NULL;
    s->claiming = false;
    cfr_secret_free(&s->body);
}

static int find_namespace(struct cfr_rotator_shared *s, struct cfr_err *err)
{
    struct cfr_kube_where where = cfr_rotator_shared_where(s);
    const char *name = s->given_namespace;

    if (s->namespace_name[0] != '\0')
        return 0;
    if (name == NULL && cfr_kube_find_namespace(s->m->context.kube, &where, "mint.state", &name, err) != 0)
        return cfr_err_prefix(err, "mint.state");
    (void)snprintf(s->namespace_name, sizeof s->namespace_name, "%s", name);
    return 0;
}

static int start(struct cfr_rotator_shared *s, bool write, cfr_kube_fn *done, struct cfr_err *err)
{
    struct cfr_k8s_shared_place place;
    struct cfr_kube_where where = cfr_rotator_shared_where(s);
    char path[CFR_K8S_SHARED_PATH_MAX];
    struct cfr_kube_request request = {.method = write ? "PATCH" : "GET",
                                       .path = path,
                                       .content_type = write ? CFR_K8S_SHARED_TYPE : NULL,
                                       .body = write ? &s->body : NULL,
                                       .answer_max = CFR_K8S_SHARED_BODY_MAX,
                                       .timeout_ms = cfr_rotator_request_limit_ms(s->m)};
    int rc = find_namespace(s, err);

    if (rc != 0)
        return rc;
    place = place_of(s);
    if (!cfr_k8s_shared_path(&place, write, path))
        return cfr_err_set(err, CFR_E_CONFIG, "mint.state: %.63s/%.253s cannot be the name of a Secret",
                           place.namespace_name, place.name);
    return cfr_kube_start(s->m->context.kube, &where, &request, done, s, &s->call, err);
}

static int refuse(const struct cfr_rotator_shared *s, const struct cfr_kube_answer *answer, const char *verb,
                  int64_t *retry_after_s, struct cfr_err *err)
{
    struct cfr_view hidden[HIDDEN_MAX];
    char what[512];
    struct cfr_k8s_asked asked = {.what = what,
                                  .verb = verb,
                                  .resource = "secrets",
                                  .name = s->name,
                                  .namespace_name = s->namespace_name,
                                  .secrets = hidden};

    (void)snprintf(what, sizeof what, "the Secret %.63s/%.253s, which holds the rotation", s->namespace_name, s->name);
    for (; asked.secret_count < answer->secret_count && asked.secret_count < 2; asked.secret_count++)
        hidden[asked.secret_count] = answer->secrets[asked.secret_count];
    asked.secret_count += cfr_grant_list_secrets(&s->m->pending.grant, hidden + asked.secret_count);
    asked.secret_count += cfr_grant_list_secrets(&s->published.grant, hidden + asked.secret_count);
    if (answer->status == 404)
        return cfr_err_set(err, CFR_E_MISSING,
                           "%s, does not exist, and without it nothing is done: restore it if it was there before, "
                           "else create it (kubectl create secret generic %s -n %s)",
                           what, s->name, s->namespace_name);
    return cfr_k8s_refusal(answer->status, answer->body, &asked, retry_after_s, err);
}

/* ---- a look ---- */

static void on_look(void *ctx, const struct cfr_kube_answer *answer)
{
    struct cfr_rotator_shared *s = ctx;
    struct cfr_rotator *m = s->m;
    struct cfr_k8s_shared_place place = place_of(s);
    struct cfr_k8s_shared_state state = {.version = ""};
    struct cfr_err err = answer->err;
    int64_t retry_after_s = answer->retry_after_s;
    int rc = answer->error;
    bool certain = rc == 0 && answer->status == 200;

    s->call = NULL;
    if (certain)
        rc = cfr_k8s_shared_read(&place, answer->body, &state, &err);
    else if (rc == 0)
        rc = refuse(s, answer, "get", &retry_after_s, &err);
    if (rc == 0)
        cfr_rotator_shared_read(s, &state);
    else
        cfr_rotator_shared_unread(s, &err, certain || cfr_err_class(rc) != CFR_CLASS_RETRY, retry_after_s);
    cfr_k8s_shared_free(&state);
    cfr_rotator_run(m);
    m->context.replan(m->context.ctx);
}

void cfr_rotator_shared_look(struct cfr_rotator_shared *s)
{
    struct cfr_err err = {0};

    s->news[0] = '\0';
    s->look_boot_ms = INT64_MAX;
    if (start(s, false, on_look, &err) != 0)
        cfr_rotator_shared_unread(s, &err, cfr_err_class(err.code) != CFR_CLASS_RETRY, -1);
}

/* ---- a write ---- */

bool cfr_rotator_shared_is_own(const struct cfr_rotator_shared *s, const char *nonce)
{
    size_t n = strlen(s->instance);

    return strncmp(nonce, s->instance, n) == 0 && nonce[n] == '.';
}

void cfr_rotator_shared_last_nonce(const struct cfr_rotator_shared *s, char out[CFR_K8S_SHARED_NONCE_MAX])
{
    (void)snprintf(out, CFR_K8S_SHARED_NONCE_MAX, "%s.%" PRIu64, s->instance, s->writes);
}

bool cfr_rotator_shared_is_last(const struct cfr_rotator_shared *s, const char *nonce)
{
    char last[CFR_K8S_SHARED_NONCE_MAX];

    cfr_rotator_shared_last_nonce(s, last);
    return strcmp(nonce, last) == 0;
}

/* No answer, or one that does not say whether it was done: the Secret tells. */
static bool is_unsure(const struct cfr_kube_answer *answer)
{
    return answer->error != 0 || answer->status == 409 || answer->status == 408 || answer->status == 429 ||
           answer->status >= 500 || answer->status < 400;
}

static void on_write(void *ctx, const struct cfr_kube_answer *answer)
{
    struct cfr_rotator_shared *s = ctx;
    struct cfr_rotator *m = s->m;
    struct cfr_k8s_shared_place place = place_of(s);
    struct cfr_k8s_shared_state state = {.version = ""};
    struct cfr_err err = {0};
    int64_t retry_after_s = -1;

    s->call = NULL;
    cfr_secret_free(&s->body);
    if (answer->error == 0 && answer->status == 200 && cfr_k8s_shared_read(&place, answer->body, &state, &err) == 0 &&
        cfr_rotator_shared_is_last(s, state.nonce)) {
        cfr_rotator_shared_written(s, state.version);
    } else if (is_unsure(answer)) {
        s->write_err = answer->err;
        s->write_retry_after_s = answer->retry_after_s;
        if (answer->error == 0)
            (void)refuse(s, answer, "patch", &s->write_retry_after_s, &s->write_err);
        (void)cfr_err_prefix(&s->write_err, "cannot write down the rotation's step");
        cfr_log(CFR_LOG_DEBUG, m->config->name, NULL, "whether the rotation's step was written down is looked up: %s",
                s->write_err.text);
        s->look_boot_ms = 0;
        cfr_rotator_run(m);
        m->context.replan(m->context.ctx);
    } else {
        (void)refuse(s, answer, "patch", &retry_after_s, &err);
        (void)cfr_err_prefix(&err, "cannot write down the rotation's step");
        cfr_rotator_shared_unwritten(s, &err, retry_after_s);
    }
    cfr_k8s_shared_free(&state);
}

static int append_journal(const struct cfr_rotation_journal *j, struct cfr_secret *out, struct cfr_err *err)
{
    struct cfr_str text = {.limit = CFR_STATE_MAX};
    int rc = cfr_rotation_journal_write(j, &text);

    cfr_secret_init(out, CFR_K8S_SHARED_TEXT_MAX);
    rc = rc != 0 ? cfr_err_set(err, rc, "out of memory") : cfr_secret_append(out, cfr_str_view(&text), err);
    cfr_str_free(&text);
    return rc;
}

bool cfr_rotator_shared_is_untouched(const struct cfr_rotator_shared *s, const struct cfr_k8s_shared_state *state)
{
    struct cfr_secret own;
    bool same;

    if (s->m->save.unsaved || !cfr_rotator_shared_is_last(s, state->nonce))
        return false;
    same = append_journal(&s->m->r.journal, &own, NULL) == 0 &&
           cfr_view_eq(cfr_secret_view(&own), cfr_secret_view(&state->journal));
    cfr_secret_free(&own);
    return same;
}

/* The new key's secret is there until it is published, and from that same write on it is the published one's. */
static int make_state(struct cfr_rotator_shared *s, struct cfr_k8s_shared_state *out, struct cfr_err *err)
{
    const struct cfr_rotator *m = s->m;
    const struct cfr_rotation_journal *j = &m->r.journal;
    const struct cfr_rotator_pending *p = &m->pending;
    bool kept = p->held && p->stored && strcmp(p->name, j->name) == 0;
    bool unpublished =
        j->step == CFR_ROTATION_INTENT || j->step == CFR_ROTATION_MINTED || j->step == CFR_ROTATION_VERIFIED;
    int rc = append_journal(j, &out->journal, err);

    s->writes_published = kept && !unpublished && strcmp(p->key.id, j->current) == 0;
    (void)snprintf(out->version, sizeof out->version, "%s", s->version);
    (void)snprintf(out->holder, sizeof out->holder, "%s", s->me);
    out->takeover_ms = s->takeover_ms;
    s->sending = j->step;
    s->sending_rotation = j->rotation;
    s->sending_number = j->published;
    s->writes++;
    cfr_rotator_shared_last_nonce(s, out->nonce);
    cfr_secret_init(&out->pending, CFR_K8S_SHARED_TEXT_MAX);
    cfr_secret_init(&out->published, CFR_K8S_SHARED_TEXT_MAX);
    if (rc == 0 && kept && unpublished)
        rc = cfr_rotator_pending_write(p, &out->pending, err);
    if (rc == 0 && s->writes_published)
        rc = cfr_rotator_pending_write(p, &out->published, err);
    s->pending_there = out->pending.len != 0;
    return rc;
}

int cfr_rotator_shared_save_journal(struct cfr_rotator *m, struct cfr_err *err)
{
    struct cfr_rotator_shared *s = m->shared;
    struct cfr_k8s_shared_state state = {.version = ""};
    int rc;

    /* A look that is under way would only tell what is known. */
    cfr_rotator_shared_hang_up(s);
    rc = make_state(s, &state, err);
    cfr_secret_init(&s->body, CFR_K8S_SHARED_BODY_MAX);
    if (rc == 0)
        rc = cfr_k8s_shared_write(&state, &s->body, err);
    cfr_k8s_shared_free(&state);
    s->sending_boot_ms = cfr_clock_now().boot_ms;
    if (rc == 0)
        rc = start(s, true, on_write, err);
    if (rc == 0)
        return CFR_ROTATOR_UNDER_WAY;
    cfr_secret_free(&s->body);
    /* What is in memory alone is forgotten, unless we hold the rotation. */
    s->stale = !s->holds;
    cfr_rotator_shared_pause_writes(s, err, -1);
    s->look_boot_ms = s->write_boot_ms;
    return cfr_err_prefix(err, "cannot write down the rotation's step");
}
