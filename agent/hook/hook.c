/* SPDX-License-Identifier: MIT */
/* Hooks. */
#include "agent/hook/hook.h"

#include "agent/hook/ack.h"
#include "agent/loop/process.h"
#include "token/refresh.h"

#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define KILL_AFTER_MS 5000

struct hook {
    uint64_t wanted; /* generation it is to be run for; 0 = none yet */
    uint64_t done;   /* generation it last succeeded for */
    uint64_t tried;  /* generation of the running or last attempt */
    int64_t next_ms; /* boot time of the next attempt */
    int64_t last_run_s;
    unsigned attempts; /* for `wanted` */
    bool given_up;
    bool failed; /* the last attempt */
    uint64_t runs_ok;
    uint64_t runs_failed;
    char *error;   /* heap, of the last attempt */
    char *name;    /* heap, in words */
    char *header;  /* heap, acknowledge_header, or NULL; outlives the configuration that a request began under */
    uint64_t said; /* the generation that it named last */
};

struct cfr_hooks {
    const struct cfr_config_credential *credential;
    struct cfr_http *http;
    unsigned max_attempts;
    cfr_hook_fn *ended;
    void *ctx;
    struct hook *hooks;
    size_t count;
    struct cfr_api_status_hook *status;
    size_t running;    /* index, or count when none runs */
    void *http_handle; /* of a running HTTP hook */
    pid_t pid;         /* of a running command */
    int pidfd;
    int64_t deadline_ms; /* when the running command is told to end, and later killed */
    bool terminated;
};

static const struct cfr_config_hook *config_of(const struct cfr_hooks *h, size_t i)
{
    return (const struct cfr_config_hook *)h->credential->reload.items + i;
}

static char *describe(const struct cfr_config_hook *c)
{
    char text[512];

    if (c->signal != NULL)
        (void)snprintf(text, sizeof text, "signal %s to %s", cfr_config_signals[c->signal->signal],
                       c->signal->pid_file != NULL ? c->signal->pid_file : c->signal->executable);
    else if (c->http != NULL)
        (void)snprintf(text, sizeof text, "http %s %s", cfr_config_methods[c->http->method], c->http->url);
    else
        (void)snprintf(text, sizeof text, "exec %s", c->exec.items[0]);
    return strdup(text);
}

static bool copy_header(struct hook *k, const struct cfr_config_hook *c)
{
    const char *header = c->http != NULL ? c->http->acknowledge_header : NULL;

    k->header = header != NULL ? strdup(header) : NULL;
    return header == NULL || k->header != NULL;
}

int cfr_hook_open(const struct cfr_config_credential *c, struct cfr_http *http, unsigned max_attempts,
                  cfr_hook_fn *ended, void *ctx, struct cfr_hooks **out, struct cfr_err *err)
{
    struct cfr_hooks *h = calloc(1, sizeof *h);
    bool good;

    if (h == NULL)
        return cfr_err_set(err, CFR_E_NOMEM, "out of memory");
    *h = (struct cfr_hooks){c,    http, max_attempts, ended,     ctx,  NULL, c->reload.count, NULL, c->reload.count,
                            NULL, 0,    -1,           INT64_MAX, false};
    h->hooks = calloc(h->count + 1, sizeof(struct hook));
    good = h->hooks != NULL;
    for (size_t i = 0; good && i < h->count; i++) {
        h->hooks[i].name = describe(config_of(h, i));
        good = h->hooks[i].name != NULL && copy_header(&h->hooks[i], config_of(h, i));
    }
    if (!good) {
        cfr_hook_close(h);
        return cfr_err_set(err, CFR_E_NOMEM, "out of memory");
    }
    *out = h;
    return 0;
}

static void end_running(struct cfr_hooks *h)
{
    if (h->http_handle != NULL)
        cfr_http_cancel(h->http, h->http_handle);
    if (h->pidfd >= 0)
        cfr_process_end(h->pid, h->pidfd);
    h->http_handle = NULL;
    h->pidfd = -1;
    h->running = h->count;
}

void cfr_hook_close(struct cfr_hooks *h)
{
    end_running(h);
    for (size_t i = 0; h->hooks != NULL && i < h->count; i++) {
        free(h->hooks[i].error);
        free(h->hooks[i].name);
        free(h->hooks[i].header);
    }
    free(h->hooks);
    free(h->status);
    free(h);
}

void cfr_hook_rebind(struct cfr_hooks *h, const struct cfr_config_credential *c)
{
    h->credential = c;
}

void cfr_hook_request(struct cfr_hooks *h, uint64_t generation, bool first, struct cfr_now now)
{
    for (size_t i = 0; i < h->count; i++) {
        struct hook *k = &h->hooks[i];

        k->wanted = generation;
        k->attempts = 0;
        k->given_up = false;
        k->next_ms = now.boot_ms;
        if (first && config_of(h, i)->on_first == CFR_ON_FIRST_SKIP)
            k->done = generation;
    }
}

void cfr_hook_restore(struct cfr_hooks *h, size_t index, uint64_t done, uint64_t generation, struct cfr_now now)
{
    if (index >= h->count)
        return;
    /* Nobody has said that it uses what it was told of before it was asked. */
    h->hooks[index].done = h->hooks[index].header != NULL && h->hooks[index].said < done ? h->hooks[index].said : done;
    h->hooks[index].wanted = generation;
    h->hooks[index].next_ms = now.boot_ms;
}

void cfr_hook_restore_said(struct cfr_hooks *h, size_t index, uint64_t said)
{
    if (index < h->count)
        h->hooks[index].said = said;
}

static bool is_pending(const struct hook *k)
{
    return k->wanted > k->done && !k->given_up;
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

static void ended(struct cfr_hooks *h, int rc, const struct cfr_err *err, struct cfr_now now)
{
    struct hook *k = &h->hooks[h->running];
    bool news = rc != 0 && (k->error == NULL || strcmp(k->error, err->text) != 0);

    h->running = h->count;
    h->deadline_ms = INT64_MAX;
    h->terminated = false;
    free(k->error);
    k->error = NULL;
    k->last_run_s = now.wall_ms / 1000;
    k->failed = rc != 0;
    if (rc == 0) {
        k->done = k->tried;
        k->runs_ok++;
    } else {
        k->runs_failed++;
        k->error = strdup(err->text);
        k->next_ms = now.boot_ms + cfr_refresh_backoff(k->attempts, 1000, 300000, cfr_clock_chance());
        /* A newer generation came meanwhile: it gets its own attempts, starting now. */
        if (k->tried != k->wanted)
            k->next_ms = now.boot_ms;
        else if (++k->attempts == h->max_attempts && h->max_attempts != 0)
            k->given_up = true;
    }
    h->ended(h->ctx, k->name, k->tried, rc != 0 ? err->text : NULL, news);
}

/* Which generation the consumer has in use, by its answer's header. */
static int take_said(struct hook *k, struct cfr_view value, struct cfr_err *err)
{
    uint64_t number;

    if (value.n == 0)
        return cfr_err_set(err, CFR_E_REJECTED, "the answer has no %s", k->header);
    if (!cfr_hook_ack_number(value, &number) || number > k->wanted)
        return cfr_err_set(err, CFR_E_REJECTED, "the answer's %s is no generation that was published", k->header);
    k->said = number;
    if (number < k->tried)
        return cfr_err_set(err, CFR_E_REJECTED,
                           "the answer says that generation %" PRIu64 " is in use, not %" PRIu64 " yet", number,
                           k->tried);
    return 0;
}

static void on_http(void *ctx, const struct cfr_http_answer *answer)
{
    struct cfr_hooks *h = ctx;
    const struct cfr_config_http *c = config_of(h, h->running)->http;
    struct cfr_err err = answer->err;
    int rc = answer->error;

    h->http_handle = NULL;
    if (rc == 0 && (c->expect != 0 ? answer->status != c->expect : answer->status < 200 || answer->status > 299))
        rc = cfr_err_set(&err, CFR_E_REJECTED, "answered %ld", answer->status);
    if (rc == 0 && h->hooks[h->running].header != NULL)
        rc = take_said(&h->hooks[h->running], answer->header, &err);
    ended(h, rc, &err, cfr_clock_now());
}

static int add_header(struct cfr_secret *header, const char *fmt, const char *text, struct cfr_err *err)
{
    char line[256];

    (void)snprintf(line, sizeof line, "%s%s", fmt, text);
    cfr_secret_init(header, sizeof line);
    return cfr_secret_append_str(header, line, err);
}

static int start_http(struct cfr_hooks *h, const struct cfr_config_hook *c, uint64_t generation, struct cfr_err *err)
{
    struct cfr_secret headers[2] = {{0}};
    char number[24];
    struct cfr_http_request request = {
        .method = cfr_config_methods[c->http->method],
        .url = c->http->url,
        .ca_file = c->http->ca_file,
        .headers = headers,
        .header_count = 2,
        .keep_header = h->hooks[h->running].header,
        .answer_max = 65536,
        .timeout_ms = c->timeout_ms,
    };
    int rc;

    (void)snprintf(number, sizeof number, "%" PRIu64, generation);
    rc = add_header(&headers[0], "X-Credfresh-Credential: ", h->credential->name, err);
    if (rc == 0)
        rc = add_header(&headers[1], "X-Credfresh-Generation: ", number, err);
    if (rc == 0)
        rc = cfr_http_start(h->http, &request, on_http, h, &h->http_handle, err);
    cfr_secret_free(&headers[0]);
    cfr_secret_free(&headers[1]);
    return rc;
}

/* NULL for what is not on this machine: a Secret of the cluster. */
static const char *path_of(const struct cfr_config_publish *t)
{
    if (t->directory != NULL)
        return t->directory;
    if (t->file != NULL)
        return t->file->path;
    return t->profile != NULL ? t->profile->path : NULL;
}

/* All published paths, colon-separated, as PATH is. */
static void list_paths(const struct cfr_config_credential *c, struct cfr_str *out)
{
    const char *between = "";

    for (size_t i = 0; i < c->publish.count; i++) {
        const char *path = path_of((const struct cfr_config_publish *)c->publish.items + i);

        if (path == NULL)
            continue;
        cfr_str_addf(out, "%s%s", between, path);
        between = ":";
    }
}

static int start_exec(struct cfr_hooks *h, const struct cfr_config_hook *c, uint64_t generation, struct cfr_now now,
                      struct cfr_err *err)
{
    struct cfr_str paths = {.limit = 65536};
    char name[128];
    char number[64];
    const char *path = getenv("PATH");
    struct cfr_str search = {.limit = 65536};
    char **argv = calloc(c->exec.count + 1, sizeof(char *));
    char *environment[5] = {name, number, NULL, NULL, NULL};
    int rc;

    (void)snprintf(name, sizeof name, "CREDFRESH_CREDENTIAL=%s", h->credential->name);
    (void)snprintf(number, sizeof number, "CREDFRESH_GENERATION=%" PRIu64, generation);
    cfr_str_addz(&paths, "CREDFRESH_PATHS=");
    list_paths(h->credential, &paths);
    cfr_str_addf(&search, "PATH=%s", path != NULL ? path : "/usr/sbin:/usr/bin:/sbin:/bin");
    if (argv == NULL || paths.failed || search.failed) {
        rc = cfr_err_set(err, CFR_E_NOMEM, "out of memory");
    } else {
        environment[2] = paths.p;
        environment[3] = search.p;
        memcpy(argv, c->exec.items, c->exec.count * sizeof(char *));
        rc = cfr_process_start(argv, environment, &h->pid, &h->pidfd, err);
        h->deadline_ms = now.boot_ms + c->timeout_ms;
    }
    free(argv);
    cfr_str_free(&paths);
    cfr_str_free(&search);
    return rc;
}

static void start(struct cfr_hooks *h, size_t i, struct cfr_now now)
{
    const struct cfr_config_hook *c = config_of(h, i);
    struct cfr_err err = {0};
    int rc;

    h->running = i;
    h->hooks[i].tried = h->hooks[i].wanted;
    if (c->signal != NULL) {
        int signal = cfr_config_signal_number(c->signal->signal);

        rc = c->signal->pid_file != NULL ? cfr_process_signal_file(c->signal->pid_file, signal, &err)
                                         : cfr_process_signal_executable(c->signal->executable, signal, &err);
        ended(h, rc, &err, now);
        return;
    }
    rc = c->http != NULL ? start_http(h, c, h->hooks[i].tried, &err) : start_exec(h, c, h->hooks[i].tried, now, &err);
    if (rc != 0)
        ended(h, rc, &err, now);
}

static void end_slow(struct cfr_hooks *h, struct cfr_now now)
{
    if (h->pidfd < 0 || h->deadline_ms > now.boot_ms)
        return;
    cfr_process_kill_group(h->pid, h->terminated ? SIGKILL : SIGTERM);
    h->deadline_ms = h->terminated ? INT64_MAX : now.boot_ms + KILL_AFTER_MS;
    h->terminated = true;
}

void cfr_hook_step(struct cfr_hooks *h, struct cfr_now now)
{
    end_slow(h, now);
    for (size_t i = 0; i < h->count && h->running == h->count; i++) {
        if (is_pending(&h->hooks[i]) && h->hooks[i].next_ms <= now.boot_ms)
            start(h, i, now);
    }
}

int64_t cfr_hook_deadline(const struct cfr_hooks *h)
{
    int64_t next = INT64_MAX;

    if (h->running < h->count)
        return h->deadline_ms;
    for (size_t i = 0; i < h->count; i++) {
        if (is_pending(&h->hooks[i]) && h->hooks[i].next_ms < next)
            next = h->hooks[i].next_ms;
    }
    return next;
}

bool cfr_hook_running(const struct cfr_hooks *h)
{
    return h->running < h->count;
}

int cfr_hook_pidfd(const struct cfr_hooks *h)
{
    return h->pidfd;
}

void cfr_hook_child(struct cfr_hooks *h, struct cfr_now now)
{
    struct cfr_err err = {0};
    bool slow = h->terminated;
    int rc;

    /* What it started may not have obeyed as it did. Until it is reaped, the number of the group is taken. */
    if (slow)
        cfr_process_kill_group(h->pid, SIGKILL);
    rc = cfr_process_reap(h->pid, h->pidfd, &err);

    h->pidfd = -1;
    if (slow)
        rc = cfr_err_set(&err, CFR_E_TIMEOUT, "took longer than its timeout of %" PRId64 " ms and was ended",
                         config_of(h, h->running)->timeout_ms);
    ended(h, rc, &err, now);
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
    if (h->status == NULL)
        h->status = calloc(h->count + 1, sizeof *h->status);
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
