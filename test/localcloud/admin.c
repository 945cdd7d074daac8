/* SPDX-License-Identifier: MIT */
/* The admin interface: JSON over plain HTTP on its own loopback port. */
#include "admin.h"

#include "iam.h"
#include "keystone.h"
#include "kube.h"
#include "minted.h"
#include "objects.h"
#include "params.h"
#include "service.h"
#include "tls.h"

#include <stdlib.h>
#include <string.h>

/* Each action gets the request's JSON object (empty when there is no body) and returns the answer, or NULL
 * with the reason for a 400. */
typedef json_t *(*act)(struct lc_cloud *cloud, const struct lc_request *request, json_t *body, struct lc_fail *fail);

static json_t *ok(void)
{
    return json_pack("{s:b}", "ok", 1);
}

static json_t *get_health(struct lc_cloud *cloud, const struct lc_request *request, json_t *body, struct lc_fail *fail)
{
    (void)cloud;
    (void)request;
    (void)body;
    (void)fail;
    return ok();
}

static json_t *get_stats(struct lc_cloud *cloud, const struct lc_request *request, json_t *body, struct lc_fail *fail)
{
    struct lc_params params = {0};
    const char *text = NULL;
    int64_t entries = 2000;
    json_t *report = NULL;

    (void)body;
    if (!lc_params_read(request->query, strlen(request->query), &params)) {
        (void)lc_fail_set(fail, "the query string cannot be decoded");
        return NULL;
    }
    text = lc_params_get(&params, "log");
    if (text != NULL && !lc_text_integer(text, 0, 2000, &entries)) {
        (void)lc_fail_set(fail, "log must be a number from 0 to 2000");
    } else {
        report = lc_stats_report(cloud->stats, (size_t)entries);
        (void)json_object_set_new(report, "tokens_minted", json_integer((json_int_t)lc_issuer_minted(cloud->issuer)));
    }
    lc_params_free(&params);
    return report;
}

static json_t *reset_stats(struct lc_cloud *cloud, const struct lc_request *request, json_t *body, struct lc_fail *fail)
{
    (void)request;
    (void)body;
    (void)fail;
    lc_stats_reset(cloud->stats);
    return ok();
}

static json_t *get_faults(struct lc_cloud *cloud, const struct lc_request *request, json_t *body, struct lc_fail *fail)
{
    (void)request;
    (void)body;
    (void)fail;
    return lc_faults_report(cloud->faults);
}

static json_t *post_fault(struct lc_cloud *cloud, const struct lc_request *request, json_t *body, struct lc_fail *fail)
{
    (void)request;
    return lc_faults_add(cloud->faults, body, fail) == 0 ? ok() : NULL;
}

static json_t *clear_faults(struct lc_cloud *cloud, const struct lc_request *request, json_t *body,
                            struct lc_fail *fail)
{
    (void)request;
    (void)body;
    (void)fail;
    lc_faults_clear(cloud->faults);
    return ok();
}

static json_t *get_iam(struct lc_cloud *cloud, const struct lc_request *request, json_t *body, struct lc_fail *fail)
{
    (void)request;
    (void)body;
    (void)fail;
    return lc_iam_report(cloud);
}

static json_t *post_iam_key(struct lc_cloud *cloud, const struct lc_request *request, json_t *body,
                            struct lc_fail *fail)
{
    (void)request;
    return lc_iam_change(cloud, body, fail) == 0 ? lc_iam_report(cloud) : NULL;
}

static json_t *get_objects(struct lc_cloud *cloud, const struct lc_request *request, json_t *body, struct lc_fail *fail)
{
    (void)request;
    (void)body;
    (void)fail;
    return lc_objects_report(cloud);
}

static json_t *post_object(struct lc_cloud *cloud, const struct lc_request *request, json_t *body, struct lc_fail *fail)
{
    (void)request;
    return lc_objects_change(cloud, body, fail) == 0 ? lc_objects_report(cloud) : NULL;
}

static json_t *get_minted(struct lc_cloud *cloud, const struct lc_request *request, json_t *body, struct lc_fail *fail)
{
    (void)request;
    (void)body;
    (void)fail;
    return lc_minted_report(cloud->minted);
}

static json_t *get_issuer(struct lc_cloud *cloud, const struct lc_request *request, json_t *body, struct lc_fail *fail)
{
    (void)request;
    (void)body;
    (void)fail;
    return lc_issuer_report(cloud->issuer);
}

static json_t *rotate(struct lc_cloud *cloud, const struct lc_request *request, json_t *body, struct lc_fail *fail)
{
    static const char *const known[] = {"phase", NULL};
    const char *phase = "all";

    (void)request;
    if (lc_json_keys(body, "rotate", known, fail) != 0 || lc_json_text(body, "rotate", "phase", &phase, fail) != 0 ||
        lc_issuer_rotate(cloud->issuer, phase, fail) != 0) {
        return NULL;
    }
    return lc_issuer_report(cloud->issuer);
}

static json_t *get_volumes(struct lc_cloud *cloud, const struct lc_request *request, json_t *body, struct lc_fail *fail)
{
    (void)request;
    (void)body;
    (void)fail;
    return lc_kubelet_report(cloud->kubelet);
}

static json_t *post_volume(struct lc_cloud *cloud, const struct lc_request *request, json_t *body, struct lc_fail *fail)
{
    (void)request;
    return lc_kubelet_add(cloud->kubelet, body, fail) == 0 ? lc_kubelet_report(cloud->kubelet) : NULL;
}

static int read_alg(const char *alg, enum lc_jwt_sign *how, struct lc_fail *fail)
{
    static const struct {
        const char *name;
        enum lc_jwt_sign how;
    } algs[] = {{"RS256", LC_JWT_RS256},
                {"RS384", LC_JWT_RS384},
                {"RS512", LC_JWT_RS512},
                {"HS256", LC_JWT_HS256},
                {"none", LC_JWT_NONE}};

    for (size_t i = 0; i < sizeof algs / sizeof algs[0]; i++) {
        if (strcmp(algs[i].name, alg) == 0) {
            *how = algs[i].how;
            return 0;
        }
    }
    return lc_fail_set(fail, "token: \"alg\" must be RS256, RS384, RS512, HS256 or none");
}

static json_t *post_token(struct lc_cloud *cloud, const struct lc_request *request, json_t *body, struct lc_fail *fail)
{
    static const char *const known[] = {"namespace",    "service_account",
                                        "audience",     "expires_in_s",
                                        "issued_ago_s", "extra_claims",
                                        "alg",          "stray_key",
                                        "kid",          NULL};
    struct lc_token_request wanted = {.namespace_name = "default", .service_account = "demo", .how = LC_JWT_RS256};
    int64_t expires_in_s = 3600;
    int64_t issued_ago_s = 0;
    const char *alg = "RS256";
    json_t *audience = NULL;
    char *token = NULL;
    json_t *answer = NULL;

    (void)request;
    if (lc_json_keys(body, "token", known, fail) != 0 ||
        lc_json_text(body, "token", "namespace", &wanted.namespace_name, fail) != 0 ||
        lc_json_text(body, "token", "service_account", &wanted.service_account, fail) != 0 ||
        lc_json_array(body, "token", "audience", &audience, fail) != 0 ||
        lc_json_integer(body, "token", "expires_in_s", -4294967296, 4294967296, &expires_in_s, fail) != 0 ||
        lc_json_integer(body, "token", "issued_ago_s", -4294967296, 1000000000, &issued_ago_s, fail) != 0 ||
        lc_json_object(body, "token", "extra_claims", &wanted.extra_claims, fail) != 0 ||
        lc_json_text(body, "token", "alg", &alg, fail) != 0 ||
        lc_json_text(body, "token", "kid", &wanted.kid, fail) != 0 ||
        lc_json_bool(body, "token", "stray_key", &wanted.stray_key, fail) != 0 ||
        read_alg(alg, &wanted.how, fail) != 0) {
        return NULL;
    }
    wanted.audience = audience != NULL ? json_incref(audience) : json_pack("[s]", "sts.amazonaws.com");
    wanted.issued_at_s = (int64_t)lc_time_now() - issued_ago_s;
    wanted.expires_at_s = (int64_t)lc_time_now() + expires_in_s;
    token = lc_issuer_mint(cloud->issuer, &wanted, fail);
    json_decref(wanted.audience);
    answer = token == NULL ? NULL : json_pack("{s:s}", "token", token);
    free(token);
    return answer;
}

static json_t *post_outage(struct lc_cloud *cloud, const struct lc_request *request, json_t *body, struct lc_fail *fail)
{
    static const char *const known[] = {"on", "service", NULL};
    const char *service = NULL;
    bool on = false;

    (void)request;
    if (lc_json_keys(body, "outage", known, fail) != 0 || lc_json_bool(body, "outage", "on", &on, fail) != 0 ||
        lc_json_text(body, "outage", "service", &service, fail) != 0) {
        return NULL;
    }
    if (json_object_get(body, "on") == NULL) {
        (void)lc_fail_set(fail, "outage: \"on\" is missing");
        return NULL;
    }
    if (lc_service_outage(cloud, service, on, fail) != 0) {
        return NULL;
    }
    return json_pack("{s:b,s:s*}", "on", on ? 1 : 0, "service", service);
}

static json_t *post_role(struct lc_cloud *cloud, const struct lc_request *request, json_t *body, struct lc_fail *fail)
{
    (void)request;
    return lc_trust_put_role(cloud->trust, body, fail) == 0 ? ok() : NULL;
}

static json_t *post_issuer(struct lc_cloud *cloud, const struct lc_request *request, json_t *body, struct lc_fail *fail)
{
    (void)request;
    return lc_trust_put_issuer(cloud->trust, body, fail) == 0 ? ok() : NULL;
}

static json_t *drop_role(struct lc_cloud *cloud, const struct lc_request *request, json_t *body, struct lc_fail *fail)
{
    static const char *const known[] = {"arn", NULL};
    const char *arn = "";

    (void)request;
    if (lc_json_keys(body, "role", known, fail) != 0 || lc_json_text(body, "role", "arn", &arn, fail) != 0 ||
        lc_trust_drop_role(cloud->trust, arn, fail) != 0) {
        return NULL;
    }
    return ok();
}

static json_t *get_keystone(struct lc_cloud *cloud, const struct lc_request *request, json_t *body,
                            struct lc_fail *fail)
{
    (void)request;
    (void)body;
    (void)fail;
    return lc_keystone_report(cloud->keystone);
}

static json_t *post_keystone_user(struct lc_cloud *cloud, const struct lc_request *request, json_t *body,
                                  struct lc_fail *fail)
{
    (void)request;
    return lc_keystone_user(cloud->keystone, body, fail) == 0 ? ok() : NULL;
}

static json_t *post_keystone_credential(struct lc_cloud *cloud, const struct lc_request *request, json_t *body,
                                        struct lc_fail *fail)
{
    (void)request;
    return lc_keystone_credential(cloud->keystone, body, fail) == 0 ? ok() : NULL;
}

static json_t *get_kube(struct lc_cloud *cloud, const struct lc_request *request, json_t *body, struct lc_fail *fail)
{
    (void)request;
    (void)body;
    (void)fail;
    return lc_kube_report(cloud->kube);
}

static json_t *post_kube_object(struct lc_cloud *cloud, const struct lc_request *request, json_t *body,
                                struct lc_fail *fail)
{
    (void)request;
    return lc_kube_object(cloud->kube, body, fail) == 0 ? ok() : NULL;
}

static json_t *post_certificate(struct lc_cloud *cloud, const struct lc_request *request, json_t *body,
                                struct lc_fail *fail)
{
    static const char *const known[] = {"user", "groups", "expires_in_s", NULL};
    const char *user = NULL;
    json_t *groups = NULL;
    int64_t expires_in_s = 3600;
    struct lc_cert cert = {0};
    json_t *answer = NULL;

    (void)request;
    if (lc_json_keys(body, "certificate", known, fail) != 0 ||
        lc_json_text(body, "certificate", "user", &user, fail) != 0 ||
        lc_json_array(body, "certificate", "groups", &groups, fail) != 0 ||
        lc_json_integer(body, "certificate", "expires_in_s", -86400, 315360000, &expires_in_s, fail) != 0) {
        return NULL;
    }
    if (user == NULL || *user == '\0') {
        (void)lc_fail_set(fail, "certificate: \"user\" is missing");
    } else if (lc_tls_client(cloud->ca, user, groups, -172800L, (long)expires_in_s, &cert, fail) == 0) {
        answer = json_pack("{s:s,s:s}", "certificate", cert.cert_pem, "key", cert.key_pem);
    }
    lc_tls_free(&cert);
    return answer;
}

static json_t *post_kube_rules(struct lc_cloud *cloud, const struct lc_request *request, json_t *body,
                               struct lc_fail *fail)
{
    (void)request;
    return lc_kube_rules(cloud->kube, body, fail) == 0 ? ok() : NULL;
}

static json_t *post_kube_versions(struct lc_cloud *cloud, const struct lc_request *request, json_t *body,
                                  struct lc_fail *fail)
{
    (void)request;
    return lc_kube_versions(cloud->kube, body, fail) == 0 ? ok() : NULL;
}

struct route {
    const char *method;
    const char *path;
    act act;
};

static const struct route routes[] = {
    {"GET", "/health", get_health},
    {"GET", "/stats", get_stats},
    {"POST", "/stats/reset", reset_stats},
    {"GET", "/fault", get_faults},
    {"POST", "/fault", post_fault},
    {"DELETE", "/fault", clear_faults},
    {"GET", "/issuer", get_issuer},
    {"POST", "/issuer/rotate", rotate},
    {"GET", "/volumes", get_volumes},
    {"POST", "/volume", post_volume},
    {"POST", "/token", post_token},
    {"POST", "/outage", post_outage},
    {"POST", "/role", post_role},
    {"DELETE", "/role", drop_role},
    {"POST", "/issuers", post_issuer},
    {"GET", "/keystone", get_keystone},
    {"POST", "/keystone/user", post_keystone_user},
    {"POST", "/keystone/application_credential", post_keystone_credential},
    {"GET", "/iam", get_iam},
    {"POST", "/iam/key", post_iam_key},
    {"GET", "/minted", get_minted},
    {"GET", "/objects", get_objects},
    {"POST", "/object", post_object},
    {"GET", "/kube/objects", get_kube},
    {"POST", "/kube/object", post_kube_object},
    {"POST", "/kube/rbac", post_kube_rules},
    {"POST", "/kube/versions", post_kube_versions},
    {"POST", "/kube/certificate", post_certificate},
};

/* POST /volume/NAME/VERB. The path is already known to start with /volume/. */
static json_t *volume_verb(struct lc_cloud *cloud, const char *name, const char *verb, json_t *body,
                           struct lc_fail *fail)
{
    static const char *const none[] = {NULL};
    static const char *const content_only[] = {"content", NULL};
    json_t *content = json_object_get(body, "content");
    int result = -1;

    if (strcmp(verb, "write") == 0) {
        if (lc_json_keys(body, "write", content_only, fail) != 0) {
            return NULL;
        }
        result = !json_is_string(content) ? lc_fail_set(fail, "write: \"content\" must be a string")
                                          : lc_kubelet_write(cloud->kubelet, name, json_string_value(content),
                                                             json_string_length(content), fail);
        return result == 0 ? ok() : NULL;
    }
    if (lc_json_keys(body, verb, none, fail) != 0) {
        return NULL;
    }
    if (strcmp(verb, "renew") == 0) {
        result = lc_kubelet_renew(cloud->kubelet, name, fail);
    } else {
        result = lc_kubelet_pause(cloud->kubelet, name, strcmp(verb, "pause") == 0, fail);
    }
    return result == 0 ? ok() : NULL;
}

static bool is_verb(const char *text)
{
    return strcmp(text, "renew") == 0 || strcmp(text, "pause") == 0 || strcmp(text, "resume") == 0 ||
           strcmp(text, "write") == 0;
}

static void finish(struct lc_reply *reply, unsigned status, json_t *document)
{
    reply->status = status;
    lc_reply_header(reply, "Content-Type", "application/json");
    lc_json_print(document, &reply->body);
}

static void refuse(struct lc_reply *reply, unsigned status, const char *reason)
{
    finish(reply, status, json_pack("{s:s%}", "error", reason, strlen(reason)));
    if (reply->body.broken) {
        lc_buf_free(&reply->body);
        lc_buf_text(&reply->body, "{\"error\":\"bad request\"}\n");
    }
}

static json_t *read_body(const struct lc_request *request, struct lc_fail *fail)
{
    if (request->too_big) {
        (void)lc_fail_set(fail, "the body is larger than %d bytes", LC_MOST_BODY_BYTES);
        return NULL;
    }
    return request->body_len == 0 ? json_object() : lc_json_parse(request->body, request->body_len, fail);
}

static void handle_volume(struct lc_cloud *cloud, const struct lc_request *request, struct lc_reply *reply)
{
    struct lc_fail fail = {""};
    char *name = strdup(request->path + strlen("/volume/"));
    char *slash = name == NULL ? NULL : strchr(name, '/');
    json_t *body = NULL;
    json_t *answer = NULL;

    if (slash == NULL || !is_verb(slash + 1)) {
        refuse(reply, 404, "volumes have POST /volume/NAME/renew, /pause, /resume and /write");
    } else if (strcmp(request->method, "POST") != 0) {
        refuse(reply, 405, "only POST");
    } else {
        *slash = '\0';
        body = read_body(request, &fail);
        if (!lc_kubelet_has(cloud->kubelet, name)) {
            refuse(reply, 404, "there is no such volume; GET /volumes lists them");
        } else if (body == NULL || (answer = volume_verb(cloud, name, slash + 1, body, &fail)) == NULL) {
            refuse(reply, 400, fail.text);
        } else {
            finish(reply, 200, answer);
        }
    }
    json_decref(body);
    free(name);
}

/* GET /service/NAME shows the settings that hold, POST replaces them. */
static void handle_service(struct lc_cloud *cloud, const struct lc_request *request, struct lc_reply *reply)
{
    const struct lc_service *service = lc_service_find(request->path + strlen("/service/"));
    struct lc_fail fail = {""};
    json_t *body = NULL;

    if (service == NULL || service->demo == NULL) {
        refuse(reply, 404, "there is no such service, or it has no settings");
    } else if (strcmp(request->method, "GET") == 0) {
        finish(reply, 200, lc_service_settings(cloud, service));
    } else if (strcmp(request->method, "POST") != 0) {
        refuse(reply, 405, "only GET and POST");
    } else if ((body = read_body(request, &fail)) == NULL || lc_service_set(cloud, service, body, &fail) != 0) {
        refuse(reply, 400, fail.text);
    } else {
        finish(reply, 200, ok());
    }
    json_decref(body);
}

void lc_admin_handle(void *owner, const struct lc_request *request, struct lc_reply *reply)
{
    struct lc_cloud *cloud = owner;
    struct lc_fail fail = {""};
    bool path_known = false;

    if (lc_text_starts(request->path, "/service/")) {
        handle_service(cloud, request, reply);
        return;
    }
    if (lc_text_starts(request->path, "/volume/")) {
        handle_volume(cloud, request, reply);
        return;
    }
    for (size_t i = 0; i < sizeof routes / sizeof routes[0]; i++) {
        if (strcmp(routes[i].path, request->path) != 0) {
            continue;
        }
        path_known = true;
        if (strcmp(routes[i].method, request->method) == 0) {
            json_t *body = read_body(request, &fail);
            json_t *answer = body == NULL ? NULL : routes[i].act(cloud, request, body, &fail);
            json_decref(body);
            if (answer == NULL) {
                refuse(reply, 400, fail.text);
            } else {
                finish(reply, 200, answer);
            }
            return;
        }
    }
    refuse(reply, path_known ? 405 : 404, path_known ? "this path has other methods" : "there is no such path");
}
