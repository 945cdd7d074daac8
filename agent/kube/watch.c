/* SPDX-License-Identifier: MIT */
/* Watches of objects: one stream, which lists and then watches, for each collection of an API server. */
#include "agent/kube/watch.h"

#include "agent/kube/client_private.h"
#include "agent/loop/backoff.h"
#include "agent/loop/log_once.h"
#include "base/log.h"
#include "kube/status.h"
#include "kube/watch_answer.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define LIST_CHUNK  100     /* objects; they are parsed together */
#define LIST_MAX    4194304 /* bytes of a chunk */
#define WATCH_S     300     /* the server then ends the watch, and another one goes on */
#define WATCH_LATE  30000   /* ... or it did not, and we do */
#define WATCH_SHORT 5000    /* a watch that ends before is a failure */
#define CHUNKS_MAX  1000    /* of a list */
#define STREAMS_MAX 256     /* beyond these the periodic look remains */
#define QUERY_MAX   16384   /* a continue token, percent-encoded */
#define SPLIT_MAX   8       /* objects that are watched one by one where all together may not be */
#define COLLECT_MAX 512
#define NAME_MAX_   254

struct cfr_kube_watch {
    struct cfr_kube_watch *next;
    struct cfr_kube_stream *stream;
    char name[NAME_MAX_];
    cfr_kube_watch_fn *report;
    void *ctx;
    bool listed; /* by the list under way */
};

struct cfr_kube_stream {
    struct cfr_kube_stream *next;
    struct cfr_kube *kube;
    char *kubeconfig;
    char *context;
    char collection[COLLECT_MAX];
    bool alone;
    bool split; /* its objects are watched one by one: it has none itself */
    struct cfr_kube_watch *watches;
    struct cfr_kube_call *call;
    bool watching;                     /* the call is a watch, else a list */
    char version[CFR_K8S_VERSION_MAX]; /* that the watch has reached; empty: a list is needed */
    char more[CFR_K8S_CONTINUE_MAX];   /* of the list; empty: from its start */
    unsigned chunks;                   /* of the list */
    int64_t begun_boot_ms;             /* when the call was begun */
    struct cfr_err broken;             /* why the watch must end */
    int64_t next_boot_ms;              /* of the next call; INT64_MAX while one is under way */
    struct cfr_backoff backoff;
    struct cfr_log_once logged;
};

static bool same_text(const char *a, const char *b)
{
    return a == NULL || b == NULL ? a == b : strcmp(a, b) == 0;
}

/* Reports to the watches of NAME. */
static void on_seen(void *ctx, struct cfr_view name, const char *version)
{
    struct cfr_kube_stream *s = ctx;

    for (struct cfr_kube_watch *w = s->watches; w != NULL; w = w->next) {
        if (!cfr_view_is(name, w->name))
            continue;
        w->listed = true;
        w->report(w->ctx, version);
    }
}

static void report_missing(struct cfr_kube_stream *s)
{
    for (struct cfr_kube_watch *w = s->watches; w != NULL; w = w->next) {
        if (!w->listed)
            w->report(w->ctx, NULL);
    }
}

/* ---- calls ---- */

static void retry_later(struct cfr_kube_stream *s, const struct cfr_err *err, int64_t retry_after_s)
{
    struct cfr_backoff_cause cause = {.class = cfr_err_class(err->code), .retry_after_s = retry_after_s};
    int64_t pause_ms = cfr_backoff_failed(&s->backoff, &cause, cfr_clock_chance());

    s->more[0] = '\0';
    s->next_boot_ms = cfr_clock_now().boot_ms + pause_ms;
    cfr_log(cfr_log_once_is_news(&s->logged, err) ? CFR_LOG_WARN : CFR_LOG_DEBUG, NULL, NULL,
            "watch of %s: %s; until it works, what other writers do there is noticed within a minute [%s, %s]",
            s->collection, err->text, cfr_err_name(err->code), cfr_err_class_name(cfr_err_class(err->code)));
}

/* "/api/v1/namespaces/NS/secrets" is of the resource "secrets". */
static int refuse(const struct cfr_kube_stream *s, const struct cfr_kube_answer *answer, int64_t *retry_after_s,
                  struct cfr_err *err)
{
    bool single = s->watches != NULL && s->watches->next == NULL;
    char space[NAME_MAX_] = "";
    const char *at = strstr(s->collection, "/namespaces/");
    struct cfr_k8s_asked asked = {
        .what = "the watch",
        .verb = s->watching ? "watch" : "list",
        .resource = strrchr(s->collection, '/') + 1,
        .name = single ? s->watches->name : NULL,
        .secrets = answer->secrets,
        .secret_count = answer->secret_count,
    };

    if (at != NULL)
        (void)snprintf(space, sizeof space, "%.*s", (int)strcspn(at + strlen("/namespaces/"), "/"),
                       at + strlen("/namespaces/"));
    asked.namespace_name = space[0] != '\0' ? space : NULL;
    return cfr_k8s_refusal(answer->status, answer->body, &asked, retry_after_s, err);
}

static bool split_stream(struct cfr_kube_stream *s);

static void after_list(struct cfr_kube_stream *s, const struct cfr_kube_answer *answer)
{
    int64_t retry_after_s = answer->retry_after_s;
    struct cfr_err err = answer->err;
    int rc = answer->error;

    if (rc == 0 && answer->status == 403 && split_stream(s))
        return;
    if (rc == 0 && answer->status != 200)
        rc = refuse(s, answer, &retry_after_s, &err);
    else if (rc == 0)
        rc = cfr_k8s_watch_list(answer->body, on_seen, s, s->version, s->more, &err);
    /* An object of another program that is too large must not hide ours. */
    if ((rc == CFR_E_ANSWER || rc == CFR_E_LIMIT) && split_stream(s))
        return;
    if (rc == 0 && s->more[0] != '\0' && ++s->chunks == CHUNKS_MAX)
        rc = cfr_err_set(&err, CFR_E_LIMIT, "the list has no end after %d parts", CHUNKS_MAX);
    if (rc != 0) {
        s->version[0] = '\0';
        retry_later(s, &err, retry_after_s);
        return;
    }
    if (s->more[0] != '\0')
        s->version[0] = '\0';
    else
        report_missing(s);
    s->next_boot_ms = cfr_clock_now().boot_ms;
}

static void after_watch(struct cfr_kube_stream *s, const struct cfr_kube_answer *answer)
{
    int64_t retry_after_s = answer->retry_after_s;
    struct cfr_err err = s->broken.code != 0 ? s->broken : answer->err;
    int rc = s->broken.code != 0 ? s->broken.code : answer->error;

    if (rc == 0 && answer->status != 200)
        rc = refuse(s, answer, &retry_after_s, &err);
    s->next_boot_ms = cfr_clock_now().boot_ms;
    if (rc == 0 && s->next_boot_ms - s->begun_boot_ms < WATCH_SHORT)
        rc = cfr_err_set(&err, CFR_E_UNAVAILABLE, "the API server ended the watch at once");
    /* What the server has ended as it should, after WATCH_S, goes on at once. */
    if (rc == 0)
        return;
    /* The same event would be too large again. */
    if (s->broken.code != 0 || answer->error == CFR_E_LIMIT || (answer->error == 0 && answer->status != 200))
        s->version[0] = '\0';
    retry_later(s, &err, retry_after_s);
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
            s->next_boot_ms = cfr_clock_now().boot_ms;
        /* Only now: a server that refuses each watch must not be asked without a pause. */
        if (s->broken.code == 0) {
            s->backoff = (struct cfr_backoff){0};
            s->logged = (struct cfr_log_once){0};
        }
        if (used == bytes.n)
            break;
    }
    return s->broken.code != 0 ? bytes.n : used;
}

static int write_query(const struct cfr_kube_stream *s, struct cfr_secret *query, struct cfr_err *err)
{
    bool single = s->watches->next == NULL;
    char number[32];
    int rc = cfr_secret_append_str(query, s->collection, err);

    if (rc == 0)
        rc = cfr_secret_append_str(query,
                                   single ? "?fieldSelector=metadata.name%3D"
                                          : "?labelSelector=app.kubernetes.io%2Fmanaged-by%3Dcredfresh",
                                   err);
    if (rc == 0 && single)
        rc = cfr_secret_append_percent(query, cfr_view_of(s->watches->name), err);
    if (s->watching) {
        (void)snprintf(number, sizeof number, "%d", WATCH_S);
        if (rc == 0)
            rc = cfr_secret_append_str(query, "&watch=true&allowWatchBookmarks=true&timeoutSeconds=", err);
        if (rc == 0)
            rc = cfr_secret_append_str(query, number, err);
        if (rc == 0)
            rc = cfr_secret_append_str(query, "&resourceVersion=", err);
        return rc != 0 ? rc : cfr_secret_append_percent(query, cfr_view_of(s->version), err);
    }
    (void)snprintf(number, sizeof number, "&limit=%d", LIST_CHUNK);
    if (rc == 0)
        rc = cfr_secret_append_str(query, number, err);
    if (rc == 0 && s->more[0] != '\0')
        rc = cfr_secret_append_str(query, "&continue=", err);
    return rc != 0 ? rc : cfr_secret_append_percent(query, cfr_view_of(s->more), err);
}

static void start_call(struct cfr_kube_stream *s)
{
    struct cfr_kube_where where = {s->kubeconfig, s->context};
    struct cfr_kube_request request = {.method = "GET"};
    struct cfr_secret query;
    struct cfr_err err = {0};
    int rc;

    s->watching = s->version[0] != '\0';
    s->broken = (struct cfr_err){0};
    s->begun_boot_ms = cfr_clock_now().boot_ms;
    s->chunks = s->more[0] != '\0' ? s->chunks : 0;
    request.accept = s->watching ? CFR_K8S_WATCH_ACCEPT : CFR_K8S_LIST_ACCEPT;
    request.answer_max = s->watching ? CFR_K8S_EVENT_MAX : LIST_MAX;
    request.part = s->watching ? on_part : NULL;
    request.timeout_ms = s->watching ? WATCH_S * 1000 + WATCH_LATE : 0;
    for (struct cfr_kube_watch *w = s->watches; !s->watching && s->more[0] == '\0' && w != NULL; w = w->next)
        w->listed = false;
    cfr_secret_init(&query, QUERY_MAX);
    rc = write_query(s, &query, &err);
    request.path = query.p;
    s->next_boot_ms = INT64_MAX;
    if (rc == 0)
        rc = cfr_kube_start(s->kube, &where, &request, on_answer, s, &s->call, &err);
    cfr_secret_free(&query);
    if (rc != 0)
        retry_later(s, &err, -1);
}

static void end_call(struct cfr_kube_stream *s)
{
    cfr_kube_cancel(s->call);
    s->call = NULL;
}

int64_t cfr_kube_watch_deadline(const struct cfr_kube *k)
{
    int64_t at = INT64_MAX;

    for (const struct cfr_kube_stream *s = k->streams; s != NULL; s = s->next)
        at = s->next_boot_ms < at ? s->next_boot_ms : at;
    return at;
}

void cfr_kube_watch_step(struct cfr_kube *k, struct cfr_now now)
{
    for (struct cfr_kube_stream *s = k->streams; s != NULL; s = s->next) {
        if (s->next_boot_ms > now.boot_ms || s->watches == NULL)
            continue;
        if (s->call != NULL && s->broken.code != 0) {
            /* The server has said that the watch is over, in an event. */
            end_call(s);
            s->version[0] = '\0';
            retry_later(s, &s->broken, -1);
            continue;
        }
        end_call(s);
        start_call(s);
    }
}

/* ---- the objects ---- */

static bool is_stream(const struct cfr_kube_stream *s, const struct cfr_kube_object *o)
{
    bool same = s->alone ? s->watches != NULL && strcmp(s->watches->name, o->name) == 0 : !o->alone;

    return same && strcmp(s->collection, o->collection) == 0 && same_text(s->kubeconfig, o->where.kubeconfig) &&
           same_text(s->context, o->where.context);
}

static void free_stream(struct cfr_kube_stream *s)
{
    end_call(s);
    free(s->kubeconfig);
    free(s->context);
    free(s);
}

static struct cfr_kube_stream *make_stream(struct cfr_kube *k, const struct cfr_kube_object *o, bool alone)
{
    struct cfr_kube_stream *s = calloc(1, sizeof *s);

    if (s == NULL)
        return NULL;
    s->kube = k;
    s->alone = alone;
    (void)snprintf(s->collection, sizeof s->collection, "%s", o->collection);
    s->kubeconfig = o->where.kubeconfig != NULL ? strdup(o->where.kubeconfig) : NULL;
    s->context = o->where.context != NULL ? strdup(o->where.context) : NULL;
    if ((o->where.kubeconfig != NULL && s->kubeconfig == NULL) || (o->where.context != NULL && s->context == NULL)) {
        free_stream(s);
        return NULL;
    }
    s->next = k->streams;
    k->streams = s;
    return s;
}

/* A Role that names its objects allows to watch each of them, not all: then each gets a stream, if they are few. */
static bool split_stream(struct cfr_kube_stream *s)
{
    struct cfr_kube_object o = {.where = {s->kubeconfig, s->context}, .collection = s->collection};
    struct cfr_kube_watch *w;
    size_t count = 0;

    for (w = s->watches; w != NULL; w = w->next)
        count++;
    if (count < 2 || count > SPLIT_MAX)
        return false;
    s->split = true;
    while ((w = s->watches) != NULL) {
        struct cfr_kube_stream *own = make_stream(s->kube, &o, true);

        if (own == NULL)
            break;
        s->watches = w->next;
        w->next = NULL;
        w->stream = own;
        own->watches = w;
    }
    /* Without memory, what is left goes on together. */
    s->split = s->watches == NULL;
    s->next_boot_ms = s->split ? INT64_MAX : cfr_clock_now().boot_ms + 1000;
    return true;
}

/* The objects are other ones now: the next step lists them. */
static void begin_again(struct cfr_kube_stream *s)
{
    s->version[0] = '\0';
    s->more[0] = '\0';
    s->next_boot_ms = cfr_clock_now().boot_ms;
}

int cfr_kube_watch_start(struct cfr_kube *k, const struct cfr_kube_object *object, cfr_kube_watch_fn *report, void *ctx,
                         struct cfr_kube_watch **out, struct cfr_err *err)
{
    struct cfr_kube_watch *w = calloc(1, sizeof *w);
    struct cfr_kube_stream *s = NULL;
    size_t count = 0;

    *out = NULL;
    for (struct cfr_kube_stream *one = k->streams; one != NULL; one = one->next, count++) {
        if (is_stream(one, object) && (s == NULL || s->split))
            s = one;
    }
    if (count >= STREAMS_MAX && (s == NULL || s->split)) {
        free(w);
        return cfr_err_set(err, CFR_E_LIMIT, "%d watches are open already", STREAMS_MAX);
    }
    if (w != NULL && (s == NULL || s->split))
        s = make_stream(k, object, object->alone || (s != NULL && s->split));
    if (w == NULL || s == NULL) {
        free(w);
        return cfr_err_nomem(err);
    }
    (void)snprintf(w->name, sizeof w->name, "%s", object->name);
    w->stream = s;
    w->report = report;
    w->ctx = ctx;
    w->next = s->watches;
    s->watches = w;
    begin_again(s);
    *out = w;
    return 0;
}

void cfr_kube_watch_end(struct cfr_kube_watch *w)
{
    struct cfr_kube_stream *s = w != NULL ? w->stream : NULL;
    struct cfr_kube_watch **at;
    struct cfr_kube_stream **place;

    if (w == NULL)
        return;
    for (at = &s->watches; *at != w;)
        at = &(*at)->next;
    *at = w->next;
    free(w);
    if (s->watches != NULL) {
        begin_again(s);
        return;
    }
    for (place = &s->kube->streams; *place != s;)
        place = &(*place)->next;
    *place = s->next;
    free_stream(s);
}

void cfr_kube_watch_close(struct cfr_kube *k)
{
    while (k->streams != NULL) {
        struct cfr_kube_stream *s = k->streams;

        while (s->watches != NULL) {
            struct cfr_kube_watch *w = s->watches;

            s->watches = w->next;
            free(w);
        }
        k->streams = s->next;
        free_stream(s);
    }
}
