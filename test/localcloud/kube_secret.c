/* SPDX-License-Identifier: MIT */
/* Secrets: get, create, replace, patch, delete; callers and options. */
#include "kube_fields.h"
#include "kube_watch.h"
#include "kube_work.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

json_t *lc_kube_secret_shown(json_t *entry)
{
    json_t *shown = json_copy(json_object_get(entry, "object"));
    json_t *metadata = json_copy(json_object_get(shown, "metadata"));

    (void)json_object_set_new(metadata, "managedFields", lc_kube_managed(json_object_get(entry, "managers")));
    (void)json_object_set_new(shown, "metadata", metadata);
    return shown;
}

/* Identity of the object: that of the present one, or a new one. */
static json_t *identity(json_t *entry, const char *namespace_name, const char *name, const char *uid)
{
    static const char *const keys[] = {"name", "namespace", "uid", "creationTimestamp"};
    json_t *metadata = json_object_get(json_object_get(entry, "object"), "metadata");
    json_t *out = json_object();
    char fresh[LC_UUID_BYTES];

    if (metadata == NULL) {
        lc_uuid(fresh);
        json_decref(out);
        return json_pack("{s:s,s:s,s:s,s:o}", "name", name, "namespace", namespace_name, "uid",
                         uid == NULL ? fresh : uid, "creationTimestamp", lc_kube_now());
    }
    for (size_t i = 0; i < sizeof keys / sizeof keys[0]; i++) {
        (void)json_object_set(out, keys[i], json_object_get(metadata, keys[i]));
    }
    return out;
}

/* What is kept: takes the references of metadata and managers. */
static json_t *make_entry(struct lc_kube *kube, const struct lc_kube_kind *kind, json_t *flat, json_t *metadata,
                          json_t *managers)
{
    char version[32] = "";
    json_t *object = NULL;

    (void)snprintf(version, sizeof version, "%llu", (unsigned long long)++kube->version);
    (void)json_object_set_new(metadata, "resourceVersion", json_string(version));
    object = lc_kube_unflatten(kind->name, flat, metadata);
    json_decref(metadata);
    return json_pack("{s:o,s:o}", "object", object, "managers", managers);
}

json_t *lc_kube_secret_entry(struct lc_kube *kube, json_t *secret, const char *manager, struct lc_fail *fail)
{
    json_t *metadata = json_object_get(secret, "metadata");
    json_t *flat = lc_kube_secret_decode(&lc_kube_kind_secret, secret, fail);
    json_t *nothing = json_object();
    json_t *managers = json_array();
    json_t *entry = NULL;
    struct lc_kube_faults faults = {0};

    if (flat != NULL) {
        lc_kube_secret_validate(&lc_kube_kind_secret, flat, NULL, lc_kube_text(metadata, "name"), &faults);
        if (json_array_size(faults.causes) > 0) {
            json_t *cause = json_array_get(faults.causes, 0);
            (void)lc_fail_set(fail, "secret: %s: %.300s", lc_kube_text(cause, "field"), lc_kube_text(cause, "message"));
        } else {
            lc_kube_wrote(managers, nothing, flat, manager);
            entry = make_entry(kube, &lc_kube_kind_secret, flat,
                               identity(NULL, lc_kube_text(metadata, "namespace"), lc_kube_text(metadata, "name"),
                                        json_string_value(json_object_get(metadata, "uid"))),
                               json_incref(managers));
        }
    }
    json_decref(faults.causes);
    json_decref(flat);
    json_decref(nothing);
    json_decref(managers);
    return entry;
}

int lc_kube_bad_request(struct lc_kube_work *work, const char *text)
{
    return lc_kube_refuse(work->visit, 400, "BadRequest", NULL, "%s", text);
}

int lc_kube_conflict(struct lc_kube_work *work, const char *why)
{
    return lc_kube_refuse(work->visit, 409, "Conflict",
                          json_pack("{s:s,s:s}", "name", work->name, "kind", work->kind->resource),
                          "Operation cannot be fulfilled on %s \"%s\": %s", work->kind->resource, work->name, why);
}

/* Who writes, without a fieldManager: the User-Agent up to its slash. */
static void manager_of(struct lc_kube_work *work)
{
    const char *given = lc_params_get(&work->params, "fieldManager");
    const char *agent = lc_request_header(work->visit->request, "user-agent");
    size_t len = agent == NULL ? 0 : strcspn(agent, "/");

    if (given != NULL && *given != '\0') {
        (void)snprintf(work->manager, sizeof work->manager, "%s", given);
    } else if (len > 0) {
        (void)snprintf(work->manager, sizeof work->manager, "%.*s", (int)(len > 100 ? 100 : len), agent);
    } else {
        (void)snprintf(work->manager, sizeof work->manager, "unknown");
    }
}

static bool printable(const char *text)
{
    for (; *text != '\0'; text++) {
        if ((unsigned char)*text < ' ' || *text == 0x7F) {
            return false;
        }
    }
    return true;
}

static int read_options(struct lc_kube_work *work, bool apply)
{
    const char *query = work->visit->request->query;
    struct lc_kube_faults faults = {0};
    const char *manager = NULL;
    const char *force = NULL;
    const char *dry = NULL;

    if (!lc_params_read(query, strlen(query), &work->params)) {
        return lc_kube_bad_request(work, "the query cannot be decoded");
    }
    manager = lc_params_get(&work->params, "fieldManager");
    force = lc_params_get(&work->params, "force");
    dry = lc_params_get(&work->params, "dryRun");
    work->force = force != NULL && (strcmp(force, "true") == 0 || strcmp(force, "1") == 0);
    work->dry = dry != NULL && strcmp(dry, "All") == 0;
    if (!apply && force != NULL && strcmp(work->visit->request->method, "PATCH") == 0) {
        lc_kube_fault(&faults, "FieldValueForbidden", "force", "Forbidden: may not be specified for non-apply patch");
    }
    if (apply && (manager == NULL || *manager == '\0')) {
        lc_kube_fault(&faults, "FieldValueRequired", "fieldManager", "Required value: is required for apply patch");
    }
    if (manager != NULL && strlen(manager) > LC_KUBE_MANAGER_BYTES) {
        lc_kube_fault(&faults, "FieldValueTooLong", "fieldManager", "Too long: may not be more than %d bytes",
                      LC_KUBE_MANAGER_BYTES);
    }
    if (manager != NULL && !printable(manager)) {
        lc_kube_fault(&faults, "FieldValueInvalid", "fieldManager",
                      "Invalid value: \"?\": should only contain printable characters");
    }
    if (dry != NULL && !work->dry) {
        lc_kube_fault(&faults, "FieldValueNotSupported", "dryRun",
                      "Unsupported value: \"%.60s\": supported values: \"All\"", dry);
    }
    manager_of(work);
    return lc_kube_faultless(work->visit, &faults, "meta.k8s.io", "PatchOptions", "");
}

/* What the body says of the object's identity must be true. */
int lc_kube_check_identity(struct lc_kube_work *work, json_t *object)
{
    json_t *metadata = json_object_get(object, "metadata");
    json_t *live = json_object_get(json_object_get(work->entry, "object"), "metadata");
    const char *name = lc_kube_text(metadata, "name");
    const char *space = lc_kube_text(metadata, "namespace");
    const char *version = lc_kube_text(metadata, "resourceVersion");
    const char *uid = lc_kube_text(metadata, "uid");

    if (*name != '\0' && strcmp(name, work->name) != 0) {
        return lc_kube_refuse(work->visit, 400, "BadRequest", NULL,
                              "the name of the object (%.253s) does not match the name on the URL (%.253s)", name,
                              work->name);
    }
    if (*space != '\0' && strcmp(space, work->path.namespace_name) != 0) {
        return lc_kube_bad_request(
            work, "the namespace of the provided object does not match the namespace sent on the request");
    }
    if (*uid != '\0' && strcmp(uid, lc_kube_text(live, "uid")) != 0) {
        return lc_kube_conflict(work, "Precondition failed: the UID of the request is not that of the object");
    }
    if (*version != '\0' && strcmp(version, "0") != 0 && strcmp(version, lc_kube_text(live, "resourceVersion")) != 0) {
        return lc_kube_conflict(work,
                                "the object has been modified; please apply your changes to the latest version and try "
                                "again");
    }
    return 0;
}

/* For those that watch; entry NULL: it was deleted. */
static void note_change(const struct lc_kube_work *work, json_t *entry)
{
    json_t *before = work->entry == NULL ? NULL : lc_kube_secret_shown(work->entry);
    json_t *after = entry == NULL ? NULL : lc_kube_secret_shown(entry);

    lc_kube_happened(work->kube, work->kind->resource, work->path.namespace_name, before, after);
    json_decref(before);
    json_decref(after);
}

/* Checks the outcome and keeps it; flat is borrowed. */
int lc_kube_finish(struct lc_kube_work *work, json_t *flat)
{
    struct lc_kube_faults faults = {0};
    json_t *old = json_object_get(work->entry, "managers");
    json_t *entry = NULL;
    bool fresh = work->entry == NULL;

    lc_kube_secret_validate(work->kind, flat, fresh ? NULL : work->before, work->name, &faults);
    if (lc_kube_faultless(work->visit, &faults, "", work->kind->name, work->name) != 0) {
        return -1;
    }
    if (!fresh && json_equal(flat, work->before) == 1 && lc_kube_same_managers(old, work->managers)) {
        lc_kube_answer(work->visit, 200, lc_kube_secret_shown(work->entry));
        return 0;
    }
    entry = make_entry(work->kube, work->kind, flat, identity(work->entry, work->path.namespace_name, work->name, NULL),
                       json_incref(work->managers));
    lc_kube_answer(work->visit, fresh ? 201 : 200, lc_kube_secret_shown(entry));
    work->visit->record.exchange = true;
    if (!work->dry) {
        note_change(work, entry);
        (void)json_object_set(work->list, work->key, entry);
    }
    json_decref(entry);
    return 0;
}

int lc_kube_check_namespace(struct lc_kube_work *work)
{
    return json_object_get(work->kube->namespaces, work->path.namespace_name) != NULL
               ? 0
               : lc_kube_not_found(work->visit, "namespaces", work->path.namespace_name);
}

json_t *lc_kube_decode(struct lc_kube_work *work, json_t *object)
{
    struct lc_fail fail = {""};
    json_t *flat = lc_kube_secret_decode(work->kind, object, &fail);

    if (flat == NULL) {
        (void)lc_kube_bad_request(work, fail.text);
    }
    return flat;
}

/* Takes a new object's flat form in place of the present one, which may be none. */
static int replace(struct lc_kube_work *work, json_t *object)
{
    json_t *flat = lc_kube_check_identity(work, object) == 0 ? lc_kube_decode(work, object) : NULL;
    int result = -1;

    if (flat != NULL) {
        if (!work->kind->is_public && json_object_get(flat, "type") == NULL) {
            (void)json_object_set_new(flat, "type", json_string("Opaque"));
        }
        lc_kube_wrote(work->managers, work->before, flat, work->manager);
        result = lc_kube_finish(work, flat);
    }
    json_decref(flat);
    return result;
}

static int create(struct lc_kube_work *work)
{
    if (work->entry != NULL) {
        return lc_kube_refuse(work->visit, 409, "AlreadyExists",
                              json_pack("{s:s,s:s}", "name", work->name, "kind", work->kind->resource),
                              "%s \"%s\" already exists", work->kind->resource, work->name);
    }
    return lc_kube_check_namespace(work) != 0 ? -1 : replace(work, work->body);
}

static int update(struct lc_kube_work *work)
{
    return work->entry == NULL ? lc_kube_not_found(work->visit, work->kind->resource, work->name)
                               : replace(work, work->body);
}

json_t *lc_kube_merge(json_t *target, json_t *patch)
{
    const char *key = NULL;
    json_t *value = NULL;

    if (!json_is_object(patch)) {
        json_decref(target);
        return json_incref(patch);
    }
    if (!json_is_object(target)) {
        json_decref(target);
        target = json_object();
    }
    json_object_foreach(patch, key, value)
    {
        if (json_is_null(value)) {
            (void)json_object_del(target, key);
        } else {
            json_t *inside = json_object_get(target, key);
            (void)json_object_set_new(target, key,
                                      lc_kube_merge(inside == NULL ? NULL : json_deep_copy(inside), value));
        }
    }
    return target;
}

static int patch(struct lc_kube_work *work)
{
    json_t *live = NULL;
    json_t *merged = NULL;
    int result = -1;

    if (work->entry == NULL) {
        return lc_kube_not_found(work->visit, work->kind->resource, work->name);
    }
    /* Without a version in the request, any version matches. */
    live = json_deep_copy(json_object_get(work->entry, "object"));
    merged = lc_kube_merge(live, work->body);
    result = replace(work, merged);
    json_decref(merged);
    return result;
}

static int drop(struct lc_kube_work *work)
{
    json_t *metadata = json_object_get(json_object_get(work->entry, "object"), "metadata");
    json_t *wanted = json_object_get(work->body, "preconditions");
    const char *version = lc_kube_text(wanted, "resourceVersion");
    const char *uid = lc_kube_text(wanted, "uid");

    if (work->entry == NULL) {
        return lc_kube_not_found(work->visit, work->kind->resource, work->name);
    }
    if ((*uid != '\0' && strcmp(uid, lc_kube_text(metadata, "uid")) != 0) ||
        (*version != '\0' && strcmp(version, lc_kube_text(metadata, "resourceVersion")) != 0)) {
        return lc_kube_conflict(work, "Precondition failed: UID or resourceVersion is another one");
    }
    lc_kube_answer(work->visit, 200,
                   json_pack("{s:s,s:s,s:{},s:s,s:{s:s,s:s,s:O}}", "kind", "Status", "apiVersion", "v1", "metadata",
                             "status", "Success", "details", "name", work->name, "kind", work->kind->resource, "uid",
                             json_object_get(metadata, "uid")));
    if (work->dry) {
        return 0;
    }
    work->kube->version++;
    note_change(work, NULL);
    return json_object_del(work->list, work->key);
}

static int show(struct lc_kube_work *work)
{
    if (work->entry == NULL) {
        return lc_kube_not_found(work->visit, work->kind->resource, work->name);
    }
    lc_kube_answer(work->visit, 200, lc_kube_secret_shown(work->entry));
    return 0;
}

static bool has_type(const struct lc_visit *visit, const char *wanted)
{
    const char *type = lc_request_header(visit->request, "content-type");
    size_t len = strlen(wanted);

    return type != NULL && strncasecmp(type, wanted, len) == 0 && (type[len] == '\0' || type[len] == ';');
}

struct verb {
    const char *method;
    const char *verb;
    int (*run)(struct lc_kube_work *work);
    bool body;
};

/* The operation that the method and the content type ask for; NULL with the answer written. */
static const struct verb *find_verb(struct lc_visit *visit)
{
    static const struct verb verbs[] = {{"GET", "get", show, false},
                                        {"POST", "create", create, true},
                                        {"PUT", "update", update, true},
                                        {"PATCH", "patch", patch, true},
                                        {"DELETE", "delete", drop, false}};
    static const struct verb applied = {"PATCH", "patch", lc_kube_secret_apply, true};

    for (size_t i = 0; i < sizeof verbs / sizeof verbs[0]; i++) {
        if (strcmp(verbs[i].method, visit->request->method) != 0) {
            continue;
        }
        if (verbs[i].run != patch || has_type(visit, "application/merge-patch+json") ||
            has_type(visit, "application/strategic-merge-patch+json")) {
            return &verbs[i];
        }
        if (has_type(visit, "application/apply-patch+yaml")) {
            return &applied;
        }
        (void)lc_kube_refuse(visit, 415, "UnsupportedMediaType", json_object(),
                             "the body of the request was in an unknown format - accepted media types include: "
                             "application/merge-patch+json, application/strategic-merge-patch+json, "
                             "application/apply-patch+yaml");
        return NULL;
    }
    (void)lc_kube_refuse(visit, 405, "MethodNotAllowed", json_object(),
                         "the server does not allow this method on the requested resource");
    return NULL;
}

/* The name on the URL; a new object has it in its body. */
static int find_name(struct lc_kube_work *work, const struct verb *verb)
{
    work->name = work->path.name;
    if (verb->run == create) {
        work->name = lc_kube_text(json_object_get(work->body, "metadata"), "name");
        if (*work->name == '\0') {
            struct lc_kube_faults faults = {0};
            lc_kube_fault(&faults, "FieldValueRequired", "metadata.name",
                          "Required value: name or generateName is required");
            return lc_kube_faultless(work->visit, &faults, "", work->kind->name, "");
        }
    }
    work->key = lc_kube_key(work->path.namespace_name, work->name);
    return work->key == NULL ? lc_kube_bad_request(work, "out of memory") : 0;
}

static int read_body(struct lc_kube_work *work, const struct verb *verb)
{
    if (!verb->body && work->visit->request->body_len == 0) {
        return 0;
    }
    work->body = lc_kube_body(work->visit);
    return work->body == NULL ? -1 : 0;
}

static void run_locked(struct lc_kube_work *work, const struct verb *verb)
{
    (void)pthread_mutex_lock(&work->kube->lock);
    work->entry = json_incref(json_object_get(work->list, work->key));
    work->before = work->entry == NULL ? json_object() : lc_kube_flatten(json_object_get(work->entry, "object"));
    work->managers = work->entry == NULL ? json_array() : json_deep_copy(json_object_get(work->entry, "managers"));
    (void)verb->run(work);
    (void)pthread_mutex_unlock(&work->kube->lock);
}

void lc_kube_secrets(struct lc_visit *visit)
{
    const struct verb *verb = find_verb(visit);
    struct lc_kube_work work = {.visit = visit, .kube = visit->cloud->kube};
    bool is_secret = false;

    if (verb == NULL) {
        return;
    }
    (void)lc_kube_path(visit->request->path, &work.path);
    is_secret = strcmp(work.path.kind, lc_kube_kind_secret.resource) == 0;
    work.kind = is_secret ? &lc_kube_kind_secret : &lc_kube_kind_configmap;
    work.list = is_secret ? work.kube->secrets : work.kube->configmaps;
    if (lc_kube_authenticate(visit, &work.user) == 0) {
        const char *name = work.path.name[0] == '\0' ? NULL : work.path.name;
        const struct lc_kube_act act = {verb->verb, work.kind->resource, NULL, work.path.namespace_name, name};
        const struct lc_kube_act other = {"create", work.kind->resource, NULL, work.path.namespace_name, name};
        if (lc_kube_authorize(visit, &work.user, &act) == 0 &&
            read_options(&work, verb->run == lc_kube_secret_apply) == 0 && read_body(&work, verb) == 0 &&
            find_name(&work, verb) == 0) {
            work.may_create = lc_kube_allowed(work.kube, &work.user, &other);
            run_locked(&work, verb);
        }
    }
    lc_kube_user_free(&work.user);
    lc_params_free(&work.params);
    json_decref(work.body);
    json_decref(work.entry);
    json_decref(work.before);
    json_decref(work.managers);
    free(work.key);
}
