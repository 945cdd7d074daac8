/* SPDX-License-Identifier: MIT */
/* Target kinds `secret` and `configmap`: objects of the cluster, and the queue that applies them. */
#include "agent/publish/secret_target.h"

#include "agent/kube/event.h"
#include "agent/kube/watch.h"
#include "agent/publish/keys_private.h"
#include "agent/publish/previous_private.h"
#include "agent/publish/render_private.h"
#include "agent/publish/target_private.h"
#include "agent/loop/backoff.h"
#include "agent/loop/log_once.h"
#include "base/base64.h"
#include "base/hash.h"
#include "base/log.h"
#include "base/redact.h"
#include "base/time.h"
#include "files/format/format.h"
#include "kube/secret_apply.h"
#include "kube/status.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NAME_MAX_BYTES   360
#define LOOK_MS          60000 /* between two looks at what a Secret holds */
#define STIR_MS          1000  /* from a change to the look at it, after a loss: 4, 16 and 64 s */
#define HIDDEN_MAX       (2 * CFR_CONFIG_FILES_MAX + 8)
#define LOOK_DOUBLED_MAX 4 /* for one that is lost again and again: up to 16 minutes, for each costs an exchange */

enum purpose {
    LOOK,   /* does it still hold what was applied? */
    BEFORE, /* may it be written? */
    APPLY
};

/* One Secret or ConfigMap. */
struct target {
    struct cfr_delivery *all;
    const struct cfr_config_secret *config;
    const struct cfr_k8s_kind *kind;
    char name[NAME_MAX_BYTES]; /* "Secret NAMESPACE/NAME", for people */
    char namespace_name[254];  /* empty until it is known */
    uint64_t wanted;
    uint64_t done; /* as it was applied, or last seen */
    int64_t wanted_expires_ms;
    int64_t done_expires_ms;
    struct cfr_publish_keys keys; /* of what is wanted; none: not known since the start */
    size_t own_count; /* of these, those that are rendered; the others are what the Secret held before, KEY.old */
    bool minted;      /* it is a rotated key in a Secret, the last of those rendered being when that was minted */
    bool loaded;      /* the values are there, to be applied */
    struct cfr_kube_call *call;
    struct cfr_secret body; /* of the call */
    uint64_t sending;       /* the generation that the call is for */
    int64_t sending_expires_ms;
    enum purpose purpose; /* of the call */
    bool absent;          /* the look before found nothing: the apply has to create */
    bool seen;            /* in this run it was applied, or found as it was */
    unsigned losses;      /* in a row */
    struct cfr_kube_watch *watch;
    struct cfr_kube_watch *space_watch;       /* of a namespace that does not exist; else NULL */
    char version[CFR_K8S_SECRET_VERSION_MAX]; /* as it was applied or last read; empty: there was none */
    char news[CFR_K8S_SECRET_VERSION_MAX];    /* what the watch last reported */
    char uid[CFR_K8S_SECRET_VERSION_MAX];     /* for Events; empty: not known */
    bool told_expired;
    bool stirred; /* it reported while a request was under way */
    int64_t look_boot_ms;
    int64_t applied_boot_ms; /* when it was last applied */
    struct cfr_backoff backoff;
    struct cfr_log_once logged;
    uint64_t warned; /* hash of the API server's last warning */
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
        n += cfr_config_cluster_object(publish_at(c, i)) != NULL;
    return n;
}

static const struct cfr_k8s_kind *kind_of(const struct cfr_config_secret *c)
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
        d->targets[n].kind = kind_of(object);
        d->targets[n++].all = d;
    }
}

/* NAMESPACE_NAME is empty while it is not known. */
static void name_secret(const struct cfr_config_secret *c, const char *namespace_name, char name[NAME_MAX_BYTES])
{
    (void)snprintf(name, NAME_MAX_BYTES, "%s %.90s%s%.253s", kind_of(c)->name, namespace_name,
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
        struct target *t = &d->targets[i];

        /* All of them are bound, which the analyzer does not see. */
        if (t->config == NULL)
            continue;
        t->next_boot_ms = INT64_MAX;
        t->look_boot_ms = INT64_MAX;
        if (t->config->namespace_name != NULL)
            (void)snprintf(t->namespace_name, sizeof t->namespace_name, "%s", t->config->namespace_name);
        name_secret(t->config, t->namespace_name, t->name);
    }
    *out = d;
    return 0;
}

/* Wipes what was to be applied, but for its keys. */
static void wipe_values(struct target *t)
{
    cfr_publish_keys_wipe(&t->keys);
    t->loaded = false;
}

static void wipe_wanted(struct target *t)
{
    cfr_publish_keys_cut(&t->keys, 0);
    t->loaded = false;
}

void cfr_publish_secret_close(struct cfr_delivery *d)
{
    if (d == NULL)
        return;
    for (size_t i = 0; i < d->count; i++) {
        struct target *t = &d->targets[i];

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

/* A look is nothing to wait for. */
static bool is_writing(const struct target *t)
{
    return t->call != NULL && t->purpose != LOOK;
}

static bool is_lost(const struct target *t)
{
    return t->done != t->wanted && !t->loaded;
}

static void clear_error(struct target *t)
{
    t->backoff = (struct cfr_backoff){0};
    t->logged = (struct cfr_log_once){0};
    free(t->error);
    t->error = NULL;
    t->error_code = 0;
}

static struct cfr_k8s_secret_object object_of(const struct target *t,
                                              struct cfr_k8s_secret_key keys[CFR_CONFIG_FILES_MAX])
{
    for (size_t i = 0; i < t->keys.count; i++)
        keys[i] = (struct cfr_k8s_secret_key){t->keys.items[i].name, cfr_secret_view(&t->keys.items[i].value)};
    return (struct cfr_k8s_secret_object){
        .kind = t->kind,
        .namespace_name = t->namespace_name[0] != '\0' ? t->namespace_name : "default",
        .name = t->config->name,
        .type = t->config->type,
        .keys = keys,
        .key_count = t->keys.count,
        .credential = t->all->config->name,
        .generation = t->wanted,
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
        .kind = kind_of(c),
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
    char name[NAME_MAX_BYTES];
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
                "there is no Secret's key to pass on, because the Secret is exchanged; name `keys` with their "
                "formats, or write pass_on: true");
    }
    if (rc == 0)
        rc = check_object(t, job, out, err);
    if (rc == 0)
        return 0;
    name_secret(c, c->namespace_name != NULL ? c->namespace_name : "", name);
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

/* Queues it in place of what the Secret was to hold so far; cfr_publish_secret_step begins to apply it. A request
 * under way goes on, and is followed by another. */
static int queue_secret(const struct cfr_target *target, const struct cfr_publish_job *job,
                        struct cfr_target_content *content, uint64_t *hash, bool *changed, struct cfr_err *err)
{
    struct cfr_delivery *d = job->delivery;
    struct cfr_publish_keys fresh = {.count = 0};
    struct target *t = NULL;
    int rc;

    (void)hash;
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
    /* The loss is dealt with. */
    if (is_lost(t))
        clear_error(t);
    wipe_wanted(t);
    t->keys = fresh;
    t->own_count = fresh.count;
    t->minted = job->render.from->minted != NULL && !t->kind->is_public;
    t->loaded = true;
    t->wanted = job->render.generation;
    t->wanted_expires_ms = job->expires_ms;
    t->backoff = (struct cfr_backoff){0};
    t->next_boot_ms = job->now.boot_ms;
    *changed = true;
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
static void restore_keys(struct target *t)
{
    const struct cfr_list *keys = &t->config->keys;

    for (size_t i = 0; i < keys->count; i++) {
        if (cfr_publish_keys_add(&t->keys, cfr_publish_file_at(keys, i)->name, 0, NULL) != 0)
            return;
    }
    if (t->all->config->mint != NULL && !t->kind->is_public)
        (void)cfr_publish_keys_add(&t->keys, CFR_ROTATION_FILE, 0, NULL);
}

void cfr_publish_secret_restore(struct cfr_delivery *d, size_t index, uint64_t done, uint64_t wanted,
                                int64_t expires_ms)
{
    struct target *t;

    if (d == NULL || index >= d->count)
        return;
    t = &d->targets[index];
    t->done = done;
    t->wanted = wanted;
    /* How long an earlier one lives is not on record: it may have ended. */
    t->done_expires_ms = done == wanted ? expires_ms : 0;
    if (done != wanted || done == 0)
        return;
    restore_keys(t);
    t->look_boot_ms = 0;
}

bool cfr_publish_secret_lost(const struct cfr_delivery *d)
{
    for (size_t i = 0; d != NULL && i < d->count; i++) {
        if (is_lost(&d->targets[i]))
            return true;
    }
    return false;
}

/* ---- Events ---- */

static void send_event(const struct target *t, bool warning, const char *reason, const char *note)
{
    struct cfr_k8s_event e = {.kind = t->kind->name,
                              .namespace_name = t->namespace_name,
                              .name = t->config->name,
                              .uid = t->uid,
                              .warning = warning,
                              .reason = reason,
                              .action = "Publish",
                              .note = note,
                              .wall_ms = cfr_clock_now().wall_ms};

    if (t->config->events && t->namespace_name[0] != '\0')
        cfr_kube_event_send(t->all->kube, &(struct cfr_kube_where){t->config->kubeconfig, t->config->context}, &e);
}

static void report_published(const struct target *t)
{
    char note[256];
    char expires[CFR_TIME_RFC3339_MAX];
    bool ends = t->done_expires_ms != INT64_MAX;

    (void)snprintf(note, sizeof note, "it holds generation %" PRIu64 " of the credential %.63s, which %s%s", t->done,
                   t->all->config->name, ends ? "expires at " : "does not expire",
                   ends ? cfr_time_format(t->done_expires_ms / 1000, expires) : "");
    send_event(t, false, t->minted ? "Rotated" : "Published", note);
}

/* Without the server's words: more users may read Events than Secrets. */
static void report_failed(const struct target *t)
{
    char note[160];

    (void)snprintf(note, sizeof note,
                   "the credential %.63s could not be published here [%s]; the log of credfresh says why",
                   t->all->config->name, cfr_err_name(t->error_code));
    send_event(t, true, "PublishFailed", note);
}

/* Once for what is there. */
static void check_expired(struct target *t, struct cfr_now now)
{
    char note[160];

    if (!t->config->events || t->told_expired || t->done == 0 || t->done_expires_ms > now.wall_ms)
        return;
    t->told_expired = true;
    (void)snprintf(note, sizeof note, "generation %" PRIu64 " of the credential %.63s has expired", t->done,
                   t->all->config->name);
    send_event(t, true, "Expired", note);
}

/* ---- applying ---- */

static void note_error(struct target *t, const struct cfr_err *err)
{
    bool news;

    free(t->error);
    t->error = strdup(err->text);
    t->error_code = err->code;
    news = cfr_log_once_is_news(&t->logged, err);
    if (news)
        report_failed(t);
    t->all->ended(t->all->ctx, t->name, t->wanted, err, news);
}

static int64_t backoff_ms(struct target *t, const struct cfr_err *err, int64_t retry_after_s)
{
    struct cfr_backoff_cause cause = {.class = cfr_err_class(err->code), .retry_after_s = retry_after_s};

    return cfr_backoff_failed(&t->backoff, &cause, cfr_clock_chance());
}

static void fail(struct target *t, const struct cfr_err *err, int64_t retry_after_s)
{
    t->runs_failed++;
    t->next_boot_ms = cfr_clock_now().boot_ms + backoff_ms(t, err, retry_after_s);
    note_error(t, err);
}

/* Between two looks. */
static int64_t pause_of(const struct target *t)
{
    return (int64_t)LOOK_MS << (t->losses < LOOK_DOUBLED_MAX ? t->losses : LOOK_DOUBLED_MAX);
}

static void look_later(struct target *t)
{
    t->seen = true;
    t->look_boot_ms = cfr_clock_now().boot_ms + pause_of(t);
}

/* ---- watching ---- */

/* Another program changed, created or deleted it. */
static void look_soon(struct target *t)
{
    int64_t now_ms = cfr_clock_now().boot_ms;
    unsigned doubled = t->losses < LOOK_DOUBLED_MAX ? t->losses : LOOK_DOUBLED_MAX;
    int64_t at_ms = now_ms + (doubled == 0 ? 0 : (int64_t)STIR_MS << (2 * doubled));

    if (t->loaded)
        t->next_boot_ms = t->next_boot_ms < now_ms + STIR_MS ? t->next_boot_ms : now_ms + STIR_MS;
    else if (t->seen && t->losses < LOOK_DOUBLED_MAX && at_ms < t->look_boot_ms)
        t->look_boot_ms = at_ms;
    t->all->ended(t->all->ctx, t->name, t->done, NULL, false);
}

/* What we have applied and read ourselves is no news. */
static void on_watch(void *ctx, const char *version)
{
    struct target *t = ctx;

    (void)snprintf(t->news, sizeof t->news, "%s", version != NULL ? version : "");
    if (t->call != NULL)
        t->stirred = true;
    else if (strcmp(t->news, t->version) != 0)
        look_soon(t);
}

static void on_namespace(void *ctx, const char *version)
{
    struct target *t = ctx;

    if (version != NULL && t->loaded && t->call == NULL)
        look_soon(t);
}

static void watch(struct target *t, const char *collection, const char *name, bool alone, cfr_kube_watch_fn *report,
                  struct cfr_kube_watch **out)
{
    struct cfr_kube_object object = {
        .where = {t->config->kubeconfig, t->config->context}, .collection = collection, .name = name, .alone = alone};

    /* Without memory for it, the periodic look remains. */
    if (*out == NULL)
        (void)cfr_kube_watch_start(t->all->kube, &object, report, t, out, NULL);
}

static void watch_object(struct target *t)
{
    char collection[CFR_K8S_SECRET_PATH_MAX];

    (void)snprintf(collection, sizeof collection, "/api/v1/namespaces/%s/%s", t->namespace_name, t->kind->resource);
    watch(t, collection, t->config->name, false, on_watch, &t->watch);
}

/* A request has ended: what was reported meanwhile may be older than its answer, or newer. */
static void follow_watch(struct target *t)
{
    bool news = t->stirred && t->call == NULL && strcmp(t->news, t->version) != 0;

    t->stirred = t->stirred && t->call != NULL;
    if (news)
        look_soon(t);
}

static void succeed(struct target *t)
{
    cfr_kube_watch_end(t->space_watch);
    t->space_watch = NULL;
    t->applied_boot_ms = cfr_clock_now().boot_ms;
    t->done = t->sending;
    t->done_expires_ms = t->sending_expires_ms;
    t->told_expired = false;
    t->runs_ok++;
    report_published(t);
    clear_error(t);
    t->next_boot_ms = INT64_MAX;
    if (t->done == t->wanted)
        wipe_values(t);
    else
        t->next_boot_ms = cfr_clock_now().boot_ms;
    look_later(t);
    t->all->ended(t->all->ctx, t->name, t->done, NULL, true);
}

/* What it was to hold was wiped when it was applied, so it has to be published again. */
static void lose(struct target *t, const struct cfr_err *err)
{
    t->done = 0;
    t->look_boot_ms = INT64_MAX;
    t->losses++;
    note_error(t, err);
}

/* What an answer may repeat: what we are identified by, and the values, as they are and in base64. ENCODED holds the
 * latter, for the caller to free. Returns how many there are. */
static size_t list_secrets(const struct target *t, const struct cfr_kube_answer *answer, struct cfr_secret *encoded,
                           struct cfr_view hidden[HIDDEN_MAX])
{
    size_t count = 0;

    for (size_t i = 0; i < answer->secret_count && count < HIDDEN_MAX; i++)
        hidden[count++] = answer->secrets[i];
    for (size_t i = 0; i < t->keys.count; i++)
        cfr_secret_init(&encoded[i], CFR_K8S_SECRET_BODY_MAX);
    for (size_t i = 0; !t->kind->is_public && i < t->keys.count && count + 2 <= HIDDEN_MAX; i++) {
        hidden[count++] = cfr_secret_view(&t->keys.items[i].value);
        if (cfr_base64_encode(cfr_secret_view(&t->keys.items[i].value), &encoded[i], NULL) == 0)
            hidden[count++] = cfr_secret_view(&encoded[i]);
    }
    return count;
}

static int refuse(const struct target *t, const struct cfr_kube_answer *answer, int64_t *retry_after_s,
                  struct cfr_err *err)
{
    struct cfr_secret encoded[CFR_CONFIG_FILES_MAX];
    struct cfr_view hidden[HIDDEN_MAX];
    int rc;
    struct cfr_k8s_asked asked = {
        .what = t->name,
        /* A refusal to create, other than one to patch, does not say what was refused. */
        .verb = t->purpose != APPLY ? "get"
                : t->absent         ? "create"
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

static int send(struct target *t, enum purpose purpose, struct cfr_err *err);

/* KEY.old of the rendered key INDEX is VALUE, which is moved. */
static int add_old(struct target *t, size_t index, struct cfr_secret *value, struct cfr_err *err)
{
    char name[CFR_K8S_SECRET_KEY_MAX + sizeof CFR_MINT_OLD_SUFFIX];
    int rc;

    (void)snprintf(name, sizeof name, "%s" CFR_MINT_OLD_SUFFIX, t->keys.items[index].name);
    rc = cfr_publish_keys_add(&t->keys, name, CFR_K8S_SECRET_TOTAL_MAX, err);
    if (rc == 0)
        cfr_secret_move(&t->keys.items[t->keys.count - 1].value, value);
    return rc;
}

/* What the Secret of BODY holds of the key before this one becomes KEY.old, so that one apply writes both. What holds
 * this key already keeps its KEY.old; what holds no rotated key has none. */
static int add_previous(struct target *t, struct cfr_view body, struct cfr_err *err)
{
    char old[CFR_MINT_FILES_MAX][CFR_K8S_SECRET_KEY_MAX + sizeof CFR_MINT_OLD_SUFFIX];
    const char *names[2 * CFR_MINT_FILES_MAX + 1] = {CFR_ROTATION_FILE};
    struct cfr_secret values[2 * CFR_MINT_FILES_MAX + 1];
    bool there[2 * CFR_MINT_FILES_MAX + 1];
    struct cfr_k8s_secret_key keys[CFR_CONFIG_FILES_MAX];
    struct cfr_k8s_secret_object o;
    size_t files = t->own_count - 1;
    bool same;
    int rc;

    for (size_t i = 0; i < files; i++) {
        (void)snprintf(old[i], sizeof old[i], "%s" CFR_MINT_OLD_SUFFIX, t->keys.items[i].name);
        names[1 + i] = t->keys.items[i].name;
        names[1 + files + i] = old[i];
    }
    rc = cfr_k8s_secret_apply_values(body, names, 1 + 2 * files, values, there, err);
    same =
        rc == 0 && there[0] && cfr_view_eq(cfr_secret_view(&values[0]), cfr_secret_view(&t->keys.items[files].value));
    for (size_t i = 0; rc == 0 && there[0] && i < files; i++) {
        size_t from = 1 + i + (same ? files : 0);

        if (there[from])
            rc = add_old(t, i, &values[from], err);
    }
    for (size_t i = 0; i < 1 + 2 * files; i++)
        cfr_secret_free(&values[i]);
    if (rc != 0)
        return rc;
    o = object_of(t, keys);
    return cfr_k8s_secret_apply_check(&o, err);
}

/* The look before: may it be written? Then goes on with the apply. */
static int after_look(struct target *t, const struct cfr_kube_answer *answer, int64_t *retry_after_s,
                      struct cfr_err *err)
{
    struct cfr_k8s_secret_key keys[CFR_CONFIG_FILES_MAX];
    struct cfr_k8s_secret_object o = object_of(t, keys);
    int rc = 0;

    t->absent = answer->status == 404;
    cfr_publish_keys_cut(&t->keys, t->own_count);
    o.key_count = t->keys.count;
    if (answer->status == 200)
        rc = cfr_k8s_secret_apply_may(&o, answer->body, t->config->adopt, err);
    else if (answer->status != 404)
        rc = refuse(t, answer, retry_after_s, err);
    if (rc == 0 && answer->status == 200 && t->minted)
        rc = add_previous(t, answer->body, err);
    return rc != 0 ? rc : send(t, APPLY, err);
}

/* The look at what was applied. */
static void after_periodic_look(struct target *t, const struct cfr_kube_answer *answer)
{
    struct cfr_k8s_secret_key keys[CFR_CONFIG_FILES_MAX];
    struct cfr_k8s_secret_object o = object_of(t, keys);
    int64_t retry_after_s = answer->retry_after_s;
    struct cfr_err err = answer->err;
    int64_t pause_ms;
    bool lost = false;
    int rc = answer->error;

    if (rc == 0 && answer->status == 200) {
        rc = cfr_k8s_secret_apply_held(&o, answer->body, &err);
        lost = rc == CFR_E_MISSING;
    } else if (rc == 0 && answer->status == 404) {
        rc = cfr_err_set(&err, CFR_E_MISSING, "%s was deleted: it is published again", t->name);
        lost = true;
    } else if (rc == 0) {
        rc = refuse(t, answer, &retry_after_s, &err);
    }
    /* If something newer is to be applied by now, that looks itself. */
    if (rc == 0 || t->loaded) {
        /* One that is removed again and again must not seem to stay because it was seen in between. */
        if (rc == 0 && cfr_clock_now().boot_ms - t->applied_boot_ms >= pause_of(t))
            t->losses = 0;
        clear_error(t);
        look_later(t);
        t->all->ended(t->all->ctx, t->name, t->done, NULL, false);
    } else if (lost) {
        lose(t, &err);
    } else {
        pause_ms = backoff_ms(t, &err, retry_after_s);
        t->look_boot_ms = cfr_clock_now().boot_ms + (t->seen && pause_ms < LOOK_MS ? LOOK_MS : pause_ms);
        note_error(t, &err);
    }
}

static int after_apply(struct target *t, const struct cfr_kube_answer *answer, int64_t *retry_after_s,
                       struct cfr_err *err)
{
    struct cfr_k8s_secret_key keys[CFR_CONFIG_FILES_MAX];
    struct cfr_k8s_secret_object o = object_of(t, keys);

    /* Only its namespace can be missing. */
    if (answer->status == 404)
        watch(t, "/api/v1/namespaces", t->namespace_name, true, on_namespace, &t->space_watch);
    if (answer->status == 409)
        return cfr_k8s_secret_apply_conflict(&o, answer->body, err);
    if (answer->status != 200 && answer->status != 201)
        return refuse(t, answer, retry_after_s, err);
    return 0;
}

/* Logs once what the API server warns of, such as an admission policy that will refuse later. */
static void log_warning(struct target *t, const struct cfr_kube_answer *answer)
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

static void on_answer(void *ctx, const struct cfr_kube_answer *answer)
{
    struct target *t = ctx;
    struct cfr_err err = answer->err;
    int64_t retry_after_s = answer->retry_after_s;
    bool applying = t->purpose == APPLY;
    int rc = answer->error;

    t->call = NULL;
    cfr_secret_free(&t->body);
    log_warning(t, answer);
    if (rc == 0 && (answer->status == 200 || answer->status == 201)) {
        cfr_k8s_secret_apply_version(answer->body, t->version);
        if (t->config->events)
            cfr_k8s_secret_apply_uid(answer->body, t->uid);
    } else if (rc == 0 && answer->status == 404)
        t->version[0] = '\0';
    if (t->purpose == LOOK) {
        after_periodic_look(t, answer);
        follow_watch(t);
        return;
    }
    if (rc == 0)
        rc = applying ? after_apply(t, answer, &retry_after_s, &err) : after_look(t, answer, &retry_after_s, &err);
    if (rc != 0)
        fail(t, &err, retry_after_s);
    else if (applying)
        succeed(t);
    follow_watch(t);
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

static int send(struct target *t, enum purpose purpose, struct cfr_err *err)
{
    bool apply = purpose == APPLY;
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
    name_secret(t->config, t->namespace_name, t->name);
    return 0;
}

static int64_t due_at(const struct target *t)
{
    return t->loaded ? t->next_boot_ms : t->look_boot_ms;
}

void cfr_publish_secret_step(struct cfr_delivery *d, struct cfr_now now)
{
    for (size_t i = 0; d != NULL && i < d->count; i++) {
        struct target *t = &d->targets[i];
        struct cfr_err err = {0};

        check_expired(t, now);
        if (t->call != NULL || due_at(t) > now.boot_ms)
            continue;
        if (t->watch == NULL && find_namespace(t, NULL) == 0)
            watch_object(t);
        if (t->loaded) {
            t->next_boot_ms = INT64_MAX;
            t->last_run_s = now.wall_ms / 1000;
            if (find_namespace(t, &err) != 0 || send(t, BEFORE, &err) != 0)
                fail(t, &err, -1);
        } else if (find_namespace(t, &err) != 0 || send(t, LOOK, &err) != 0) {
            t->look_boot_ms = now.boot_ms + LOOK_MS;
            note_error(t, &err);
        } else {
            t->look_boot_ms = INT64_MAX;
        }
    }
}

/* ---- what others ask ---- */

int64_t cfr_publish_secret_deadline(const struct cfr_delivery *d)
{
    int64_t at = INT64_MAX;

    for (size_t i = 0; d != NULL && i < d->count; i++) {
        if (d->targets[i].call == NULL && due_at(&d->targets[i]) < at)
            at = due_at(&d->targets[i]);
    }
    return at;
}

bool cfr_publish_secret_running(const struct cfr_delivery *d)
{
    for (size_t i = 0; d != NULL && i < d->count; i++) {
        if (is_writing(&d->targets[i]))
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
        const struct target *t = &d->targets[i];

        if ((t->done != t->wanted || !t->seen) && !is_lost(t) && t->error != NULL &&
            cfr_err_class(t->error_code) != CFR_CLASS_RETRY)
            return t->error_code;
    }
    return 0;
}

const char *cfr_publish_secret_error(const struct cfr_delivery *d)
{
    for (size_t i = 0; d != NULL && i < d->count; i++) {
        if ((d->targets[i].done != d->targets[i].wanted || !d->targets[i].seen) && d->targets[i].error != NULL)
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
            .result = is_writing(t)          ? "running"
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
