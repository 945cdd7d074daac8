/* SPDX-License-Identifier: MIT */
/* Secrets of the cluster as targets. */
#include "agent/publish/secret_target.h"

#include "agent/loop/backoff.h"
#include "agent/loop/log_once.h"
#include "files/format/format.h"
#include "kube/secret_apply.h"
#include "kube/status.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* One Secret. */
struct target {
    struct cfr_delivery *all;
    const struct cfr_config_secret *config;
    char name[360];           /* "Secret NAMESPACE/NAME", for people */
    char namespace_name[254]; /* empty until it is known */
    uint64_t wanted;
    uint64_t done;
    int64_t wanted_expires_ms;
    int64_t done_expires_ms;
    char *keys[CFR_CONFIG_FILES_MAX]; /* heap; of what is wanted */
    struct cfr_secret values[CFR_CONFIG_FILES_MAX];
    size_t key_count;
    struct cfr_kube_call *call;
    struct cfr_secret body; /* of the call */
    uint64_t sending;       /* the generation that the call is for */
    int64_t sending_expires_ms;
    bool applying; /* the call is the apply, not the look before it */
    bool absent;   /* the look found nothing: the apply has to create */
    struct cfr_backoff backoff;
    struct cfr_log_once logged;
    int64_t next_boot_ms;
    char *error;
    int error_code;
    int64_t last_run_s;
    uint64_t runs_ok;
    uint64_t runs_failed;
};

struct cfr_delivery {
    const struct cfr_config_credential *config;
    struct cfr_kube *kube;
    cfr_publish_secret_fn *ended;
    void *ctx;
    struct target *targets;
    struct cfr_api_status_hook *status;
    size_t count;
};

static const struct cfr_config_publish *publish_at(const struct cfr_config_credential *c, size_t i)
{
    return (const struct cfr_config_publish *)c->publish.items + i;
}

static size_t count_targets(const struct cfr_config_credential *c)
{
    size_t n = 0;

    for (size_t i = 0; i < c->publish.count; i++)
        n += publish_at(c, i)->secret != NULL;
    return n;
}

static void bind_targets(struct cfr_delivery *d)
{
    size_t n = 0;

    for (size_t i = 0; i < d->config->publish.count; i++) {
        if (publish_at(d->config, i)->secret == NULL)
            continue;
        d->targets[n].config = publish_at(d->config, i)->secret;
        d->targets[n++].all = d;
    }
}

static void name_target(struct target *t)
{
    (void)snprintf(t->name, sizeof t->name, "Secret %.90s%s%.253s", t->namespace_name,
                   t->namespace_name[0] != '\0' ? "/" : "", t->config->name);
}

int cfr_publish_secret_open(const struct cfr_config_credential *c, struct cfr_kube *kube, cfr_publish_secret_fn *ended,
                            void *ctx, struct cfr_delivery **out, struct cfr_err *err)
{
    size_t count = count_targets(c);
    struct cfr_delivery *d;

    *out = NULL;
    if (count == 0)
        return 0;
    d = calloc(1, sizeof *d);
    if (d == NULL)
        return cfr_err_set(err, CFR_E_NOMEM, "out of memory");
    *d = (struct cfr_delivery){
        c, kube, ended, ctx, calloc(count, sizeof *d->targets), calloc(count, sizeof *d->status), count};
    if (d->targets == NULL || d->status == NULL) {
        free(d->targets);
        free(d->status);
        free(d);
        return cfr_err_set(err, CFR_E_NOMEM, "out of memory");
    }
    bind_targets(d);
    for (size_t i = 0; i < count; i++) {
        struct target *t = &d->targets[i];

        /* All of them are bound, which the analyzer does not see. */
        if (t->config == NULL)
            continue;
        t->next_boot_ms = INT64_MAX;
        if (t->config->namespace_name != NULL)
            (void)snprintf(t->namespace_name, sizeof t->namespace_name, "%s", t->config->namespace_name);
        name_target(t);
    }
    *out = d;
    return 0;
}

/* Wipes what was to be applied. */
static void forget(struct target *t)
{
    for (size_t i = 0; i < t->key_count; i++) {
        free(t->keys[i]);
        t->keys[i] = NULL;
        cfr_secret_free(&t->values[i]);
    }
    t->key_count = 0;
}

void cfr_publish_secret_close(struct cfr_delivery *d)
{
    if (d == NULL)
        return;
    for (size_t i = 0; i < d->count; i++) {
        struct target *t = &d->targets[i];

        if (t->call != NULL)
            cfr_kube_cancel(t->call);
        forget(t);
        cfr_secret_free(&t->body);
        free(t->error);
    }
    free(d->targets);
    free(d->status);
    free(d);
}

void cfr_publish_secret_rebind(struct cfr_delivery *d, const struct cfr_config_credential *c)
{
    if (d == NULL)
        return;
    d->config = c;
    bind_targets(d);
}

/* ---- rendering ---- */

static struct cfr_view value_of(const struct target *t, size_t i)
{
    return cfr_secret_view(&t->values[i]);
}

static int take(struct target *t, const char *key, struct cfr_secret *value, struct cfr_err *err)
{
    t->keys[t->key_count] = strdup(key);
    if (t->keys[t->key_count] == NULL)
        return cfr_err_set(err, CFR_E_NOMEM, "out of memory");
    cfr_secret_init(&t->values[t->key_count], 0);
    cfr_secret_move(&t->values[t->key_count++], value);
    return 0;
}

static int render_key(struct target *t, const struct cfr_publish_render *render, const struct cfr_config_file *f,
                      struct cfr_err *err)
{
    struct cfr_secret value;
    int rc;

    cfr_secret_init(&value, CFR_FORMAT_OUTPUT_MAX);
    rc = cfr_publish_render_file(render, f, &value, err);
    if (rc == 0)
        rc = take(t, f->name, &value, err);
    cfr_secret_free(&value);
    return rc;
}

static int render_passed_on(struct target *t, const struct cfr_publish_render *render, struct cfr_err *err)
{
    struct cfr_view view;
    const char *name;
    int rc = 0;

    for (size_t i = 0;
         rc == 0 && i < CFR_CONFIG_FILES_MAX && (name = cfr_publish_render_key(render->grant, i, &view)) != NULL; i++) {
        struct cfr_secret value;

        cfr_secret_init(&value, view.n);
        rc = cfr_secret_append(&value, view, err);
        if (rc == 0)
            rc = take(t, name, &value, err);
        cfr_secret_free(&value);
    }
    if (rc == 0 && t->key_count == 0)
        rc = cfr_err_set(err, CFR_E_CONFIG,
                         "there is no Secret's key to pass on, because the Secret is exchanged; name `keys` with their "
                         "formats, or write pass_on: true");
    return rc;
}

static struct cfr_k8s_secret_object object_of(const struct target *t,
                                              struct cfr_k8s_secret_key keys[CFR_CONFIG_FILES_MAX])
{
    for (size_t i = 0; i < t->key_count; i++)
        keys[i] = (struct cfr_k8s_secret_key){t->keys[i], value_of(t, i)};
    return (struct cfr_k8s_secret_object){
        .namespace_name = t->namespace_name[0] != '\0' ? t->namespace_name : "default",
        .name = t->config->name,
        .type = t->config->type,
        .keys = keys,
        .key_count = t->key_count,
        .credential = t->all->config->name,
        .generation = t->wanted,
        .expires_s = t->wanted_expires_ms == INT64_MAX ? 0 : t->wanted_expires_ms / 1000,
    };
}

static int render_target(struct target *t, const struct cfr_publish_render *render, struct cfr_err *err)
{
    struct cfr_k8s_secret_key keys[CFR_CONFIG_FILES_MAX];
    struct cfr_k8s_secret_object o;
    int rc = 0;

    for (size_t i = 0; rc == 0 && i < t->config->keys.count; i++)
        rc = render_key(t, render, (const struct cfr_config_file *)t->config->keys.items + i, err);
    if (rc == 0 && t->config->keys.count == 0)
        rc = render_passed_on(t, render, err);
    if (rc == 0) {
        o = object_of(t, keys);
        rc = cfr_k8s_secret_apply_check(&o, err);
    }
    return rc != 0 ? cfr_err_prefix(err, "%s", t->name) : 0;
}

static int render_all(struct cfr_delivery *d, const struct cfr_publish_render *render, struct target *fresh,
                      struct cfr_err *err)
{
    int rc = 0;

    for (size_t i = 0; rc == 0 && i < d->count; i++) {
        fresh[i] = (struct target){.all = d, .config = d->targets[i].config};
        memcpy(fresh[i].name, d->targets[i].name, sizeof fresh[i].name);
        memcpy(fresh[i].namespace_name, d->targets[i].namespace_name, sizeof fresh[i].namespace_name);
        rc = render_target(&fresh[i], render, err);
    }
    return rc;
}

int cfr_publish_secret_rehearse(const struct cfr_config_credential *c, const struct cfr_publish_render *render,
                                struct cfr_err *err)
{
    struct cfr_delivery *d = NULL;
    int rc = cfr_publish_secret_open(c, NULL, NULL, NULL, &d, err);

    for (size_t i = 0; d != NULL && rc == 0 && i < d->count; i++)
        rc = render_target(&d->targets[i], render, err);
    cfr_publish_secret_close(d);
    return rc;
}

/* What FRESH holds replaces what T was to apply; a call under way goes on, and is followed by another. */
static void replace(struct target *t, struct target *fresh, uint64_t generation, int64_t expires_ms, struct cfr_now now)
{
    forget(t);
    memcpy(t->keys, fresh->keys, sizeof t->keys);
    memcpy(t->values, fresh->values, sizeof t->values);
    t->key_count = fresh->key_count;
    fresh->key_count = 0;
    t->wanted = generation;
    t->wanted_expires_ms = expires_ms;
    t->backoff = (struct cfr_backoff){0};
    t->next_boot_ms = now.boot_ms;
}

int cfr_publish_secret_request(struct cfr_delivery *d, const struct cfr_publish_render *render, int64_t expires_ms,
                               struct cfr_now now, struct cfr_err *err)
{
    struct target *fresh;
    int rc;

    if (d == NULL)
        return 0;
    fresh = calloc(d->count, sizeof *fresh);
    if (fresh == NULL)
        return cfr_err_set(err, CFR_E_NOMEM, "out of memory");
    rc = render_all(d, render, fresh, err);
    for (size_t i = 0; i < d->count; i++) {
        if (rc == 0)
            replace(&d->targets[i], &fresh[i], render->generation, expires_ms, now);
        forget(&fresh[i]);
    }
    free(fresh);
    if (rc == 0)
        cfr_publish_secret_step(d, now);
    return rc;
}

void cfr_publish_secret_restore(struct cfr_delivery *d, size_t index, uint64_t done, uint64_t wanted,
                                int64_t expires_ms)
{
    if (d == NULL || index >= d->count)
        return;
    d->targets[index].done = done;
    d->targets[index].wanted = wanted;
    /* How long an earlier one lives is not on record: it may have ended. */
    d->targets[index].done_expires_ms = done == wanted ? expires_ms : 0;
}

bool cfr_publish_secret_lost(const struct cfr_delivery *d)
{
    for (size_t i = 0; d != NULL && i < d->count; i++) {
        if (d->targets[i].done != d->targets[i].wanted && d->targets[i].key_count == 0)
            return true;
    }
    return false;
}

/* ---- applying ---- */

static void fail(struct target *t, const struct cfr_err *err, int64_t retry_after_s)
{
    struct cfr_backoff_cause cause = {.class = cfr_err_class(err->code), .retry_after_s = retry_after_s};
    bool news = cfr_log_once_is_news(&t->logged, err);

    t->runs_failed++;
    t->next_boot_ms = cfr_clock_now().boot_ms + cfr_backoff_failed(&t->backoff, &cause, cfr_clock_chance());
    free(t->error);
    t->error = strdup(err->text);
    t->error_code = err->code;
    t->all->ended(t->all->ctx, t->name, t->wanted, err, news);
}

static void succeed(struct target *t)
{
    t->done = t->sending;
    t->done_expires_ms = t->sending_expires_ms;
    t->backoff = (struct cfr_backoff){0};
    t->logged = (struct cfr_log_once){0};
    t->runs_ok++;
    free(t->error);
    t->error = NULL;
    t->error_code = 0;
    t->next_boot_ms = INT64_MAX;
    if (t->done == t->wanted)
        forget(t);
    else
        t->next_boot_ms = cfr_clock_now().boot_ms;
    t->all->ended(t->all->ctx, t->name, t->done, NULL, true);
}

static int refuse(const struct target *t, const struct cfr_kube_answer *answer, int64_t *retry_after_s,
                  struct cfr_err *err)
{
    struct cfr_k8s_asked asked = {
        .what = t->name,
        /* A refusal to create, other than one to patch, does not say what was refused. */
        .verb = !t->applying ? "get"
                : t->absent  ? "create"
                             : "patch",
        .resource = "secrets",
        .name = t->config->name,
        .namespace_name = t->namespace_name,
        .secrets = answer->secrets,
        .secret_count = answer->secret_count,
    };

    return cfr_k8s_refusal(answer->status, answer->body, &asked, retry_after_s, err);
}

static int send(struct target *t, bool apply, struct cfr_err *err);

/* The look before: may it be written? Then goes on with the apply. */
static int after_look(struct target *t, const struct cfr_kube_answer *answer, int64_t *retry_after_s,
                      struct cfr_err *err)
{
    struct cfr_k8s_secret_key keys[CFR_CONFIG_FILES_MAX];
    struct cfr_k8s_secret_object o = object_of(t, keys);
    int rc = 0;

    t->absent = answer->status == 404;
    if (answer->status == 200)
        rc = cfr_k8s_secret_apply_may(&o, answer->body, t->config->adopt, err);
    else if (answer->status != 404)
        rc = refuse(t, answer, retry_after_s, err);
    return rc != 0 ? rc : send(t, true, err);
}

static int after_apply(struct target *t, const struct cfr_kube_answer *answer, int64_t *retry_after_s,
                       struct cfr_err *err)
{
    struct cfr_k8s_secret_key keys[CFR_CONFIG_FILES_MAX];
    struct cfr_k8s_secret_object o = object_of(t, keys);

    if (answer->status == 409)
        return cfr_k8s_secret_apply_conflict(&o, answer->body, err);
    if (answer->status != 200 && answer->status != 201)
        return refuse(t, answer, retry_after_s, err);
    return 0;
}

static void on_answer(void *ctx, const struct cfr_kube_answer *answer)
{
    struct target *t = ctx;
    struct cfr_err err = answer->err;
    int64_t retry_after_s = answer->retry_after_s;
    bool applying = t->applying;
    int rc = answer->error;

    t->call = NULL;
    cfr_secret_free(&t->body);
    if (rc == 0)
        rc = applying ? after_apply(t, answer, &retry_after_s, &err) : after_look(t, answer, &retry_after_s, &err);
    if (rc != 0)
        fail(t, &err, retry_after_s);
    else if (applying)
        succeed(t);
}

static int make_body(struct target *t, struct cfr_err *err)
{
    struct cfr_k8s_secret_key keys[CFR_CONFIG_FILES_MAX];
    struct cfr_k8s_secret_object o = object_of(t, keys);

    cfr_secret_init(&t->body, CFR_K8S_SECRET_BODY_MAX);
    t->sending = t->wanted;
    t->sending_expires_ms = t->wanted_expires_ms;
    return cfr_k8s_secret_apply_body(&o, &t->body, err);
}

static int send(struct target *t, bool apply, struct cfr_err *err)
{
    struct cfr_kube_where where = {t->config->kubeconfig, t->config->context};
    char path[CFR_K8S_SECRET_PATH_MAX];
    struct cfr_kube_request request = {.method = apply ? "PATCH" : "GET", .path = path};
    enum cfr_k8s_secret_path purpose = !apply             ? CFR_K8S_SECRET_READ
                                       : t->config->adopt ? CFR_K8S_SECRET_TAKE
                                                          : CFR_K8S_SECRET_APPLY;
    int rc = 0;

    t->applying = apply;
    if (!cfr_k8s_secret_apply_path(t->namespace_name, t->config->name, purpose, path))
        return cfr_err_set(err, CFR_E_CONFIG, "%s cannot be the name of a Secret", t->name);
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

static int find_namespace(struct target *t, struct cfr_err *err)
{
    struct cfr_kube_where where = {t->config->kubeconfig, t->config->context};
    const char *name;

    if (t->namespace_name[0] != '\0')
        return 0;
    name = cfr_kube_namespace(t->all->kube, &where, err);
    if (name == NULL)
        return cfr_err_set(err, CFR_E_CONFIG,
                           "%s: no namespace is named, and there is no other to take; write `namespace`", t->name);
    (void)snprintf(t->namespace_name, sizeof t->namespace_name, "%s", name);
    name_target(t);
    return 0;
}

void cfr_publish_secret_step(struct cfr_delivery *d, struct cfr_now now)
{
    for (size_t i = 0; d != NULL && i < d->count; i++) {
        struct target *t = &d->targets[i];
        struct cfr_err err = {0};

        if (t->call != NULL || t->next_boot_ms > now.boot_ms || t->key_count == 0)
            continue;
        t->next_boot_ms = INT64_MAX;
        t->last_run_s = now.wall_ms / 1000;
        if (find_namespace(t, &err) != 0 || send(t, false, &err) != 0)
            fail(t, &err, -1);
    }
}

/* ---- what others ask ---- */

int64_t cfr_publish_secret_deadline(const struct cfr_delivery *d)
{
    int64_t at = INT64_MAX;

    for (size_t i = 0; d != NULL && i < d->count; i++) {
        if (d->targets[i].call == NULL && d->targets[i].next_boot_ms < at)
            at = d->targets[i].next_boot_ms;
    }
    return at;
}

bool cfr_publish_secret_running(const struct cfr_delivery *d)
{
    for (size_t i = 0; d != NULL && i < d->count; i++) {
        if (d->targets[i].call != NULL)
            return true;
    }
    return false;
}

bool cfr_publish_secret_pending(const struct cfr_delivery *d)
{
    for (size_t i = 0; d != NULL && i < d->count; i++) {
        if (d->targets[i].done != d->targets[i].wanted)
            return true;
    }
    return false;
}

int cfr_publish_secret_stuck(const struct cfr_delivery *d)
{
    for (size_t i = 0; d != NULL && i < d->count; i++) {
        const struct target *t = &d->targets[i];

        if (t->done != t->wanted && t->error != NULL && cfr_err_class(t->error_code) != CFR_CLASS_RETRY)
            return t->error_code;
    }
    return 0;
}

const char *cfr_publish_secret_error(const struct cfr_delivery *d)
{
    for (size_t i = 0; d != NULL && i < d->count; i++) {
        if (d->targets[i].done != d->targets[i].wanted && d->targets[i].error != NULL)
            return d->targets[i].error;
    }
    return NULL;
}

int64_t cfr_publish_secret_expires_ms(const struct cfr_delivery *d)
{
    int64_t first_ms = INT64_MAX;

    for (size_t i = 0; d != NULL && i < d->count; i++) {
        int64_t at_ms = d->targets[i].done != 0 ? d->targets[i].done_expires_ms : 0;

        first_ms = at_ms < first_ms ? at_ms : first_ms;
    }
    return first_ms;
}

bool cfr_publish_secret_valid(const struct cfr_delivery *d, struct cfr_now now)
{
    return cfr_publish_secret_expires_ms(d) > now.wall_ms;
}

size_t cfr_publish_secret_count(const struct cfr_delivery *d)
{
    return d != NULL ? d->count : 0;
}

uint64_t cfr_publish_secret_done(const struct cfr_delivery *d, size_t index)
{
    return d->targets[index].done;
}

const struct cfr_api_status_hook *cfr_publish_secret_status(struct cfr_delivery *d)
{
    for (size_t i = 0; d != NULL && i < d->count; i++) {
        const struct target *t = &d->targets[i];

        d->status[i] = (struct cfr_api_status_hook){
            .name = t->name,
            .result = t->call != NULL        ? "running"
                      : t->error != NULL     ? "failed"
                      : t->done != t->wanted ? "pending"
                      : t->done != 0         ? "ok"
                                             : "none",
            .error = t->error,
            .last_run_s = t->last_run_s,
            .generation = t->done,
            .runs_ok = t->runs_ok,
            .runs_failed = t->runs_failed,
        };
    }
    return d != NULL ? d->status : NULL;
}
