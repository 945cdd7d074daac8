/* SPDX-License-Identifier: MIT */
/* Watches of objects: a group of them, with one stream, for each collection of an API server. */
#include "agent/kube/watch.h"

#include "agent/kube/client_private.h"
#include "agent/kube/stream.h"
#include "base/log.h"
#include "kube/name.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define LABELS      "app.kubernetes.io/managed-by=credfresh"
#define SPLIT_MAX   64 /* objects that are watched one by one where all together may not be; each takes a connection */
#define COLLECT_MAX 512

struct cfr_kube_watch {
    struct cfr_kube_watch *next;
    struct cfr_kube_group *group;
    char name[CFR_K8S_NAME_MAX + 1];
    cfr_kube_watch_fn *report;
    void *ctx;
    bool listed; /* by the list under way */
};

struct cfr_kube_group {
    struct cfr_kube_group *next;
    struct cfr_kube *kube;
    char collection[COLLECT_MAX];
    bool alone;
    bool split; /* its objects are watched one by one: it has none itself */
    struct cfr_kube_watch *watches;
    struct cfr_kube_stream *stream;
};

/* ---- reports ---- */

static void on_begun(void *ctx)
{
    const struct cfr_kube_group *g = ctx;

    for (struct cfr_kube_watch *w = g->watches; w != NULL; w = w->next)
        w->listed = false;
}

static void on_seen(void *ctx, struct cfr_view space, struct cfr_view name, const char *version)
{
    const struct cfr_kube_group *g = ctx;

    (void)space;
    for (struct cfr_kube_watch *w = g->watches; w != NULL; w = w->next) {
        if (!cfr_view_is(name, w->name))
            continue;
        w->listed = true;
        w->report(w->ctx, version);
    }
}

static void on_listed(void *ctx)
{
    const struct cfr_kube_group *g = ctx;

    for (struct cfr_kube_watch *w = g->watches; w != NULL; w = w->next) {
        if (!w->listed)
            w->report(w->ctx, NULL);
    }
}

static bool split_group(struct cfr_kube_group *g);

static bool on_failed(void *ctx, const struct cfr_kube_trouble *trouble)
{
    struct cfr_kube_group *g = ctx;
    const struct cfr_err *err = trouble->err;
    /* An object of another program that is too large must not hide ours. */
    bool apart = trouble->status == 403 || err->code == CFR_E_ANSWER || err->code == CFR_E_LIMIT;

    if (trouble->listing && apart && split_group(g))
        return true;
    cfr_log(trouble->news ? CFR_LOG_WARN : CFR_LOG_DEBUG, NULL, NULL,
            "cannot watch %s: %s; until then changes by others are noticed within a minute [%s, %s]", g->collection,
            err->text, cfr_err_name(err->code), cfr_err_class_name(cfr_err_class(err->code)));
    return false;
}

static const struct cfr_kube_stream_ops ops = {on_begun, on_seen, on_listed, on_failed};

/* ---- groups ---- */

static void free_group(struct cfr_kube_group *g)
{
    struct cfr_kube_group **place;

    cfr_kube_stream_end(g->stream);
    for (place = &g->kube->groups; *place != g;)
        place = &(*place)->next;
    *place = g->next;
    free(g);
}

static struct cfr_kube_group *make_group(struct cfr_kube *k, const struct cfr_kube_where *where, const char *collection,
                                         bool alone, struct cfr_err *err)
{
    struct cfr_kube_group *g = calloc(1, sizeof *g);
    struct cfr_kube_selection selection = {
        .where = *where, .collection = collection, .what = "the watch", .ops = &ops, .ctx = g};

    if (g == NULL) {
        (void)cfr_err_nomem(err);
        return NULL;
    }
    if (cfr_kube_stream_open(k, &selection, &g->stream, err) != 0) {
        free(g);
        return NULL;
    }
    g->kube = k;
    g->alone = alone;
    (void)snprintf(g->collection, sizeof g->collection, "%s", collection);
    g->next = k->groups;
    k->groups = g;
    return g;
}

/* The objects are other ones now: they are listed. */
static int begin_again(struct cfr_kube_group *g, struct cfr_err *err)
{
    const struct cfr_kube_watch *one = g->watches->next == NULL ? g->watches : NULL;
    char field[sizeof "metadata.name=" + CFR_K8S_NAME_MAX];

    if (one == NULL)
        return cfr_kube_stream_select(g->stream, NULL, LABELS, NULL, err);
    (void)snprintf(field, sizeof field, "metadata.name=%s", one->name);
    return cfr_kube_stream_select(g->stream, field, NULL, one->name, err);
}

/* A Role that names its objects allows to watch each of them, not all: then each gets a stream, unless they are many.
 */
static bool split_group(struct cfr_kube_group *g)
{
    struct cfr_kube_where where = cfr_kube_stream_where(g->stream);
    struct cfr_kube_watch *w;
    size_t count = 0;

    for (w = g->watches; w != NULL; w = w->next)
        count++;
    if (count < 2 || count > SPLIT_MAX)
        return false;
    while ((w = g->watches) != NULL) {
        struct cfr_kube_group *own = make_group(g->kube, &where, g->collection, true, NULL);

        if (own == NULL)
            break;
        g->watches = w->next;
        w->next = NULL;
        w->group = own;
        own->watches = w;
        (void)begin_again(own, NULL);
    }
    /* Without memory, what is left goes on together. */
    g->split = g->watches == NULL;
    return g->split;
}

static bool is_group(const struct cfr_kube_group *g, const struct cfr_kube_object *o)
{
    struct cfr_kube_where where = cfr_kube_stream_where(g->stream);
    bool same = g->alone ? g->watches != NULL && strcmp(g->watches->name, o->name) == 0 : !o->alone;

    return same && strcmp(g->collection, o->collection) == 0 && cfr_kube_where_is(&where, &o->where);
}

int cfr_kube_watch_start(struct cfr_kube *k, const struct cfr_kube_object *object, cfr_kube_watch_fn *report, void *ctx,
                         struct cfr_kube_watch **out, struct cfr_err *err)
{
    struct cfr_kube_watch *w = calloc(1, sizeof *w);
    struct cfr_kube_group *g = NULL;
    int rc;

    *out = NULL;
    if (w == NULL)
        return cfr_err_nomem(err);
    for (struct cfr_kube_group *one = k->groups; one != NULL; one = one->next) {
        if (is_group(one, object) && (g == NULL || g->split))
            g = one;
    }
    if (g == NULL || g->split)
        g = make_group(k, &object->where, object->collection, object->alone || g != NULL, err);
    if (g == NULL) {
        free(w);
        return err != NULL ? err->code : CFR_E_NOMEM;
    }
    (void)snprintf(w->name, sizeof w->name, "%s", object->name);
    w->group = g;
    w->report = report;
    w->ctx = ctx;
    w->next = g->watches;
    g->watches = w;
    rc = begin_again(g, err);
    if (rc != 0)
        cfr_kube_watch_end(w);
    else
        *out = w;
    return rc;
}

bool cfr_kube_watch_is_live(const struct cfr_kube_watch *w)
{
    return w != NULL && cfr_kube_stream_is_live(w->group->stream);
}

void cfr_kube_watch_end(struct cfr_kube_watch *w)
{
    struct cfr_kube_group *g = w != NULL ? w->group : NULL;
    struct cfr_kube_watch **at;

    if (w == NULL)
        return;
    for (at = &g->watches; *at != w;)
        at = &(*at)->next;
    *at = w->next;
    free(w);
    if (g->watches == NULL)
        free_group(g);
    else
        (void)begin_again(g, NULL);
}

void cfr_kube_watch_close(struct cfr_kube *k)
{
    while (k->groups != NULL) {
        struct cfr_kube_group *g = k->groups;

        while (g->watches != NULL) {
            struct cfr_kube_watch *w = g->watches;

            g->watches = w->next;
            free(w);
        }
        k->groups = g->next;
        cfr_kube_stream_end(g->stream);
        free(g);
    }
}
