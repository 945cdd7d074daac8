/* SPDX-License-Identifier: MIT */
/* Target kinds `secret` and `configmap`: objects of the cluster, and the queue of what is to be applied. */
#include "agent/publish/secret_target.h"

#include "agent/publish/delivery_private.h"
#include "agent/publish/previous_private.h"
#include "agent/publish/render_private.h"
#include "agent/publish/target_private.h"
#include "base/hash.h"
#include "kube/secret_apply.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct cfr_config_publish *publish_at(const struct cfr_config_credential *c, size_t i)
{
    return (const struct cfr_config_publish *)c->publish.items + i;
}

static size_t count_targets(const struct cfr_config_credential *c)
{
    size_t n = 0;

    for (size_t i = 0; i < c->publish.count; i++)
        n += cfr_config_cluster_object(publish_at(c, i)) != NULL;
    return n;
}

static const struct cfr_k8s_kind *cfr_delivery_kind(const struct cfr_config_secret *c)
{
    return c->type != NULL ? &cfr_k8s_kind_secret : &cfr_k8s_kind_configmap;
}

static void bind_targets(struct cfr_delivery *d)
{
    size_t n = 0;

    for (size_t i = 0; i < d->config->publish.count; i++) {
        const struct cfr_config_secret *object = cfr_config_cluster_object(publish_at(d->config, i));

        if (object == NULL)
            continue;
        d->targets[n].config = object;
        d->targets[n].kind = cfr_delivery_kind(object);
        d->targets[n++].all = d;
    }
}

/* NAMESPACE_NAME is empty while it is not known. */
void cfr_publish_delivery_name(const struct cfr_config_secret *c, const char *namespace_name,
                               char name[CFR_DELIVERY_NAME_MAX])
{
    (void)snprintf(name, CFR_DELIVERY_NAME_MAX, "%s %.90s%s%.253s", cfr_delivery_kind(c)->name, namespace_name,
                   namespace_name[0] != '\0' ? "/" : "", c->name);
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
        return cfr_err_nomem(err);
    *d = (struct cfr_delivery){
        .config = c,
        .kube = kube,
        .ended = ended,
        .ctx = ctx,
        .targets = calloc(count, sizeof *d->targets),
        .status = calloc(count, sizeof *d->status),
        .count = count,
    };
    if (d->targets == NULL || d->status == NULL) {
        free(d->targets);
        free(d->status);
        free(d);
        return cfr_err_nomem(err);
    }
    bind_targets(d);
    for (size_t i = 0; i < count; i++) {
        struct cfr_delivery_object *t = &d->targets[i];

        /* All of them are bound, which the analyzer does not see. */
        if (t->config == NULL)
            continue;
        t->next_boot_ms = INT64_MAX;
        t->look_boot_ms = INT64_MAX;
        if (t->config->namespace_name != NULL)
            (void)snprintf(t->namespace_name, sizeof t->namespace_name, "%s", t->config->namespace_name);
        cfr_publish_delivery_name(t->config, t->namespace_name, t->name);
    }
    *out = d;
    return 0;
}

static void wipe_wanted(struct cfr_delivery_object *t)
{
    cfr_publish_keys_cut(&t->keys, 0);
    t->loaded = false;
}

void cfr_publish_secret_close(struct cfr_delivery *d)
{
    if (d == NULL)
        return;
    for (size_t i = 0; i < d->count; i++) {
        struct cfr_delivery_object *t = &d->targets[i];

        if (t->call != NULL)
            cfr_kube_cancel(t->call);
        cfr_kube_watch_end(t->watch);
        cfr_kube_watch_end(t->space_watch);
        wipe_wanted(t);
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

/* ---- rendering and queueing ---- */

void cfr_publish_delivery_clear_error(struct cfr_delivery_object *t)
{
    t->backoff = (struct cfr_backoff){0};
    t->logged = (struct cfr_log_once){0};
    free(t->error);
    t->error = NULL;
    t->error_code = 0;
}

struct cfr_k8s_secret_object cfr_publish_delivery_content(const struct cfr_delivery_object *t,
                                                          struct cfr_k8s_secret_key keys[CFR_CONFIG_FILES_MAX])
{
    const struct cfr_config_mint_state *state = cfr_publish_delivery_state(t);
    bool shared = state != NULL || t->ca_keys[0] != '\0';
    bool merged = false;

    for (size_t i = 0; i < t->keys.count; i++) {
        keys[i] = (struct cfr_k8s_secret_key){t->keys.items[i].name, cfr_publish_key_content(&t->keys.items[i])};
        merged = merged || t->keys.items[i].merged.len != 0;
    }
    return (struct cfr_k8s_secret_object){
        .kind = t->kind,
        .namespace_name = t->namespace_name[0] != '\0' ? t->namespace_name : "default",
        .name = t->config->name,
        .type = t->config->type,
        .keys = keys,
        .key_count = t->keys.count,
        .credential = t->all->config->name,
        .ca_keys = t->ca_keys,
        .generation = state != NULL ? t->number : t->wanted,
        .rotation = state != NULL ? state->secret : NULL,
        .run = shared ? 0 : cfr_publish_delivery_run(),
        .former_run = t->all->run,
        .start_s = cfr_publish_delivery_start_s(),
        .now_s = cfr_clock_now().wall_ms / 1000,
        /* What was merged, or read from it, must not replace what another program has written since it was read. */
        .version = state != NULL || merged || t->forgets ? t->version : NULL,
        .expires_s = t->wanted_expires_ms == INT64_MAX ? 0 : t->wanted_expires_ms / 1000,
    };
}

/* Whether the API server will take it is checked now: once it is queued, the other targets have been published. */
static int check_object(const struct cfr_target *t, const struct cfr_publish_render *job,
                        const struct cfr_target_content *content, struct cfr_err *err)
{
    const struct cfr_config_secret *c = cfr_config_cluster_object(t->config);
    struct cfr_k8s_secret_key keys[CFR_CONFIG_FILES_MAX];
    struct cfr_k8s_secret_object o = {
        .kind = cfr_delivery_kind(c),
        .namespace_name = c->namespace_name != NULL ? c->namespace_name : "default",
        .name = c->name,
        .type = c->type,
        .keys = keys,
        .key_count = content->count,
        .credential = t->credential->name,
        .generation = job->generation,
    };

    for (size_t i = 0; i < content->count; i++)
        keys[i] = (struct cfr_k8s_secret_key){content->files[i].name, content->files[i].content};
    return cfr_k8s_secret_apply_check(&o, err);
}

/* When a rotated key was minted, as a key of its own. */
static int add_minted(const struct cfr_publish_minted *minted, struct cfr_target_content *out, struct cfr_err *err)
{
    struct cfr_secret *line = cfr_publish_content_add(out);
    int rc = cfr_publish_minted_line(minted, line, err);

    if (rc == 0)
        out->files[out->count++] = (struct cfr_file){.name = CFR_ROTATION_FILE, .content = cfr_secret_view(line)};
    return rc;
}

static int render_secret(const struct cfr_target *t, const struct cfr_publish_render *job,
                         struct cfr_target_content *out, struct cfr_err *err)
{
    const struct cfr_config_secret *c = cfr_config_cluster_object(t->config);
    char name[CFR_DELIVERY_NAME_MAX];
    int rc = 0;

    for (size_t i = 0; rc == 0 && i < c->keys.count; i++)
        rc = cfr_publish_content_file(out, job, cfr_publish_file_at(&c->keys, i), err);
    if (rc == 0 && job->from->minted != NULL && t->config->secret != NULL)
        rc = add_minted(job->from->minted, out, err);
    if (rc == 0 && c->keys.count == 0) {
        cfr_publish_content_keys(out, job, 0);
        if (out->count == 0)
            rc = cfr_err_set(
                err, CFR_E_CONFIG,
                "an exchanged Secret has no keys to publish; name `keys` with their formats, or write pass_on: true");
    }
    if (rc == 0)
        rc = check_object(t, job, out, err);
    if (rc == 0)
        return 0;
    cfr_publish_delivery_name(c, c->namespace_name != NULL ? c->namespace_name : "", name);
    return cfr_err_prefix(err, "%s", name);
}

static int copy_content(const struct cfr_target_content *content, struct cfr_publish_keys *keys, struct cfr_err *err)
{
    int rc = 0;

    for (size_t i = 0; rc == 0 && i < content->count; i++) {
        const struct cfr_file *f = &content->files[i];

        rc = cfr_publish_keys_add(keys, f->name, f->content.n, err);
        if (rc == 0)
            rc = cfr_secret_append(&keys->items[i].value, f->content, err);
    }
    return rc;
}

/* Where the content comes from: what an Event says of it. */
static void note_origin(struct cfr_delivery_object *t, const struct cfr_publish_render *render)
{
    const struct cfr_publish_minted *minted = render->from->minted;
    struct cfr_view ca_keys = cfr_grant_get(render->grant, CFR_FIELD_SERVICE_CA_KEYS);

    t->key = minted != NULL ? cfr_hash_add(CFR_HASH_START, minted->id, strlen(minted->id)) : 0;
    t->adopted = minted != NULL && minted->adopted;
    t->repairs = cfr_publish_delivery_is_lost(t);
    (void)snprintf(t->ca_keys, sizeof t->ca_keys, "%.*s", (int)ca_keys.n, ca_keys.n != 0 ? ca_keys.p : "");
}

/* Queues it in place of what the Secret was to hold so far; cfr_publish_secret_step begins to apply it. A request
 * under way goes on, and is followed by another. */
static int queue_secret(const struct cfr_target *target, const struct cfr_publish_job *job,
                        struct cfr_target_content *content, struct cfr_publish_seen *seen, struct cfr_err *err)
{
    struct cfr_delivery *d = job->delivery;
    struct cfr_publish_keys fresh = {.count = 0};
    struct cfr_delivery_object *t = NULL;
    int rc;

    for (size_t i = 0; d != NULL && i < d->count; i++) {
        if (d->targets[i].config == cfr_config_cluster_object(target->config))
            t = &d->targets[i];
    }
    if (t == NULL)
        return 0;
    rc = copy_content(content, &fresh, err);
    if (rc != 0) {
        cfr_publish_keys_cut(&fresh, 0);
        return rc;
    }
    note_origin(t, &job->render);
    /* The loss is dealt with. */
    if (cfr_publish_delivery_is_lost(t))
        cfr_publish_delivery_clear_error(t);
    wipe_wanted(t);
    t->keys = fresh;
    t->forgets = false;
    t->own_count = fresh.count;
    t->minted = job->render.from->minted != NULL && !t->kind->is_public;
    t->loaded = true;
    t->newer = true;
    t->wanted = job->render.generation;
    t->number = job->render.from->minted != NULL ? job->render.from->minted->number : 0;
    t->wanted_expires_ms = job->expires_ms;
    t->backoff = (struct cfr_backoff){0};
    t->next_boot_ms = job->now.boot_ms;
    seen->changed = true;
    return 0;
}

static bool is_secret(const struct cfr_config_publish *t)
{
    return t->secret != NULL;
}

static bool is_configmap(const struct cfr_config_publish *t)
{
    return t->configmap != NULL;
}

static void inspect_secret(const struct cfr_target *t, const struct cfr_publish_inspection *i)
{
    const struct cfr_config_secret *c = cfr_config_cluster_object(t->config);

    i->cluster(i->ctx, &(struct cfr_kube_where){c->kubeconfig, c->context});
}

const struct cfr_target_ops cfr_publish_secret = {
    .inspect = inspect_secret,
    .is_remote = true,
    .is_configured = is_secret,
    .render = render_secret,
    .publish = queue_secret,
};

const struct cfr_target_ops cfr_publish_configmap = {
    .inspect = inspect_secret,
    .is_remote = true,
    .is_configured = is_configmap,
    .render = render_secret,
    .publish = queue_secret,
};

/* Those of the configuration; without them, or without memory for them, none are known. */
static void restore_keys(struct cfr_delivery_object *t, bool minted)
{
    const struct cfr_list *keys = &t->config->keys;

    for (size_t i = 0; i < keys->count; i++) {
        if (cfr_publish_keys_add(&t->keys, cfr_publish_file_at(keys, i)->name, 0, NULL) != 0)
            return;
    }
    if (minted && !t->kind->is_public)
        (void)cfr_publish_keys_add(&t->keys, CFR_ROTATION_FILE, 0, NULL);
    t->own_count = t->keys.count;
}

static void restore(struct cfr_delivery_object *t, uint64_t done, const struct cfr_publish_record *record, bool minted)
{
    t->done = done;
    t->wanted = record->generation;
    t->number = minted && record->key != NULL ? record->key->number : 0;
    if (minted && record->key != NULL)
        t->done_key = cfr_hash_add(CFR_HASH_START, record->key->id, strlen(record->key->id));
    /* How long an earlier one lives is not on record: it may have ended. */
    t->done_expires_ms = done == t->wanted ? record->expires_ms : 0;
    if (done != t->wanted || done == 0)
        return;
    restore_keys(t, minted);
    t->look_boot_ms = 0;
}

void cfr_publish_secret_restore(struct cfr_delivery *d, const struct cfr_publish_record *record, bool minted)
{
    bool known = d != NULL && record->delivered_count == d->count;

    if (d != NULL)
        d->run = record->run;
    for (size_t i = 0; d != NULL && i < d->count; i++)
        restore(&d->targets[i], known ? record->delivered[i] : 0, record, minted);
}

bool cfr_publish_secret_lost(const struct cfr_delivery *d)
{
    for (size_t i = 0; d != NULL && i < d->count; i++) {
        if (cfr_publish_delivery_is_lost(&d->targets[i]))
            return true;
    }
    return false;
}

void cfr_publish_secret_forget_old(struct cfr_delivery *d, int64_t now_boot_ms)
{
    for (size_t i = 0; d != NULL && i < d->count; i++) {
        struct cfr_delivery_object *t = &d->targets[i];

        if (t->kind->is_public || t->config->keys.count == 0 || !cfr_publish_delivery_is_applied(t) || t->done == 0)
            continue;
        t->forgets = true;
        t->look_boot_ms = t->look_boot_ms < now_boot_ms ? t->look_boot_ms : now_boot_ms;
    }
}

bool cfr_publish_secret_resume(struct cfr_delivery *d, const struct cfr_kube_where *where, struct cfr_now now)
{
    bool any = false;

    for (size_t i = 0; d != NULL && i < d->count; i++) {
        struct cfr_delivery_object *t = &d->targets[i];
        const struct cfr_kube_where own = {t->config->kubeconfig, t->config->context};
        /* Many wait: not all of them in one moment. */
        int64_t at_ms = now.boot_ms + (int64_t)(cfr_clock_chance() * CFR_DELIVERY_RESUME_MS);

        if (t->backoff.failures == 0 || t->call != NULL || !cfr_kube_where_is(&own, where))
            continue;
        t->backoff = (struct cfr_backoff){0};
        if (t->loaded && at_ms < t->next_boot_ms)
            t->next_boot_ms = at_ms;
        if (!t->loaded && at_ms < t->look_boot_ms)
            t->look_boot_ms = at_ms;
        any = true;
    }
    return any;
}

/* ---- what others ask ---- */

int64_t cfr_publish_secret_deadline(const struct cfr_delivery *d)
{
    int64_t at = INT64_MAX;

    for (size_t i = 0; d != NULL && i < d->count; i++) {
        if (d->targets[i].call == NULL && cfr_publish_delivery_due_at(&d->targets[i]) < at)
            at = cfr_publish_delivery_due_at(&d->targets[i]);
    }
    return at;
}

bool cfr_publish_secret_running(const struct cfr_delivery *d)
{
    for (size_t i = 0; d != NULL && i < d->count; i++) {
        if (cfr_publish_delivery_is_writing(&d->targets[i]))
            return true;
    }
    return false;
}

bool cfr_publish_secret_pending(const struct cfr_delivery *d)
{
    for (size_t i = 0; d != NULL && i < d->count; i++) {
        if (!cfr_publish_delivery_is_applied(&d->targets[i]))
            return true;
    }
    return false;
}

bool cfr_publish_secret_unseen(const struct cfr_delivery *d)
{
    for (size_t i = 0; d != NULL && i < d->count; i++) {
        if (d->targets[i].done != 0 && !d->targets[i].seen)
            return true;
    }
    return false;
}

int cfr_publish_secret_stuck(const struct cfr_delivery *d)
{
    for (size_t i = 0; d != NULL && i < d->count; i++) {
        const struct cfr_delivery_object *t = &d->targets[i];

        if ((!cfr_publish_delivery_is_applied(t) || !t->seen) && !cfr_publish_delivery_is_lost(t) && t->error != NULL &&
            cfr_err_class(t->error_code) != CFR_CLASS_RETRY)
            return t->error_code;
    }
    return 0;
}

const char *cfr_publish_secret_error(const struct cfr_delivery *d)
{
    for (size_t i = 0; d != NULL && i < d->count; i++) {
        const struct cfr_delivery_object *t = &d->targets[i];

        if ((!cfr_publish_delivery_is_applied(t) || !t->seen) && t->error != NULL)
            return t->error;
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

uint64_t cfr_publish_secret_run(const struct cfr_delivery *d)
{
    return d != NULL ? d->run : 0;
}

size_t cfr_publish_secret_count(const struct cfr_delivery *d)
{
    return d != NULL ? d->count : 0;
}

uint64_t cfr_publish_secret_done(const struct cfr_delivery *d, size_t index)
{
    const struct cfr_delivery_object *t = &d->targets[index];

    return t->done != t->wanted || !t->loaded ? t->done : 0;
}

const struct cfr_api_status_hook *cfr_publish_secret_status(struct cfr_delivery *d)
{
    for (size_t i = 0; d != NULL && i < d->count; i++) {
        const struct cfr_delivery_object *t = &d->targets[i];

        d->status[i] = (struct cfr_api_status_hook){
            .name = t->name,
            .result = cfr_publish_delivery_is_writing(t)    ? "running"
                      : t->error != NULL                    ? "failed"
                      : !cfr_publish_delivery_is_applied(t) ? "pending"
                      : t->done != 0                        ? "ok"
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
