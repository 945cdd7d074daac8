/* SPDX-License-Identifier: MIT */
/* Events of events.k8s.io/v1: checked as the API server does, and listed. */
#include "kube_call.h"

#include <string.h>

enum { MOST_NOTE = 1024, MOST_TEXT = 128 };

static void need(struct lc_kube_faults *faults, json_t *body, const char *key)
{
    const char *text = lc_kube_text(body, key);

    if (*text == '\0' || strlen(text) > MOST_TEXT) {
        lc_kube_fault(faults, "FieldValueInvalid", key, "Required value: must be set, of at most %d characters",
                      MOST_TEXT);
    }
}

static int check(struct lc_visit *visit, const struct lc_kube_path *path, json_t *body)
{
    json_t *metadata = json_object_get(body, "metadata");
    json_t *regarding = json_object_get(body, "regarding");
    const char *type = lc_kube_text(body, "type");
    const char *at = lc_kube_text(body, "eventTime");
    struct lc_kube_faults faults = {0};

    if (strcmp(lc_kube_text(body, "kind"), "Event") != 0 ||
        strcmp(lc_kube_text(body, "apiVersion"), "events.k8s.io/v1") != 0) {
        return lc_kube_refuse(visit, 400, "BadRequest", NULL, "the object is not an Event of events.k8s.io/v1");
    }
    need(&faults, body, "reportingController");
    need(&faults, body, "reportingInstance");
    need(&faults, body, "reason");
    need(&faults, body, "action");
    if (*lc_kube_text(metadata, "name") == '\0' && *lc_kube_text(metadata, "generateName") == '\0') {
        lc_kube_fault(&faults, "FieldValueRequired", "metadata.name",
                      "Required value: name or generateName is required");
    }
    /* A MicroTime. */
    if (strlen(at) != strlen("2026-01-02T03:04:05.000000Z") || at[19] != '.') {
        lc_kube_fault(&faults, "FieldValueInvalid", "eventTime", "Invalid value: \"%.40s\"", at);
    }
    if (strcmp(type, "Normal") != 0 && strcmp(type, "Warning") != 0) {
        lc_kube_fault(&faults, "FieldValueInvalid", "type", "Invalid value: \"%.40s\"", type);
    }
    if (strlen(lc_kube_text(body, "note")) > MOST_NOTE) {
        lc_kube_fault(&faults, "FieldValueInvalid", "note", "Invalid value: can have at most %d characters", MOST_NOTE);
    }
    if (strcmp(lc_kube_text(regarding, "namespace"), path->namespace_name) != 0) {
        lc_kube_fault(&faults, "FieldValueInvalid", "regarding.namespace", "Invalid value: does not match the event's");
    }
    return lc_kube_faultless(visit, &faults, "events.k8s.io", "Event", "");
}

void lc_kube_events(struct lc_visit *visit)
{
    struct lc_kube *kube = visit->cloud->kube;
    bool create = strcmp(visit->request->method, "POST") == 0;
    struct lc_kube_user user = {0};
    struct lc_kube_path path;
    json_t *body = NULL;

    (void)lc_kube_event_path(visit->request->path, &path);
    if (lc_kube_authenticate(visit, &user) == 0) {
        const struct lc_kube_act act = {create ? "create" : "list", "events", NULL, path.namespace_name, NULL};
        if (lc_kube_authorize(visit, &user, &act) != 0) {
            /* It was answered. */
        } else if (!create) {
            (void)pthread_mutex_lock(&kube->lock);
            lc_kube_answer(visit, 200, json_pack("{s:s,s:O}", "kind", "EventList", "items", kube->events));
            (void)pthread_mutex_unlock(&kube->lock);
        } else if ((body = lc_kube_body(visit)) != NULL && check(visit, &path, body) == 0) {
            (void)pthread_mutex_lock(&kube->lock);
            (void)json_array_append(kube->events, body);
            (void)pthread_mutex_unlock(&kube->lock);
            lc_kube_answer(visit, 201, json_incref(body));
        }
    }
    json_decref(body);
    lc_kube_user_free(&user);
}
