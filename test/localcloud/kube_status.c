/* SPDX-License-Identifier: MIT */
/* Answers of the Kubernetes API: documents and Status objects. */
#include "kube_call.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

enum { MOST_BODY_BYTES = 3 << 20 };

void lc_kube_answer(struct lc_visit *visit, unsigned status, json_t *document)
{
    lc_reply_header(visit->reply, "Content-Type", "application/json");
    lc_reply_header(visit->reply, "Cache-Control", "no-cache, private");
    lc_reply_header(visit->reply, "Audit-Id", visit->id);
    lc_visit_json(visit, status, document);
}

static void put_status(struct lc_visit *visit, unsigned status, const char *reason, json_t *details,
                       const char *message)
{
    json_t *document =
        json_pack("{s:s,s:s,s:{},s:s,s:s,s:s,s:o*,s:i}", "kind", "Status", "apiVersion", "v1", "metadata", "status",
                  "Failure", "message", message, "reason", reason, "details", details, "code", (int)status);

    lc_buf_free(&visit->reply->body);
    lc_kube_answer(visit, status, document);
}

int lc_kube_refuse(struct lc_visit *visit, unsigned status, const char *reason, json_t *details, const char *format,
                   ...)
{
    va_list args;
    char *message = NULL;

    va_start(args, format);
    if (vasprintf(&message, format, args) < 0) {
        message = NULL;
    }
    va_end(args);
    visit->record.exchange = false;
    visit->record.access_key_id[0] = '\0';
    (void)snprintf(visit->record.code, sizeof visit->record.code, "%s", reason);
    put_status(visit, status, reason, details, message == NULL ? "" : message);
    free(message);
    return -1;
}

int lc_kube_not_found(struct lc_visit *visit, const char *resource, const char *name)
{
    return lc_kube_refuse(visit, 404, "NotFound", json_pack("{s:s,s:s}", "name", name, "kind", resource),
                          "%s \"%s\" not found", resource, name);
}

int lc_kube_forbidden(struct lc_visit *visit, const char *resource, const char *name, const char *why)
{
    if (name == NULL) {
        return lc_kube_refuse(visit, 403, "Forbidden", json_pack("{s:s}", "kind", resource), "%s is forbidden: %s",
                              resource, why);
    }
    return lc_kube_refuse(visit, 403, "Forbidden", json_pack("{s:s,s:s}", "name", name, "kind", resource),
                          "%s \"%s\" is forbidden: %s", resource, name, why);
}

void lc_kube_fault(struct lc_kube_faults *faults, const char *reason, const char *field, const char *format, ...)
{
    va_list args;
    char *message = NULL;

    va_start(args, format);
    if (vasprintf(&message, format, args) < 0) {
        message = NULL;
    }
    va_end(args);
    if (faults->causes == NULL) {
        faults->causes = json_array();
    }
    (void)json_array_append_new(faults->causes, json_pack("{s:s,s:s,s:s}", "reason", reason, "message",
                                                          message == NULL ? "" : message, "field", field));
    free(message);
}

int lc_kube_faultless(struct lc_visit *visit, struct lc_kube_faults *faults, const char *group, const char *kind,
                      const char *name)
{
    struct lc_buf text = {0};
    json_t *cause = NULL;
    json_t *details = NULL;
    size_t index = 0;
    size_t count = json_array_size(faults->causes);

    if (count == 0) {
        return 0;
    }
    json_array_foreach(faults->causes, index, cause)
    {
        lc_buf_format(&text, "%s%s: %s", index == 0 ? "" : ", ", lc_kube_text(cause, "field"),
                      lc_kube_text(cause, "message"));
    }
    details = json_pack("{s:s*,s:s*,s:s,s:o}", "name", *name == '\0' ? NULL : name, "group",
                        *group == '\0' ? NULL : group, "kind", kind, "causes", faults->causes);
    faults->causes = NULL;
    (void)lc_kube_refuse(visit, 422, "Invalid", details, "%s%s%s \"%s\" is invalid: %s%s%s", kind,
                         *group == '\0' ? "" : ".", group, name, count > 1 ? "[" : "", text.at == NULL ? "" : text.at,
                         count > 1 ? "]" : "");
    lc_buf_free(&text);
    return -1;
}

json_t *lc_kube_body(struct lc_visit *visit)
{
    const char *type = lc_request_header(visit->request, "content-type");
    struct lc_fail fail = {""};
    json_t *body = NULL;

    if (type != NULL && strncasecmp(type, "application/", 12) != 0) {
        (void)lc_kube_refuse(visit, 415, "UnsupportedMediaType", json_object(),
                             "the body of the request was in an unknown format - accepted media types include: "
                             "application/json, application/yaml, application/vnd.kubernetes.protobuf");
        return NULL;
    }
    if (visit->request->body_len > MOST_BODY_BYTES) {
        (void)lc_kube_refuse(visit, 413, "RequestEntityTooLarge", json_object(),
                             "Request entity too large: limit is %d", MOST_BODY_BYTES);
        return NULL;
    }
    body = lc_json_parse(visit->request->body, visit->request->body_len, &fail);
    if (body == NULL) {
        (void)lc_kube_refuse(visit, 400, "BadRequest", NULL, "the object provided is unrecognized: %s", fail.text);
    }
    return body;
}

/* The next part of a path, decoded; false when it is too long or cannot be decoded. */
static bool take(const char **path, char *out, size_t room)
{
    size_t len = strcspn(*path, "/");

    if (len >= room) {
        return false;
    }
    memcpy(out, *path, len);
    out[len] = '\0';
    *path += len + ((*path)[len] == '/');
    return lc_text_unpercent(out, false);
}

static bool read_path(const char *prefix, const char *path, struct lc_kube_path *out)
{
    *out = (struct lc_kube_path){0};
    if (!lc_text_starts(path, prefix)) {
        return false;
    }
    path += strlen(prefix);
    return take(&path, out->namespace_name, sizeof out->namespace_name) && take(&path, out->kind, sizeof out->kind) &&
           take(&path, out->name, sizeof out->name) && take(&path, out->subresource, sizeof out->subresource) &&
           *path == '\0' && out->namespace_name[0] != '\0' && out->kind[0] != '\0';
}

bool lc_kube_path(const char *path, struct lc_kube_path *out)
{
    return read_path("/kube/api/v1/namespaces/", path, out);
}

bool lc_kube_event_path(const char *path, struct lc_kube_path *out)
{
    return read_path("/kube/apis/events.k8s.io/v1/namespaces/", path, out) && strcmp(out->kind, "events") == 0 &&
           out->name[0] == '\0';
}

bool lc_kube_workload_path(const char *path, struct lc_kube_path *out)
{
    static const char *const kinds[] = {"deployments", "statefulsets", "daemonsets"};
    bool known = false;

    if (!read_path("/kube/apis/apps/v1/namespaces/", path, out)) {
        return false;
    }
    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++) {
        known = known || strcmp(out->kind, kinds[i]) == 0;
    }
    return known && (out->subresource[0] == '\0' || strcmp(out->subresource, "status") == 0);
}

bool lc_kube_pod_certificate_path(const char *path, struct lc_kube_path *out, const char **version)
{
    static const char *const versions[] = {"v1", "v1beta1"};
    static const char plural[] = "podcertificaterequests";
    bool is = false;

    for (size_t i = 0; !is && i < sizeof versions / sizeof versions[0]; i++) {
        char *prefix = lc_text_format("/kube/apis/certificates.k8s.io/%s/namespaces/", versions[i]);
        char *all = lc_text_format("/kube/apis/certificates.k8s.io/%s/%s", versions[i], plural);

        *version = versions[i];
        if (all != NULL && strcmp(path, all) == 0) {
            *out = (struct lc_kube_path){0};
            (void)snprintf(out->kind, sizeof out->kind, "%s", plural);
            is = true;
        } else {
            is = prefix != NULL && read_path(prefix, path, out) && strcmp(out->kind, plural) == 0 &&
                 (out->subresource[0] == '\0' || strcmp(out->subresource, "status") == 0);
        }
        free(all);
        free(prefix);
    }
    return is;
}
