/* SPDX-License-Identifier: MIT */
/* APIServices, CustomResourceDefinitions and webhook configurations, with server-side apply of their fields. */
#include "kube_cluster.h"

#include "crypto.h"
#include "kube_call.h"
#include "kube_cluster_fields.h"
#include "kube_fields.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

enum { MOST_PAGE = 500 };

struct kind {
    const char *name;
    const char *group;
    const char *plural;
    const char *version;
};

static const struct kind kinds[] = {
    {"APIService", "apiregistration.k8s.io", "apiservices", "v1"},
    {"CustomResourceDefinition", "apiextensions.k8s.io", "customresourcedefinitions", "v1"},
    {"MutatingWebhookConfiguration", "admissionregistration.k8s.io", "mutatingwebhookconfigurations", "v1"},
    {"ValidatingWebhookConfiguration", "admissionregistration.k8s.io", "validatingwebhookconfigurations", "v1"},
    /* As in 1.36: of no later version. */
    {"ClusterTrustBundle", "certificates.k8s.io", "clustertrustbundles", "v1beta1"},
};

/* A request under way; the cluster's lock is held while it is carried out. */
struct work {
    struct lc_visit *visit;
    struct lc_kube *kube;
    const struct kind *kind;
    const char *name; /* "": the list */
    const char *verb;
    struct lc_params params;
    json_t *body;
    json_t *entry; /* that is there now, borrowed; NULL: none */
    char *key;
};

static const struct kind *kind_of(const char *path, const char **name)
{
    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++) {
        char *prefix = lc_text_format("/kube/apis/%s/%s/%s", kinds[i].group, kinds[i].version, kinds[i].plural);
        size_t len = prefix == NULL ? 0 : strlen(prefix);
        bool is = prefix != NULL && lc_text_starts(path, prefix) && (path[len] == '\0' || path[len] == '/');

        free(prefix);
        if (is) {
            *name = path[len] == '/' ? path + len + 1 : "";
            return strchr(*name, '/') == NULL ? &kinds[i] : NULL;
        }
    }
    return NULL;
}

bool lc_kube_is_cluster(const char *path)
{
    const char *name = NULL;

    return kind_of(path, &name) != NULL;
}

/* ---- what is shown ---- */

static json_t *shown(json_t *entry, bool partial)
{
    json_t *object = json_copy(json_object_get(entry, "object"));
    json_t *metadata = json_copy(json_object_get(object, "metadata"));
    char *version = lc_text_format("%s", lc_kube_text(object, "apiVersion"));

    (void)json_object_set_new(metadata, "managedFields",
                              lc_kube_cluster_managed(json_object_get(entry, "managers"), version));
    free(version);
    if (partial) {
        json_decref(object);
        return json_pack("{s:s,s:s,s:o}", "kind", "PartialObjectMetadata", "apiVersion", "meta.k8s.io/v1", "metadata",
                         metadata);
    }
    (void)json_object_set_new(object, "metadata", metadata);
    return object;
}

/* 1: metadata alone; 0: everything; -1: answered with 406. */
static int wants_partial(struct work *w)
{
    const char *accept = lc_request_header(w->visit->request, "accept");
    const char *as = accept == NULL ? NULL : strstr(accept, "as=");
    const char *wanted = *w->name == '\0' && strcmp(w->verb, "list") == 0 ? "as=PartialObjectMetadataList;"
                                                                          : "as=PartialObjectMetadata;";

    if (as == NULL) {
        return 0;
    }
    if (lc_text_starts(accept, "application/json;") && lc_text_starts(as, wanted) &&
        strstr(accept, "g=meta.k8s.io") != NULL && strstr(accept, "v=v1") != NULL) {
        return 1;
    }
    return lc_kube_refuse(w->visit, 406, "NotAcceptable", json_object(),
                          "only the following media types are accepted: application/json, "
                          "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1");
}

static void answer(struct work *w, unsigned status, json_t *entry)
{
    int partial = wants_partial(w);

    if (partial >= 0) {
        lc_kube_answer(w->visit, status, shown(entry, partial == 1));
    }
}

/* ---- writing ---- */

static int conflict(struct work *w, const char *why)
{
    return lc_kube_refuse(w->visit, 409, "Conflict",
                          json_pack("{s:s,s:s,s:s}", "name", w->name, "group", w->kind->group, "kind", w->kind->plural),
                          "Operation cannot be fulfilled on %s.%s \"%s\": %s", w->kind->plural, w->kind->group, w->name,
                          why);
}

static int check_identity(struct work *w, bool apply)
{
    json_t *metadata = json_object_get(w->body, "metadata");
    json_t *live = json_object_get(json_object_get(w->entry, "object"), "metadata");
    char *version = lc_text_format("%s/%s", w->kind->group, w->kind->version);
    bool same = version != NULL && strcmp(lc_kube_text(w->body, "apiVersion"), version) == 0 &&
                strcmp(lc_kube_text(w->body, "kind"), w->kind->name) == 0;
    const char *uid = lc_kube_text(metadata, "uid");
    const char *seen = lc_kube_text(metadata, "resourceVersion");

    free(version);
    if (!same || strcmp(lc_kube_text(metadata, "name"), w->name) != 0) {
        return lc_kube_refuse(w->visit, 400, "BadRequest", NULL, "the object is of another kind, version or name");
    }
    if (apply && json_object_get(metadata, "managedFields") != NULL) {
        return lc_kube_refuse(w->visit, 400, "BadRequest", NULL, "metadata.managedFields must be nil");
    }
    if (*uid != '\0' && live == NULL) {
        return conflict(w, "uid mismatch: the provided object specified a uid, and no existing object was found");
    }
    if (*uid != '\0' && strcmp(uid, lc_kube_text(live, "uid")) != 0) {
        return conflict(w, "Precondition failed: the UID of the request is not that of the object");
    }
    if (*seen != '\0' && strcmp(seen, lc_kube_text(live, "resourceVersion")) != 0) {
        return conflict(w,
                        "the object has been modified; please apply your changes to the latest version and try again");
    }
    return 0;
}

static json_t *make_metadata(struct work *w, json_t *live)
{
    char uid[LC_UUID_BYTES];
    char version[32];
    json_t *out = NULL;

    (void)snprintf(version, sizeof version, "%llu", (unsigned long long)++w->kube->version);
    if (live != NULL) {
        out = json_pack("{s:O,s:O,s:O,s:s}", "name", json_object_get(live, "name"), "uid", json_object_get(live, "uid"),
                        "creationTimestamp", json_object_get(live, "creationTimestamp"), "resourceVersion", version);
        return out;
    }
    lc_uuid(uid);
    return json_pack("{s:s,s:s,s:o,s:s}", "name", w->name, "uid", uid, "creationTimestamp", lc_kube_now(),
                     "resourceVersion", version);
}

/* Checks what FLAT makes, and keeps it. */
static void finish(struct work *w, json_t *flat, json_t *managers)
{
    json_t *live = json_object_get(json_object_get(w->entry, "object"), "metadata");
    struct lc_kube_faults faults = {0};
    json_t *object = lc_kube_cluster_unflatten(flat, w->kind->group, w->kind->version, w->kind->name);
    json_t *entry = NULL;
    json_t *before = w->entry == NULL ? NULL : lc_kube_cluster_flatten(json_object_get(w->entry, "object"));
    json_t *metadata = NULL;

    (void)json_object_set_new(json_object_get(object, "metadata"), "name", json_string(w->name));
    lc_kube_cluster_check(object, &faults);
    if (lc_kube_faultless(w->visit, &faults, w->kind->group, w->kind->name, w->name) == 0) {
        if (before != NULL && json_equal(before, flat) == 1 &&
            lc_kube_same_managers(json_object_get(w->entry, "managers"), managers)) {
            answer(w, 200, w->entry);
        } else {
            metadata = make_metadata(w, live);
            (void)json_object_update(metadata, json_object_get(object, "metadata"));
            (void)json_object_set_new(object, "metadata", metadata);
            entry = json_pack("{s:O,s:O}", "object", object, "managers", managers);
            answer(w, w->entry == NULL ? 201 : 200, entry);
            w->visit->record.exchange = true;
            (void)json_object_set(w->kube->cluster, w->key, entry);
            json_decref(entry);
        }
    }
    json_decref(before);
    json_decref(object);
}

static json_t *flat_of_entry(const struct work *w)
{
    return w->entry == NULL ? json_object() : lc_kube_cluster_flatten(json_object_get(w->entry, "object"));
}

static json_t *managers_of_entry(const struct work *w)
{
    return w->entry == NULL ? json_array() : json_deep_copy(json_object_get(w->entry, "managers"));
}

static void replace_with(struct work *w, json_t *object)
{
    json_t *before = flat_of_entry(w);
    json_t *managers = managers_of_entry(w);
    json_t *flat = lc_kube_cluster_flatten(object);
    const char *manager = lc_params_get(&w->params, "fieldManager");

    lc_kube_wrote(managers, before, flat, manager == NULL || *manager == '\0' ? "client" : manager);
    finish(w, flat, managers);
    json_decref(flat);
    json_decref(managers);
    json_decref(before);
}

/* RFC 7386. */
static json_t *merge(json_t *target, json_t *patch)
{
    json_t *out = json_is_object(target) ? json_copy(target) : json_object();
    const char *key = NULL;
    json_t *value = NULL;

    json_object_foreach(patch, key, value)
    {
        if (json_is_null(value)) {
            (void)json_object_del(out, key);
        } else if (json_is_object(value)) {
            (void)json_object_set_new(out, key, merge(json_object_get(out, key), value));
        } else {
            (void)json_object_set(out, key, value);
        }
    }
    return out;
}

static void apply(struct work *w)
{
    const char *manager = lc_params_get(&w->params, "fieldManager");
    const char *force = lc_params_get(&w->params, "force");
    json_t *flat = NULL;
    json_t *managers = NULL;
    json_t *config = NULL;
    json_t *conflicts = NULL;
    const char *unknown = lc_kube_cluster_unknown(w->body);

    if (manager == NULL || *manager == '\0') {
        struct lc_kube_faults faults = {0};
        lc_kube_fault(&faults, "FieldValueRequired", "fieldManager", "Required value: is required for apply patch");
        (void)lc_kube_faultless(w->visit, &faults, "meta.k8s.io", "PatchOptions", "");
        return;
    }
    if (check_identity(w, true) != 0) {
        return;
    }
    if (unknown != NULL) {
        (void)lc_kube_refuse(w->visit, 500, "InternalError", NULL,
                             "failed to create typed patch object: .%s: field not declared in schema", unknown);
        return;
    }
    flat = flat_of_entry(w);
    managers = managers_of_entry(w);
    config = lc_kube_cluster_flatten(w->body);
    conflicts = lc_kube_apply(flat, managers, config, manager, force != NULL && strcmp(force, "true") == 0);
    if (json_array_size(conflicts) > 0) {
        json_t *one = json_array_get(conflicts, 0);
        char *message = lc_text_format("conflict with %s", lc_kube_text(one, "who"));
        json_t *cause = json_pack("{s:s,s:s,s:s}", "reason", "FieldManagerConflict", "message",
                                  message == NULL ? "" : message, "field", lc_kube_text(one, "path"));
        (void)lc_kube_refuse(w->visit, 409, "Conflict", json_pack("{s:[o]}", "causes", cause),
                             "Apply failed with %zu conflicts: %s", json_array_size(conflicts), message);
        free(message);
    } else {
        finish(w, flat, managers);
    }
    json_decref(conflicts);
    json_decref(config);
    json_decref(managers);
    json_decref(flat);
}

static void patch(struct work *w)
{
    const char *type = lc_request_header(w->visit->request, "content-type");

    if (type != NULL && strcasecmp(type, "application/apply-patch+yaml") == 0) {
        apply(w);
        return;
    }
    if (type == NULL || strcasecmp(type, "application/merge-patch+json") != 0) {
        (void)lc_kube_refuse(w->visit, 415, "UnsupportedMediaType", json_object(),
                             "the body of the request was in an unknown format");
        return;
    }
    if (w->entry == NULL) {
        (void)lc_kube_not_found(w->visit, w->kind->plural, w->name);
    } else {
        json_t *merged = merge(json_object_get(w->entry, "object"), w->body);
        replace_with(w, merged);
        json_decref(merged);
    }
}

/* ---- reading ---- */

static void list(struct work *w)
{
    const char *limit = lc_params_get(&w->params, "limit");
    const char *from = lc_params_get(&w->params, "continue");
    long most = limit == NULL ? MOST_PAGE : strtol(limit, NULL, 10);
    long skip = from == NULL ? 0 : strtol(from, NULL, 10);
    int partial = wants_partial(w);
    json_t *items = json_array();
    json_t *entry = NULL;
    const char *key = NULL;
    char next[32] = "";
    long index = 0;

    json_object_foreach(w->kube->cluster, key, entry)
    {
        if (strncmp(key, w->kind->plural, strlen(w->kind->plural)) != 0 || key[strlen(w->kind->plural)] != '/') {
            continue;
        }
        if (index >= skip && index < skip + most) {
            json_t *one = shown(entry, partial == 1);
            (void)json_object_del(one, partial == 1 ? "" : "kind");
            (void)json_array_append_new(items, one);
        }
        index++;
    }
    if (index > skip + most) {
        (void)snprintf(next, sizeof next, "%ld", skip + most);
    }
    if (partial >= 0) {
        char *kind = lc_text_format("%sList", w->kind->name);
        lc_kube_answer(w->visit, 200,
                       json_pack("{s:s,s:s,s:{s:s,s:s},s:O}", "kind", partial == 1 ? "PartialObjectMetadataList" : kind,
                                 "apiVersion", "meta.k8s.io/v1", "metadata", "resourceVersion", "1", "continue", next,
                                 "items", items));
        free(kind);
    }
    json_decref(items);
}

static void run(struct work *w)
{
    if (strcmp(w->verb, "list") == 0) {
        list(w);
    } else if (strcmp(w->verb, "create") == 0) {
        if (w->entry != NULL) {
            (void)lc_kube_refuse(w->visit, 409, "AlreadyExists", NULL, "%s \"%s\" already exists", w->kind->plural,
                                 w->name);
        } else if (check_identity(w, false) == 0) {
            replace_with(w, w->body);
        }
    } else if (strcmp(w->verb, "patch") == 0) {
        patch(w);
    } else if (w->entry == NULL) {
        (void)lc_kube_not_found(w->visit, w->kind->plural, w->name);
    } else if (strcmp(w->verb, "get") == 0) {
        answer(w, 200, w->entry);
    } else if (strcmp(w->verb, "update") == 0) {
        if (check_identity(w, false) == 0) {
            replace_with(w, w->body);
        }
    } else {
        answer(w, 200, w->entry);
        (void)json_object_del(w->kube->cluster, w->key);
    }
}

static const char *verb_of(const char *method, bool named)
{
    static const struct {
        const char *method;
        const char *one;
        const char *all;
    } verbs[] = {{"GET", "get", "list"},
                 {"POST", NULL, "create"},
                 {"PUT", "update", NULL},
                 {"PATCH", "patch", NULL},
                 {"DELETE", "delete", NULL}};

    for (size_t i = 0; i < sizeof verbs / sizeof verbs[0]; i++) {
        if (strcmp(verbs[i].method, method) == 0) {
            return named ? verbs[i].one : verbs[i].all;
        }
    }
    return NULL;
}

/* Who writes a ClusterTrustBundle must be allowed to attest for its signer. */
static bool may_attest(struct work *w, const struct lc_kube_user *user)
{
    const char *signer = lc_kube_text(json_object_get(w->body, "spec"), "signerName");
    const struct lc_kube_act act = {"attest", "signers", NULL, "", signer};

    if (strcmp(w->kind->name, "ClusterTrustBundle") != 0 || w->body == NULL || lc_kube_allowed(w->kube, user, &act)) {
        return true;
    }
    (void)lc_kube_forbidden(w->visit, w->kind->plural, w->name, "user not permitted to attest for signerName");
    return false;
}

static bool is_allowed(struct work *w, const struct lc_kube_user *user)
{
    const struct lc_kube_act act = {w->verb, w->kind->plural, NULL, "", *w->name == '\0' ? NULL : w->name};
    char *why = NULL;

    if (lc_kube_allowed(w->kube, user, &act)) {
        return true;
    }
    why = lc_text_format("User \"%s\" cannot %s resource \"%s\" in API group \"%s\" at the cluster scope", user->name,
                         w->verb, w->kind->plural, w->kind->group);
    (void)lc_kube_forbidden(w->visit, w->kind->plural, act.name, why == NULL ? "" : why);
    free(why);
    return false;
}

void lc_kube_cluster(struct lc_visit *visit)
{
    struct lc_kube_user user = {0};
    struct work w = {.visit = visit, .kube = visit->cloud->kube};
    bool writes = false;

    w.kind = kind_of(visit->request->path, &w.name);
    w.verb = verb_of(visit->request->method, *w.name != '\0');
    if (w.verb == NULL) {
        (void)lc_kube_refuse(visit, 405, "MethodNotAllowed", json_object(),
                             "the server does not allow this method on the requested resource");
        return;
    }
    writes = strcmp(w.verb, "create") == 0 || strcmp(w.verb, "update") == 0 || strcmp(w.verb, "patch") == 0;
    if (lc_kube_authenticate(visit, &user) == 0 && is_allowed(&w, &user)) {
        bool good = lc_params_read(visit->request->query, strlen(visit->request->query), &w.params);

        if (!good) {
            (void)lc_kube_refuse(visit, 400, "BadRequest", NULL, "the query cannot be decoded");
        }
        w.body = good && writes ? lc_kube_body(visit) : NULL;
        if (strcmp(w.verb, "create") == 0) {
            w.name = lc_kube_text(json_object_get(w.body, "metadata"), "name");
        }
        w.key = lc_kube_key(w.kind->plural, w.name);
        if (good && (!writes || w.body != NULL) && w.key != NULL && may_attest(&w, &user)) {
            (void)pthread_mutex_lock(&w.kube->lock);
            w.entry = json_incref(json_object_get(w.kube->cluster, w.key));
            run(&w);
            (void)pthread_mutex_unlock(&w.kube->lock);
            json_decref(w.entry);
        }
    }
    lc_kube_user_free(&user);
    lc_params_free(&w.params);
    json_decref(w.body);
    free(w.key);
}
