/* SPDX-License-Identifier: MIT */
/* Lists and watches of Secrets, ConfigMaps, namespaces and PodCertificateRequests: chunks, selectors, events,
 * bookmarks, versions that are gone. */
#include "kube_watch.h"

#include "kube_pod_certificate.h"
#include "kube_secret.h"
#include "pause.h"
#include "service.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { HISTORY = 500, STEP_MS = 20, WATCH_MOST_S = 1800, BOOKMARK_S = 60, CHUNK_MOST = 500 };

/* What is asked for. */
struct ask {
    const char *resource;
    const char *version;      /* of PodCertificateRequests, which have other selectors; otherwise NULL */
    char namespace_name[260]; /* empty: objects of the cluster, or of all namespaces */
    char name[260];           /* of the field selector; empty: any */
    char space[260];          /* the same, of a PodCertificateRequest */
    char signer[600];
    char label[128]; /* of the label selector, and its value */
    char value[128];
    bool partial; /* PartialObjectMetadata */
};

/* A watch that goes on. */
struct watch {
    struct lc_kube *kube;
    struct ask ask;
    uint64_t version; /* up to which it was told */
    bool bookmarks;
    double ends;
    double bookmark;
};

void lc_kube_happened(struct lc_kube *kube, const char *resource, const char *space, json_t *before, json_t *after)
{
    if (kube->history == NULL) {
        kube->history = json_array();
    }
    (void)json_array_append_new(kube->history,
                                json_pack("{s:s,s:s,s:I,s:O*,s:O*}", "resource", resource, "namespace", space,
                                          "version", (json_int_t)kube->version, "before", before, "after", after));
    while (json_array_size(kube->history) > HISTORY) {
        kube->forgotten = (uint64_t)json_integer_value(json_object_get(json_array_get(kube->history, 0), "version"));
        (void)json_array_remove(kube->history, 0);
    }
}

static bool selects(const struct ask *ask, json_t *object)
{
    json_t *metadata = json_object_get(object, "metadata");
    json_t *labels = json_object_get(metadata, "labels");

    return object != NULL &&
           (ask->signer[0] == '\0' ||
            strcmp(ask->signer, lc_kube_text(json_object_get(object, "spec"), "signerName")) == 0) &&
           (ask->space[0] == '\0' || strcmp(ask->space, lc_kube_text(metadata, "namespace")) == 0) &&
           (ask->name[0] == '\0' || strcmp(ask->name, lc_kube_text(metadata, "name")) == 0) &&
           (ask->label[0] == '\0' || strcmp(ask->value, lc_kube_text(labels, ask->label)) == 0);
}

/* The object as it is answered; a new reference. */
static json_t *shown(const struct ask *ask, json_t *object)
{
    if (!ask->partial) {
        return ask->version != NULL ? lc_kube_pod_certificate_shown(object, ask->version) : json_incref(object);
    }
    return json_pack("{s:s,s:s,s:O}", "kind", "PartialObjectMetadata", "apiVersion", "meta.k8s.io/v1", "metadata",
                     json_object_get(object, "metadata"));
}

/* ---- lists ---- */

static json_t *namespace_object(const char *name)
{
    return json_pack("{s:s,s:s,s:{s:s,s:s}}", "kind", "Namespace", "apiVersion", "v1", "metadata", "name", name,
                     "resourceVersion", "1");
}

/* The objects that are selected; the lock is held. */
static json_t *select_all(struct lc_kube *kube, const struct ask *ask)
{
    json_t *out = json_array();
    json_t *list = ask->version != NULL                       ? kube->pod_certificates
                   : strcmp(ask->resource, "secrets") == 0    ? kube->secrets
                   : strcmp(ask->resource, "configmaps") == 0 ? kube->configmaps
                                                              : kube->namespaces;
    char *prefix = lc_text_format("%s%s", ask->namespace_name, ask->namespace_name[0] == '\0' ? "" : "/");
    const char *key = NULL;
    json_t *value = NULL;

    json_object_foreach(list, key, value)
    {
        json_t *object = list == kube->namespaces ? namespace_object(key) : NULL;
        if (object == NULL && prefix != NULL && lc_text_starts(key, prefix)) {
            object = list == kube->pod_certificates ? json_incref(value) : lc_kube_secret_shown(value);
        }
        if (selects(ask, object)) {
            (void)json_array_append_new(out, shown(ask, object));
        }
        json_decref(object);
    }
    free(prefix);
    return out;
}

/* The kind with SUFFIX, version and metadata of an answer, and ITEMS (NULL: none); takes the references. */
static json_t *envelope(const struct ask *ask, const char *suffix, json_t *metadata, json_t *items)
{
    char *kind = lc_text_format("%s%s",
                                ask->partial           ? "PartialObjectMetadata"
                                : ask->version != NULL ? "PodCertificateRequest"
                                : *suffix == '\0'      ? "Secret"
                                                       : "",
                                suffix);
    char *version = ask->partial           ? lc_text_format("meta.k8s.io/v1")
                    : ask->version != NULL ? lc_text_format("%s/%s", LC_POD_CERTIFICATE_GROUP, ask->version)
                                           : lc_text_format("v1");
    json_t *out = json_pack("{s:s,s:s,s:o,s:o*}", "kind", kind == NULL ? "" : kind, "apiVersion",
                            version == NULL ? "" : version, "metadata", metadata, "items", items);

    free(kind);
    free(version);
    return out;
}

static void list(struct lc_visit *visit, struct lc_kube *kube, const struct ask *ask, const struct lc_params *params)
{
    const char *limit = lc_params_get(params, "limit");
    const char *next = lc_params_get(params, "continue");
    size_t most = limit == NULL || atoi(limit) <= 0 ? CHUNK_MOST : (size_t)atoi(limit);
    size_t from = next == NULL ? 0 : (size_t)atoi(next);
    json_t *items = json_array();
    json_t *all = NULL;
    json_t *metadata = json_object();
    char text[32] = "";

    (void)pthread_mutex_lock(&kube->lock);
    all = select_all(kube, ask);
    (void)snprintf(text, sizeof text, "%llu", (unsigned long long)kube->version);
    (void)pthread_mutex_unlock(&kube->lock);
    for (size_t i = from; i < json_array_size(all) && i - from < most; i++) {
        if (ask->version != NULL && !ask->partial) {
            (void)json_object_del(json_array_get(all, i), "kind");
            (void)json_object_del(json_array_get(all, i), "apiVersion");
        }
        (void)json_array_append(items, json_array_get(all, i));
    }
    (void)json_object_set_new(metadata, "resourceVersion", json_string(text));
    if (from + most < json_array_size(all)) {
        (void)snprintf(text, sizeof text, "%zu", from + most);
        (void)json_object_set_new(metadata, "continue", json_string(text));
    }
    /* As the API server writes an empty list of metadata. */
    if (ask->partial && json_array_size(items) == 0) {
        json_decref(items);
        items = json_null();
    }
    lc_kube_answer(visit, 200, envelope(ask, "List", metadata, items));
    json_decref(all);
}

/* ---- watches ---- */

static void put_event(struct lc_buf *out, const char *type, json_t *object)
{
    lc_json_print(json_pack("{s:s,s:o}", "type", type, "object", object), out);
}

static json_t *at_version(json_t *object, uint64_t version)
{
    json_t *copy = json_copy(object);
    json_t *metadata = json_copy(json_object_get(object, "metadata"));
    char text[32] = "";

    (void)snprintf(text, sizeof text, "%llu", (unsigned long long)version);
    (void)json_object_set_new(metadata, "resourceVersion", json_string(text));
    (void)json_object_set_new(copy, "metadata", metadata);
    return copy;
}

static void put_change(const struct watch *w, json_t *event, struct lc_buf *out)
{
    json_t *before = json_object_get(event, "before");
    json_t *after = json_object_get(event, "after");
    bool was = selects(&w->ask, before);
    bool is = selects(&w->ask, after);
    json_t *object = NULL;

    if ((was || is) && strcmp(lc_kube_text(event, "resource"), w->ask.resource) == 0 &&
        (w->ask.namespace_name[0] == '\0' || strcmp(lc_kube_text(event, "namespace"), w->ask.namespace_name) == 0)) {
        object = at_version(is ? after : before, (uint64_t)json_integer_value(json_object_get(event, "version")));
        put_event(out, !was ? "ADDED" : is ? "MODIFIED" : "DELETED", shown(&w->ask, object));
        json_decref(object);
    }
}

/* What happened since then; the lock is held. */
static void put_news(struct watch *w, struct lc_buf *out)
{
    size_t first = json_array_size(w->kube->history);
    json_t *event = NULL;

    /* Many watches look often, and mostly nothing has happened. */
    while (first > 0) {
        event = json_array_get(w->kube->history, first - 1);
        if ((uint64_t)json_integer_value(json_object_get(event, "version")) <= w->version) {
            break;
        }
        first--;
    }
    for (size_t i = first; i < json_array_size(w->kube->history); i++) {
        put_change(w, json_array_get(w->kube->history, i), out);
    }
    w->version = w->kube->version;
}

static void put_bookmark(struct watch *w, struct lc_buf *out)
{
    json_t *nothing = envelope(&w->ask, "", json_object(), NULL);

    put_event(out, "BOOKMARK", at_version(nothing, w->version));
    json_decref(nothing);
}

static bool go_on(void *owner, struct lc_buf *out)
{
    struct watch *w = owner;
    double now = lc_time_now();

    if (now >= w->ends || lc_pause(STEP_MS) || lc_service_is_out(w->kube->cloud, "kube") ||
        (w->ask.version != NULL && !lc_kube_pod_certificate_served(w->kube, w->ask.version))) {
        return false;
    }
    (void)pthread_mutex_lock(&w->kube->lock);
    if (w->version < w->kube->forgotten) {
        put_event(out, "ERROR",
                  json_pack("{s:s,s:s,s:s,s:s,s:s,s:i}", "kind", "Status", "apiVersion", "v1", "status", "Failure",
                            "message", "too old resource version", "reason", "Expired", "code", 410));
        w->ends = 0;
    } else {
        put_news(w, out);
    }
    (void)pthread_mutex_unlock(&w->kube->lock);
    if (w->bookmarks && now >= w->bookmark && w->ends > 0) {
        put_bookmark(w, out);
        w->bookmark = now + BOOKMARK_S;
    }
    return true;
}

static void end(void *owner)
{
    free(owner);
}

static void watch(struct lc_visit *visit, struct lc_kube *kube, const struct ask *ask, const struct lc_params *params)
{
    const char *version = lc_params_get(params, "resourceVersion");
    const char *seconds = lc_params_get(params, "timeoutSeconds");
    const char *bookmarks = lc_params_get(params, "allowWatchBookmarks");
    struct watch *w = calloc(1, sizeof *w);
    double now = lc_time_now();

    if (version == NULL || strtoull(version, NULL, 10) == 0 || w == NULL) {
        free(w);
        (void)lc_kube_refuse(visit, 400, "BadRequest", NULL, "this server wants a resourceVersion for a watch");
        return;
    }
    *w = (struct watch){
        .kube = kube,
        .ask = *ask,
        .version = strtoull(version, NULL, 10),
        .bookmarks = bookmarks != NULL && strcmp(bookmarks, "true") == 0,
        .ends = now + (seconds == NULL ? WATCH_MOST_S : atoi(seconds)),
        .bookmark = now + BOOKMARK_S,
    };
    lc_reply_header(visit->reply, "Content-Type", "application/json");
    lc_reply_header(visit->reply, "Cache-Control", "no-cache, private");
    visit->reply->status = 200;
    visit->reply->flow = go_on;
    visit->reply->flow_free = end;
    visit->reply->flow_owner = w;
}

/* ---- the request ---- */

/* "A=B" into its sides. */
static bool read_pair(const char *text, char *left, size_t left_room, char *right, size_t right_room)
{
    size_t len = strcspn(text, "=");

    if (text[len] != '=' || len == 0 || len >= left_room || strlen(text + len + 1) >= right_room) {
        return false;
    }
    memcpy(left, text, len);
    left[len] = '\0';
    (void)snprintf(right, right_room, "%s", text + len + 1 + (text[len + 1] == '='));
    return true;
}

/* "A=B,C=D" of PodCertificateRequests. */
static bool read_fields(const char *fields, struct ask *ask)
{
    char *copy = strdup(fields);
    char *rest = copy;
    char *one = NULL;
    char key[260];
    char value[600];
    bool good = copy != NULL;

    while (good && (one = strsep(&rest, ",")) != NULL) {
        char *out = NULL;
        size_t room = 0;
        good = read_pair(one, key, sizeof key, value, sizeof value);
        if (good && strcmp(key, "metadata.name") == 0) {
            out = ask->name;
            room = sizeof ask->name;
        } else if (good && strcmp(key, "metadata.namespace") == 0) {
            out = ask->space;
            room = sizeof ask->space;
        } else if (good && strcmp(key, "spec.signerName") == 0) {
            out = ask->signer;
            room = sizeof ask->signer;
        }
        good =
            out != NULL && (*out == '\0' || strcmp(out, value) == 0) && (size_t)snprintf(out, room, "%s", value) < room;
    }
    free(copy);
    return good;
}

static bool read_ask(const struct lc_visit *visit, const struct lc_params *params, struct ask *ask)
{
    const char *accept = lc_request_header(visit->request, "accept");
    const char *fields = lc_params_get(params, "fieldSelector");
    const char *labels = lc_params_get(params, "labelSelector");
    char key[260] = "";
    struct lc_kube_path path;

    ask->resource = "namespaces";
    if (lc_kube_path(visit->request->path, &path)) {
        (void)snprintf(ask->namespace_name, sizeof ask->namespace_name, "%s", path.namespace_name);
        ask->resource = strcmp(path.kind, "secrets") == 0 ? "secrets" : "configmaps";
    } else if (lc_kube_pod_certificate_path(visit->request->path, &path, &ask->version)) {
        (void)snprintf(ask->namespace_name, sizeof ask->namespace_name, "%s", path.namespace_name);
        ask->resource = LC_POD_CERTIFICATES;
    } else {
        ask->version = NULL;
        if (strcmp(visit->request->path, "/kube/api/v1/configmaps") == 0) {
            ask->resource = "configmaps"; /* of all namespaces */
        }
    }
    ask->partial = accept != NULL && strstr(accept, "as=PartialObjectMetadata") != NULL;
    return (fields == NULL || (ask->version != NULL ? read_fields(fields, ask)
                                                    : read_pair(fields, key, sizeof key, ask->name, sizeof ask->name) &&
                                                          strcmp(key, "metadata.name") == 0)) &&
           (labels == NULL || read_pair(labels, ask->label, sizeof ask->label, ask->value, sizeof ask->value));
}

void lc_kube_collection(struct lc_visit *visit)
{
    struct lc_kube *kube = visit->cloud->kube;
    struct lc_kube_user user = {0};
    struct lc_params params = {0};
    struct ask ask = {0};
    struct lc_kube_act act = {0};
    const char *watched = NULL;

    if (!lc_params_read(visit->request->query, strlen(visit->request->query), &params) ||
        !read_ask(visit, &params, &ask)) {
        (void)lc_kube_refuse(visit, 400, "BadRequest", NULL, "the query cannot be understood");
    } else if (ask.version != NULL && !lc_kube_pod_certificate_served(kube, ask.version)) {
        (void)lc_kube_refuse(visit, 404, "NotFound", json_object(), "the server could not find the requested resource");
    } else if (lc_kube_authenticate(visit, &user) == 0) {
        watched = lc_params_get(&params, "watch");
        watched = watched != NULL && (strcmp(watched, "true") == 0 || strcmp(watched, "1") == 0) ? watched : NULL;
        /* As the API server's: a list of one name is an act on that object. */
        act = (struct lc_kube_act){watched != NULL ? "watch" : "list", ask.resource, NULL, ask.namespace_name,
                                   ask.name[0] == '\0' ? NULL : ask.name};
        if (lc_kube_authorize(visit, &user, &act) == 0) {
            (watched != NULL ? watch : list)(visit, kube, &ask, &params);
        }
    }
    lc_kube_user_free(&user);
    lc_params_free(&params);
}
