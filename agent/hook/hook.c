/* SPDX-License-Identifier: MIT */
/* Schedule of a credential's hooks: one run at a time, coalesced to the newest generation, repeated after failures. */
#include "agent/hook/hook.h"

#include "agent/hook/hook_private.h"
#include "agent/loop/backoff.h"
#include "agent/loop/log_once.h"
#include "agent/loop/loop.h"
#include "agent/loop/process.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

struct hook {
    const struct cfr_hook_ops *kind;
    uint64_t wanted; /* generation it is to be run for; 0 = none yet */
    uint64_t done;   /* generation it last succeeded for */
    uint64_t tried;  /* generation of the running or last attempt */
    int64_t next_ms; /* boot time of the next attempt */
    int64_t last_run_s;
    struct cfr_backoff backoff; /* its failures are those for `wanted` */
    struct cfr_log_once logged;
    bool given_up;
    bool failed; /* the last attempt */
    uint64_t runs_ok;
    uint64_t runs_failed;
    char *error;   /* heap, of the last attempt */
    char *name;    /* heap, for people */
    char *header;  /* heap, acknowledge_header, or NULL; outlives the configuration that a request began under */
    uint64_t said; /* the generation that it named last */
};

struct cfr_hooks {
    struct cfr_task task; /* the next start, or the end of what runs */
    struct cfr_child child;
    const struct cfr_config_credential *credential;
    struct cfr_http *http;
    struct cfr_kube *kube;
    unsigned max_attempts;
    uint64_t number;
    int64_t issued_ms;
    cfr_hook_fn *ended;
    void *ctx;
    struct cfr_api_status_hook *status; /* heap; NULL until it is asked for */
    struct cfr_hook_run run;
    size_t running; /* index, or count when none runs */
    size_t count;
    struct hook hooks[];
};

static const struct cfr_config_hook *config_at(const struct cfr_config_credential *c, size_t i)
{
    return (const struct cfr_config_hook *)c->reload.items + i;
}

static const struct cfr_config_hook_kind *kind_at(size_t index)
{
    return cfr_hook_kinds[index] != NULL ? &cfr_hook_kinds[index]->kind : NULL;
}

void cfr_hook_register(void)
{
    cfr_config_register_hooks(kind_at);
}

/* The row of C's kind, which begins with what the configuration knows of it; NULL if C has none. */
static const struct cfr_hook_ops *find_kind(const struct cfr_config_hook *c, const void **config)
{
    return (const struct cfr_hook_ops *)cfr_config_hook_kind(c, config);
}

static int open_hook(struct hook *k, const struct cfr_config_hook *c, struct cfr_err *err)
{
    char name[CFR_HOOK_NAME_MAX];
    const char *header;
    const void *config;

    k->kind = find_kind(c, &config);
    if (k->kind == NULL)
        return cfr_err_set(err, CFR_E_INTERNAL, "a hook is of no kind");
    k->kind->describe(config, name);
    k->name = strdup(name);
    header = k->kind->kind.acknowledge_header != NULL ? k->kind->kind.acknowledge_header(config) : NULL;
    k->header = header != NULL ? strdup(header) : NULL;
    if (k->name == NULL || (header != NULL && k->header == NULL))
        return cfr_err_nomem(err);
    return 0;
}

static bool is_pending(const struct hook *k)
{
    return k->wanted > k->done && !k->given_up;
}

static void run_hooks(struct cfr_task *task);

static void arm(struct cfr_hooks *h)
{
    int64_t next = h->running < h->count ? h->run.deadline_ms : INT64_MAX;

    for (size_t i = 0; h->running == h->count && i < h->count; i++) {
        if (is_pending(&h->hooks[i]) && h->hooks[i].next_ms < next)
            next = h->hooks[i].next_ms;
    }
    cfr_loop_at(&h->task, next);
}

int cfr_hook_open(const struct cfr_config_credential *c, struct cfr_http *http, struct cfr_kube *kube,
                  unsigned max_attempts, cfr_hook_fn *ended, void *ctx, struct cfr_hooks **out, struct cfr_err *err)
{
    struct cfr_hooks *h = calloc(1, sizeof *h + c->reload.count * sizeof h->hooks[0]);
    int rc = 0;

    if (h == NULL)
        return cfr_err_nomem(err);
    *h = (struct cfr_hooks){
        .credential = c,
        .http = http,
        .kube = kube,
        .max_attempts = max_attempts,
        .ended = ended,
        .ctx = ctx,
        .count = c->reload.count,
        .running = c->reload.count,
        .run = {.deadline_ms = INT64_MAX},
    };
    h->task.run = run_hooks;
    for (size_t i = 0; rc == 0 && i < h->count; i++)
        rc = open_hook(&h->hooks[i], config_at(c, i), err);
    if (rc != 0) {
        cfr_hook_close(h);
        return rc;
    }
    *out = h;
    return 0;
}

void cfr_hook_close(struct cfr_hooks *h)
{
    cfr_loop_off(&h->task);
    cfr_loop_child_off(&h->child);
    if (h->running < h->count)
        h->hooks[h->running].kind->cancel(&h->run);
    for (size_t i = 0; i < h->count; i++) {
        free(h->hooks[i].error);
        free(h->hooks[i].name);
        free(h->hooks[i].header);
    }
    free(h->status);
    free(h);
}

void cfr_hook_set_issued(struct cfr_hooks *h, uint64_t number, int64_t issued_ms)
{
    h->number = number;
    h->issued_ms = issued_ms;
}

void cfr_hook_rebind(struct cfr_hooks *h, const struct cfr_config_credential *c)
{
    h->credential = c;
    if (h->running < h->count) {
        h->run.credential = c;
        (void)find_kind(config_at(c, h->running), &h->run.config);
    }
}

void cfr_hook_request(struct cfr_hooks *h, uint64_t generation, bool first, struct cfr_now now)
{
    for (size_t i = 0; i < h->count; i++) {
        struct hook *k = &h->hooks[i];

        k->wanted = generation;
        k->backoff = (struct cfr_backoff){0};
        k->given_up = false;
        k->next_ms = now.boot_ms;
        if (first && config_at(h->credential, i)->on_first == CFR_ON_FIRST_SKIP)
            k->done = generation;
    }
    arm(h);
}

void cfr_hook_restore(struct cfr_hooks *h, size_t index, uint64_t done, uint64_t generation, struct cfr_now now)
{
    if (index >= h->count)
        return;
    /* A consumer that has only just been given an acknowledge_header has not acknowledged anything. */
    h->hooks[index].done = h->hooks[index].header != NULL && h->hooks[index].said < done ? h->hooks[index].said : done;
    h->hooks[index].wanted = generation;
    h->hooks[index].next_ms = now.boot_ms;
    arm(h);
}

void cfr_hook_restore_said(struct cfr_hooks *h, size_t index, uint64_t said)
{
    if (index < h->count)
        h->hooks[index].said = said;
}

bool cfr_hook_pending(const struct cfr_hooks *h)
{
    for (size_t i = 0; i < h->count; i++) {
        if (is_pending(&h->hooks[i]))
            return true;
    }
    return h->running < h->count;
}

bool cfr_hook_failed(const struct cfr_hooks *h)
{
    for (size_t i = 0; i < h->count; i++) {
        if (h->hooks[i].given_up)
            return true;
    }
    return false;
}

/* Reads which generation the consumer has in use from its answer's header. */
static int read_acknowledged(struct hook *k, struct cfr_view value, struct cfr_err *err)
{
    uint64_t number;

    if (value.n == 0)
        return cfr_err_set(err, CFR_E_REJECTED, "the answer has no %s", k->header);
    if (!cfr_hook_ack_number(value, &number) || number > k->wanted)
        return cfr_err_set(err, CFR_E_REJECTED, "the answer's %s is not a published generation", k->header);
    k->said = number;
    if (number < k->tried)
        return cfr_err_set(err, CFR_E_REJECTED,
                           "the answer says that generation %" PRIu64 " is in use, not %" PRIu64 " yet", number,
                           k->tried);
    return 0;
}

static void finish(struct cfr_hooks *h, int rc, const struct cfr_err *err, struct cfr_now now)
{
    struct hook *k = &h->hooks[h->running];
    bool news = false;

    h->running = h->count;
    h->run.deadline_ms = INT64_MAX;
    cfr_loop_child_off(&h->child);
    k->last_run_s = now.wall_ms / 1000;
    k->failed = rc != 0;
    free(k->error);
    k->error = NULL;
    if (rc == 0) {
        k->logged = (struct cfr_log_once){0};
        k->done = k->tried;
        k->runs_ok++;
    } else {
        news = cfr_log_once_is_news(&k->logged, err);
        k->runs_failed++;
        k->error = strdup(err->text);
        if (k->tried != k->wanted) {
            /* A newer generation was published meanwhile: it gets its own attempts, starting now. */
            k->next_ms = now.boot_ms;
        } else {
            k->next_ms =
                now.boot_ms + cfr_backoff_failed(&k->backoff, &(struct cfr_backoff_cause){.class = CFR_CLASS_RETRY},
                                                 cfr_clock_chance());
            k->given_up = h->max_attempts != 0 && k->backoff.failures == h->max_attempts;
        }
    }
    arm(h);
    h->ended(h->ctx, k->name, k->tried, rc != 0 ? err->text : NULL, news);
}

static void on_ended(void *ctx, int rc, const struct cfr_err *err, struct cfr_view acknowledged)
{
    struct cfr_hooks *h = ctx;
    struct hook *k = &h->hooks[h->running];
    struct cfr_err why = *err;

    if (rc == 0 && k->header != NULL)
        rc = read_acknowledged(k, acknowledged, &why);
    finish(h, rc, &why, cfr_clock_now());
}

static void start_hook(struct cfr_hooks *h, size_t i, struct cfr_now now)
{
    struct hook *k = &h->hooks[i];
    struct cfr_err err = {0};
    int rc;

    h->running = i;
    k->tried = k->wanted;
    h->run = (struct cfr_hook_run){
        .credential = h->credential,
        .timeout_ms = config_at(h->credential, i)->timeout_ms,
        .http = h->http,
        .kube = h->kube,
        .acknowledge_header = k->header,
        .generation = k->tried,
        .number = h->number,
        .issued_ms = h->issued_ms,
        .ended = on_ended,
        .ctx = h,
        .deadline_ms = INT64_MAX,
    };
    (void)find_kind(config_at(h->credential, i), &h->run.config);
    rc = k->kind->start(&h->run, now, &err);
    if (rc != CFR_HOOK_STARTED)
        finish(h, rc, &err, now);
    else if (h->run.pid != 0)
        cfr_loop_child(&h->child, h->run.pid, &h->task);
}

static void run_hooks(struct cfr_task *task)
{
    struct cfr_hooks *h = CFR_TASK_OWNER(task, struct cfr_hooks, task);
    struct cfr_now now = cfr_clock_now();

    if (h->running < h->count && h->run.pid != 0 && cfr_process_has_ended(h->run.pid))
        h->hooks[h->running].kind->on_child(&h->run, now);
    else if (h->running < h->count && h->run.deadline_ms <= now.boot_ms)
        h->hooks[h->running].kind->on_deadline(&h->run, now);
    for (size_t i = 0; i < h->count && h->running == h->count; i++) {
        if (is_pending(&h->hooks[i]) && h->hooks[i].next_ms <= now.boot_ms)
            start_hook(h, i, now);
    }
    arm(h);
}

bool cfr_hook_running(const struct cfr_hooks *h)
{
    return h->running < h->count || cfr_loop_time(&h->task) <= cfr_clock_now().boot_ms;
}

void cfr_hook_resume(struct cfr_hooks *h, bool cluster, struct cfr_now now)
{
    const struct cfr_hook_ops *kind = cluster ? &cfr_hook_rollout : &cfr_hook_http;

    for (size_t i = 0; i < h->count; i++) {
        struct hook *k = &h->hooks[i];

        if (k->kind != kind || !is_pending(k) || k->backoff.failures == 0 || k->next_ms <= now.boot_ms)
            continue;
        k->backoff = (struct cfr_backoff){0};
        k->next_ms = now.boot_ms;
    }
    arm(h);
}

int cfr_hook_list(const struct cfr_config_credential *c, struct cfr_secret *list, struct cfr_err *err)
{
    int rc = 0;

    for (size_t i = 0; rc == 0 && i < c->reload.count; i++) {
        const void *config;
        const struct cfr_hook_ops *kind = find_kind(config_at(c, i), &config);

        if (kind != NULL && kind->list != NULL)
            rc = kind->list(c, config, list, err);
    }
    return rc;
}

void cfr_hook_inspect(const struct cfr_config_hook *c, const struct cfr_hook_inspection *inspection)
{
    const void *config;
    const struct cfr_hook_ops *kind = find_kind(c, &config);

    if (kind != NULL)
        kind->inspect(config, inspection);
}

size_t cfr_hook_count(const struct cfr_hooks *h)
{
    return h->count;
}

uint64_t cfr_hook_done(const struct cfr_hooks *h, size_t index)
{
    return h->hooks[index].done;
}

const char *cfr_hook_name(const struct cfr_hooks *h, size_t index)
{
    return h->hooks[index].name;
}

bool cfr_hook_acknowledges(const struct cfr_hooks *h, size_t index)
{
    return h->hooks[index].header != NULL;
}

uint64_t cfr_hook_said(const struct cfr_hooks *h, size_t index)
{
    return h->hooks[index].said;
}

const struct cfr_api_status_hook *cfr_hook_status(struct cfr_hooks *h)
{
    if (h->status == NULL && h->count != 0)
        h->status = calloc(h->count, sizeof *h->status);
    for (size_t i = 0; h->status != NULL && i < h->count; i++) {
        const struct hook *k = &h->hooks[i];

        h->status[i] = (struct cfr_api_status_hook){
            .name = k->name,
            .result = h->running == i      ? "running"
                      : k->failed          ? "failed"
                      : is_pending(k)      ? "pending"
                      : k->last_run_s != 0 ? "ok"
                                           : "none",
            .error = k->error,
            .last_run_s = k->last_run_s,
            .generation = k->done,
            .runs_ok = k->runs_ok,
            .runs_failed = k->runs_failed,
        };
    }
    return h->status;
}
