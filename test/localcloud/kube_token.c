/* SPDX-License-Identifier: MIT */
/* TokenRequest: the Kubernetes API makes tokens of the issuer. */
#include "kube_call.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { DEFAULT_S = 3600, LEAST_S = 600, EXTENDED_ASK_S = 3607, YEAR_S = 31536000 };

#define GROUP       "authentication.k8s.io"
#define API_VERSION "authentication.k8s.io/v1"
#define MOST_S      4294967296LL

/* A request on its way. */
struct ask {
    struct lc_kube_path path;
    struct lc_kube_user user;
    json_t *body;
    json_t *account; /* references */
    json_t *pod;
    json_t *node;
    json_t *secret;
    json_t *audiences;
    json_t *bound; /* borrowed from body; NULL: not bound */
    int64_t asked_s;
    int64_t granted_s;
};

static void ask_free(struct ask *ask)
{
    lc_kube_user_free(&ask->user);
    json_decref(ask->body);
    json_decref(ask->account);
    json_decref(ask->pod);
    json_decref(ask->node);
    json_decref(ask->secret);
    json_decref(ask->audiences);
}

static const char *node_of(const struct ask *ask)
{
    static const char prefix[] = "system:node:";

    return lc_text_starts(ask->user.name, prefix) && lc_json_holds(ask->user.groups, "system:nodes")
               ? ask->user.name + sizeof prefix - 1
               : NULL;
}

/* A node may make tokens of service accounts that its pods use. */
static bool node_uses(struct lc_kube *kube, const char *node, const struct lc_kube_path *path)
{
    const char *key = NULL;
    json_t *pod = NULL;
    bool uses = false;

    (void)pthread_mutex_lock(&kube->lock);
    json_object_foreach(kube->pods, key, pod)
    {
        uses = uses || (strcmp(lc_kube_text(pod, "node"), node) == 0 &&
                        strcmp(lc_kube_text(pod, "namespace"), path->namespace_name) == 0 &&
                        strcmp(lc_kube_text(pod, "service_account"), path->name) == 0);
    }
    (void)pthread_mutex_unlock(&kube->lock);
    return uses;
}

static int authorize(struct lc_visit *visit, struct ask *ask)
{
    const struct lc_kube_act act = {"create", "serviceaccounts", "token", ask->path.namespace_name, ask->path.name};
    const char *node = node_of(ask);
    char *why = NULL;

    if (node == NULL || lc_kube_allowed(visit->cloud->kube, &ask->user, &act)) {
        return lc_kube_authorize(visit, &ask->user, &act);
    }
    if (node_uses(visit->cloud->kube, node, &ask->path)) {
        return 0;
    }
    why = lc_text_format("User \"%s\" cannot create resource \"serviceaccounts/token\" in API group \"\" in the "
                         "namespace \"%s\": no relationship found between node '%s' and this object",
                         ask->user.name, ask->path.namespace_name, node);
    (void)lc_kube_forbidden(visit, "serviceaccounts", ask->path.name, why == NULL ? "" : why);
    free(why);
    return -1;
}

static int bad_field(struct lc_visit *visit, const char *field, const char *type)
{
    return lc_kube_refuse(visit, 400, "BadRequest", NULL,
                          "TokenRequest in version \"v1\" cannot be handled as a TokenRequest: json: cannot unmarshal "
                          "into Go struct field TokenRequest.%s of type %s",
                          field, type);
}

static bool says(json_t *body, const char *key, const char *wanted)
{
    json_t *value = json_object_get(body, key);

    return value == NULL || (json_is_string(value) && strcmp(json_string_value(value), wanted) == 0);
}

/* Types, as the decoder of the real server has them. */
static int decode(struct lc_visit *visit, struct ask *ask)
{
    json_t *spec = json_object_get(ask->body, "spec");
    json_t *audiences = json_object_get(spec, "audiences");
    json_t *seconds = json_object_get(spec, "expirationSeconds");
    json_t *item = NULL;
    size_t index = 0;

    if (!says(ask->body, "kind", "TokenRequest") || !says(ask->body, "apiVersion", API_VERSION)) {
        return lc_kube_refuse(visit, 400, "BadRequest", NULL,
                              "no kind \"%.100s\" is registered for version \"%.100s\" for this resource, which takes "
                              "TokenRequest of " API_VERSION,
                              lc_kube_text(ask->body, "kind"), lc_kube_text(ask->body, "apiVersion"));
    }
    if (spec != NULL && !json_is_object(spec)) {
        return bad_field(visit, "spec", "v1.TokenRequestSpec");
    }
    json_array_foreach(audiences, index, item)
    {
        if (!json_is_string(item)) {
            return bad_field(visit, "spec.audiences", "string");
        }
    }
    if (audiences != NULL && !json_is_array(audiences) && !json_is_null(audiences)) {
        return bad_field(visit, "spec.audiences", "[]string");
    }
    if (seconds != NULL && !json_is_integer(seconds) && !json_is_null(seconds)) {
        return bad_field(visit, "spec.expirationSeconds", "int64");
    }
    ask->audiences = json_array_size(audiences) > 0 ? json_incref(audiences) : lc_kube_audiences(visit->cloud->kube);
    ask->asked_s = json_is_integer(seconds) ? json_integer_value(seconds) : DEFAULT_S;
    ask->bound = json_object_get(spec, "boundObjectRef");
    if (ask->bound != NULL && !json_is_object(ask->bound)) {
        if (!json_is_null(ask->bound)) {
            return bad_field(visit, "spec.boundObjectRef", "v1.BoundObjectReference");
        }
        ask->bound = NULL;
    }
    return 0;
}

/* Which audiences a node may ask for. */
static int check_node_audience(struct lc_visit *visit, struct ask *ask, json_t *pod)
{
    const char *sa = ask->path.name;
    json_t *asked = json_object_get(json_object_get(ask->body, "spec"), "audiences");
    const char *audience = json_string_value(json_array_get(asked, 0));
    const struct lc_kube_act act = {"request-serviceaccounts-token-audience", audience == NULL ? "" : audience, NULL,
                                    ask->path.namespace_name, sa};
    char *why = NULL;

    if (json_array_size(asked) > 1) {
        return lc_kube_forbidden(visit, "serviceaccounts", sa, "node may only request 0 or 1 audiences");
    }
    if (lc_json_holds(json_object_get(pod, "audiences"), audience == NULL ? "" : audience) ||
        lc_kube_allowed(visit->cloud->kube, &ask->user, &act)) {
        return 0;
    }
    why =
        lc_text_format("audience \"%s\" not found in pod spec volume, %s is not authorized to request tokens for this "
                       "audience",
                       audience == NULL ? "" : audience, ask->user.name);
    (void)lc_kube_forbidden(visit, "serviceaccounts", sa, why == NULL ? "" : why);
    free(why);
    return -1;
}

/* The admission plugin NodeRestriction. */
static int admit_node(struct lc_visit *visit, struct ask *ask)
{
    const char *node = node_of(ask);
    const char *sa = ask->path.name;
    json_t *pod = NULL;
    int result = -1;

    if (node == NULL) {
        return 0;
    }
    if (ask->bound == NULL || strcmp(lc_kube_text(ask->bound, "apiVersion"), "v1") != 0 ||
        strcmp(lc_kube_text(ask->bound, "kind"), "Pod") != 0 || *lc_kube_text(ask->bound, "name") == '\0') {
        return lc_kube_forbidden(visit, "serviceaccounts", sa, "node requested token not bound to a pod");
    }
    if (*lc_kube_text(ask->bound, "uid") == '\0') {
        return lc_kube_forbidden(visit, "serviceaccounts", sa, "node requested token with a pod binding without a uid");
    }
    pod = lc_kube_get(visit->cloud->kube, &visit->cloud->kube->pods, ask->path.namespace_name,
                      lc_kube_text(ask->bound, "name"));
    if (pod == NULL) {
        result = lc_kube_not_found(visit, "pods", lc_kube_text(ask->bound, "name"));
    } else if (strcmp(lc_kube_text(pod, "uid"), lc_kube_text(ask->bound, "uid")) != 0) {
        result = lc_kube_forbidden(visit, "serviceaccounts", sa,
                                   "the UID in the bound object reference does not match the UID in record. The object "
                                   "might have been deleted and then recreated");
    } else if (strcmp(lc_kube_text(pod, "node"), node) != 0) {
        result = lc_kube_forbidden(visit, "serviceaccounts", sa,
                                   "node requested token bound to a pod scheduled on a different node");
    } else {
        result = check_node_audience(visit, ask, pod);
    }
    json_decref(pod);
    return result;
}

static void check_metadata(struct ask *ask, const char *key, const char *wanted, struct lc_kube_faults *faults)
{
    const char *given = lc_kube_text(json_object_get(ask->body, "metadata"), key);
    char field[40] = "";

    if (*given != '\0' && strcmp(given, wanted) != 0) {
        (void)snprintf(field, sizeof field, "metadata.%s", key);
        lc_kube_fault(faults, "FieldValueInvalid", field,
                      "Invalid value: \"%.100s\": must match the service account of "
                      "the URL (%.100s)",
                      given, wanted);
    }
}

static int validate(struct lc_visit *visit, struct ask *ask)
{
    struct lc_kube_faults faults = {0};

    check_metadata(ask, "name", ask->path.name, &faults);
    check_metadata(ask, "namespace", ask->path.namespace_name, &faults);
    if (ask->asked_s < LEAST_S) {
        lc_kube_fault(&faults, "FieldValueInvalid", "spec.expirationSeconds",
                      "Invalid value: %lld: may not specify a duration less than 10 minutes", (long long)ask->asked_s);
    }
    if (ask->asked_s > MOST_S) {
        lc_kube_fault(&faults, "FieldValueInvalid", "spec.expirationSeconds",
                      "Invalid value: %lld: may not specify a duration larger than 2^32 seconds",
                      (long long)ask->asked_s);
    }
    return lc_kube_faultless(visit, &faults, GROUP, "TokenRequest", "");
}

static int bind_pod(struct lc_visit *visit, struct ask *ask, const char *name)
{
    struct lc_kube *kube = visit->cloud->kube;

    ask->pod = lc_kube_get(kube, &kube->pods, ask->path.namespace_name, name);
    if (ask->pod == NULL) {
        return lc_kube_not_found(visit, "pods", name);
    }
    if (strcmp(lc_kube_text(ask->pod, "service_account"), ask->path.name) != 0) {
        return lc_kube_refuse(visit, 400, "BadRequest", NULL,
                              "cannot bind token for serviceaccount \"%s\" to pod running with different "
                              "serviceaccount name.",
                              ask->path.name);
    }
    return 0;
}

static json_t *node_named(struct lc_kube *kube, const char *name)
{
    json_t *node = NULL;

    (void)pthread_mutex_lock(&kube->lock);
    node = json_object_get(kube->nodes, name);
    node = json_is_object(node) ? json_incref(node) : NULL;
    (void)pthread_mutex_unlock(&kube->lock);
    return node;
}

/* "v1" is version v1 of the core group, "apps/v1" that of another. */
static int bad_kind(struct lc_visit *visit, const char *version, const char *kind)
{
    return lc_kube_refuse(visit, 400, "BadRequest", NULL, "cannot bind token to object of type %s%.100s, Kind=%.100s",
                          strchr(version, '/') == NULL ? "/" : "", version, kind);
}

static int bind_object(struct lc_visit *visit, struct ask *ask)
{
    struct lc_kube *kube = visit->cloud->kube;
    const char *kind = lc_kube_text(ask->bound, "kind");
    const char *name = lc_kube_text(ask->bound, "name");
    const char *uid = lc_kube_text(ask->bound, "uid");
    const char *version = lc_kube_text(ask->bound, "apiVersion");
    json_t *object = NULL;

    if (ask->bound == NULL) {
        return 0;
    }
    if (strcmp(version, "v1") != 0) {
        return bad_kind(visit, version, kind);
    }
    if (strcmp(kind, "Pod") == 0) {
        if (bind_pod(visit, ask, name) != 0) {
            return -1;
        }
        object = ask->pod;
    } else if (strcmp(kind, "Secret") == 0) {
        ask->secret = lc_kube_get(kube, &kube->secrets, ask->path.namespace_name, name);
        object = json_object_get(json_object_get(ask->secret, "object"), "metadata");
    } else if (strcmp(kind, "Node") == 0) {
        ask->node = node_named(kube, name);
        object = ask->node;
    } else {
        return bad_kind(visit, version, kind);
    }
    if (object == NULL) {
        return lc_kube_not_found(visit, strcmp(kind, "Node") == 0 ? "nodes" : "secrets", name);
    }
    if (*uid != '\0' && strcmp(uid, lc_kube_text(object, "uid")) != 0) {
        return lc_kube_refuse(
            visit, 409, "Conflict", json_pack("{s:s,s:s}", "name", name, "kind", kind),
            "Operation cannot be fulfilled on %s \"%s\": the UID in the bound object reference (%.60s) "
            "does not match the UID in record. The object might have been deleted and then recreated",
            kind, name, uid);
    }
    if (ask->pod != NULL && *lc_kube_text(ask->pod, "node") != '\0') {
        ask->node = node_named(kube, lc_kube_text(ask->pod, "node"));
    }
    return 0;
}

static json_t *name_and_uid(json_t *object)
{
    return json_pack("{s:O,s:O}", "name", json_object_get(object, "name"), "uid", json_object_get(object, "uid"));
}

/* Tokens for the API that the kubelet asks for with 3607 seconds really live for a year, and say when to
 * warn. */
static bool is_extended(struct lc_kube *kube, const struct ask *ask)
{
    json_t *own = lc_kube_audiences(kube);
    bool extended = kube->extend && ask->pod != NULL && ask->asked_s == EXTENDED_ASK_S;
    json_t *item = NULL;
    size_t index = 0;

    json_array_foreach(ask->audiences, index, item)
    {
        extended = extended && lc_json_holds(own, json_string_value(item));
    }
    json_decref(own);
    return extended;
}

static json_t *claim_of(const struct ask *ask, int64_t warn_after_s)
{
    json_t *claim =
        json_pack("{s:s,s:o}", "namespace", ask->path.namespace_name, "serviceaccount", name_and_uid(ask->account));

    if (ask->pod != NULL) {
        (void)json_object_set_new(claim, "pod", name_and_uid(ask->pod));
    }
    if (ask->node != NULL) {
        (void)json_object_set_new(claim, "node", name_and_uid(ask->node));
    }
    if (ask->secret != NULL) {
        (void)json_object_set_new(claim, "secret",
                                  name_and_uid(json_object_get(json_object_get(ask->secret, "object"), "metadata")));
    }
    if (warn_after_s > 0) {
        (void)json_object_set_new(claim, "warnafter", json_integer(warn_after_s));
    }
    return claim;
}

static void answer(struct lc_visit *visit, const struct ask *ask, const char *token, int64_t now_s, int64_t until_s)
{
    char created[LC_TIME_BYTES];
    char expires[LC_TIME_BYTES];
    char past[LC_TIME_BYTES];
    json_t *status = json_pack("{s:s}", "token", token);

    lc_time_iso(now_s, created);
    lc_time_iso(until_s, expires);
    lc_time_iso(now_s - 3600, past);
    lc_visit_put_expiry(visit, status, "expirationTimestamp", json_string(expires), json_string(past));
    lc_kube_answer(visit, 201,
                   json_pack("{s:s,s:s,s:{s:s,s:s,s:s},s:{s:O,s:I,s:O?},s:o}", "kind", "TokenRequest", "apiVersion",
                             API_VERSION, "metadata", "name", ask->path.name, "namespace", ask->path.namespace_name,
                             "creationTimestamp", created, "spec", "audiences", ask->audiences, "expirationSeconds",
                             (json_int_t)ask->granted_s, "boundObjectRef", ask->bound, "status", status));
}

static void mint(struct lc_visit *visit, struct ask *ask)
{
    struct lc_kube *kube = visit->cloud->kube;
    int64_t now_s = (int64_t)lc_time_now();
    int64_t until_s = now_s + lc_visit_life_s(visit, ask->granted_s);
    bool extended = is_extended(kube, ask);
    struct lc_token_request wanted = {.namespace_name = ask->path.namespace_name,
                                      .service_account = ask->path.name,
                                      .audience = ask->audiences,
                                      .issued_at_s = now_s,
                                      .expires_at_s = extended ? now_s + lc_visit_life_s(visit, YEAR_S) : until_s,
                                      .how = LC_JWT_RS256};
    char *token = NULL;

    wanted.extra_claims = json_pack("{s:o}", "kubernetes.io", claim_of(ask, extended ? until_s : 0));
    token = lc_issuer_mint(visit->cloud->issuer, &wanted, NULL);
    json_decref(wanted.extra_claims);
    if (token == NULL) {
        (void)lc_kube_refuse(visit, 500, "InternalError", NULL, "Internal error occurred: the token was not signed");
        return;
    }
    answer(visit, ask, token, now_s, until_s);
    lc_visit_granted(visit, token);
    free(token);
}

static void cap(struct lc_visit *visit, struct ask *ask)
{
    const struct lc_kube *kube = visit->cloud->kube;
    char warning[160] = "";

    ask->granted_s = ask->asked_s;
    if (kube->max_expiration_s > 0 && ask->asked_s > kube->max_expiration_s) {
        ask->granted_s = kube->max_expiration_s;
        (void)snprintf(warning, sizeof warning,
                       "299 - \"requested expiration of %lld seconds shortened to %lld seconds\"",
                       (long long)ask->asked_s, (long long)ask->granted_s);
        lc_reply_header(visit->reply, "Warning", warning);
    }
}

void lc_kube_token(struct lc_visit *visit)
{
    struct lc_kube *kube = visit->cloud->kube;
    struct ask ask = {0};

    (void)lc_kube_path(visit->request->path, &ask.path);
    if (lc_kube_authenticate(visit, &ask.user) == 0 && authorize(visit, &ask) == 0 &&
        (ask.body = lc_kube_body(visit)) != NULL && decode(visit, &ask) == 0 && admit_node(visit, &ask) == 0) {
        ask.account = lc_kube_get(kube, &kube->accounts, ask.path.namespace_name, ask.path.name);
        if (ask.account == NULL) {
            (void)lc_kube_not_found(visit, "serviceaccounts", ask.path.name);
        } else if (validate(visit, &ask) == 0 && bind_object(visit, &ask) == 0) {
            cap(visit, &ask);
            mint(visit, &ask);
        }
    }
    ask_free(&ask);
}
