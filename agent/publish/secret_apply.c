/* SPDX-License-Identifier: MIT */
/* Applies the Secrets and ConfigMaps of a delivery, and looks at them when their watch reports a change. */
#include "agent/publish/delivery_private.h"

#include "agent/publish/render_private.h"
#include "agent/publish/target_private.h"
#include "base/base64.h"
#include "base/hash.h"
#include "base/log.h"
#include "base/redact.h"
#include "kube/status.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define LOOK_MS        60000 /* between two looks at what a Secret holds */
#define STIR_MS        1000  /* between two reads of an object that changes all the time */
#define HIDDEN_MAX     (2 * CFR_CONFIG_FILES_MAX + 8)
#define COLLISIONS_MAX 5 /* of agents that share a rotation, and write a Secret at the same time */
#define COLLISION_MS   500
#define NEWER_LOOK_MS  1000

static void note_error(struct cfr_delivery_object *t, const struct cfr_err *err)
{
    bool news;

    free(t->error);
    t->error = strdup(err->text);
    t->error_code = err->code;
    news = cfr_log_once_is_news(&t->logged, err);
    if (news)
        cfr_publish_delivery_report_failed(t);
    t->all->ended(t->all->ctx, t->name, t->wanted, err, news);
}

static int64_t backoff_ms(struct cfr_delivery_object *t, const struct cfr_err *err, int64_t retry_after_s)
{
    struct cfr_backoff_cause cause = {
        .class = cfr_err_class(err->code), .retry_after_s = retry_after_s, .max_ms = CFR_KUBE_PAUSE_MAX_MS};

    return cfr_backoff_failed(&t->backoff, &cause, cfr_clock_chance());
}

static void fail(struct cfr_delivery_object *t, const struct cfr_err *err, int64_t retry_after_s)
{
    t->runs_failed++;
    t->next_boot_ms = cfr_clock_now().boot_ms + backoff_ms(t, err, retry_after_s);
    note_error(t, err);
}

static void look_later(struct cfr_delivery_object *t)
{
    t->seen = true;
    t->look_boot_ms = cfr_clock_now().boot_ms + LOOK_MS;
}

/* ---- watching ---- */

/* Another program changed, created or deleted it: it is read at once, however often that happens, because a read is
 * cheap. What a loss costs is the worker's to limit (cfr_lifecycle_lost). */
static void look_soon(struct cfr_delivery_object *t)
{
    int64_t now_ms = cfr_clock_now().boot_ms;
    int64_t at_ms = t->read_boot_ms + STIR_MS > now_ms ? t->read_boot_ms + STIR_MS : now_ms;

    if (t->loaded)
        t->next_boot_ms = t->next_boot_ms < now_ms + STIR_MS ? t->next_boot_ms : now_ms + STIR_MS;
    else if (t->seen && !cfr_publish_delivery_is_lost(t) && at_ms < t->look_boot_ms)
        t->look_boot_ms = at_ms;
    t->all->ended(t->all->ctx, t->name, t->done, NULL, false);
}

/* What we have applied and read ourselves is no news. */
static void on_watch(void *ctx, const char *version)
{
    struct cfr_delivery_object *t = ctx;

    (void)snprintf(t->news, sizeof t->news, "%s", version != NULL ? version : "");
    if (t->call != NULL)
        t->stirred = true;
    else if (strcmp(t->news, t->version) != 0)
        look_soon(t);
}

static void on_namespace(void *ctx, const char *version)
{
    struct cfr_delivery_object *t = ctx;

    if (version != NULL && t->loaded && t->call == NULL)
        look_soon(t);
}

static void watch(struct cfr_delivery_object *t, const char *collection, const char *name, bool alone,
                  cfr_kube_watch_fn *report, struct cfr_kube_watch **out)
{
    struct cfr_kube_object object = {
        .where = {t->config->kubeconfig, t->config->context}, .collection = collection, .name = name, .alone = alone};

    /* Without memory for it, the periodic look remains. */
    if (*out == NULL)
        (void)cfr_kube_watch_start(t->all->kube, &object, report, t, out, NULL);
}

static void watch_object(struct cfr_delivery_object *t)
{
    char collection[CFR_K8S_SECRET_PATH_MAX];

    (void)snprintf(collection, sizeof collection, "/api/v1/namespaces/%s/%s", t->namespace_name, t->kind->resource);
    watch(t, collection, t->config->name, false, on_watch, &t->watch);
}

/* The watch works, and reports the version that was read or applied: another look would find the same. */
static bool is_known(const struct cfr_delivery_object *t)
{
    return t->seen && t->error == NULL && t->newer_boot_ms == 0 && !t->forgets && t->version[0] != '\0' &&
           strcmp(t->news, t->version) == 0 && cfr_kube_watch_is_live(t->watch);
}

/* A request has ended: what was reported meanwhile may be older than its answer, or newer. */
static void follow_watch(struct cfr_delivery_object *t)
{
    bool news = t->stirred && t->call == NULL && strcmp(t->news, t->version) != 0;

    t->stirred = t->stirred && t->call != NULL;
    if (news)
        look_soon(t);
}

static void succeed(struct cfr_delivery_object *t)
{
    cfr_kube_watch_end(t->space_watch);
    t->space_watch = NULL;
    t->done = t->sending;
    t->done_expires_ms = t->sending_expires_ms;
    t->all->run = cfr_publish_delivery_run();
    t->told_expired = false;
    t->runs_ok++;
    t->collisions = 0;
    t->newer_boot_ms = 0;
    if (!t->unchanged)
        cfr_publish_delivery_report_published(t);
    t->done_key = t->key;
    cfr_publish_delivery_clear_error(t);
    t->next_boot_ms = INT64_MAX;
    if (t->done == t->wanted && !t->newer)
        cfr_publish_delivery_wipe(t);
    else
        t->next_boot_ms = cfr_clock_now().boot_ms;
    look_later(t);
    t->all->ended(t->all->ctx, t->name, t->done, NULL, true);
}

/* What it was to hold was wiped when it was applied, so it has to be published again. */
static void lose(struct cfr_delivery_object *t, const struct cfr_err *err)
{
    t->done = 0;
    t->look_boot_ms = INT64_MAX;
    note_error(t, err);
}

/* What an answer may repeat: what we are identified by, and the values, as they are and in base64. ENCODED holds the
 * latter, for the caller to free. Returns how many there are. */
static size_t list_secrets(const struct cfr_delivery_object *t, const struct cfr_kube_answer *answer,
                           struct cfr_secret *encoded, struct cfr_view hidden[HIDDEN_MAX])
{
    size_t count = 0;

    for (size_t i = 0; i < answer->secret_count && count < HIDDEN_MAX; i++)
        hidden[count++] = answer->secrets[i];
    for (size_t i = 0; i < t->keys.count; i++)
        cfr_secret_init(&encoded[i], CFR_K8S_SECRET_BODY_MAX);
    for (size_t i = 0; !t->kind->is_public && i < t->keys.count && count + 2 <= HIDDEN_MAX; i++) {
        hidden[count++] = cfr_publish_key_content(&t->keys.items[i]);
        if (cfr_base64_encode(cfr_publish_key_content(&t->keys.items[i]), &encoded[i], NULL) == 0)
            hidden[count++] = cfr_secret_view(&encoded[i]);
    }
    return count;
}

static int refuse(const struct cfr_delivery_object *t, const struct cfr_kube_answer *answer, int64_t *retry_after_s,
                  struct cfr_err *err)
{
    struct cfr_secret encoded[CFR_CONFIG_FILES_MAX];
    struct cfr_view hidden[HIDDEN_MAX];
    int rc;
    struct cfr_k8s_asked asked = {
        .what = t->name,
        /* A refusal to create, other than one to patch, does not say what was refused. */
        .verb = t->purpose != CFR_DELIVERY_APPLY ? "get"
                : t->absent                      ? "create"
                                                 : "patch",
        .resource = t->kind->resource,
        .name = t->config->name,
        .namespace_name = t->namespace_name,
        .secrets = hidden,
        .secret_count = list_secrets(t, answer, encoded, hidden),
    };

    rc = cfr_k8s_refusal(answer->status, answer->body, &asked, retry_after_s, err);
    for (size_t i = 0; i < t->keys.count; i++)
        cfr_secret_free(&encoded[i]);
    return rc;
}

/* An API server may repeat any of them in any field that an error names. */
static void hide_secrets(const struct cfr_delivery_object *t, const struct cfr_kube_answer *answer, struct cfr_err *err)
{
    struct cfr_secret encoded[CFR_CONFIG_FILES_MAX];
    struct cfr_view hidden[HIDDEN_MAX];

    (void)cfr_redact_secrets(err->text, hidden, list_secrets(t, answer, encoded, hidden));
    for (size_t i = 0; i < t->keys.count; i++)
        cfr_secret_free(&encoded[i]);
}

static int send(struct cfr_delivery_object *t, enum cfr_delivery_purpose purpose, struct cfr_err *err);

/* Another agent that shares the rotation is ahead, and this one is about to learn of the key, too: once that agent
 * has published it everywhere or, if it ended before, another one has. */
static bool is_just_behind(struct cfr_delivery_object *t, int rc)
{
    const struct cfr_config_mint_state *state = cfr_publish_delivery_state(t);
    int64_t now_ms = cfr_clock_now().boot_ms;

    if (rc != CFR_E_WORSE || state == NULL)
        return false;
    t->newer_boot_ms = t->newer_boot_ms != 0 ? t->newer_boot_ms : now_ms;
    return now_ms < t->newer_boot_ms + 2 * state->takeover_ms;
}

/* The look before: may it be written? Then goes on with the apply. */
static int after_look(struct cfr_delivery_object *t, const struct cfr_kube_answer *answer, int64_t *retry_after_s,
                      struct cfr_err *err)
{
    struct cfr_k8s_secret_key keys[CFR_CONFIG_FILES_MAX];
    struct cfr_k8s_secret_object o = cfr_publish_delivery_content(t, keys);
    char ca_key[CFR_K8S_SECRET_VERSION_MAX];
    int rc = 0;

    t->absent = answer->status == 404;
    cfr_publish_keys_cut(&t->keys, t->own_count);
    o.key_count = t->keys.count;
    if (answer->status == 200)
        rc = cfr_k8s_secret_apply_may(&o, answer->body, t->config->adopt, err);
    else if (answer->status != 404)
        rc = refuse(t, answer, retry_after_s, err);
    cfr_k8s_secret_apply_ca_key(answer->body, ca_key);
    t->ca_rotated = ca_key[0] != '\0' && strncmp(t->ca_keys, ca_key, strlen(ca_key)) != 0;
    if (rc == 0 && answer->status == 200 && t->minted)
        rc = cfr_publish_delivery_add_previous(t, answer->body, err);
    if (rc == 0)
        rc = cfr_publish_delivery_merge(t, answer->body, err);
    return rc != 0 ? rc : send(t, CFR_DELIVERY_APPLY, err);
}

static int after_apply(struct cfr_delivery_object *t, const struct cfr_kube_answer *answer, int64_t *retry_after_s,
                       struct cfr_err *err)
{
    struct cfr_k8s_secret_key keys[CFR_CONFIG_FILES_MAX];
    struct cfr_k8s_secret_object o = cfr_publish_delivery_content(t, keys);

    /* Only its namespace can be missing. */
    if (answer->status == 404)
        watch(t, "/api/v1/namespaces", t->namespace_name, true, on_namespace, &t->space_watch);
    if (answer->status == 409) {
        int rc = cfr_k8s_secret_apply_conflict(&o, answer->body, err);

        /* The fields hold another owner's content, not what was applied before. */
        if (rc == CFR_E_CONFLICT)
            t->done = 0;
        return rc;
    }
    if (answer->status != 200 && answer->status != 201)
        return refuse(t, answer, retry_after_s, err);
    return 0;
}

/* KEY.old of the Secret of BODY, which holds what was applied, is removed. True if a request for that was sent. */
static bool forget_old(struct cfr_delivery_object *t, struct cfr_view body, struct cfr_err *err)
{
    bool none;
    int rc = cfr_publish_delivery_read_back(t, body, &none, err);

    if (rc == 0 && !none)
        rc = send(t, CFR_DELIVERY_FORGET, err);
    if (rc == 0 && !none)
        return true;
    cfr_publish_delivery_wipe(t);
    t->forgets = rc != 0;
    return false;
}

/* The apply that removes KEY.old has ended. */
static void after_forget(struct cfr_delivery_object *t, const struct cfr_kube_answer *answer)
{
    int64_t retry_after_s = answer->retry_after_s;
    struct cfr_err err = answer->err;
    int rc = answer->error;

    if (rc == 0)
        rc = after_apply(t, answer, &retry_after_s, &err);
    hide_secrets(t, answer, &err);
    if (t->loaded)
        return;
    cfr_publish_delivery_wipe(t);
    look_later(t);
    /* Another program, such as an agent of the same rotation, has written it meanwhile. */
    if (rc == CFR_E_UNAVAILABLE && answer->status == 409)
        t->look_boot_ms = cfr_clock_now().boot_ms + (int64_t)(cfr_clock_chance() * COLLISION_MS);
    else if (rc == 0)
        t->forgets = false;
    else
        note_error(t, &err);
}

/* The look at what was applied. */
static void after_periodic_look(struct cfr_delivery_object *t, const struct cfr_kube_answer *answer)
{
    struct cfr_k8s_secret_key keys[CFR_CONFIG_FILES_MAX];
    struct cfr_k8s_secret_object o = cfr_publish_delivery_content(t, keys);
    int64_t retry_after_s = answer->retry_after_s;
    struct cfr_err err = answer->err;
    int64_t pause_ms;
    bool lost = false;
    bool behind = false;
    int rc = answer->error;

    /* Another agent of the rotation removes KEY.old first. */
    o.key_count = t->own_count;
    if (rc == 0 && answer->status == 200) {
        rc = cfr_k8s_secret_apply_held(&o, answer->body, &err);
        /* What another agent has replaced is published again once that agent has ended. */
        lost = rc == CFR_E_MISSING || rc == CFR_E_CONFLICT;
        behind = is_just_behind(t, rc);
    } else if (rc == 0 && answer->status == 404) {
        rc = cfr_err_set(&err, CFR_E_MISSING, "%s was deleted: it is published again", t->name);
        lost = true;
    } else if (rc == 0) {
        rc = refuse(t, answer, &retry_after_s, &err);
    }
    hide_secrets(t, answer, &err);
    /* Something newer is to be applied by now, and the object is read again before that. */
    if (t->loaded) {
        rc = 0;
        err.code = 0;
    }
    if (rc == 0) {
        t->newer_boot_ms = 0;
        cfr_publish_delivery_clear_error(t);
        look_later(t);
        if (rc == 0 && t->forgets && !t->loaded && forget_old(t, answer->body, &err))
            return;
        if (err.code != 0)
            note_error(t, &err);
        else
            t->all->ended(t->all->ctx, t->name, t->done, NULL, false);
    } else if (behind) {
        look_later(t);
        t->look_boot_ms = cfr_clock_now().boot_ms + NEWER_LOOK_MS;
        t->all->ended(t->all->ctx, t->name, t->done, NULL, false);
    } else if (lost) {
        lose(t, &err);
    } else {
        pause_ms = backoff_ms(t, &err, retry_after_s);
        t->look_boot_ms = cfr_clock_now().boot_ms + (t->seen && pause_ms < LOOK_MS ? LOOK_MS : pause_ms);
        note_error(t, &err);
    }
}

/* Logs once what the API server warns of, such as an admission policy that will refuse later. */
static void log_warning(struct cfr_delivery_object *t, const struct cfr_kube_answer *answer)
{
    const char *warning = answer->warning;
    uint64_t hash = cfr_hash_add(CFR_HASH_START, warning, strlen(warning));
    struct cfr_secret encoded[CFR_CONFIG_FILES_MAX];
    struct cfr_view hidden[HIDDEN_MAX];
    char shown[CFR_REDACT_MAX];
    size_t count;

    if (warning[0] == '\0' || hash == t->warned)
        return;
    t->warned = hash;
    count = list_secrets(t, answer, encoded, hidden);
    cfr_log(CFR_LOG_WARN, t->all->config->name, NULL, "%s: the API server warns: %s", t->name,
            cfr_redact(cfr_view_of(warning), hidden, count, shown));
    for (size_t i = 0; i < t->keys.count; i++)
        cfr_secret_free(&encoded[i]);
}

/* Between the look and the apply another agent has written it: it is looked at again. */
static bool has_collided(struct cfr_delivery_object *t, const struct cfr_kube_answer *answer, int rc)
{
    return rc == CFR_E_UNAVAILABLE && cfr_publish_delivery_state(t) != NULL && answer->status == 409 &&
           t->collisions++ < COLLISIONS_MAX;
}

static void on_answer(void *ctx, const struct cfr_kube_answer *answer)
{
    struct cfr_delivery_object *t = ctx;
    struct cfr_err err = answer->err;
    int64_t retry_after_s = answer->retry_after_s;
    bool applying = t->purpose == CFR_DELIVERY_APPLY;
    char before[CFR_K8S_SECRET_VERSION_MAX];
    int rc = answer->error;

    t->call = NULL;
    cfr_secret_free(&t->body);
    log_warning(t, answer);
    if (rc == 0 && (answer->status == 200 || answer->status == 201)) {
        (void)snprintf(before, sizeof before, "%s", t->version);
        cfr_k8s_secret_apply_version(answer->body, t->version);
        t->unchanged = cfr_publish_delivery_state(t) != NULL && before[0] != '\0' && strcmp(before, t->version) == 0;
        if (t->config->events)
            cfr_k8s_secret_apply_uid(answer->body, t->uid);
    } else if (rc == 0 && answer->status == 404)
        t->version[0] = '\0';
    if (t->purpose == CFR_DELIVERY_LOOK || t->purpose == CFR_DELIVERY_FORGET) {
        if (t->purpose == CFR_DELIVERY_LOOK)
            after_periodic_look(t, answer);
        else
            after_forget(t, answer);
        follow_watch(t);
        return;
    }
    if (rc == 0)
        rc = applying ? after_apply(t, answer, &retry_after_s, &err) : after_look(t, answer, &retry_after_s, &err);
    if (rc != 0 && applying && has_collided(t, answer, rc))
        t->next_boot_ms = cfr_clock_now().boot_ms + (int64_t)(cfr_clock_chance() * COLLISION_MS);
    else if (is_just_behind(t, rc))
        t->next_boot_ms = cfr_clock_now().boot_ms + NEWER_LOOK_MS;
    else if (rc != 0) {
        hide_secrets(t, answer, &err);
        fail(t, &err, retry_after_s);
    } else if (applying)
        succeed(t);
    follow_watch(t);
}

static int make_body(struct cfr_delivery_object *t, struct cfr_err *err)
{
    struct cfr_k8s_secret_key keys[CFR_CONFIG_FILES_MAX];
    struct cfr_k8s_secret_object o = cfr_publish_delivery_content(t, keys);

    cfr_secret_init(&t->body, CFR_K8S_SECRET_BODY_MAX);
    t->sending = t->wanted;
    t->newer = false;
    t->sending_expires_ms = t->wanted_expires_ms;
    return cfr_k8s_secret_apply_body(&o, &t->body, err);
}

static int send(struct cfr_delivery_object *t, enum cfr_delivery_purpose purpose, struct cfr_err *err)
{
    bool apply = purpose == CFR_DELIVERY_APPLY || purpose == CFR_DELIVERY_FORGET;
    struct cfr_kube_where where = {t->config->kubeconfig, t->config->context};
    char path[CFR_K8S_SECRET_PATH_MAX];
    struct cfr_kube_request request = {
        .method = apply ? "PATCH" : "GET", .path = path, .answer_max = CFR_K8S_SECRET_ANSWER_MAX};
    enum cfr_k8s_secret_path use = !apply             ? CFR_K8S_SECRET_READ
                                   : t->config->adopt ? CFR_K8S_SECRET_TAKE
                                                      : CFR_K8S_SECRET_APPLY;
    int rc = 0;

    t->purpose = purpose;
    if (!cfr_k8s_secret_apply_path(t->kind, t->namespace_name, t->config->name, use, path))
        return cfr_err_set(err, CFR_E_CONFIG, "%s cannot be the name of a %s", t->name, t->kind->name);
    if (apply) {
        rc = make_body(t, err);
        request.content_type = CFR_K8S_SECRET_APPLY_TYPE;
        request.body = &t->body;
    }
    if (rc == 0)
        rc = cfr_kube_start(t->all->kube, &where, &request, on_answer, t, &t->call, err);
    if (rc != 0)
        cfr_secret_free(&t->body);
    return rc;
}

static int find_namespace(struct cfr_delivery_object *t, struct cfr_err *err)
{
    struct cfr_kube_where where = {t->config->kubeconfig, t->config->context};
    const char *name;
    int rc;

    if (t->namespace_name[0] != '\0')
        return 0;
    rc = cfr_kube_find_namespace(t->all->kube, &where, t->kind->key, &name, err);
    if (rc != 0)
        return cfr_err_prefix(err, "%s", t->name);
    (void)snprintf(t->namespace_name, sizeof t->namespace_name, "%s", name);
    cfr_publish_delivery_name(t->config, t->namespace_name, t->name);
    return 0;
}

void cfr_publish_secret_step(struct cfr_delivery *d, struct cfr_now now)
{
    for (size_t i = 0; d != NULL && i < d->count; i++) {
        struct cfr_delivery_object *t = &d->targets[i];
        struct cfr_err err = {0};

        cfr_publish_delivery_check_expired(t, now);
        if (t->call != NULL || cfr_publish_delivery_due_at(t) > now.boot_ms)
            continue;
        if (t->watch == NULL && find_namespace(t, NULL) == 0)
            watch_object(t);
        if (t->loaded) {
            t->next_boot_ms = INT64_MAX;
            t->last_run_s = now.wall_ms / 1000;
            if (find_namespace(t, &err) != 0 || send(t, CFR_DELIVERY_BEFORE, &err) != 0)
                fail(t, &err, -1);
        } else if (is_known(t)) {
            t->look_boot_ms = now.boot_ms + LOOK_MS;
        } else if (find_namespace(t, &err) != 0 || send(t, CFR_DELIVERY_LOOK, &err) != 0) {
            t->look_boot_ms = now.boot_ms + LOOK_MS;
            note_error(t, &err);
        } else {
            t->look_boot_ms = INT64_MAX;
            t->read_boot_ms = now.boot_ms;
        }
    }
}
