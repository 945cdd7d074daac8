/* SPDX-License-Identifier: MIT */
/* Streams: lists, watches, and what happens between them. */
#include "agent/kube/stream.h"

#include "agent/kube/client_private.h"
#include "agent/loop/backoff.h"
#include "agent/loop/log_once.h"
#include "kube/name.h"
#include "kube/status.h"
#include "kube/watch_answer.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define LIST_CHUNK   100   /* objects; they are parsed together */
#define LIST_FEWER   4     /* a chunk that is too large is asked for again with so many times fewer */
#define WATCH_S      300   /* the server then ends the watch, and the next one continues; later where there are many: */
#define WATCH_EACH_S 30    /* so long for each of them, so that all together begin at most two a minute */
#define WATCH_LATE   30000 /* ... or it did not, and we do */
#define WATCH_SHORT  5000  /* a watch that ends before is a failure */
#define CHUNKS_MAX   1000  /* of a list */
#define STREAMS_MAX  256
#define QUERY_MAX    16384 /* a continue token, percent-encoded */
#define COLLECT_MAX  512
#define SELECTOR_MAX 1024
#define RESOURCE_MAX 256

struct cfr_kube_stream {
    struct cfr_kube_stream *next;
    struct cfr_kube *kube;
    char *kubeconfig;
    char *context;
    char collection[COLLECT_MAX];
    char selector[SELECTOR_MAX]; /* of the query */
    char name[CFR_K8S_NAME_MAX + 1];
    struct cfr_kube_selection config; /* of which the texts are not used */
    struct cfr_kube_call *call;
    bool watching;                     /* the call is a watch, else a list */
    bool live;                         /* every change until now was reported */
    int watch_s;                       /* how long the watch is to last */
    char version[CFR_K8S_VERSION_MAX]; /* that the watch has reached; empty: a list is needed */
    char more[CFR_K8S_CONTINUE_MAX];   /* of the list; empty: from its start */
    unsigned chunk;                    /* objects that are asked for at once */
    unsigned chunks;                   /* of the list */
    int64_t begun_boot_ms;             /* when the call was begun */
    struct cfr_err broken;             /* why the watch must end */
    struct cfr_task task;              /* begins the next call; idle while one is in progress */
    int64_t watch_boot_ms;             /* of the next watch, where the list is repeated */
    struct cfr_backoff list_backoff;
    struct cfr_backoff watch_backoff;
    struct cfr_log_once logged;
};

static void on_seen(void *ctx, struct cfr_view space, struct cfr_view name, const char *version)
{
    struct cfr_kube_stream *s = ctx;

    s->config.ops->seen(s->config.ctx, space, name, version);
}

/* ---- failures ---- */

static void fail(struct cfr_kube_stream *s, const struct cfr_err *err, long status, int64_t retry_after_s)
{
    const struct cfr_kube_trouble trouble = {!s->watching, status, err, cfr_log_once_is_news(&s->logged, err)};
    struct cfr_backoff_cause cause = {.class = cfr_err_class(err->code),
                                      .retry_after_s = retry_after_s,
                                      .max_ms = s->watching ? 0 : s->config.pause_max_ms};
    int64_t pause_ms =
        cfr_backoff_failed(s->watching ? &s->watch_backoff : &s->list_backoff, &cause, cfr_clock_chance());
    int64_t now_ms = cfr_clock_now().boot_ms;

    s->live = false;
    s->more[0] = '\0';
    cfr_loop_at(&s->task, now_ms + pause_ms);
    if (s->watching && s->config.poll_ms != 0) {
        s->watch_boot_ms = now_ms + pause_ms;
        if (pause_ms > s->config.poll_ms) {
            s->version[0] = '\0';
            cfr_loop_at(&s->task, now_ms + s->config.poll_ms);
        }
    }
    if (s->config.ops->failed(s->config.ctx, &trouble))
        cfr_loop_off(&s->task);
}

/* The text between AFTER and the next slash; empty without AFTER. */
static void copy_part(const char *path, const char *after, char *out, size_t room)
{
    const char *at = strstr(path, after);

    at = at != NULL ? at + strlen(after) : "";
    (void)snprintf(out, room, "%.*s", (int)strcspn(at, "/"), at);
}

/* "/apis/GROUP/VERSION/namespaces/NS/KIND" is of the resource "KIND.GROUP". */
static int refuse(const struct cfr_kube_stream *s, const struct cfr_kube_answer *answer, int64_t *retry_after_s,
                  struct cfr_err *err)
{
    char space[CFR_K8S_LABEL_MAX + 1];
    char group[CFR_K8S_NAME_MAX + 1];
    char resource[RESOURCE_MAX + CFR_K8S_NAME_MAX];
    struct cfr_k8s_asked asked = {
        .what = s->config.what,
        .verb = s->watching ? "watch" : "list",
        .resource = resource,
        .name = s->name[0] != '\0' ? s->name : NULL,
        .secrets = answer->secrets,
        .secret_count = answer->secret_count,
    };

    copy_part(s->collection, "/namespaces/", space, sizeof space);
    copy_part(s->collection, "/apis/", group, sizeof group);
    (void)snprintf(resource, sizeof resource, "%.*s%s%s", RESOURCE_MAX - 2, strrchr(s->collection, '/') + 1,
                   group[0] != '\0' ? "." : "", group);
    asked.namespace_name = space[0] != '\0' ? space : NULL;
    return cfr_k8s_refusal(answer->status, answer->body, &asked, retry_after_s, err);
}

/* ---- answers ---- */

static void end_list(struct cfr_kube_stream *s)
{
    int64_t now_ms = cfr_clock_now().boot_ms;

    s->list_backoff = (struct cfr_backoff){0};
    cfr_loop_soon(&s->task);
    s->live = s->watch_boot_ms <= now_ms;
    if (!s->live) {
        /* Watches do not work here for now. */
        s->version[0] = '\0';
        cfr_loop_at(&s->task,
                    s->watch_boot_ms - now_ms < s->config.poll_ms ? s->watch_boot_ms : now_ms + s->config.poll_ms);
    }
    s->config.ops->listed(s->config.ctx);
}

/* From the start: the continue token is for chunks of the same size. */
static void list_fewer(struct cfr_kube_stream *s)
{
    s->chunk = s->chunk > LIST_FEWER ? s->chunk / LIST_FEWER : 1;
    s->version[0] = '\0';
    s->more[0] = '\0';
    cfr_loop_soon(&s->task);
}

static void after_list(struct cfr_kube_stream *s, const struct cfr_kube_answer *answer)
{
    int64_t retry_after_s = answer->retry_after_s;
    struct cfr_err err = answer->err;
    int rc = answer->error;

    if (rc == 0 && answer->status != 200)
        rc = refuse(s, answer, &retry_after_s, &err);
    else if (rc == 0)
        rc = cfr_k8s_watch_list(answer->body, on_seen, s, s->version, s->more, &err);
    if (rc == CFR_E_LIMIT && s->chunk > 1) {
        list_fewer(s);
        return;
    }
    if (rc == 0 && s->more[0] != '\0' && ++s->chunks == CHUNKS_MAX)
        rc = cfr_err_set(&err, CFR_E_LIMIT, "the list has no end after %d parts", CHUNKS_MAX);
    if (rc != 0) {
        s->version[0] = '\0';
        fail(s, &err, answer->error == 0 ? answer->status : 0, retry_after_s);
    } else if (s->more[0] != '\0') {
        s->version[0] = '\0';
        cfr_loop_soon(&s->task);
    } else {
        end_list(s);
    }
}

static void after_watch(struct cfr_kube_stream *s, const struct cfr_kube_answer *answer)
{
    int64_t retry_after_s = answer->retry_after_s;
    struct cfr_err err = s->broken.code != 0 ? s->broken : answer->err;
    int rc = s->broken.code != 0 ? s->broken.code : answer->error;

    if (rc == 0 && answer->status != 200)
        rc = refuse(s, answer, &retry_after_s, &err);
    cfr_loop_soon(&s->task);
    if (rc == 0 && cfr_clock_now().boot_ms - s->begun_boot_ms < WATCH_SHORT)
        rc = cfr_err_set(&err, CFR_E_UNAVAILABLE, "the API server ended the watch at once");
    /* What the server has ended as it should, after WATCH_S, goes on at once, and so does what we have ended. */
    if (rc == 0 || answer->renewed)
        return;
    /* The same event would be too large again. */
    if (s->broken.code != 0 || answer->error == CFR_E_LIMIT || (answer->error == 0 && answer->status != 200))
        s->version[0] = '\0';
    fail(s, &err, answer->error == 0 ? answer->status : 0, retry_after_s);
}

static void on_answer(void *ctx, const struct cfr_kube_answer *answer)
{
    struct cfr_kube_stream *s = ctx;

    s->call = NULL;
    if (s->watching)
        after_watch(s, answer);
    else
        after_list(s, answer);
}

/* Events, one a line; the last one may be incomplete. */
static size_t on_part(void *ctx, struct cfr_view bytes)
{
    struct cfr_kube_stream *s = ctx;
    size_t used = 0;
    const char *end;

    while (s->broken.code == 0 && (end = memchr(bytes.p + used, '\n', bytes.n - used)) != NULL) {
        struct cfr_view line = cfr_view_trim((struct cfr_view){bytes.p + used, (size_t)(end - bytes.p) - used});

        used = (size_t)(end - bytes.p) + 1;
        if (line.n == 0)
            continue;
        if (cfr_k8s_watch_event(line, on_seen, s, s->version, &s->broken) != 0)
            cfr_loop_soon(&s->task);
        /* Only now: a server that refuses each watch must not be asked without a pause. */
        if (s->broken.code == 0) {
            s->live = true;
            s->watch_backoff = (struct cfr_backoff){0};
            s->logged = (struct cfr_log_once){0};
        }
        if (used == bytes.n)
            break;
    }
    return s->broken.code != 0 ? bytes.n : used;
}

/* ---- calls ---- */

static int write_query(const struct cfr_kube_stream *s, struct cfr_secret *query, struct cfr_err *err)
{
    char number[64];
    int rc = cfr_secret_append_str(query, s->collection, err);

    if (rc == 0)
        rc = cfr_secret_append_str(query, s->selector, err);
    if (s->watching)
        (void)snprintf(number, sizeof number, "&watch=true&allowWatchBookmarks=true&timeoutSeconds=%d", s->watch_s);
    else
        (void)snprintf(number, sizeof number, "&limit=%u", s->chunk);
    if (rc == 0)
        rc = cfr_secret_append_str(query, number, err);
    if (rc == 0 && s->watching)
        rc = cfr_secret_append_str(query, "&resourceVersion=", err);
    else if (rc == 0 && s->more[0] != '\0')
        rc = cfr_secret_append_str(query, "&continue=", err);
    return rc != 0 ? rc : cfr_secret_append_percent(query, cfr_view_of(s->watching ? s->version : s->more), err);
}

static int watch_seconds(const struct cfr_kube *k)
{
    int seconds = 0;

    for (const struct cfr_kube_stream *s = k->streams; s != NULL; s = s->next)
        seconds += WATCH_EACH_S;
    return seconds > WATCH_S ? seconds : WATCH_S;
}

static void start_call(struct cfr_kube_stream *s)
{
    struct cfr_kube_where where = cfr_kube_stream_where(s);
    struct cfr_kube_request request = {.method = "GET"};
    struct cfr_secret query;
    struct cfr_err err = {0};
    int rc;

    s->watching = s->version[0] != '\0';
    s->broken = (struct cfr_err){0};
    s->begun_boot_ms = cfr_clock_now().boot_ms;
    s->chunks = s->more[0] != '\0' ? s->chunks : 0;
    s->watch_s = watch_seconds(s->kube);
    request.accept = s->watching ? CFR_K8S_WATCH_ACCEPT : CFR_K8S_LIST_ACCEPT;
    request.answer_max = CFR_K8S_WATCH_MAX;
    request.part = s->watching ? on_part : NULL;
    request.timeout_ms = s->watching ? (int64_t)s->watch_s * 1000 + WATCH_LATE : 0;
    if (!s->watching && s->more[0] == '\0' && s->config.ops->begun != NULL)
        s->config.ops->begun(s->config.ctx);
    cfr_secret_init(&query, QUERY_MAX);
    rc = write_query(s, &query, &err);
    request.path = query.p;
    cfr_loop_off(&s->task);
    if (rc == 0)
        rc = cfr_kube_start(s->kube, &where, &request, on_answer, s, &s->call, &err);
    cfr_secret_free(&query);
    if (rc != 0)
        fail(s, &err, 0, -1);
}

static void end_call(struct cfr_kube_stream *s)
{
    cfr_kube_cancel(s->call);
    s->call = NULL;
}

static void run(struct cfr_task *task)
{
    struct cfr_kube_stream *s = CFR_TASK_OWNER(task, struct cfr_kube_stream, task);
    bool broken = s->call != NULL && s->broken.code != 0;

    end_call(s);
    if (!broken) {
        start_call(s);
        return;
    }
    /* The server has said that the watch is over, in an event. */
    s->version[0] = '\0';
    fail(s, &s->broken, 0, -1);
}

void cfr_kube_streams_resume(struct cfr_kube *k, const struct cfr_kube_where *where)
{
    for (struct cfr_kube_stream *s = k->streams; s != NULL; s = s->next) {
        struct cfr_kube_where own = cfr_kube_stream_where(s);

        if (cfr_loop_time(&s->task) == INT64_MAX || !cfr_kube_where_is(&own, where))
            continue;
        s->list_backoff = (struct cfr_backoff){0};
        s->watch_backoff = (struct cfr_backoff){0};
        s->watch_boot_ms = 0;
        cfr_loop_soon(&s->task);
    }
}

/* ---- open, select, end ---- */

static void free_stream(struct cfr_kube_stream *s)
{
    cfr_loop_off(&s->task);
    end_call(s);
    free(s->kubeconfig);
    free(s->context);
    free(s);
}

int cfr_kube_stream_open(struct cfr_kube *k, const struct cfr_kube_selection *selection, struct cfr_kube_stream **out,
                         struct cfr_err *err)
{
    const struct cfr_kube_where *where = &selection->where;
    struct cfr_kube_stream *s;
    size_t count = 0;

    *out = NULL;
    for (s = k->streams; s != NULL; s = s->next)
        count++;
    if (count >= STREAMS_MAX)
        return cfr_err_set(err, CFR_E_LIMIT, "%d watches are open already", STREAMS_MAX);
    s = calloc(1, sizeof *s);
    if (s == NULL)
        return cfr_err_nomem(err);
    s->kube = k;
    s->config = *selection;
    s->task.run = run;
    s->chunk = LIST_CHUNK;
    (void)snprintf(s->collection, sizeof s->collection, "%s", selection->collection);
    s->kubeconfig = where->kubeconfig != NULL ? strdup(where->kubeconfig) : NULL;
    s->context = where->context != NULL ? strdup(where->context) : NULL;
    if ((where->kubeconfig != NULL && s->kubeconfig == NULL) || (where->context != NULL && s->context == NULL)) {
        free_stream(s);
        return cfr_err_nomem(err);
    }
    s->next = k->streams;
    k->streams = s;
    *out = s;
    return 0;
}

int cfr_kube_stream_select(struct cfr_kube_stream *s, const char *fields, const char *labels, const char *name,
                           struct cfr_err *err)
{
    struct cfr_secret text;
    int rc;

    cfr_secret_init(&text, SELECTOR_MAX - 1);
    rc = cfr_secret_append_str(&text, fields != NULL ? "?fieldSelector=" : "?labelSelector=", err);
    if (rc == 0)
        rc = cfr_secret_append_percent(&text, cfr_view_of(fields != NULL ? fields : labels), err);
    if (rc == 0) {
        (void)snprintf(s->selector, sizeof s->selector, "%s", text.p);
        (void)snprintf(s->name, sizeof s->name, "%s", name != NULL ? name : "");
        s->version[0] = '\0';
        s->more[0] = '\0';
        s->live = false;
        cfr_loop_soon(&s->task);
    }
    cfr_secret_free(&text);
    return rc;
}

struct cfr_kube_where cfr_kube_stream_where(const struct cfr_kube_stream *s)
{
    return (struct cfr_kube_where){s->kubeconfig, s->context};
}

bool cfr_kube_stream_is_live(const struct cfr_kube_stream *s)
{
    return s->live;
}

void cfr_kube_stream_end(struct cfr_kube_stream *s)
{
    struct cfr_kube_stream **place;

    if (s == NULL)
        return;
    for (place = &s->kube->streams; *place != s;)
        place = &(*place)->next;
    *place = s->next;
    free_stream(s);
}
