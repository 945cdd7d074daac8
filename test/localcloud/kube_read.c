/* SPDX-License-Identifier: MIT */
/* Objects of the simulated cluster, from the configuration and the admin interface. */
#include "kube_data.h"

#include "kube_pod_certificate.h"
#include "kube_secret.h"
#include "kube_watch.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const char lc_kube_demo[] =
    "{\"service_accounts\":[{\"name\":\"demo\"}],\"nodes\":[{\"name\":\"worker-1\"}],"
    "\"pods\":[{\"name\":\"demo-0\",\"service_account\":\"demo\",\"node\":\"worker-1\","
    "\"audiences\":[\"\",\"sts.amazonaws.com\"]}],"
    "\"tokens\":[{\"token\":\"demo-kube-token\",\"user\":\"demo\"}],"
    "\"rbac\":[{\"user\":\"demo\",\"verb\":\"create\",\"resource\":\"serviceaccounts/"
    "token\",\"namespace\":\"default\","
    "\"names\":[\"demo\"]},{\"user\":\"demo\",\"verb\":\"*\",\"resource\":[\"secrets\","
    "\"configmaps\",\"events\",\"deployments\",\"deployments/status\",\"statefulsets\"],"
    "\"namespace\":\"default\"},{\"user\":\"demo\",\"verb\":\"*\",\"resource\":[\"apiservices\","
    "\"customresourcedefinitions\",\"mutatingwebhookconfigurations\","
    "\"validatingwebhookconfigurations\",\"clustertrustbundles\"]},"
    "{\"user\":\"demo\",\"verb\":\"attest\",\"resource\":\"signers\",\"names\":[\"example.com/service\"]},"
    "{\"user\":\"demo\",\"verb\":[\"get\",\"list\",\"watch\"],\"resource\":\"podcertificaterequests\"},"
    "{\"user\":\"demo\",\"verb\":[\"update\",\"patch\"],\"resource\":\"podcertificaterequests/status\"},"
    "{\"user\":\"demo\",\"verb\":\"sign\",\"resource\":\"signers\",\"names\":[\"example.com/service\"]}]}";

/* The stable uid, or the one that was given, or (for a name that was taken before) a new one. */
static void uid_of(const char *kind, const char *namespace_name, const char *name, const char *given, bool again,
                   char out[LC_UUID_BYTES])
{
    size_t len = strlen(name);
    bool first_pod = strcmp(kind, "pod") == 0 && len > 2 && strcmp(name + len - 2, "-0") == 0;
    char *base = strndup(name, first_pod ? len - 2 : len);

    if (given != NULL) {
        (void)snprintf(out, LC_UUID_BYTES, "%s", given);
    } else if (again || base == NULL) {
        lc_uuid(out);
    } else {
        lc_issuer_object_uid(kind, namespace_name, base, out);
    }
    free(base);
}

struct place {
    const char *namespace_name;
    const char *name;
    const char *uid;
};

static int read_place(json_t *object, const char *where, struct place *out, struct lc_fail *fail)
{
    *out = (struct place){.namespace_name = "default"};
    if (lc_json_text(object, where, "namespace", &out->namespace_name, fail) != 0 ||
        lc_json_text(object, where, "name", &out->name, fail) != 0 ||
        lc_json_text(object, where, "uid", &out->uid, fail) != 0) {
        return -1;
    }
    if (out->name == NULL || *out->name == '\0' || *out->namespace_name == '\0' || !lc_text_only(out->name, "-.") ||
        !lc_text_only(out->namespace_name, "-")) {
        return lc_fail_set(fail, "%s: \"name\" and \"namespace\" must be Kubernetes names", where);
    }
    return 0;
}

static int put(struct lc_kube *kube, json_t *list, const struct place *place, json_t *object)
{
    char *key = lc_kube_key(place->namespace_name, place->name);
    int result = key == NULL ? -1 : json_object_set_new(list, key, object);

    if (json_object_get(kube->namespaces, place->namespace_name) == NULL) {
        json_t *made = json_pack("{s:s,s:s,s:{s:s}}", "kind", "Namespace", "apiVersion", "v1", "metadata", "name",
                                 place->namespace_name);
        kube->version++;
        lc_kube_happened(kube, "namespaces", "", NULL, made);
        json_decref(made);
    }
    (void)json_object_set_new(kube->namespaces, place->namespace_name, json_true());
    free(key);
    return result;
}

/* Was there an object of that name before? Its memory stays as null. */
static bool was_there(json_t *list, const struct place *place)
{
    char *key = lc_kube_key(place->namespace_name, place->name);
    bool was = key != NULL && json_object_get(list, key) != NULL;

    free(key);
    return was;
}

static int read_account(struct lc_kube *kube, json_t *object, struct lc_fail *fail)
{
    static const char *const known[] = {"kind", "namespace", "name", "uid", NULL};
    struct place place;
    char uid[LC_UUID_BYTES] = "";

    if (lc_json_keys(object, "service_accounts", known, fail) != 0 ||
        read_place(object, "service_accounts", &place, fail) != 0) {
        return -1;
    }
    uid_of("serviceaccount", place.namespace_name, place.name, place.uid, was_there(kube->accounts, &place), uid);
    return put(kube, kube->accounts, &place,
               json_pack("{s:s,s:s,s:s}", "namespace", place.namespace_name, "name", place.name, "uid", uid));
}

static int read_pod(struct lc_kube *kube, json_t *object, struct lc_fail *fail)
{
    static const char *const known[] = {"kind", "namespace", "name", "uid", "service_account",
                                        "node", "audiences", NULL};
    static const char where[] = "pods";
    struct place place;
    char uid[LC_UUID_BYTES] = "";
    const char *account = "default";
    const char *node = NULL;
    json_t *audiences = NULL;

    if (lc_json_keys(object, where, known, fail) != 0 || read_place(object, where, &place, fail) != 0 ||
        lc_json_text(object, where, "service_account", &account, fail) != 0 ||
        lc_json_text(object, where, "node", &node, fail) != 0 ||
        lc_json_array(object, where, "audiences", &audiences, fail) != 0) {
        return -1;
    }
    uid_of("pod", place.namespace_name, place.name, place.uid, was_there(kube->pods, &place), uid);
    return put(kube, kube->pods, &place,
               json_pack("{s:s,s:s,s:s,s:s,s:s*,s:o}", "namespace", place.namespace_name, "name", place.name, "uid",
                         uid, "service_account", account, "node", node, "audiences",
                         audiences == NULL ? json_pack("[s]", "") : json_incref(audiences)));
}

static int read_node(struct lc_kube *kube, json_t *object, struct lc_fail *fail)
{
    static const char *const known[] = {"kind", "name", "uid", NULL};
    struct place place;
    char uid[LC_UUID_BYTES] = "";

    if (lc_json_keys(object, "nodes", known, fail) != 0 || read_place(object, "nodes", &place, fail) != 0) {
        return -1;
    }
    uid_of("node", "", place.name, place.uid, json_object_get(kube->nodes, place.name) != NULL, uid);
    return json_object_set_new(kube->nodes, place.name, json_pack("{s:s,s:s}", "name", place.name, "uid", uid));
}

static int read_secret(struct lc_kube *kube, json_t *object, struct lc_fail *fail)
{
    static const char *const known[] = {"kind",        "namespace", "name",   "uid",         "type", "data",
                                        "string_data", "immutable", "labels", "annotations", NULL};
    struct place place;
    json_t *secret = NULL;
    json_t *entry = NULL;

    if (lc_json_keys(object, "secrets", known, fail) != 0 || read_place(object, "secrets", &place, fail) != 0) {
        return -1;
    }
    secret = json_pack("{s:{s:s,s:s,s:s*,s:O*,s:O*},s:O*,s:O*,s:O*,s:O*}", "metadata", "name", place.name, "namespace",
                       place.namespace_name, "uid", place.uid, "labels", json_object_get(object, "labels"),
                       "annotations", json_object_get(object, "annotations"), "type", json_object_get(object, "type"),
                       "data", json_object_get(object, "data"), "stringData", json_object_get(object, "string_data"),
                       "immutable", json_object_get(object, "immutable"));
    entry = lc_kube_secret_entry(kube, secret, "admin", fail);
    json_decref(secret);
    return entry == NULL ? -1 : put(kube, kube->secrets, &place, entry);
}

static int read_token(struct lc_kube *kube, json_t *object, struct lc_fail *fail)
{
    static const char *const known[] = {"token", "user", "groups", NULL};
    static const char where[] = "tokens";
    const char *token = NULL;
    const char *user = NULL;
    json_t *groups = NULL;

    if (lc_json_keys(object, where, known, fail) != 0 || lc_json_text(object, where, "token", &token, fail) != 0 ||
        lc_json_text(object, where, "user", &user, fail) != 0 ||
        lc_json_array(object, where, "groups", &groups, fail) != 0) {
        return -1;
    }
    if (token == NULL || user == NULL || *token == '\0' || *user == '\0') {
        return lc_fail_set(fail, "tokens: \"token\" and \"user\" are needed");
    }
    groups = groups == NULL ? json_array() : json_copy(groups);
    (void)json_array_append_new(groups, json_string("system:authenticated"));
    if (kube->first_token == NULL) {
        kube->first_token = token;
    }
    return json_object_set_new(kube->tokens, token, json_pack("{s:s,s:o}", "user", user, "groups", groups));
}

static bool is_text_or_list(json_t *value)
{
    json_t *item = NULL;
    size_t index = 0;

    json_array_foreach(value, index, item)
    {
        if (!json_is_string(item)) {
            return false;
        }
    }
    return value == NULL || json_is_string(value) || json_is_array(value);
}

static int check_rules(json_t *rules, struct lc_fail *fail)
{
    static const char *const known[] = {"user", "group", "verb", "resource", "namespace", "names", NULL};
    static const char where[] = "rbac";
    json_t *rule = NULL;
    size_t index = 0;

    if (rules != NULL && !json_is_array(rules)) {
        return lc_fail_set(fail, "kube: \"rbac\" must be an array");
    }
    json_array_foreach(rules, index, rule)
    {
        const char *text = NULL;
        json_t *names = NULL;
        if (lc_json_keys(rule, where, known, fail) != 0 || lc_json_text(rule, where, "user", &text, fail) != 0 ||
            lc_json_text(rule, where, "group", &text, fail) != 0 ||
            lc_json_text(rule, where, "namespace", &text, fail) != 0 ||
            lc_json_array(rule, where, "names", &names, fail) != 0) {
            return -1;
        }
        if ((json_object_get(rule, "user") == NULL) == (json_object_get(rule, "group") == NULL) ||
            json_object_get(rule, "verb") == NULL || json_object_get(rule, "resource") == NULL ||
            !is_text_or_list(json_object_get(rule, "verb")) || !is_text_or_list(json_object_get(rule, "resource"))) {
            return lc_fail_set(fail,
                               "rbac[%zu] needs \"user\" or \"group\", and \"verb\" and \"resource\" (a string or "
                               "an array of strings)",
                               index);
        }
    }
    return 0;
}

static int read_list(struct lc_kube *kube, json_t *settings, const char *name,
                     int (*read_one)(struct lc_kube *kube, json_t *object, struct lc_fail *fail), struct lc_fail *fail)
{
    json_t *list = json_object_get(settings, name);
    json_t *item = NULL;
    size_t index = 0;

    if (list != NULL && !json_is_array(list)) {
        return lc_fail_set(fail, "kube: \"%s\" must be an array", name);
    }
    json_array_foreach(list, index, item)
    {
        if (read_one(kube, item, fail) != 0) {
            return -1;
        }
    }
    return 0;
}

/* The lock is held. */
static void imply(struct lc_kube *kube, const char *namespace_name, const char *account)
{
    struct place place = {.namespace_name = namespace_name, .name = account};
    char *pod = lc_text_format("%s-0", account);
    json_t *object = json_pack("{s:s,s:s}", "namespace", namespace_name, "name", account);

    if (!was_there(kube->accounts, &place)) {
        (void)read_account(kube, object, NULL);
    }
    place.name = pod == NULL ? "" : pod;
    (void)json_object_set_new(object, "name", json_string(place.name));
    (void)json_object_set_new(object, "service_account", json_string(account));
    (void)json_object_set_new(object, "node", json_string("worker-1"));
    if (!was_there(kube->pods, &place)) {
        (void)read_pod(kube, object, NULL);
    }
    if (json_object_get(kube->nodes, "worker-1") == NULL) {
        (void)json_object_set_new(object, "name", json_string("worker-1"));
        (void)json_object_del(object, "namespace");
        (void)json_object_del(object, "service_account");
        (void)json_object_del(object, "node");
        (void)read_node(kube, object, NULL);
    }
    json_decref(object);
    free(pod);
}

void lc_kube_imply(struct lc_kube *kube, const char *namespace_name, const char *service_account)
{
    (void)pthread_mutex_lock(&kube->lock);
    (void)json_array_append_new(kube->implied,
                                json_pack("{s:s,s:s}", "namespace", namespace_name, "name", service_account));
    imply(kube, namespace_name, service_account);
    (void)pthread_mutex_unlock(&kube->lock);
}

static void clear(struct lc_kube *kube)
{
    static const char *const always[] = {"default", "kube-system", "kube-public"};

    (void)json_object_clear(kube->accounts);
    (void)json_object_clear(kube->pods);
    (void)json_object_clear(kube->nodes);
    (void)json_array_clear(kube->history);
    kube->forgotten = ++kube->version;
    (void)json_object_clear(kube->configmaps);
    (void)json_object_clear(kube->workloads);
    (void)json_array_clear(kube->events);
    (void)json_object_clear(kube->secrets);
    (void)json_object_clear(kube->cluster);
    (void)json_object_clear(kube->pod_certificates);
    (void)json_object_clear(kube->tokens);
    (void)json_object_clear(kube->namespaces);
    for (size_t i = 0; i < sizeof always / sizeof always[0]; i++) {
        (void)json_object_set_new(kube->namespaces, always[i], json_true());
    }
    json_decref(kube->rules);
    kube->rules = json_array();
    json_decref(kube->api_audiences);
    kube->api_audiences = json_pack("[s]", "https://kubernetes.default.svc");
    kube->first_token = NULL;
    kube->max_expiration_s = 0;
    kube->extend = true;
}

static int load(struct lc_kube *kube, json_t *settings, struct lc_fail *fail)
{
    static const char *const known[] = {"service_accounts",
                                        "pods",
                                        "nodes",
                                        "secrets",
                                        "tokens",
                                        "namespaces",
                                        "rbac",
                                        "max_token_expiration_s",
                                        "extend_tokens",
                                        "api_audiences",
                                        "pod_certificate_versions",
                                        NULL};
    json_t *audiences = NULL;
    json_t *namespaces = NULL;
    json_t *item = NULL;
    size_t index = 0;

    clear(kube);
    if (lc_json_keys(settings, "kube", known, fail) != 0 ||
        lc_json_integer(settings, "kube", "max_token_expiration_s", 0, 4294967296, &kube->max_expiration_s, fail) !=
            0 ||
        lc_json_bool(settings, "kube", "extend_tokens", &kube->extend, fail) != 0 ||
        lc_json_array(settings, "kube", "api_audiences", &audiences, fail) != 0 ||
        lc_json_array(settings, "kube", "namespaces", &namespaces, fail) != 0 ||
        check_rules(json_object_get(settings, "rbac"), fail) != 0 ||
        lc_kube_pod_certificate_serve(kube, json_object_get(settings, "pod_certificate_versions"), fail) != 0 ||
        read_list(kube, settings, "service_accounts", read_account, fail) != 0 ||
        read_list(kube, settings, "nodes", read_node, fail) != 0 ||
        read_list(kube, settings, "pods", read_pod, fail) != 0 ||
        read_list(kube, settings, "secrets", read_secret, fail) != 0 ||
        read_list(kube, settings, "tokens", read_token, fail) != 0) {
        return -1;
    }
    if (json_object_get(settings, "rbac") != NULL) {
        json_decref(kube->rules);
        kube->rules = json_incref(json_object_get(settings, "rbac"));
    }
    if (audiences != NULL) {
        json_decref(kube->api_audiences);
        kube->api_audiences = json_incref(audiences);
    }
    json_array_foreach(namespaces, index, item)
    {
        (void)json_object_set_new(kube->namespaces, json_string_value(item), json_true());
    }
    json_array_foreach(kube->implied, index, item)
    {
        imply(kube, lc_kube_text(item, "namespace"), lc_kube_text(item, "name"));
    }
    return 0;
}

json_t *lc_kube_check(struct lc_cloud *cloud, json_t *settings, struct lc_fail *fail)
{
    int result = -1;

    if (cloud->kube == NULL) {
        cloud->kube = lc_kube_new(cloud, fail);
    }
    if (cloud->kube != NULL) {
        (void)pthread_mutex_lock(&cloud->kube->lock);
        result = load(cloud->kube, settings, fail);
        if (result == 0) {
            json_decref(cloud->kube->settings);
            cloud->kube->settings = json_incref(settings);
        } else if (cloud->kube->settings != NULL) {
            (void)load(cloud->kube, cloud->kube->settings, NULL); /* what held before */
        }
        (void)pthread_mutex_unlock(&cloud->kube->lock);
    }
    return result == 0 ? json_incref(settings) : NULL;
}

int lc_kube_rules(struct lc_kube *kube, json_t *body, struct lc_fail *fail)
{
    static const char *const known[] = {"rules", NULL};
    json_t *rules = json_object_get(body, "rules");

    if (lc_json_keys(body, "rbac", known, fail) != 0 || check_rules(rules, fail) != 0) {
        return -1;
    }
    if (rules == NULL) {
        return lc_fail_set(fail, "rbac: \"rules\" is missing");
    }
    (void)pthread_mutex_lock(&kube->lock);
    json_decref(kube->rules);
    kube->rules = json_incref(rules);
    (void)pthread_mutex_unlock(&kube->lock);
    return 0;
}

int lc_kube_versions(struct lc_kube *kube, json_t *body, struct lc_fail *fail)
{
    static const char *const known[] = {LC_POD_CERTIFICATES, NULL};
    int result = 0;

    if (lc_json_keys(body, "versions", known, fail) != 0) {
        return -1;
    }
    (void)pthread_mutex_lock(&kube->lock);
    result = lc_kube_pod_certificate_serve(kube, json_object_get(body, LC_POD_CERTIFICATES), fail);
    (void)pthread_mutex_unlock(&kube->lock);
    return result;
}

struct kind {
    const char *name;
    json_t *list;
    int (*read_one)(struct lc_kube *kube, json_t *object, struct lc_fail *fail);
};

static int drop(struct lc_kube *kube, const struct kind *kind, json_t *body, struct lc_fail *fail)
{
    struct place place;
    char *key = NULL;
    int result = -1;

    if (read_place(body, kind->name, &place, fail) != 0) {
        return -1;
    }
    key = strcmp(kind->name, "Node") == 0 ? strdup(place.name) : lc_kube_key(place.namespace_name, place.name);
    if (key != NULL && kind->list == kube->pod_certificates && lc_kube_pod_certificate_drop(kube, key)) {
        result = 0;
    } else if (key != NULL && json_is_object(json_object_get(kind->list, key))) {
        /* An object of that name that is made later is another one: remember that there was one. */
        result = strcmp(kind->name, "Secret") == 0 ? json_object_del(kind->list, key)
                                                   : json_object_set_new(kind->list, key, json_null());
    } else {
        (void)lc_fail_set(fail, "there is no %s %.200s", kind->name, key == NULL ? "" : key);
    }
    free(key);
    return result;
}

int lc_kube_object(struct lc_kube *kube, json_t *body, struct lc_fail *fail)
{
    const struct kind kinds[] = {{"ServiceAccount", kube->accounts, read_account},
                                 {"Pod", kube->pods, read_pod},
                                 {"Node", kube->nodes, read_node},
                                 {"Secret", kube->secrets, read_secret},
                                 {"PodCertificateRequest", kube->pod_certificates, lc_kube_pod_certificate_make}};
    const char *kind = lc_kube_text(body, "kind");
    int result = 0;

    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++) {
        if (strcmp(kinds[i].name, kind) == 0) {
            (void)pthread_mutex_lock(&kube->lock);
            result = json_is_true(json_object_get(body, "delete")) ? drop(kube, &kinds[i], body, fail)
                                                                   : kinds[i].read_one(kube, body, fail);
            (void)pthread_mutex_unlock(&kube->lock);
            return result;
        }
    }
    return lc_fail_set(fail, "object: \"kind\" must be ServiceAccount, Pod, Node, Secret or PodCertificateRequest");
}

static json_t *values_of(json_t *list)
{
    json_t *out = json_array();
    const char *key = NULL;
    json_t *value = NULL;

    json_object_foreach(list, key, value)
    {
        if (json_is_object(value)) {
            (void)json_array_append(out, value);
        }
    }
    return out;
}

json_t *lc_kube_report(struct lc_kube *kube)
{
    json_t *report = NULL;
    json_t *secrets = json_array();
    const char *key = NULL;
    json_t *value = NULL;

    (void)pthread_mutex_lock(&kube->lock);
    json_object_foreach(kube->secrets, key, value)
    {
        (void)json_array_append_new(secrets, lc_kube_secret_shown(value));
    }
    report = json_pack("{s:o,s:o,s:o,s:o,s:o}", "service_accounts", values_of(kube->accounts), "pods",
                       values_of(kube->pods), "nodes", values_of(kube->nodes), "secrets", secrets,
                       "pod_certificate_requests", values_of(kube->pod_certificates));
    (void)pthread_mutex_unlock(&kube->lock);
    return report;
}
