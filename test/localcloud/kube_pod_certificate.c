/* SPDX-License-Identifier: MIT */
/* Requests about one PodCertificateRequest: reading it, and writing its status. Lists and watches are in kube_watch.c.
 */
#include "kube_pod_certificate.h"

#include "kube_watch.h"
#include "kube_work.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

static const char *const versions[] = {"v1", "v1beta1"};

/* A request under way; the cluster's lock is held while it is carried out. */
struct work {
    struct lc_visit *visit;
    struct lc_kube *kube;
    const struct lc_kube_user *user;
    struct lc_kube_path path;
    const char *version;
    char *key;
    json_t *live; /* borrowed; NULL: none */
    json_t *body;
};

bool lc_kube_pod_certificate_served(struct lc_kube *kube, const char *version)
{
    bool served = false;

    (void)pthread_mutex_lock(&kube->lock);
    served = lc_json_holds(kube->pod_certificate_versions, version);
    (void)pthread_mutex_unlock(&kube->lock);
    return served;
}

int lc_kube_pod_certificate_serve(struct lc_kube *kube, json_t *wanted, struct lc_fail *fail)
{
    json_t *item = NULL;
    size_t index = 0;

    if (wanted != NULL && !json_is_array(wanted)) {
        return lc_fail_set(fail, "kube: \"pod_certificate_versions\" must be an array");
    }
    json_array_foreach(wanted, index, item)
    {
        const char *text = json_string_value(item);
        if (text == NULL || (strcmp(text, versions[0]) != 0 && strcmp(text, versions[1]) != 0)) {
            return lc_fail_set(fail, "kube: \"pod_certificate_versions\" can hold \"v1\" and \"v1beta1\"");
        }
    }
    json_decref(kube->pod_certificate_versions);
    kube->pod_certificate_versions =
        wanted == NULL ? json_pack("[s,s]", versions[0], versions[1]) : json_incref(wanted);
    return 0;
}

json_t *lc_kube_pod_certificate_shown(json_t *object, const char *version)
{
    json_t *copy = json_copy(object);
    json_t *spec = json_copy(json_object_get(object, "spec"));
    char *api = lc_text_format("%s/%s", LC_POD_CERTIFICATE_GROUP, version);

    if (strcmp(version, "v1") == 0) {
        (void)json_object_del(spec, "pkixPublicKey");
        (void)json_object_del(spec, "proofOfPossession");
    }
    (void)json_object_set_new(copy, "spec", spec);
    (void)json_object_set_new(copy, "apiVersion", json_string(api == NULL ? "" : api));
    free(api);
    return copy;
}

bool lc_kube_pod_certificate_drop(struct lc_kube *kube, const char *key)
{
    json_t *before = json_incref(json_object_get(kube->pod_certificates, key));
    bool there = before != NULL;

    if (there) {
        kube->version++;
        (void)json_object_del(kube->pod_certificates, key);
        lc_kube_happened(kube, LC_POD_CERTIFICATES, lc_kube_text(json_object_get(before, "metadata"), "namespace"),
                         before, NULL);
    }
    json_decref(before);
    return there;
}

/* ---- writing ---- */

static int conflict(struct work *w, const char *why)
{
    return lc_kube_refuse(
        w->visit, 409, "Conflict",
        json_pack("{s:s,s:s,s:s}", "name", w->path.name, "group", LC_POD_CERTIFICATE_GROUP, "kind", w->path.kind),
        "Operation cannot be fulfilled on %s.%s \"%s\": %s", w->path.kind, LC_POD_CERTIFICATE_GROUP, w->path.name, why);
}

static int check_version(struct work *w, json_t *object)
{
    json_t *live = json_object_get(w->live, "metadata");
    json_t *metadata = json_object_get(object, "metadata");
    const char *seen = lc_kube_text(metadata, "resourceVersion");
    const char *uid = lc_kube_text(metadata, "uid");
    struct lc_kube_faults faults = {0};

    if (*seen == '\0') {
        lc_kube_fault(&faults, "FieldValueInvalid", "metadata.resourceVersion",
                      "Invalid value: 0x0: must be specified for an update");
        return lc_kube_faultless(w->visit, &faults, LC_POD_CERTIFICATE_GROUP, w->path.kind, w->path.name);
    }
    if (*uid != '\0' && strcmp(uid, lc_kube_text(live, "uid")) != 0) {
        return conflict(w, "Precondition failed: the UID of the request is not that of the object");
    }
    if (strcmp(seen, lc_kube_text(live, "resourceVersion")) != 0) {
        return conflict(w,
                        "the object has been modified; please apply your changes to the latest version and try again");
    }
    return 0;
}

static int check_identity(struct work *w, json_t *object)
{
    json_t *metadata = json_object_get(object, "metadata");
    char *api = lc_text_format("%s/%s", LC_POD_CERTIFICATE_GROUP, w->version);
    bool same = api != NULL && strcmp(lc_kube_text(object, "apiVersion"), api) == 0 &&
                strcmp(lc_kube_text(object, "kind"), "PodCertificateRequest") == 0;

    free(api);
    if (!same) {
        return lc_kube_refuse(w->visit, 400, "BadRequest", NULL, "the object is of another kind or version");
    }
    if (strcmp(lc_kube_text(metadata, "name"), w->path.name) != 0) {
        return lc_kube_refuse(w->visit, 400, "BadRequest", NULL,
                              "the name of the object (%.200s) does not match the name on the URL (%.200s)",
                              lc_kube_text(metadata, "name"), w->path.name);
    }
    if (strcmp(lc_kube_text(metadata, "namespace"), w->path.namespace_name) != 0) {
        return lc_kube_refuse(w->visit, 400, "BadRequest", NULL,
                              "the namespace of the provided object does not match the namespace sent on the request");
    }
    return 0;
}

/* The signer's name itself, or every name of its domain. */
static bool may_sign(const struct work *w)
{
    const char *signer = lc_kube_text(json_object_get(w->live, "spec"), "signerName");
    char *domain = lc_text_format("%.*s/*", (int)strcspn(signer, "/"), signer);
    const struct lc_kube_act one = {"sign", "signers", NULL, "", signer};
    const struct lc_kube_act all = {"sign", "signers", NULL, "", domain == NULL ? "" : domain};
    bool may = lc_kube_allowed(w->kube, w->user, &one) || lc_kube_allowed(w->kube, w->user, &all);

    free(domain);
    return may;
}

static void keep(struct work *w, json_t *status)
{
    json_t *after = json_copy(w->live);
    json_t *metadata = json_copy(json_object_get(w->live, "metadata"));
    char version[32];

    (void)snprintf(version, sizeof version, "%llu", (unsigned long long)++w->kube->version);
    (void)json_object_set_new(metadata, "resourceVersion", json_string(version));
    (void)json_object_set_new(after, "metadata", metadata);
    (void)json_object_set(after, "status", status);
    lc_kube_happened(w->kube, LC_POD_CERTIFICATES, w->path.namespace_name, w->live, after);
    w->visit->record.exchange = true;
    lc_kube_answer(w->visit, 200, lc_kube_pod_certificate_shown(after, w->version));
    (void)json_object_set_new(w->kube->pod_certificates, w->key, after);
}

/* Checks the object that a write makes, and keeps its status. */
static void write_status(struct work *w, json_t *object, bool signs)
{
    json_t *status = json_object_get(object, "status");
    json_t *shown = lc_kube_pod_certificate_shown(w->live, w->version);
    json_t *empty = json_object();
    struct lc_kube_faults faults = {0};

    status = status == NULL || json_is_null(status) ? empty : status;
    if (check_identity(w, object) == 0 && check_version(w, object) == 0 &&
        lc_kube_pod_certificate_decode(w->visit, status) == 0) {
        /* The API server puts the old spec in its place; a signer that sends another one is wrong. */
        if (json_object_get(object, "spec") != NULL &&
            json_equal(json_object_get(object, "spec"), json_object_get(shown, "spec")) != 1) {
            lc_kube_fault(&faults, "FieldValueInvalid", "spec", "Invalid value: field is immutable");
        }
        lc_kube_pod_certificate_check(w->live, status, &faults);
        if (faults.causes == NULL && !signs && json_equal(status, json_object_get(w->live, "status")) != 1) {
            lc_kube_fault(&faults, "FieldValueForbidden", "spec.signerName",
                          "Forbidden: User \"%s\" is not permitted to \"sign\" for signer \"%s\"", w->user->name,
                          lc_kube_text(json_object_get(w->live, "spec"), "signerName"));
        }
        if (lc_kube_faultless(w->visit, &faults, LC_POD_CERTIFICATE_GROUP, "PodCertificateRequest", w->path.name) ==
            0) {
            if (json_equal(status, json_object_get(w->live, "status")) == 1) {
                lc_kube_answer(w->visit, 200, json_incref(shown));
            } else {
                keep(w, status);
            }
        }
    }
    json_decref(empty);
    json_decref(shown);
}

/* What a patch makes of the object as it is SHOWN; NULL with the answer written. */
static json_t *patched(struct work *w, json_t *shown)
{
    const char *type = lc_request_header(w->visit->request, "content-type");
    const char *manager = strstr(w->visit->request->query, "fieldManager=");
    struct lc_kube_faults faults = {0};

    if (type != NULL && strcasecmp(type, "application/apply-patch+yaml") == 0) {
        if (manager == NULL) {
            lc_kube_fault(&faults, "FieldValueRequired", "fieldManager", "Required value: is required for apply patch");
            (void)lc_kube_faultless(w->visit, &faults, "meta.k8s.io", "PatchOptions", "");
            return NULL;
        }
    } else if (type == NULL || (strcasecmp(type, "application/merge-patch+json") != 0 &&
                                strcasecmp(type, "application/strategic-merge-patch+json") != 0)) {
        (void)lc_kube_refuse(w->visit, 415, "UnsupportedMediaType", json_object(),
                             "the body of the request was in an unknown format");
        return NULL;
    }
    return lc_kube_merge(json_deep_copy(shown), w->body);
}

static void run(struct work *w, bool signs)
{
    const char *method = w->visit->request->method;

    if (w->live == NULL) {
        (void)lc_kube_not_found(w->visit, w->path.kind, w->path.name);
    } else if (strcmp(method, "GET") == 0) {
        lc_kube_answer(w->visit, 200, lc_kube_pod_certificate_shown(w->live, w->version));
    } else if (strcmp(method, "PUT") == 0) {
        write_status(w, w->body, signs);
    } else {
        json_t *shown = lc_kube_pod_certificate_shown(w->live, w->version);
        json_t *object = patched(w, shown);

        if (object != NULL) {
            write_status(w, object, signs);
        }
        json_decref(object);
        json_decref(shown);
    }
}

static int authorize(struct work *w, const char *verb)
{
    const struct lc_kube_act act = {verb, w->path.kind, w->path.subresource[0] == '\0' ? NULL : w->path.subresource,
                                    w->path.namespace_name, w->path.name};
    char *why = NULL;

    if (lc_kube_allowed(w->kube, w->user, &act)) {
        return 0;
    }
    why = lc_text_format("User \"%s\" cannot %s resource \"%s%s%s\" in API group \"%s\" in the namespace \"%s\"",
                         w->user->name, verb, act.resource, act.subresource == NULL ? "" : "/",
                         act.subresource == NULL ? "" : act.subresource, LC_POD_CERTIFICATE_GROUP, act.namespace_name);
    (void)lc_kube_forbidden(w->visit, act.resource, act.name, why == NULL ? "" : why);
    free(why);
    return -1;
}

void lc_kube_pod_certificate(struct lc_visit *visit)
{
    const char *method = visit->request->method;
    bool reads = strcmp(method, "GET") == 0;
    const char *verb = reads ? "get" : strcmp(method, "PUT") == 0 ? "update" : "patch";
    struct lc_kube_user user = {0};
    struct work w = {.visit = visit, .kube = visit->cloud->kube, .user = &user};
    bool signs = false;

    (void)lc_kube_pod_certificate_path(visit->request->path, &w.path, &w.version);
    if (lc_kube_authenticate(visit, &user) == 0) {
        if (!lc_kube_pod_certificate_served(w.kube, w.version)) {
            (void)lc_kube_refuse(visit, 404, "NotFound", json_object(),
                                 "the server could not find the requested resource");
        } else if (authorize(&w, verb) == 0 && (reads || (w.body = lc_kube_body(visit)) != NULL)) {
            w.key = lc_kube_key(w.path.namespace_name, w.path.name);
            w.live = lc_kube_get(w.kube, &w.kube->pod_certificates, w.path.namespace_name, w.path.name);
            signs = !reads && w.live != NULL && may_sign(&w);
            json_decref(w.live);
            (void)pthread_mutex_lock(&w.kube->lock);
            w.live = w.key == NULL ? NULL : json_incref(json_object_get(w.kube->pod_certificates, w.key));
            run(&w, signs);
            (void)pthread_mutex_unlock(&w.kube->lock);
            json_decref(w.live);
        }
    }
    json_decref(w.body);
    free(w.key);
    lc_kube_user_free(&user);
}
