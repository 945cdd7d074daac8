/* SPDX-License-Identifier: MIT */
/* The rules of Secrets and ConfigMaps: what a request may say, and what may change. */
#include "kube_fields.h"
#include "kube_secret.h"

#include <stdlib.h>
#include <string.h>

const struct lc_kube_kind lc_kube_kind_secret = {"Secret", "secrets", false};
const struct lc_kube_kind lc_kube_kind_configmap = {"ConfigMap", "configmaps", true};

enum { MOST_DATA_BYTES = 1048576, MOST_KEY_BYTES = 253 };

static json_t *bad(struct lc_fail *fail, json_t *half, const char *what, const char *key)
{
    json_decref(half);
    (void)lc_fail_set(fail, "Secret in version \"v1\" cannot be handled as a Secret: %s %.100s", what, key);
    return NULL;
}

/* A map of strings, or nothing. */
static bool is_text_map(json_t *map)
{
    const char *key = NULL;
    json_t *value = NULL;

    json_object_foreach(map, key, value)
    {
        if (!json_is_string(value)) {
            return false;
        }
    }
    return map == NULL || json_is_null(map) || json_is_object(map);
}

static bool is_base64(const char *text)
{
    struct lc_buf bytes = {0};
    bool good = lc_unbase64(&bytes, text, strlen(text), false);

    lc_buf_free(&bytes);
    return good;
}

/* data and stringData as one map, NULL with the reason. */
static json_t *read_data(json_t *secret, struct lc_fail *fail)
{
    json_t *out = json_object();
    const char *key = NULL;
    json_t *value = NULL;

    json_object_foreach(json_object_get(secret, "data"), key, value)
    {
        if (!json_is_null(value) && (!json_is_string(value) || !is_base64(json_string_value(value)))) {
            return bad(fail, out, "illegal base64 data in", key);
        }
        (void)json_object_set_new(out, key, json_is_null(value) ? json_string("") : json_incref(value));
    }
    json_object_foreach(json_object_get(secret, "stringData"), key, value)
    {
        struct lc_buf text = {0};
        if (!json_is_string(value)) {
            return bad(fail, out, "not a string: stringData", key);
        }
        lc_base64(&text, json_string_value(value), json_string_length(value), false);
        (void)json_object_set_new(out, key, json_string(text.at == NULL ? "" : text.at));
        lc_buf_free(&text);
    }
    return out;
}

static bool is_map(json_t *value)
{
    return value == NULL || json_is_null(value) || json_is_object(value);
}

/* A ConfigMap: text, and base64 in binaryData; no key is in both. */
static json_t *decode_public(json_t *object, struct lc_fail *fail)
{
    static const char *const forbidden[] = {"type", "stringData"};
    const char *key = NULL;
    json_t *value = NULL;

    for (size_t i = 0; i < sizeof forbidden / sizeof forbidden[0]; i++) {
        if (json_object_get(object, forbidden[i]) != NULL) {
            return bad(fail, NULL, "unknown field", forbidden[i]);
        }
    }
    if (!is_text_map(json_object_get(object, "data")) || !is_text_map(json_object_get(object, "binaryData"))) {
        return bad(fail, NULL, "not a map of strings:", "data or binaryData");
    }
    json_object_foreach(json_object_get(object, "binaryData"), key, value)
    {
        if (!is_base64(json_string_value(value)) || json_object_get(json_object_get(object, "data"), key) != NULL) {
            return bad(fail, NULL, "illegal base64 data, or a key of data, too, in", key);
        }
    }
    return lc_kube_flatten(object);
}

json_t *lc_kube_secret_decode(const struct lc_kube_kind *kind, json_t *secret, struct lc_fail *fail)
{
    json_t *metadata = json_object_get(secret, "metadata");
    json_t *type = json_object_get(secret, "type");
    json_t *immutable = json_object_get(secret, "immutable");
    json_t *data = NULL;
    json_t *copy = NULL;
    json_t *flat = NULL;

    if (!is_map(metadata) || !is_map(json_object_get(secret, "data")) ||
        !is_map(json_object_get(secret, "stringData"))) {
        return bad(fail, NULL, "not an object:", "metadata, data or stringData");
    }
    if (!is_text_map(json_object_get(metadata, "labels")) || !is_text_map(json_object_get(metadata, "annotations"))) {
        return bad(fail, NULL, "not a map of strings:", "metadata.labels or metadata.annotations");
    }
    if (type != NULL && !json_is_null(type) && !json_is_string(type)) {
        return bad(fail, NULL, "not a string:", "type");
    }
    if (immutable != NULL && !json_is_null(immutable) && !json_is_boolean(immutable)) {
        return bad(fail, NULL, "not a boolean:", "immutable");
    }
    if (kind->is_public) {
        return decode_public(secret, fail);
    }
    data = read_data(secret, fail);
    if (data == NULL) {
        return NULL;
    }
    copy = json_copy(secret);
    (void)json_object_set_new(copy, "data", data);
    if (json_is_string(type) && *json_string_value(type) == '\0') {
        (void)json_object_del(copy, "type");
    }
    flat = lc_kube_flatten(copy);
    json_decref(copy);
    return flat;
}

static const char *value_of(json_t *flat, const char *path)
{
    return json_string_value(json_object_get(flat, path));
}

static void require(json_t *flat, const char *key, struct lc_kube_faults *faults)
{
    char *path = lc_text_format("data.%s", key);
    char *field = lc_text_format("data[%s]", key);

    if (path != NULL && field != NULL && value_of(flat, path) == NULL) {
        lc_kube_fault(faults, "FieldValueRequired", field, "Required value");
    }
    free(path);
    free(field);
}

static void require_json(json_t *flat, const char *key, struct lc_kube_faults *faults)
{
    char *path = lc_text_format("data.%s", key);
    char *field = lc_text_format("data[%s]", key);
    const char *text = path == NULL ? NULL : value_of(flat, path);
    struct lc_buf bytes = {0};
    json_t *document = NULL;

    require(flat, key, faults);
    if (text != NULL && field != NULL && lc_unbase64(&bytes, text, strlen(text), false)) {
        document = json_loadb(bytes.at, bytes.len, 0, NULL);
        if (!json_is_object(document)) {
            lc_kube_fault(faults, "FieldValueInvalid", field,
                          "Invalid value: \"<secret contents redacted>\": not a JSON object");
        }
    }
    json_decref(document);
    lc_buf_free(&bytes);
    free(path);
    free(field);
}

static void check_type(json_t *flat, const char *type, struct lc_kube_faults *faults)
{
    if (strcmp(type, "kubernetes.io/dockerconfigjson") == 0) {
        require_json(flat, ".dockerconfigjson", faults);
    } else if (strcmp(type, "kubernetes.io/dockercfg") == 0) {
        require_json(flat, ".dockercfg", faults);
    } else if (strcmp(type, "kubernetes.io/tls") == 0) {
        require(flat, "tls.crt", faults);
        require(flat, "tls.key", faults);
    } else if (strcmp(type, "kubernetes.io/ssh-auth") == 0) {
        require(flat, "ssh-privatekey", faults);
    } else if (strcmp(type, "kubernetes.io/basic-auth") == 0) {
        if (value_of(flat, "data.username") == NULL && value_of(flat, "data.password") == NULL) {
            require(flat, "username", faults);
            require(flat, "password", faults);
        }
    } else if (strcmp(type, "kubernetes.io/service-account-token") == 0 &&
               value_of(flat, "metadata.annotations.kubernetes.io/service-account.name") == NULL) {
        lc_kube_fault(faults, "FieldValueRequired", "metadata.annotations[kubernetes.io/service-account.name]",
                      "Required value");
    }
}

static size_t decoded_bytes(const char *text)
{
    size_t len = strlen(text);
    size_t pads = len == 0 ? 0 : (size_t)(text[len - 1] == '=') + (size_t)(len > 1 && text[len - 2] == '=');

    return len / 4 * 3 - pads;
}

static void check_data(const struct lc_kube_kind *kind, json_t *flat, struct lc_kube_faults *faults)
{
    static const char prefix[] = "data.";
    const char *path = NULL;
    json_t *value = NULL;
    size_t total = 0;

    json_object_foreach(flat, path, value)
    {
        const char *key = path + sizeof prefix - 1;
        if (!lc_text_starts(path, prefix)) {
            continue;
        }
        if (*key == '\0' || strlen(key) > MOST_KEY_BYTES || !lc_text_only(key, "-._") || strcmp(key, ".") == 0 ||
            lc_text_starts(key, "..")) {
            char *field = lc_text_format("data[%s]", key);
            lc_kube_fault(faults, "FieldValueInvalid", field == NULL ? "data" : field,
                          "Invalid value: \"%.300s\": a valid config key must consist of alphanumeric characters, '-', "
                          "'_' or '.' (e.g. 'key.name',  or 'KEY_NAME',  or 'key-name', regex used for validation is "
                          "'[-._a-zA-Z0-9]+')",
                          key);
            free(field);
        }
        total += kind->is_public ? json_string_length(value) : decoded_bytes(json_string_value(value));
    }
    if (total > MOST_DATA_BYTES) {
        lc_kube_fault(faults, "FieldValueTooLong", "data", "Too long: may not be more than %d bytes", MOST_DATA_BYTES);
    }
}

static bool same_data(json_t *a, json_t *b)
{
    json_t *both[2] = {a, b};
    const char *path = NULL;
    json_t *value = NULL;

    for (size_t i = 0; i < 2; i++) {
        json_object_foreach(both[i], path, value)
        {
            if (lc_text_starts(path, "data.") && json_equal(value, json_object_get(both[1 - i], path)) != 1) {
                return false;
            }
        }
    }
    return true;
}

static void check_change(json_t *flat, json_t *before, struct lc_kube_faults *faults)
{
    const char *type = value_of(flat, "type");

    if (type != NULL && json_equal(json_object_get(flat, "type"), json_object_get(before, "type")) != 1) {
        lc_kube_fault(faults, "FieldValueInvalid", "type", "Invalid value: \"%.200s\": field is immutable",
                      type == NULL ? "" : type);
    }
    if (!json_is_true(json_object_get(before, "immutable"))) {
        return;
    }
    if (!json_is_true(json_object_get(flat, "immutable"))) {
        lc_kube_fault(faults, "FieldValueForbidden", "immutable",
                      "Forbidden: field is immutable when `immutable` is set");
    }
    if (!same_data(flat, before)) {
        lc_kube_fault(faults, "FieldValueForbidden", "data", "Forbidden: field is immutable when `immutable` is set");
    }
}

static bool is_subdomain(const char *name)
{
    size_t len = strlen(name);

    return len >= 1 && len <= MOST_KEY_BYTES && strspn(name, "abcdefghijklmnopqrstuvwxyz0123456789-.") == len &&
           strchr("-.", name[0]) == NULL && strchr("-.", name[len - 1]) == NULL;
}

void lc_kube_secret_validate(const struct lc_kube_kind *kind, json_t *flat, json_t *before, const char *name,
                             struct lc_kube_faults *faults)
{
    const char *type = NULL;

    if (!kind->is_public && json_object_get(flat, "type") == NULL) {
        (void)json_object_set_new(flat, "type", json_string("Opaque"));
    }
    type = value_of(flat, "type");
    if (!is_subdomain(name)) {
        lc_kube_fault(faults, "FieldValueInvalid", "metadata.name",
                      "Invalid value: \"%.300s\": a lowercase RFC 1123 subdomain must consist of lower case "
                      "alphanumeric "
                      "characters, '-' or '.', and must start and end with an alphanumeric character (e.g. "
                      "'example.com', regex used for validation is "
                      "'[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')",
                      name);
    }
    check_data(kind, flat, faults);
    check_type(flat, type == NULL ? "" : type, faults);
    if (before != NULL) {
        check_change(flat, before, faults);
    }
}
