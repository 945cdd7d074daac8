/* SPDX-License-Identifier: MIT */
/* The Kubernetes API: its paths, discovery documents and requested errors. */
#include "kube.h"

#include "kube_call.h"
#include "kube_cluster.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>

static void service_refuse(struct lc_visit *visit, const struct lc_refusal *refusal)
{
    (void)lc_kube_refuse(visit, refusal->status, refusal->code, json_object(), "%s", refusal->message);
}

/* The issuer is the API server's own. */
static void discovery(struct lc_visit *visit)
{
    lc_reply_header(visit->reply, "Content-Type", "application/json");
    lc_reply_header(visit->reply, "Cache-Control", "public, max-age=3600");
    visit->reply->status = 200;
    lc_issuer_discovery(visit->cloud->issuer, &visit->reply->body);
}

static void jwks(struct lc_visit *visit)
{
    lc_reply_header(visit->reply, "Content-Type", "application/jwk-set+json");
    lc_reply_header(visit->reply, "Cache-Control", "public, max-age=3600");
    visit->reply->status = 200;
    lc_issuer_jwks(visit->cloud->issuer, &visit->reply->body);
}

static void version(struct lc_visit *visit)
{
    lc_kube_answer(visit, 200,
                   json_pack("{s:s,s:s,s:s,s:s}", "major", "1", "minor", "34", "gitVersion", "v1.34.0", "platform",
                             "linux/amd64"));
}

static void ready(struct lc_visit *visit)
{
    lc_reply_header(visit->reply, "Content-Type", "text/plain; charset=utf-8");
    visit->reply->status = 200;
    lc_buf_text(&visit->reply->body, "ok");
}

static void unknown(struct lc_visit *visit)
{
    struct lc_kube_user user = {0};

    if (lc_kube_authenticate(visit, &user) == 0) {
        (void)lc_kube_refuse(visit, 404, "NotFound", json_object(), "the server could not find the requested resource");
    }
    lc_kube_user_free(&user);
}

static void not_allowed(struct lc_visit *visit)
{
    (void)lc_kube_refuse(visit, 405, "MethodNotAllowed", json_object(),
                         "the server does not allow this method on the requested resource");
}

static const struct lc_action actions[] = {
    {"kube.token", "POST", "", lc_kube_token, NULL, false},
    {"kube.secret.get", "GET", "", lc_kube_secrets, NULL, false},
    {"kube.secret.create", "POST", "", lc_kube_secrets, NULL, false},
    {"kube.secret.put", "PUT", "", lc_kube_secrets, NULL, false},
    {"kube.secret.patch", "PATCH", "", lc_kube_secrets, NULL, false},
    {"kube.secret.delete", "DELETE", "", lc_kube_secrets, NULL, false},
    {"kube.secret.apply", "APPLY", "", lc_kube_secrets, NULL, false},
};

static const struct lc_action events[] = {{"kube.event.create", "POST", "", lc_kube_events, NULL, false},
                                          {"kube.event.list", "GET", "", lc_kube_events, NULL, false}};
static const struct lc_action workloads[] = {{"kube.workload.get", "GET", "", lc_kube_workloads, NULL, false},
                                             {"kube.workload.create", "POST", "", lc_kube_workloads, NULL, false},
                                             {"kube.workload.patch", "PATCH", "", lc_kube_workloads, NULL, false}};
static const struct lc_action pod_certificates[] = {
    {"kube.pod_certificate.get", "GET", "", lc_kube_pod_certificate, NULL, false},
    {"kube.pod_certificate.put", "PUT", "", lc_kube_pod_certificate, NULL, false},
    {"kube.pod_certificate.patch", "PATCH", "", lc_kube_pod_certificate, NULL, false},
};
static const struct lc_action lists = {"kube.list", "GET", "", lc_kube_collection, NULL, false};
static const struct lc_action watches = {"kube.watch", "GET", "", lc_kube_collection, NULL, false};
static const struct lc_action cluster[] = {
    {"kube.cluster.get", "GET", "", lc_kube_cluster, NULL, false},
    {"kube.cluster.patch", "PATCH", "", lc_kube_cluster, NULL, false},
    {"kube.cluster.other", "", "", lc_kube_cluster, NULL, false},
};

static const struct lc_action other = {"kube.other", "", "", unknown, NULL, false};
static const struct lc_action other_method = {"kube.other", "", "", not_allowed, NULL, false};

static const struct lc_action *document_of(const char *path)
{
    static const struct lc_action documents[] = {
        {"kube.discovery", "GET", "/kube/.well-known/openid-configuration", discovery, NULL, false},
        {"kube.jwks", "GET", "/kube/openid/v1/jwks", jwks, NULL, false},
        {"kube.other", "GET", "/kube/version", version, NULL, false},
        {"kube.other", "GET", "/kube/readyz", ready, NULL, false},
        {"kube.other", "GET", "/kube/livez", ready, NULL, false},
    };

    for (size_t i = 0; i < sizeof documents / sizeof documents[0]; i++) {
        if (strcmp(documents[i].path, path) == 0) {
            return &documents[i];
        }
    }
    return NULL;
}

static const struct lc_action *collection_action(const struct lc_request *request)
{
    return strstr(request->query, "watch=") != NULL ? &watches : &lists;
}

/* Writing is for the status alone. */
static const struct lc_action *pod_certificate_action(const struct lc_request *request, const struct lc_kube_path *path)
{
    bool reads = strcmp(request->method, "GET") == 0;

    if (path->name[0] == '\0') {
        return reads ? collection_action(request) : &other_method;
    }
    for (size_t i = 0; i < sizeof pod_certificates / sizeof pod_certificates[0]; i++) {
        if (strcmp(pod_certificates[i].method, request->method) == 0 && (reads || path->subresource[0] != '\0')) {
            return &pod_certificates[i];
        }
    }
    return &other_method;
}

static const struct lc_action *secret_action(const struct lc_request *request, bool named)
{
    const char *type = lc_request_header(request, "content-type");
    const char *method = strcmp(request->method, "PATCH") == 0 && type != NULL &&
                                 strncasecmp(type, "application/apply-patch+yaml", 28) == 0
                             ? "APPLY"
                             : request->method;

    for (size_t i = 1; i < sizeof actions / sizeof actions[0]; i++) {
        if (strcmp(actions[i].method, method) == 0 && (strcmp(method, "POST") == 0) != named) {
            return &actions[i];
        }
    }
    return &other_method;
}

static const struct lc_action *find(const struct lc_request *request, unsigned *status)
{
    const struct lc_action *document = document_of(request->path);
    struct lc_kube_path path;
    const char *version_of = NULL;

    *status = 404;
    if (document != NULL) {
        return strcmp(request->method, "GET") == 0 || strcmp(request->method, "HEAD") == 0 ? document : &other_method;
    }
    if ((strcmp(request->path, "/kube/api/v1/namespaces") == 0 ||
         strcmp(request->path, "/kube/api/v1/configmaps") == 0) &&
        strcmp(request->method, "GET") == 0) {
        return collection_action(request);
    }
    if (lc_kube_event_path(request->path, &path)) {
        return strcmp(request->method, "POST") == 0  ? &events[0]
               : strcmp(request->method, "GET") == 0 ? &events[1]
                                                     : &other_method;
    }
    if (lc_kube_workload_path(request->path, &path)) {
        for (size_t i = 0; i < sizeof workloads / sizeof workloads[0]; i++) {
            if (strcmp(workloads[i].method, request->method) == 0) {
                return &workloads[i];
            }
        }
        return &other_method;
    }
    if (lc_kube_pod_certificate_path(request->path, &path, &version_of)) {
        return pod_certificate_action(request, &path);
    }
    if (lc_kube_is_cluster(request->path)) {
        return &cluster[strcmp(request->method, "GET") == 0 ? 0 : strcmp(request->method, "PATCH") == 0 ? 1 : 2];
    }
    if (!lc_kube_path(request->path, &path)) {
        return &other;
    }
    if (strcmp(path.kind, "serviceaccounts") == 0 && path.name[0] != '\0' && strcmp(path.subresource, "token") == 0) {
        return strcmp(request->method, "POST") == 0 ? &actions[0] : &other_method;
    }
    if ((strcmp(path.kind, "secrets") == 0 || strcmp(path.kind, "configmaps") == 0) && path.subresource[0] == '\0') {
        if (path.name[0] == '\0' && strcmp(request->method, "GET") == 0) {
            return collection_action(request);
        }
        return secret_action(request, path.name[0] != '\0');
    }
    return &other;
}

/* NAMESPACE/NAME, for match.role of faults and the statistics. */
static void note(struct lc_visit *visit)
{
    struct lc_kube_path path;
    const char *version_of = NULL;

    if (lc_kube_path(visit->request->path, &path) ||
        lc_kube_pod_certificate_path(visit->request->path, &path, &version_of)) {
        (void)snprintf(visit->record.role, sizeof visit->record.role, "%.100s/%.150s", path.namespace_name, path.name);
    }
}

const struct lc_service lc_kube_service = {
    .name = "kube",
    .prefix = "/kube/",
    .find = find,
    .note = note,
    .refuse = service_refuse,
    .demo = lc_kube_demo,
    .check = lc_kube_check,
    .url = "/kube",
};
