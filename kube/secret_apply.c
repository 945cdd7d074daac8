/* SPDX-License-Identifier: MIT */
/* Secrets and ConfigMaps for server-side apply: path, checks and body. */
#include "kube/secret_apply.h"

#include "base/base64.h"
#include "kube/ca_bundle.h"
#include "base/json.h"
#include "base/time.h"
#include "base/writer.h"
#include "kube/name_private.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define TYPE_MAX 253

const struct cfr_k8s_kind cfr_k8s_kind_secret = {.name = "Secret", .resource = "secrets", .key = "publish.secret"};
const struct cfr_k8s_kind cfr_k8s_kind_configmap = {
    .name = "ConfigMap", .resource = "configmaps", .key = "publish.configmap", .is_public = true};

bool cfr_k8s_secret_apply_path(const struct cfr_k8s_kind *kind, const char *namespace_name, const char *name,
                               enum cfr_k8s_secret_path purpose, char out[CFR_K8S_SECRET_PATH_MAX])
{
    static const char *const queries[] = {
        [CFR_K8S_SECRET_READ] = "",
        [CFR_K8S_SECRET_APPLY] = "?fieldManager=" CFR_K8S_SECRET_MANAGER,
        [CFR_K8S_SECRET_TAKE] = "?fieldManager=" CFR_K8S_SECRET_MANAGER "&force=true",
    };

    out[0] = '\0';
    if (!cfr_k8s_name_is_label(namespace_name) || !cfr_k8s_name_is_subdomain(name))
        return false;
    (void)snprintf(out, CFR_K8S_SECRET_PATH_MAX, "/api/v1/namespaces/%s/%s/%s%s", namespace_name, kind->resource, name,
                   queries[purpose]);
    return true;
}

/* Keys that the API server requires for a type: FIRST and SECOND, or one of them. */
struct type_rule {
    const char *type;
    const char *first;
    const char *second;
    bool either;
    bool json;     /* the value of FIRST is a JSON object */
    bool not_bare; /* the value of FIRST is not empty */
};

static const struct type_rule type_rules[] = {
    {"kubernetes.io/dockerconfigjson", ".dockerconfigjson", NULL, false, true, true},
    {"kubernetes.io/dockercfg", ".dockercfg", NULL, false, true, true},
    {"kubernetes.io/tls", "tls.crt", "tls.key", false, false, false},
    {"kubernetes.io/ssh-auth", "ssh-privatekey", NULL, false, false, true},
    {"kubernetes.io/basic-auth", "username", "password", true, false, false},
};

static const struct type_rule *find_rule(const char *type)
{
    for (size_t i = 0; i < sizeof type_rules / sizeof type_rules[0]; i++) {
        if (strcmp(type, type_rules[i].type) == 0)
            return &type_rules[i];
    }
    return NULL;
}

static bool is_key_char(char c)
{
    return cfr_view_is_alnum(c) || c == '-' || c == '_' || c == '.';
}

static int check_key(const struct cfr_k8s_kind *kind, const char *key, struct cfr_err *err)
{
    size_t n = strlen(key);
    bool good = n != 0 && n <= CFR_K8S_SECRET_KEY_MAX && strcmp(key, ".") != 0 && strncmp(key, "..", 2) != 0;

    for (size_t i = 0; good && i < n; i++)
        good = is_key_char(key[i]);
    if (good)
        return 0;
    return cfr_err_set(err, CFR_E_CONFIG,
                       "\"%.64s\" cannot be a key of a %s: use letters, digits, `-`, `_` and `.`, at most %d, not "
                       "beginning with `..`",
                       cfr_view_printable(cfr_view_of(key)) ? key : "?", kind->name, CFR_K8S_SECRET_KEY_MAX);
}

static bool has_key(const char *const *keys, size_t count, const char *key)
{
    for (size_t i = 0; key != NULL && i < count; i++) {
        if (strcmp(keys[i], key) == 0)
            return true;
    }
    return false;
}

static int check_rule(const struct type_rule *rule, const char *const *keys, size_t key_count, struct cfr_err *err)
{
    bool first = has_key(keys, key_count, rule->first);
    bool second = has_key(keys, key_count, rule->second);

    if (rule->either)
        return first || second
                   ? 0
                   : cfr_err_set(err, CFR_E_CONFIG, "a Secret of the type %s needs the key \"%s\" or \"%s\"",
                                 rule->type, rule->first, rule->second);
    if (first && (second || rule->second == NULL))
        return 0;
    return cfr_err_set(err, CFR_E_CONFIG, "a Secret of the type %s needs the key \"%s\"", rule->type,
                       first ? rule->second : rule->first);
}

/* Each key of the object, which are KEYS. */
static int check_keys(const struct cfr_k8s_secret_object *o, const char *const *keys, struct cfr_err *err)
{
    if (o->key_count == 0)
        return cfr_err_set(err, CFR_E_CONFIG, "a %s must have at least one key", o->kind->name);
    for (size_t i = 0; i < o->key_count; i++) {
        int rc = check_key(o->kind, keys[i], err);

        if (rc != 0)
            return rc;
        if (has_key(keys, i, keys[i]))
            return cfr_err_set(err, CFR_E_CONFIG, "the key \"%s\" occurs twice in the %s", keys[i], o->kind->name);
    }
    return 0;
}

/* The part of the check of a type that needs no values: which KEYS it needs. */
static int check_type(const char *type, const char *const *keys, size_t key_count, struct cfr_err *err)
{
    struct cfr_view text = cfr_view_of(type);

    if (text.n == 0 || text.n > TYPE_MAX || !cfr_view_printable(text) || memchr(text.p, ' ', text.n) != NULL)
        return cfr_err_set(err, CFR_E_CONFIG,
                           "the type of a Secret must be a name such as Opaque or kubernetes.io/dockerconfigjson");
    if (strcmp(type, "kubernetes.io/service-account-token") == 0 || strcmp(type, "bootstrap.kubernetes.io/token") == 0)
        return cfr_err_set(err, CFR_E_CONFIG, "Secrets of the type %s belong to Kubernetes itself: use Opaque", type);
    return find_rule(type) != NULL ? check_rule(find_rule(type), keys, key_count, err) : 0;
}

static int check_json(const struct cfr_k8s_secret_key *k, struct cfr_err *err)
{
    struct cfr_json *doc;
    int rc = cfr_json_parse(k->value, &doc, err);
    bool object = rc == 0 && cfr_json_is_object(doc);

    cfr_json_free(doc);
    if (rc == CFR_E_NOMEM)
        return rc;
    return object ? 0 : cfr_err_set(err, CFR_E_CONFIG, "the value of \"%s\" must be a JSON object", k->key);
}

/* Checks the value of the first key as the type requires. */
static int check_value(const struct type_rule *rule, const struct cfr_k8s_secret_key *k, struct cfr_err *err)
{
    if (rule == NULL || strcmp(k->key, rule->first) != 0)
        return 0;
    if (rule->not_bare && k->value.n == 0)
        return cfr_err_set(err, CFR_E_CONFIG, "the value of \"%s\" must not be empty", k->key);
    return rule->json ? check_json(k, err) : 0;
}

/* What `data` of a public kind can hold. */
static int check_text(const struct cfr_k8s_secret_key *k, struct cfr_err *err)
{
    return cfr_view_is_utf8(k->value) && (k->value.n == 0 || memchr(k->value.p, 0, k->value.n) == NULL)
               ? 0
               : cfr_err_set(err, CFR_E_CONFIG,
                             "the value of \"%s\" is not text in UTF-8, which a ConfigMap holds: publish a Secret",
                             k->key);
}

int cfr_k8s_secret_apply_check(const struct cfr_k8s_secret_object *o, struct cfr_err *err)
{
    const char *keys[CFR_K8S_SECRET_KEYS_MAX] = {NULL};
    size_t total = 0;
    int rc;

    if (!cfr_k8s_name_is_label(o->namespace_name))
        return cfr_err_set(err, CFR_E_CONFIG, "the namespace of the %s is missing or cannot be one (RFC 1123)",
                           o->kind->name);
    if (!cfr_k8s_name_is_subdomain(o->name))
        return cfr_err_set(err, CFR_E_CONFIG, "the name of the %s is missing or cannot be one (RFC 1123)",
                           o->kind->name);
    if (o->key_count > CFR_K8S_SECRET_KEYS_MAX)
        return cfr_err_set(err, CFR_E_LIMIT, "the %s would have %zu keys, more than %d", o->kind->name, o->key_count,
                           CFR_K8S_SECRET_KEYS_MAX);
    for (size_t i = 0; i < o->key_count; i++)
        keys[i] = o->keys[i].key;
    rc = check_keys(o, keys, err);
    if (rc == 0 && !o->kind->is_public)
        rc = check_type(o->type, keys, o->key_count, err);
    for (size_t i = 0; rc == 0 && i < o->key_count; i++) {
        if (o->keys[i].value.n > CFR_K8S_SECRET_TOTAL_MAX - total)
            return cfr_err_set(err, CFR_E_LIMIT, "the values of the %s have more than %d bytes together", o->kind->name,
                               CFR_K8S_SECRET_TOTAL_MAX);
        total += o->keys[i].value.n;
        rc = o->kind->is_public ? check_text(&o->keys[i], err) : check_value(find_rule(o->type), &o->keys[i], err);
    }
    return rc;
}

static void write_metadata(const struct cfr_k8s_secret_object *o, struct cfr_writer *w)
{
    char generation[24];
    char expires[CFR_TIME_RFC3339_MAX];
    char started[CFR_TIME_RFC3339_MAX];
    char publisher[CFR_TIME_RFC3339_MAX + 20];

    (void)snprintf(publisher, sizeof publisher, "%s/%016" PRIx64, cfr_time_format(o->start_s, started), o->run);
    (void)snprintf(generation, sizeof generation, "%" PRIu64, o->generation);
    cfr_writer_object(w, "metadata");
    cfr_writer_string(w, "name", cfr_view_of(o->name));
    cfr_writer_string(w, "namespace", cfr_view_of(o->namespace_name));
    if (o->version != NULL && o->version[0] != '\0')
        cfr_writer_string(w, "resourceVersion", cfr_view_of(o->version));
    cfr_writer_object(w, "labels");
    cfr_writer_string(w, CFR_K8S_SECRET_LABEL, cfr_view_of(CFR_K8S_SECRET_MANAGER));
    cfr_writer_close(w);
    cfr_writer_object(w, "annotations");
    cfr_writer_string(w, "credfresh.io/credential", cfr_view_of(o->credential));
    cfr_writer_string(w, "credfresh.io/generation", cfr_view_of(generation));
    if (o->rotation != NULL)
        cfr_writer_string(w, "credfresh.io/rotation", cfr_view_of(o->rotation));
    if (o->ca_keys != NULL && o->ca_keys[0] != '\0')
        cfr_writer_string(w, CFR_K8S_CA_OWNER, (struct cfr_view){o->ca_keys, strcspn(o->ca_keys, ",")});
    if (o->run != 0)
        cfr_writer_string(w, CFR_K8S_SECRET_PUBLISHER, cfr_view_of(publisher));
    if (o->expires_s != 0)
        cfr_writer_string(w, "credfresh.io/expires", cfr_view_of(cfr_time_format(o->expires_s, expires)));
    cfr_writer_close(w);
    cfr_writer_close(w);
}

int cfr_k8s_secret_apply_body(const struct cfr_k8s_secret_object *o, struct cfr_secret *out, struct cfr_err *err)
{
    struct cfr_writer w = {.secret = out, .err = err};

    cfr_writer_object(&w, NULL);
    cfr_writer_string(&w, "apiVersion", cfr_view_of("v1"));
    cfr_writer_string(&w, "kind", cfr_view_of(o->kind->name));
    write_metadata(o, &w);
    if (!o->kind->is_public)
        cfr_writer_string(&w, "type", cfr_view_of(o->type));
    cfr_writer_object(&w, "data");
    for (size_t i = 0; i < o->key_count; i++) {
        if (o->kind->is_public) {
            cfr_writer_string(&w, o->keys[i].key, o->keys[i].value);
            continue;
        }
        cfr_writer_raw(&w, o->keys[i].key, cfr_view_of("\""));
        if (w.rc == 0)
            w.rc = cfr_base64_encode(o->keys[i].value, out, err);
        cfr_writer_text(&w, "\"");
    }
    cfr_writer_close(&w);
    cfr_writer_close(&w);
    return w.rc;
}
