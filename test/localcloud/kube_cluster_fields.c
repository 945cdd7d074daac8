/* SPDX-License-Identifier: MIT */
/* Fields of objects of the cluster, and the rules for them. */
#include "kube_cluster_fields.h"

#include "crypto.h"

#include <stdlib.h>
#include <string.h>

#define SEPARATOR "\x1f"

static bool is_named_list(const char *path)
{
    return strcmp(path, "webhooks") == 0;
}

static void flatten(json_t *flat, const char *path, json_t *value)
{
    const char *key = NULL;
    json_t *inner = NULL;
    size_t index = 0;

    if (json_is_array(value) && is_named_list(path)) {
        json_array_foreach(value, index, inner)
        {
            char *below = lc_text_format("%s" SEPARATOR "%s", path, lc_kube_text(inner, "name"));
            flatten(flat, below == NULL ? "" : below, inner);
            free(below);
        }
        return;
    }
    if (!json_is_object(value) || json_object_size(value) == 0) {
        (void)json_object_set(flat, path, value);
        return;
    }
    json_object_foreach(value, key, inner)
    {
        char *below = lc_text_format("%s%s%s", path, *path == '\0' ? "" : SEPARATOR, key);
        flatten(flat, below == NULL ? "" : below, inner);
        free(below);
    }
}

json_t *lc_kube_cluster_flatten(json_t *object)
{
    static const char *const parts[] = {"spec", "webhooks"};
    static const char *const maps[] = {"annotations", "labels"};
    json_t *flat = json_object();

    for (size_t i = 0; i < sizeof maps / sizeof maps[0]; i++) {
        json_t *map = json_object_get(json_object_get(object, "metadata"), maps[i]);
        char *path = lc_text_format("metadata" SEPARATOR "%s", maps[i]);

        if (json_object_size(map) > 0) {
            flatten(flat, path == NULL ? "" : path, map);
        }
        free(path);
    }
    for (size_t i = 0; i < sizeof parts / sizeof parts[0]; i++) {
        if (json_object_get(object, parts[i]) != NULL) {
            flatten(flat, parts[i], json_object_get(object, parts[i]));
        }
    }
    return flat;
}

static json_t *find_named(json_t *list, const char *name)
{
    json_t *one = NULL;
    size_t index = 0;

    json_array_foreach(list, index, one)
    {
        if (strcmp(lc_kube_text(one, "name"), name) == 0) {
            return one;
        }
    }
    one = json_pack("{s:s}", "name", name);
    (void)json_array_append_new(list, one);
    return one;
}

static json_t *member(json_t *object, const char *key, bool list)
{
    if (json_object_get(object, key) == NULL) {
        (void)json_object_set_new(object, key, list ? json_array() : json_object());
    }
    return json_object_get(object, key);
}

static void put(json_t *object, const char *path, json_t *value)
{
    char *copy = strdup(path);
    char *rest = copy;
    char *part = copy == NULL ? NULL : strsep(&rest, SEPARATOR);

    while (part != NULL && rest != NULL) {
        if (object != NULL && is_named_list(part)) {
            object = member(object, part, true);
            part = strsep(&rest, SEPARATOR);
            object = find_named(object, part);
        } else {
            object = member(object, part, false);
        }
        part = strsep(&rest, SEPARATOR);
    }
    if (part != NULL) {
        (void)json_object_set(object, part, value);
    }
    free(copy);
}

json_t *lc_kube_cluster_unflatten(json_t *flat, const char *group, const char *api, const char *kind)
{
    char *version = lc_text_format("%s/%s", group, api);
    json_t *object =
        json_pack("{s:s,s:s,s:{}}", "apiVersion", version == NULL ? "" : version, "kind", kind, "metadata");
    const char *path = NULL;
    json_t *value = NULL;

    free(version);
    json_object_foreach(flat, path, value)
    {
        put(object, path, value);
    }
    return object;
}

static void put_field(json_t *fields, const char *path)
{
    char *copy = strdup(path);
    char *rest = copy;
    char *part = NULL;
    bool named = false;

    while (copy != NULL && (part = strsep(&rest, SEPARATOR)) != NULL) {
        char *name = lc_text_format(named ? "k:{\"name\":\"%s\"}" : "f:%s", part);

        fields = name == NULL ? fields : member(fields, name, false);
        free(name);
        named = is_named_list(part);
    }
    free(copy);
}

json_t *lc_kube_cluster_managed(json_t *managers, const char *version)
{
    json_t *out = json_array();
    json_t *entry = NULL;
    size_t index = 0;

    json_array_foreach(managers, index, entry)
    {
        json_t *fields = json_object();
        const char *path = NULL;
        json_t *value = NULL;

        json_object_foreach(json_object_get(entry, "fields"), path, value)
        {
            put_field(fields, path);
        }
        (void)json_array_append_new(
            out, json_pack("{s:O,s:O,s:s,s:O,s:s,s:o}", "manager", json_object_get(entry, "manager"), "operation",
                           json_object_get(entry, "operation"), "apiVersion", version, "time",
                           json_object_get(entry, "time"), "fieldsType", "FieldsV1", "fieldsV1", fields));
    }
    return out;
}

/* ---- rules ---- */

static void check_bundle(json_t *place, const char *field, bool pem, struct lc_kube_faults *faults)
{
    const char *text = lc_kube_text(place, "caBundle");
    struct lc_buf out = {0};

    if (json_object_get(place, "caBundle") != NULL &&
        (*text == '\0' || !lc_unbase64(&out, text, strlen(text), false) ||
         (pem && (out.at == NULL || strstr(out.at, "-----BEGIN CERTIFICATE-----") == NULL)))) {
        lc_kube_fault(faults, "FieldValueInvalid", field,
                      "Invalid value: unable to load root certificates: unable to parse bytes as PEM block");
    }
    lc_buf_free(&out);
}

static void check_client(json_t *client, const char *field, struct lc_kube_faults *faults)
{
    if ((json_object_get(client, "url") != NULL) == (json_object_get(client, "service") != NULL)) {
        lc_kube_fault(faults, "FieldValueRequired", field, "Required value: exactly one of url or service is required");
    }
    check_bundle(client, field, true, faults);
}

/* The name begins with the signer, and the bundle is of certificates and nothing else. */
static void check_trust_bundle(json_t *object, struct lc_kube_faults *faults)
{
    json_t *spec = json_object_get(object, "spec");
    const char *signer = lc_kube_text(spec, "signerName");
    const char *pem = lc_kube_text(spec, "trustBundle");
    char *prefix = lc_text_format("%s:", signer);
    char *slash = prefix == NULL ? NULL : strchr(prefix, '/');
    const char *name = lc_kube_text(json_object_get(object, "metadata"), "name");

    if (slash != NULL) {
        *slash = ':';
    }
    if (*signer != '\0' &&
        (slash == NULL || !lc_text_starts(name, prefix) || strchr(name + strlen(prefix), ':') != NULL)) {
        lc_kube_fault(faults, "FieldValueInvalid", "metadata.name",
                      "Invalid value: \"%s\": ClusterTrustBundle for signerName %s must be named with prefix %s", name,
                      signer, prefix == NULL ? "" : prefix);
    }
    if (!lc_text_starts(pem, "-----BEGIN CERTIFICATE-----") || strstr(pem, "PRIVATE KEY") != NULL) {
        lc_kube_fault(faults, "FieldValueInvalid", "spec.trustBundle",
                      "Invalid value: \"<value omitted>\": PEM blocks");
    }
    free(prefix);
}

void lc_kube_cluster_check(json_t *object, struct lc_kube_faults *faults)
{
    const char *kind = lc_kube_text(object, "kind");
    json_t *spec = json_object_get(object, "spec");
    json_t *conversion = json_object_get(spec, "conversion");
    json_t *one = NULL;
    size_t index = 0;

    if (strcmp(kind, "APIService") == 0) {
        if (*lc_kube_text(spec, "group") == '\0' || json_object_get(spec, "groupPriorityMinimum") == NULL) {
            lc_kube_fault(faults, "FieldValueRequired", "spec.group", "Required value");
        }
        if (json_is_true(json_object_get(spec, "insecureSkipTLSVerify")) && json_object_get(spec, "caBundle") != NULL) {
            lc_kube_fault(faults, "FieldValueInvalid", "spec.insecureSkipTLSVerify",
                          "Invalid value: true: may not be true if caBundle is present");
        }
        check_bundle(spec, "spec.caBundle", false, faults);
    } else if (strcmp(kind, "CustomResourceDefinition") == 0) {
        if (*lc_kube_text(spec, "group") == '\0') {
            lc_kube_fault(faults, "FieldValueRequired", "spec.group", "Required value");
        }
        if (json_object_get(conversion, "webhook") != NULL &&
            strcmp(lc_kube_text(conversion, "strategy"), "Webhook") != 0) {
            lc_kube_fault(faults, "FieldValueForbidden", "spec.conversion.webhookClientConfig",
                          "Forbidden: should not be set when strategy is not set to Webhook");
        } else if (conversion != NULL && json_object_get(conversion, "webhook") != NULL) {
            check_client(json_object_get(json_object_get(conversion, "webhook"), "clientConfig"),
                         "spec.conversion.webhookClientConfig", faults);
        }
    }
    if (strcmp(kind, "ClusterTrustBundle") == 0) {
        check_trust_bundle(object, faults);
    }
    json_array_foreach(json_object_get(object, "webhooks"), index, one)
    {
        if (json_object_get(one, "sideEffects") == NULL || json_object_get(one, "admissionReviewVersions") == NULL) {
            lc_kube_fault(faults, "FieldValueRequired", "webhooks.sideEffects",
                          "Required value: must specify one of None, NoneOnDryRun");
        }
        check_client(json_object_get(one, "clientConfig"), "webhooks.clientConfig", faults);
    }
}

const char *lc_kube_cluster_unknown(json_t *object)
{
    bool hooks = strstr(lc_kube_text(object, "kind"), "Webhook") != NULL;
    const char *key = NULL;
    json_t *value = NULL;

    json_object_foreach(object, key, value)
    {
        if (strcmp(key, "apiVersion") != 0 && strcmp(key, "kind") != 0 && strcmp(key, "metadata") != 0 &&
            strcmp(key, hooks ? "webhooks" : "spec") != 0) {
            return key;
        }
    }
    return NULL;
}
