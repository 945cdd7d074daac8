/* SPDX-License-Identifier: MIT */
/* Deployments, StatefulSets and DaemonSets of apps/v1: kept as they were sent, with a generation. Their pods are what
 * the status says that a test writes. */
#include "kube_call.h"
#include "kube_work.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *kind_of(const char *resource)
{
    return strcmp(resource, "deployments") == 0    ? "Deployment"
           : strcmp(resource, "statefulsets") == 0 ? "StatefulSet"
                                                   : "DaemonSet";
}

/* Sets what the server counts: a new resourceVersion, and with a changed spec a new generation. */
static void stamp(struct lc_kube *kube, json_t *object, json_t *before)
{
    json_t *metadata = json_object_get(object, "metadata");
    json_int_t generation = json_integer_value(json_object_get(json_object_get(before, "metadata"), "generation"));
    char version[32] = "";

    (void)snprintf(version, sizeof version, "%llu", (unsigned long long)++kube->version);
    (void)json_object_set_new(metadata, "resourceVersion", json_string(version));
    if (before == NULL || json_equal(json_object_get(before, "spec"), json_object_get(object, "spec")) != 1) {
        generation++;
    }
    (void)json_object_set_new(metadata, "generation", json_integer(generation));
}

static int make(struct lc_visit *visit, struct lc_kube *kube, const struct lc_kube_path *path, json_t *body)
{
    const char *name = lc_kube_text(json_object_get(body, "metadata"), "name");
    char *key = lc_text_format("%s/%s/%s", path->kind, path->namespace_name, name);

    if (key == NULL || *name == '\0' || strcmp(lc_kube_text(body, "kind"), kind_of(path->kind)) != 0 ||
        strcmp(lc_kube_text(body, "apiVersion"), "apps/v1") != 0) {
        free(key);
        return lc_kube_refuse(visit, 400, "BadRequest", NULL,
                              "the object is not of the kind of the URL, or has no name");
    }
    (void)json_object_set_new(json_object_get(body, "metadata"), "namespace", json_string(path->namespace_name));
    stamp(kube, body, NULL);
    (void)json_object_set(kube->workloads, key, body);
    free(key);
    lc_kube_answer(visit, 201, json_incref(body));
    return 0;
}

/* The first key of the template's annotations that has no qualified name; NULL = none. */
static const char *find_bad_annotation(json_t *object)
{
    json_t *template = json_object_get(json_object_get(object, "spec"), "template");
    json_t *map = json_object_get(json_object_get(template, "metadata"), "annotations");
    const char *key;
    json_t *value;

    json_object_foreach(map, key, value)
    {
        const char *slash = strchr(key, '/');
        const char *name = slash != NULL ? slash + 1 : key;
        size_t n = strlen(name);

        if (n == 0 || n > 63 || !isalnum((unsigned char)name[0]) || !isalnum((unsigned char)name[n - 1]))
            return key;
    }
    return NULL;
}

static int change(struct lc_visit *visit, struct lc_kube *kube, const struct lc_kube_path *path, const char *key,
                  json_t *patch)
{
    bool status = strcmp(path->subresource, "status") == 0;
    json_t *before = json_object_get(kube->workloads, key);
    json_t *after = json_deep_copy(before);
    json_t *only = json_object();
    const char *bad = NULL;

    if (status) {
        (void)json_object_set(only, "status", json_object_get(patch, "status"));
    } else {
        (void)json_object_update(only, patch);
        (void)json_object_del(only, "status");
    }
    after = lc_kube_merge(after, only);
    json_decref(only);
    bad = find_bad_annotation(after);
    if (bad != NULL) {
        (void)lc_kube_refuse(
            visit, 422, "Invalid", NULL,
            "%s.apps \"%s\" is invalid: spec.template.annotations: Invalid value: \"%s\": name part must "
            "consist of alphanumeric characters, '-', '_' or '.', and must start and end with an "
            "alphanumeric character",
            kind_of(path->kind), path->name, bad);
        json_decref(after);
        return -1;
    }
    stamp(kube, after, before);
    (void)json_object_set(kube->workloads, key, after);
    lc_kube_answer(visit, 200, after);
    return 0;
}

static int run(struct lc_visit *visit, struct lc_kube *kube, const struct lc_kube_path *path, json_t *body)
{
    char *key = lc_text_format("%s/%s/%s", path->kind, path->namespace_name, path->name);
    json_t *there = NULL;
    int result = -1;

    (void)pthread_mutex_lock(&kube->lock);
    there = key == NULL ? NULL : json_object_get(kube->workloads, key);
    if (strcmp(visit->request->method, "POST") == 0 && path->name[0] == '\0') {
        result = make(visit, kube, path, body);
    } else if (there == NULL) {
        result = lc_kube_not_found(visit, path->kind, path->name);
    } else if (strcmp(visit->request->method, "GET") == 0) {
        lc_kube_answer(visit, 200, json_incref(there));
    } else {
        result = change(visit, kube, path, key, body);
    }
    (void)pthread_mutex_unlock(&kube->lock);
    free(key);
    return result;
}

void lc_kube_workloads(struct lc_visit *visit)
{
    struct lc_kube *kube = visit->cloud->kube;
    const char *method = visit->request->method;
    const char *type = lc_request_header(visit->request, "content-type");
    const char *verb = strcmp(method, "GET") == 0 ? "get" : strcmp(method, "POST") == 0 ? "create" : "patch";
    struct lc_kube_user user = {0};
    struct lc_kube_path path;
    json_t *body = NULL;

    (void)lc_kube_workload_path(visit->request->path, &path);
    if (lc_kube_authenticate(visit, &user) == 0) {
        const struct lc_kube_act act = {verb, path.kind, path.subresource[0] == '\0' ? NULL : path.subresource,
                                        path.namespace_name, path.name[0] == '\0' ? NULL : path.name};
        if (lc_kube_authorize(visit, &user, &act) != 0) {
            /* It was answered. */
        } else if (strcmp(verb, "patch") == 0 &&
                   (type == NULL || (strcmp(type, "application/strategic-merge-patch+json") != 0 &&
                                     strcmp(type, "application/merge-patch+json") != 0))) {
            (void)lc_kube_refuse(visit, 415, "UnsupportedMediaType", json_object(),
                                 "the body of the request was in an unknown format");
        } else if (strcmp(verb, "get") == 0 || (body = lc_kube_body(visit)) != NULL) {
            (void)run(visit, kube, &path, body);
        }
    }
    json_decref(body);
    lc_kube_user_free(&user);
}
