/* SPDX-License-Identifier: MIT */
/* caBundle of webhooks, APIServices and CRDs. */
#include "kube/ca_bundle.h"

#include "kube/answer_private.h"
#include "base/base64.h"
#include "base/json.h"
#include "base/writer.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NEXT_MAX  1024
#define MANAGER   "credfresh"
#define PARTIAL   "application/json;as=PartialObjectMetadata;v=v1;g=meta.k8s.io"
#define PARTIAL_S "application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io"

const char *const cfr_k8s_ca_kinds[] = {"APIService",
                                        "CustomResourceDefinition",
                                        "MutatingWebhookConfiguration",
                                        "ValidatingWebhookConfiguration",
                                        "ClusterTrustBundle",
                                        "ConfigMap",
                                        NULL};

struct kind {
    const char *api_version;
    const char *plural;
    const char *resource;
    const char *beta;        /* its API version before; NULL = none that is known here */
    const char *const *path; /* objects around the field, NULL-terminated; NULL: of each webhook */
};

static const char *const service_path[] = {"spec", NULL};
static const char *const crd_path[] = {"spec", "conversion", "webhook", "clientConfig", NULL};

static const struct kind kinds[] = {
    [CFR_K8S_CA_API_SERVICE] = {"apiregistration.k8s.io/v1", "apiservices", "apiservices.apiregistration.k8s.io", NULL,
                                service_path},
    [CFR_K8S_CA_CRD] = {"apiextensions.k8s.io/v1", "customresourcedefinitions",
                        "customresourcedefinitions.apiextensions.k8s.io", NULL, crd_path},
    [CFR_K8S_CA_MUTATING] = {"admissionregistration.k8s.io/v1", "mutatingwebhookconfigurations",
                             "mutatingwebhookconfigurations.admissionregistration.k8s.io", NULL, NULL},
    [CFR_K8S_CA_VALIDATING] = {"admissionregistration.k8s.io/v1", "validatingwebhookconfigurations",
                               "validatingwebhookconfigurations.admissionregistration.k8s.io", NULL, NULL},
    [CFR_K8S_CA_TRUST_BUNDLE] = {"certificates.k8s.io/v1", "clustertrustbundles",
                                 "clustertrustbundles.certificates.k8s.io", "certificates.k8s.io/v1beta1",
                                 service_path},
    [CFR_K8S_CA_CONFIG_MAP] = {"v1", "configmaps", "configmaps", NULL, service_path},
};

bool cfr_k8s_ca_has_webhooks(enum cfr_k8s_ca_kind kind)
{
    return kinds[kind].path == NULL;
}

const char *cfr_k8s_ca_resource(enum cfr_k8s_ca_kind kind)
{
    return kinds[kind].resource;
}

static bool is_read_whole(enum cfr_k8s_ca_kind kind)
{
    return cfr_k8s_ca_has_webhooks(kind) || kind == CFR_K8S_CA_CONFIG_MAP;
}

const char *cfr_k8s_ca_accept(enum cfr_k8s_ca_kind kind, bool list)
{
    return list ? PARTIAL_S : is_read_whole(kind) ? "application/json" : PARTIAL;
}

/* DOMAIN:PATH:SUFFIX, each of which is a name. */
static bool is_bundle_name(const char *name)
{
    char part[CFR_K8S_NAME_MAX + 1];
    size_t parts = 0;

    for (const char *at = name; at != NULL && parts < 4; parts++) {
        size_t n = strcspn(at, ":");

        (void)snprintf(part, sizeof part, "%.*s", (int)(n < sizeof part ? n : sizeof part - 1), at);
        if (n >= sizeof part || !cfr_k8s_name_is_subdomain(part))
            return false;
        at = at[n] == ':' ? at + n + 1 : NULL;
    }
    return parts == 3 && strlen(name) <= CFR_K8S_NAME_MAX;
}

/* NAMESPACE/NAME in its parts. False if it is not. */
static bool split_name(const char *name, char space[CFR_K8S_LABEL_MAX + 1], const char **own)
{
    size_t n = strcspn(name, "/");

    *own = name[n] == '/' ? name + n + 1 : "";
    (void)snprintf(space, CFR_K8S_LABEL_MAX + 1, "%.*s", (int)(n <= CFR_K8S_LABEL_MAX ? n : 0), name);
    return strchr(space, '.') == NULL && cfr_k8s_name_is_subdomain(space) && cfr_k8s_name_is_subdomain(*own);
}

bool cfr_k8s_ca_is_name(enum cfr_k8s_ca_kind kind, const char *name)
{
    char space[CFR_K8S_LABEL_MAX + 1];
    const char *own;

    if (kind == CFR_K8S_CA_CONFIG_MAP)
        return split_name(name, space, &own);
    return kind == CFR_K8S_CA_TRUST_BUNDLE ? is_bundle_name(name) : cfr_k8s_name_is_subdomain(name);
}

static const char *version_of(enum cfr_k8s_ca_kind kind, bool beta)
{
    return beta && kinds[kind].beta != NULL ? kinds[kind].beta : kinds[kind].api_version;
}

/* What another manager has in a bundle of its own is not taken from it. */
static const char *query_of(enum cfr_k8s_ca_kind kind)
{
    return kind == CFR_K8S_CA_TRUST_BUNDLE ? "?fieldManager=" MANAGER : "?fieldManager=" MANAGER "&force=true";
}

bool cfr_k8s_ca_path(enum cfr_k8s_ca_kind kind, bool beta, const char *name, bool apply, char out[CFR_K8S_CA_PATH_MAX])
{
    out[0] = '\0';
    if (!cfr_k8s_ca_is_name(kind, name))
        return false;
    if (kind == CFR_K8S_CA_CONFIG_MAP) {
        char space[CFR_K8S_LABEL_MAX + 1];
        const char *own;

        (void)split_name(name, space, &own);
        (void)snprintf(out, CFR_K8S_CA_PATH_MAX, "/api/v1/namespaces/%s/configmaps/%s%s", space, own,
                       apply ? query_of(kind) : "");
        return true;
    }
    (void)snprintf(out, CFR_K8S_CA_PATH_MAX, "/apis/%s/%s/%s%s", version_of(kind, beta), kinds[kind].plural, name,
                   apply ? query_of(kind) : "");
    return true;
}

bool cfr_k8s_ca_list_path(enum cfr_k8s_ca_kind kind, unsigned count, const char *next, char out[CFR_K8S_CA_PATH_MAX])
{
    struct cfr_secret from;
    bool ok;

    out[0] = '\0';
    cfr_secret_init(&from, CFR_K8S_CA_PATH_MAX);
    ok = next == NULL || cfr_secret_append_percent(&from, cfr_view_of(next), NULL) == 0;
    ok = ok &&
         (size_t)snprintf(out, CFR_K8S_CA_PATH_MAX, "/%s/%s/%s?limit=%u%s%s",
                          kind == CFR_K8S_CA_CONFIG_MAP ? "api" : "apis", kinds[kind].api_version, kinds[kind].plural,
                          count, next != NULL ? "&continue=" : "", next != NULL ? from.p : "") < CFR_K8S_CA_PATH_MAX;
    cfr_secret_free(&from);
    return ok;
}

/* ---- names ---- */

static int add_name(struct cfr_strings *names, struct cfr_view text, struct cfr_err *err)
{
    char **items = realloc(names->items, (names->count + 1) * sizeof *items);

    if (items == NULL)
        return cfr_err_nomem(err);
    names->items = items;
    items[names->count] = cfr_str_dup(text);
    if (items[names->count] == NULL)
        return cfr_err_nomem(err);
    names->count++;
    return 0;
}

void cfr_k8s_ca_free_names(struct cfr_strings *names)
{
    for (size_t i = 0; i < names->count; i++)
        free(names->items[i]);
    free(names->items);
    *names = (struct cfr_strings){NULL, 0};
}

/* ---- answers ---- */

static bool wants_bundle(const struct cfr_json *metadata)
{
    return cfr_view_is(cfr_json_text(cfr_json_get(metadata, "annotations"), CFR_K8S_CA_ANNOTATION), "true");
}

/* True if the last names are all of the namespace of NAME, and as many as one may have: the list is in their order. */
static bool is_crowded(const struct cfr_strings *names, const char *name)
{
    size_t n = strcspn(name, "/") + 1;

    return name[n - 1] == '/' && names->count >= CFR_K8S_CA_SPACE_MAX &&
           strncmp(names->items[names->count - CFR_K8S_CA_SPACE_MAX], name, n) == 0;
}

static int add_object(const struct cfr_json *metadata, struct cfr_view name, struct cfr_strings *names,
                      struct cfr_strings *versions, struct cfr_err *err)
{
    struct cfr_view space = cfr_json_text(metadata, "namespace");
    char whole[CFR_K8S_LABEL_MAX + 1 + CFR_K8S_NAME_MAX + 1];
    int rc;

    (void)snprintf(whole, sizeof whole, "%.*s%s%.*s", (int)(space.n <= CFR_K8S_LABEL_MAX ? space.n : 0), space.p,
                   space.n != 0 ? "/" : "", (int)name.n, name.p);
    if (is_crowded(names, whole))
        return 0;
    rc = add_name(versions, cfr_json_text(metadata, "resourceVersion"), err);
    return rc == 0 ? add_name(names, cfr_view_of(whole), err) : rc;
}

static int add_wanting(const struct cfr_json *item, struct cfr_strings *names, struct cfr_strings *versions,
                       struct cfr_err *err)
{
    const struct cfr_json *metadata = cfr_json_get(item, "metadata");
    struct cfr_view name = cfr_json_text(metadata, "name");

    if (!wants_bundle(metadata))
        return 0;
    if (name.n == 0 || name.n > CFR_K8S_NAME_MAX || memchr(name.p, '\0', name.n) != NULL)
        return cfr_err_set(err, CFR_E_ANSWER, "the API server's answer has an object without a name");
    if (names->count == CFR_K8S_CA_OBJECTS_MAX)
        return cfr_err_set(err, CFR_E_LIMIT, "more than %d objects have the annotation " CFR_K8S_CA_ANNOTATION,
                           CFR_K8S_CA_OBJECTS_MAX);
    return add_object(metadata, name, names, versions, err);
}

int cfr_k8s_ca_read_list(struct cfr_view body, struct cfr_strings *names, struct cfr_strings *versions, char **next,
                         struct cfr_err *err)
{
    struct cfr_json *doc = NULL;
    struct cfr_view from;
    int rc = cfr_k8s_answer_parse(body, &doc, err);

    *next = NULL;
    if (rc == 0 && !cfr_view_is(cfr_json_text(doc, "kind"), "PartialObjectMetadataList"))
        rc = cfr_err_set(err, CFR_E_ANSWER, "the answer is not a list of metadata; check the API server's address");
    for (const struct cfr_json *item = cfr_json_first(cfr_json_get(doc, "items")); rc == 0 && item != NULL;
         item = cfr_json_next(item))
        rc = add_wanting(item, names, versions, err);
    from = cfr_json_text(cfr_json_get(doc, "metadata"), "continue");
    if (rc == 0 && from.n != 0) {
        *next = from.n <= NEXT_MAX && memchr(from.p, '\0', from.n) == NULL ? cfr_str_dup(from) : NULL;
        if (*next == NULL)
            rc = from.n <= NEXT_MAX ? cfr_err_nomem(err)
                                    : cfr_err_set(err, CFR_E_ANSWER, "the list's continue token is too long");
    }
    cfr_json_free(doc);
    return rc;
}

static bool copy_text(struct cfr_view from, char to[CFR_K8S_CA_TEXT_MAX])
{
    if (from.n == 0 || from.n >= CFR_K8S_CA_TEXT_MAX || !cfr_view_printable(from))
        return false;
    memcpy(to, from.p, from.n);
    to[from.n] = '\0';
    return true;
}

/* True if the caBundle of the webhook NAME is a field that this program's applies own. */
static bool is_applied(const struct cfr_json *metadata, struct cfr_view name)
{
    char key[CFR_K8S_NAME_MAX + sizeof "k:{\"name\":\"\"}"];
    const char *const path[] = {"fieldsV1", "f:webhooks", key, "f:clientConfig", "f:caBundle", NULL};

    (void)snprintf(key, sizeof key, "k:{\"name\":\"%.*s\"}", (int)name.n, name.p);
    for (const struct cfr_json *one = cfr_json_first(cfr_json_get(metadata, "managedFields")); one != NULL;
         one = cfr_json_next(one)) {
        if (cfr_view_is(cfr_json_text(one, "manager"), MANAGER) &&
            cfr_view_is(cfr_json_text(one, "operation"), "Apply") && cfr_json_path(one, path) != NULL)
            return true;
    }
    return false;
}

static int read_webhooks(const struct cfr_json *doc, struct cfr_k8s_ca_object *out, struct cfr_err *err)
{
    const struct cfr_json *list = cfr_json_get(doc, "webhooks");
    int rc = 0;

    for (const struct cfr_json *one = cfr_json_first(list); rc == 0 && one != NULL; one = cfr_json_next(one)) {
        struct cfr_view name = cfr_json_text(one, "name");

        if (name.n == 0 || !cfr_view_printable(name) || out->webhooks.count == CFR_K8S_CA_WEBHOOKS_MAX)
            return cfr_err_set(err, CFR_E_ANSWER, "it has a webhook without a name, or more than %d of them",
                               CFR_K8S_CA_WEBHOOKS_MAX);
        rc = add_name(&out->webhooks, name, err);
        if (rc == 0)
            rc = add_name(&out->applied,
                          is_applied(cfr_json_get(doc, "metadata"), name)
                              ? cfr_json_text(cfr_json_get(one, "clientConfig"), "caBundle")
                              : cfr_view_of(""),
                          err);
    }
    return rc;
}

/* What cannot be a key id is another CA's all the same. */
static void read_owner(const struct cfr_json *metadata, struct cfr_k8s_ca_object *out)
{
    struct cfr_view owner = cfr_json_text(cfr_json_get(metadata, "annotations"), CFR_K8S_CA_OWNER);

    if (owner.n != 0 && !copy_text(owner, out->owner))
        (void)snprintf(out->owner, sizeof out->owner, "?");
}

static bool is_object(const struct cfr_json *metadata, enum cfr_k8s_ca_kind kind, const char *name)
{
    char space[CFR_K8S_LABEL_MAX + 1] = "";
    const char *own = name;

    return (kind != CFR_K8S_CA_CONFIG_MAP || split_name(name, space, &own)) &&
           cfr_view_is(cfr_json_text(metadata, "name"), own) &&
           cfr_view_is(cfr_json_text(metadata, "namespace"), space);
}

int cfr_k8s_ca_read(enum cfr_k8s_ca_kind kind, const char *name, struct cfr_view body, struct cfr_k8s_ca_object *out,
                    struct cfr_err *err)
{
    const char *wanted = is_read_whole(kind) ? cfr_k8s_ca_kinds[kind] : "PartialObjectMetadata";
    const struct cfr_json *metadata;
    struct cfr_json *doc = NULL;
    int rc = cfr_k8s_answer_parse(body, &doc, err);

    *out = (struct cfr_k8s_ca_object){.webhooks = {NULL, 0}};
    metadata = cfr_json_get(doc, "metadata");
    if (rc == 0 && (!cfr_view_is(cfr_json_text(doc, "kind"), wanted) || !is_object(metadata, kind, name) ||
                    !copy_text(cfr_json_text(metadata, "uid"), out->uid) ||
                    !copy_text(cfr_json_text(metadata, "resourceVersion"), out->version)))
        rc = cfr_err_set(err, CFR_E_ANSWER, "the answer is not the object; check the API server's address");
    if (rc == 0)
        read_owner(metadata, out);
    if (rc == 0 && cfr_json_text(metadata, "deletionTimestamp").n != 0)
        rc = cfr_err_set(err, CFR_E_UNAVAILABLE, "it is being deleted");
    if (rc == 0 && cfr_k8s_ca_has_webhooks(kind))
        rc = read_webhooks(doc, out, err);
    cfr_json_free(doc);
    if (rc != 0)
        cfr_k8s_ca_object_free(out);
    return rc;
}

void cfr_k8s_ca_object_free(struct cfr_k8s_ca_object *o)
{
    cfr_k8s_ca_free_names(&o->webhooks);
    cfr_k8s_ca_free_names(&o->applied);
}

bool cfr_k8s_ca_is_unknown(const char *name, struct cfr_view body)
{
    struct cfr_json *doc = NULL;
    bool found =
        cfr_json_parse(body, &doc, NULL) == 0 && cfr_view_is(cfr_json_text(cfr_json_get(doc, "details"), "name"), name);

    cfr_json_free(doc);
    return !found;
}

/* ---- the apply ---- */

static bool holds(const struct cfr_strings *names, const char *name)
{
    for (size_t i = 0; i < names->count; i++) {
        if (strcmp(names->items[i], name) == 0)
            return true;
    }
    return false;
}

static void write_bundle(struct cfr_writer *w, struct cfr_view bundle)
{
    cfr_writer_raw(w, "caBundle", cfr_view_of("\""));
    if (w->rc == 0)
        w->rc = cfr_base64_encode(bundle, w->secret, w->err);
    cfr_writer_text(w, "\"");
}

/* True if the apply leaves the webhook at INDEX as it is, but has it in it: what a field manager applied before, and
 * leaves out, the API server removes. */
static bool keeps(const struct cfr_k8s_ca_object *o, const struct cfr_strings *only, size_t index)
{
    return only->count != 0 && !holds(only, o->webhooks.items[index]) && o->applied.items[index][0] != '\0';
}

static bool keeps_any(const struct cfr_k8s_ca_object *o, const struct cfr_strings *only)
{
    for (size_t i = 0; i < o->webhooks.count; i++) {
        if (keeps(o, only, i))
            return true;
    }
    return false;
}

static void write_metadata(struct cfr_writer *w, const char *name, const struct cfr_k8s_ca_object *o,
                           const struct cfr_strings *only, const char *key_id)
{
    char space[CFR_K8S_LABEL_MAX + 1];
    const char *own = name;

    cfr_writer_object(w, "metadata");
    if (strchr(name, '/') != NULL && split_name(name, space, &own))
        cfr_writer_string(w, "namespace", cfr_view_of(space));
    cfr_writer_string(w, "name", cfr_view_of(own));
    if (o->uid[0] != '\0')
        cfr_writer_string(w, "uid", cfr_view_of(o->uid));
    /* If another program changes meanwhile what is kept, or claims the object, this is a conflict, and read again. */
    if (o->version[0] != '\0' && (!o->owned || keeps_any(o, only)))
        cfr_writer_string(w, "resourceVersion", cfr_view_of(o->version));
    cfr_writer_object(w, "annotations");
    cfr_writer_string(w, CFR_K8S_CA_OWNER, cfr_view_of(key_id));
    cfr_writer_close(w);
    cfr_writer_close(w);
}

static void write_webhooks(struct cfr_writer *w, const struct cfr_k8s_ca_object *o, const struct cfr_strings *only,
                           struct cfr_view bundle)
{
    cfr_writer_array(w, "webhooks");
    for (size_t i = 0; i < o->webhooks.count; i++) {
        bool kept = keeps(o, only, i);

        if (only->count != 0 && !kept && !holds(only, o->webhooks.items[i]))
            continue;
        cfr_writer_object(w, NULL);
        cfr_writer_string(w, "name", cfr_view_of(o->webhooks.items[i]));
        cfr_writer_object(w, "clientConfig");
        if (kept)
            cfr_writer_string(w, "caBundle", cfr_view_of(o->applied.items[i]));
        else
            write_bundle(w, bundle);
        cfr_writer_close(w);
        cfr_writer_close(w);
    }
    cfr_writer_close(w);
}

/* The signer is in the name, where it has a colon instead of its slash. */
void cfr_k8s_ca_signer(const char *name, char out[CFR_K8S_NAME_MAX + 1])
{
    (void)snprintf(out, CFR_K8S_NAME_MAX + 1, "%s", name);
    *strrchr(out, ':') = '\0';
    *strchr(out, ':') = '/';
}

static void write_trust_bundle(struct cfr_writer *w, const char *name, struct cfr_view bundle)
{
    char signer[CFR_K8S_NAME_MAX + 1];

    cfr_k8s_ca_signer(name, signer);
    cfr_writer_object(w, "spec");
    cfr_writer_string(w, "signerName", cfr_view_of(signer));
    cfr_writer_string(w, "trustBundle", bundle);
    cfr_writer_close(w);
}

int cfr_k8s_ca_body(enum cfr_k8s_ca_kind kind, bool beta, const char *name, const struct cfr_k8s_ca_object *o,
                    const struct cfr_strings *only, const struct cfr_k8s_ca_content *content, struct cfr_secret *out,
                    struct cfr_err *err)
{
    struct cfr_writer w = {.secret = out, .err = err};
    const char *const *path = kinds[kind].path;

    for (size_t i = 0; i < only->count; i++) {
        if (!holds(&o->webhooks, only->items[i]))
            return cfr_err_set(err, CFR_E_CONFIG, "it has no webhook \"%.253s\"; correct `webhooks`", only->items[i]);
    }
    cfr_writer_object(&w, NULL);
    cfr_writer_string(&w, "apiVersion", cfr_view_of(version_of(kind, beta)));
    cfr_writer_string(&w, "kind", cfr_view_of(cfr_k8s_ca_kinds[kind]));
    write_metadata(&w, name, o, only, content->key_id);
    if (kind == CFR_K8S_CA_TRUST_BUNDLE) {
        write_trust_bundle(&w, name, content->bundle);
    } else if (kind == CFR_K8S_CA_CONFIG_MAP) {
        cfr_writer_object(&w, "data");
        cfr_writer_string(&w, CFR_K8S_CA_KEY, content->bundle);
        cfr_writer_close(&w);
    } else if (path == NULL) {
        write_webhooks(&w, o, only, content->bundle);
    } else {
        size_t depth = 0;

        for (; path[depth] != NULL; depth++)
            cfr_writer_object(&w, path[depth]);
        write_bundle(&w, content->bundle);
        for (; depth != 0; depth--)
            cfr_writer_close(&w);
    }
    cfr_writer_close(&w);
    return w.rc;
}
