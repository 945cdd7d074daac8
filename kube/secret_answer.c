/* SPDX-License-Identifier: MIT */
/* Answers of the API server about a Secret or ConfigMap: may it be written, is it as it was, and conflicts of field
 * managers. */
#include "kube/secret_apply.h"

#include "base/base64.h"
#include "base/json.h"
#include "base/redact.h"
#include "base/time.h"
#include "kube/ca_bundle.h"
#include "kube/status.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* More managers than this are not searched, and more conflicts are not named. */
#define MANAGERS_MAX 256
#define NAMED_MAX    3
#define SHOWN_MAX    80
#define RUN_DIGITS   16

static bool is_our_apply(const struct cfr_json *entry)
{
    return cfr_view_is(cfr_json_text(entry, "manager"), CFR_K8S_SECRET_MANAGER) &&
           cfr_view_is(cfr_json_text(entry, "operation"), "Apply");
}

static bool has_label(const struct cfr_json *metadata)
{
    return cfr_view_is(cfr_json_text(cfr_json_get(metadata, "labels"), CFR_K8S_SECRET_LABEL), CFR_K8S_SECRET_MANAGER);
}

static bool is_managed_by_us(const struct cfr_json *metadata)
{
    const struct cfr_json *entry = cfr_json_first(cfr_json_get(metadata, "managedFields"));

    if (has_label(metadata))
        return true;
    for (size_t i = 0; entry != NULL && i < MANAGERS_MAX; i++, entry = cfr_json_next(entry)) {
        if (is_our_apply(entry))
            return true;
    }
    return false;
}

/* Checks that DOC is the requested object, not another one or a proxy's answer. */
static int check_identity(const struct cfr_k8s_secret_object *o, const struct cfr_json *doc, struct cfr_err *err)
{
    const struct cfr_json *metadata = cfr_json_get(doc, "metadata");

    if (!cfr_view_is(cfr_json_text(doc, "kind"), o->kind->name) || !cfr_view_is(cfr_json_text(doc, "apiVersion"), "v1"))
        return cfr_err_set(err, CFR_E_ANSWER, "the answer is not a %s; check the API server's address", o->kind->name);
    if (!cfr_view_is(cfr_json_text(metadata, "name"), o->name) ||
        !cfr_view_is(cfr_json_text(metadata, "namespace"), o->namespace_name))
        return cfr_err_set(err, CFR_E_ANSWER, "the answer is another %s than %s/%s", o->kind->name, o->namespace_name,
                           o->name);
    return 0;
}

static struct cfr_view annotation(const struct cfr_json *metadata, const char *name)
{
    return cfr_json_text(cfr_json_get(metadata, "annotations"), name);
}

/* Two agents would replace each other's: of two CAs, or of two credentials. */
static int check_owner(const struct cfr_k8s_secret_object *o, const struct cfr_json *metadata, bool adopt,
                       struct cfr_err *err)
{
    struct cfr_view ca = annotation(metadata, CFR_K8S_CA_OWNER);
    struct cfr_view credential = annotation(metadata, "credfresh.io/credential");
    const char *own = o->ca_keys != NULL ? o->ca_keys : "";
    char key_id[CFR_K8S_CA_TEXT_MAX];
    char shown[CFR_REDACT_MAX];

    (void)snprintf(key_id, sizeof key_id, "%.*s", (int)ca.n, ca.n != 0 ? ca.p : "");
    if (own[0] != '\0' && ca.n != 0 && (strlen(key_id) != strcspn(own, ",") || strstr(own, key_id) == NULL))
        return cfr_err_set(err, CFR_E_CONFLICT,
                           "the %s %s/%s was issued by another service CA, with the key id %.*s: stop one of the two "
                           "agents, or publish under another name. If that CA no longer exists, remove the "
                           "annotation " CFR_K8S_CA_OWNER,
                           o->kind->name, o->namespace_name, o->name, SHOWN_MAX, cfr_redact(ca, NULL, 0, shown));
    if (credential.n == 0 || adopt || cfr_view_is(credential, o->credential))
        return 0;
    return cfr_err_set(
        err, CFR_E_CONFLICT,
        "the %s %s/%s holds the credential \"%.*s\", not %s: publish under another name. If no agent "
        "publishes that one any more, remove the annotation credfresh.io/credential, or set `adopt: true` in `%s`",
        o->kind->name, o->namespace_name, o->name, SHOWN_MAX, cfr_redact(credential, NULL, 0, shown), o->credential,
        o->kind->key);
}

/* The run that wrote the object; its start is 0 where the annotation does not say. */
struct publisher {
    int64_t start_s;
    uint64_t run;
};

static bool read_hex(struct cfr_view text, uint64_t *out)
{
    static const char digits[] = "0123456789abcdef";

    *out = 0;
    for (size_t i = 0; i < text.n; i++) {
        const char *digit = text.p[i] != '\0' ? strchr(digits, text.p[i]) : NULL;

        if (digit == NULL)
            return false;
        *out = *out << 4 | (uint64_t)(digit - digits);
    }
    return text.n == RUN_DIGITS;
}

static struct publisher read_publisher(const struct cfr_json *metadata)
{
    struct cfr_view text = annotation(metadata, CFR_K8S_SECRET_PUBLISHER);
    const char *slash = text.n != 0 ? memchr(text.p, '/', text.n) : NULL;
    struct publisher p = {.start_s = 0};
    size_t n = slash != NULL ? (size_t)(slash - text.p) : 0;

    if (slash == NULL || !cfr_time_parse((struct cfr_view){text.p, n}, &p.start_s) ||
        !read_hex((struct cfr_view){slash + 1, text.n - n - 1}, &p.run))
        return (struct publisher){.start_s = 0};
    return p;
}

/* An agent renews at 80 % of the lifetime. Where it has not done so at 90 %, it has ended, or cannot renew. */
static bool is_overdue(const struct cfr_json *metadata, int64_t now_s)
{
    const struct cfr_json *entry = cfr_json_first(cfr_json_get(metadata, "managedFields"));
    int64_t expires_s;
    int64_t written_s;

    if (!cfr_time_parse(annotation(metadata, "credfresh.io/expires"), &expires_s))
        return false;
    for (size_t i = 0; entry != NULL && i < MANAGERS_MAX; i++, entry = cfr_json_next(entry)) {
        if (is_our_apply(entry) && cfr_time_parse(cfr_json_text(entry, "time"), &written_s) && written_s < expires_s)
            return now_s >= expires_s - (expires_s - written_s) / 10;
    }
    return now_s >= expires_s;
}

enum rival { RIVAL_NONE, RIVAL_YIELDS, RIVAL_PREVAILS };

/* Two agents with separate stores and the same credential would replace each other's content for ever. */
static enum rival find_rival(const struct cfr_k8s_secret_object *o, const struct cfr_json *metadata,
                             struct publisher *p)
{
    *p = read_publisher(metadata);
    if (o->run == 0 || p->start_s == 0 ||
        !cfr_view_is(annotation(metadata, "credfresh.io/credential"), o->credential) || p->run == o->run ||
        p->run == o->former_run)
        return RIVAL_NONE;
    if (p->start_s < o->start_s || (p->start_s == o->start_s && p->run < o->run) || is_overdue(metadata, o->now_s))
        return RIVAL_YIELDS;
    return RIVAL_PREVAILS;
}

static int refuse_rival(const struct cfr_k8s_secret_object *o, const struct cfr_json *metadata,
                        const struct publisher *p, struct cfr_err *err)
{
    bool expires = annotation(metadata, "credfresh.io/expires").n != 0;
    char started[CFR_TIME_RFC3339_MAX];

    return cfr_err_set(err, CFR_E_CONFLICT,
                       "another agent, started at %s, publishes %s to the %s %s/%s: stop one of the two, or publish "
                       "under another name. If that agent has ended, %s",
                       cfr_time_format(p->start_s, started), o->credential, o->kind->name, o->namespace_name, o->name,
                       expires ? "this one takes over shortly before the content expires"
                               : "remove the annotation " CFR_K8S_SECRET_PUBLISHER);
}

static int check_state(const struct cfr_k8s_secret_object *o, const struct cfr_json *doc, bool adopt,
                       struct cfr_err *err)
{
    const struct cfr_json *metadata = cfr_json_get(doc, "metadata");
    struct cfr_view type = cfr_json_text(doc, "type");
    struct publisher publisher;
    char shown[CFR_REDACT_MAX];
    bool immutable = false;

    if (cfr_json_text(metadata, "deletionTimestamp").n != 0)
        return cfr_err_set(err, CFR_E_UNAVAILABLE, "the %s %s/%s is still being deleted", o->kind->name,
                           o->namespace_name, o->name);
    if (cfr_json_bool(cfr_json_get(doc, "immutable"), &immutable) && immutable)
        return cfr_err_set(err, CFR_E_CONFLICT, "the %s %s/%s is immutable: delete it, or publish under another name",
                           o->kind->name, o->namespace_name, o->name);
    if (!is_managed_by_us(metadata) && !adopt)
        return cfr_err_set(err, CFR_E_CONFLICT,
                           "the %s %s/%s was not made by credfresh: publish under another name, or set "
                           "`adopt: true` in `%s`",
                           o->kind->name, o->namespace_name, o->name, o->kind->key);
    if (check_owner(o, metadata, adopt, err) != 0)
        return CFR_E_CONFLICT;
    if (find_rival(o, metadata, &publisher) == RIVAL_PREVAILS)
        return refuse_rival(o, metadata, &publisher, err);
    if (!o->kind->is_public && !cfr_view_is(type, o->type))
        return cfr_err_set(err, CFR_E_CONFLICT,
                           "the %s %s/%s has the type \"%.*s\", which cannot be changed to %s: delete it, or "
                           "publish under another name",
                           o->kind->name, o->namespace_name, o->name, SHOWN_MAX, cfr_redact(type, NULL, 0, shown),
                           o->type);
    return 0;
}

/* What another agent wrote, which has news that this one does not have yet. */
static int check_newer(const struct cfr_k8s_secret_object *o, const struct cfr_json *metadata, struct cfr_err *err)
{
    int64_t there = 0;

    if (o->rotation == NULL || !cfr_view_is(annotation(metadata, "credfresh.io/rotation"), o->rotation) ||
        !cfr_view_is(annotation(metadata, "credfresh.io/credential"), o->credential) ||
        !cfr_view_int(annotation(metadata, "credfresh.io/generation"), &there) || there <= 0 ||
        (uint64_t)there <= o->generation)
        return 0;
    return cfr_err_set(err, CFR_E_WORSE,
                       "the %s %s/%s holds the key number %" PRId64 " of the rotation, and this agent knows of %" PRIu64
                       " only: it is left as it is until the rotation's state has that key, too; if an older state was "
                       "restored, delete the %s, and it is published again",
                       o->kind->name, o->namespace_name, o->name, there, o->generation, o->kind->name);
}

int cfr_k8s_secret_apply_may(const struct cfr_k8s_secret_object *o, struct cfr_view body, bool adopt,
                             struct cfr_err *err)
{
    struct cfr_json *doc;
    int rc = cfr_json_parse(body, &doc, err);

    if (rc != 0)
        return rc;
    rc = check_identity(o, doc, err);
    if (rc == 0)
        rc = check_state(o, doc, adopt, err);
    if (rc == 0)
        rc = check_newer(o, cfr_json_get(doc, "metadata"), err);
    cfr_json_free(doc);
    return rc;
}

/* ---- is it as it was applied? ---- */

static const struct cfr_json *data_of(const struct cfr_json *entry)
{
    static const char *const path[] = {"fieldsV1", "f:data", NULL};

    return cfr_json_path(entry, path);
}

/* The entry of managedFields that owns KEY of the data: ours, or the first of others. */
static const struct cfr_json *find_owner(const struct cfr_json *metadata, const char *key, bool ours)
{
    const struct cfr_json *entry = cfr_json_first(cfr_json_get(metadata, "managedFields"));
    char field[CFR_K8S_SECRET_KEY_MAX + 3];

    (void)snprintf(field, sizeof field, "f:%s", key);
    for (size_t i = 0; entry != NULL && i < MANAGERS_MAX; i++, entry = cfr_json_next(entry)) {
        if (is_our_apply(entry) == ours && cfr_json_get(data_of(entry), field) != NULL)
            return entry;
    }
    return NULL;
}

static bool owns_data(const struct cfr_json *metadata)
{
    const struct cfr_json *entry = cfr_json_first(cfr_json_get(metadata, "managedFields"));

    for (size_t i = 0; entry != NULL && i < MANAGERS_MAX; i++, entry = cfr_json_next(entry)) {
        /* The first member may be ".", for the map itself. */
        if (is_our_apply(entry) && cfr_json_members(data_of(entry)) > (cfr_json_get(data_of(entry), ".") != NULL))
            return true;
    }
    return false;
}

static int check_key(const struct cfr_k8s_secret_object *o, const struct cfr_json *doc, const char *key,
                     struct cfr_err *err)
{
    const struct cfr_json *metadata = cfr_json_get(doc, "metadata");
    const struct cfr_json *other;
    char shown[CFR_REDACT_MAX];

    if (cfr_json_get(cfr_json_get(doc, "data"), key) == NULL)
        return cfr_err_set(err, CFR_E_MISSING, "the key \"%s\" was removed from the %s %s/%s: it is published again",
                           key, o->kind->name, o->namespace_name, o->name);
    if (find_owner(metadata, key, true) != NULL)
        return 0;
    other = find_owner(metadata, key, false);
    return cfr_err_set(err, CFR_E_MISSING,
                       "the key \"%s\" of the %s %s/%s was overwritten by \"%.*s\": it is published again", key,
                       o->kind->name, o->namespace_name, o->name, SHOWN_MAX,
                       other != NULL ? cfr_redact(cfr_json_text(other, "manager"), NULL, 0, shown) : "?");
}

static int check_held(const struct cfr_k8s_secret_object *o, const struct cfr_json *doc, struct cfr_err *err)
{
    const struct cfr_json *metadata = cfr_json_get(doc, "metadata");
    struct cfr_view generation = annotation(metadata, "credfresh.io/generation");
    char wanted[24];
    char started[CFR_TIME_RFC3339_MAX];
    char shown[CFR_REDACT_MAX];
    struct publisher publisher;
    enum rival rival = find_rival(o, metadata, &publisher);
    int rc = 0;

    (void)snprintf(wanted, sizeof wanted, "%" PRIu64, o->generation);
    if (cfr_json_text(metadata, "deletionTimestamp").n != 0)
        return cfr_err_set(err, CFR_E_MISSING, "the %s %s/%s is being deleted: it is published again", o->kind->name,
                           o->namespace_name, o->name);
    rc = check_newer(o, metadata, err);
    if (rc != 0)
        return rc;
    if (rival == RIVAL_PREVAILS)
        return refuse_rival(o, metadata, &publisher, err);
    if (rival == RIVAL_YIELDS)
        return cfr_err_set(err, CFR_E_MISSING,
                           "the %s %s/%s was written by another agent, started at %s: it is published again",
                           o->kind->name, o->namespace_name, o->name, cfr_time_format(publisher.start_s, started));
    if (!cfr_view_is(annotation(metadata, "credfresh.io/credential"), o->credential) ||
        !cfr_view_is(generation, wanted) ||
        (o->rotation != NULL && !cfr_view_is(annotation(metadata, "credfresh.io/rotation"), o->rotation)))
        return cfr_err_set(err, CFR_E_MISSING,
                           "the %s %s/%s was written by another program (by its annotations it holds generation "
                           "\"%.*s\", not %s of %s): it is published again",
                           o->kind->name, o->namespace_name, o->name, SHOWN_MAX, cfr_redact(generation, NULL, 0, shown),
                           wanted, o->credential);
    for (size_t i = 0; rc == 0 && i < o->key_count; i++)
        rc = check_key(o, doc, o->keys[i].key, err);
    if (rc == 0 && !has_label(metadata))
        rc = cfr_err_set(err, CFR_E_MISSING,
                         "the label " CFR_K8S_SECRET_LABEL
                         " of the %s %s/%s was removed or changed: it is published again",
                         o->kind->name, o->namespace_name, o->name);
    if (rc == 0 && o->key_count == 0 && !owns_data(metadata))
        rc = cfr_err_set(err, CFR_E_MISSING, "the keys of the %s %s/%s were overwritten: it is published again",
                         o->kind->name, o->namespace_name, o->name);
    return rc;
}

int cfr_k8s_secret_apply_held(const struct cfr_k8s_secret_object *o, struct cfr_view body, struct cfr_err *err)
{
    struct cfr_json *doc;
    int rc = cfr_json_parse(body, &doc, err);

    if (rc != 0)
        return rc;
    rc = check_identity(o, doc, err);
    if (rc == 0)
        rc = check_held(o, doc, err);
    cfr_json_free(doc);
    return rc;
}

int cfr_k8s_secret_apply_values(struct cfr_view body, const char *const *keys, size_t count, struct cfr_secret *values,
                                bool *there, struct cfr_err *err)
{
    struct cfr_json *doc = NULL;
    int rc;

    for (size_t i = 0; i < count; i++) {
        cfr_secret_init(&values[i], CFR_K8S_SECRET_TOTAL_MAX);
        there[i] = false;
    }
    rc = cfr_json_parse(body, &doc, err);
    for (size_t i = 0; rc == 0 && i < count; i++) {
        struct cfr_view text;

        there[i] = cfr_json_string(cfr_json_get(cfr_json_get(doc, "data"), keys[i]), &text);
        if (there[i] && text.n != 0)
            rc = cfr_base64_decode(text, &values[i], err);
    }
    cfr_json_free(doc);
    return rc;
}

/* A text of BODY's metadata: its annotation KEY, or its member KEY; empty if it is missing or too long. */
static void read_metadata(struct cfr_view body, const char *key, bool annotated, char out[CFR_K8S_SECRET_VERSION_MAX])
{
    struct cfr_view text = {NULL, 0};
    struct cfr_json *doc = NULL;

    out[0] = '\0';
    if (cfr_json_parse(body, &doc, NULL) == 0) {
        const struct cfr_json *metadata = cfr_json_get(doc, "metadata");

        text = annotated ? annotation(metadata, key) : cfr_json_text(metadata, key);
    }
    if (text.n != 0 && text.n < CFR_K8S_SECRET_VERSION_MAX)
        (void)snprintf(out, CFR_K8S_SECRET_VERSION_MAX, "%.*s", (int)text.n, text.p);
    cfr_json_free(doc);
}

void cfr_k8s_secret_apply_version(struct cfr_view body, char version[CFR_K8S_SECRET_VERSION_MAX])
{
    read_metadata(body, "resourceVersion", false, version);
}

void cfr_k8s_secret_apply_ca_key(struct cfr_view body, char key_id[CFR_K8S_SECRET_VERSION_MAX])
{
    read_metadata(body, CFR_K8S_CA_OWNER, true, key_id);
}

void cfr_k8s_secret_apply_uid(struct cfr_view body, char uid[CFR_K8S_SECRET_VERSION_MAX])
{
    read_metadata(body, "uid", false, uid);
}

/* ---- conflicts ---- */

/* NAME of the cause's message, `conflict with "NAME" using v1`. */
static struct cfr_view find_manager(struct cfr_view message)
{
    const char *first = message.n != 0 ? memchr(message.p, '"', message.n) : NULL;
    const char *end;
    size_t left;

    if (first == NULL)
        return (struct cfr_view){NULL, 0};
    left = message.n - (size_t)(first + 1 - message.p);
    end = memchr(first + 1, '"', left);
    return (struct cfr_view){first + 1, end != NULL ? (size_t)(end - first - 1) : left};
}

/* Writes `"helm" owns .data.a, "kubectl" owns .data.b`, and how many owners there are in all. */
static size_t write_owners(const struct cfr_json *causes, char *out, size_t room)
{
    const struct cfr_json *cause = cfr_json_first(causes);
    size_t count = 0;
    size_t len = 0;

    out[0] = '\0';
    for (; cause != NULL; cause = cfr_json_next(cause)) {
        char manager[CFR_REDACT_MAX];
        char field[CFR_REDACT_MAX];
        int n;

        if (!cfr_view_is(cfr_json_text(cause, "reason"), "FieldManagerConflict") || ++count > NAMED_MAX)
            continue;
        (void)cfr_redact(find_manager(cfr_json_text(cause, "message")), NULL, 0, manager);
        (void)cfr_redact(cfr_json_text(cause, "field"), NULL, 0, field);
        n = snprintf(out + len, room - len, "%s\"%.40s\" owns %.40s", count > 1 ? ", " : "", manager, field);
        len = n > 0 && (size_t)n < room - len ? len + (size_t)n : len;
    }
    return count;
}

int cfr_k8s_secret_apply_conflict(const struct cfr_k8s_secret_object *o, struct cfr_view body, struct cfr_err *err)
{
    static const char *const path[] = {"details", "causes", NULL};
    struct cfr_k8s_asked asked = {.what = o->kind->name};
    char owners[NAMED_MAX * 96];
    struct cfr_json *doc = NULL;
    int64_t retry_after_s;
    size_t count;

    if (body.n != 0 && cfr_json_parse(body, &doc, err) == CFR_E_NOMEM)
        return CFR_E_NOMEM;
    count = write_owners(cfr_json_path(doc, path), owners, sizeof owners);
    cfr_json_free(doc);
    if (count == 0)
        return cfr_k8s_refusal(409, body, &asked, &retry_after_s, err);
    return cfr_err_set(err, CFR_E_CONFLICT,
                       "the %s %.63s/%.100s: %s%s: remove the fields there, publish under another name, or set "
                       "`adopt: true` in `%s`",
                       o->kind->name, o->namespace_name, o->name, owners, count > NAMED_MAX ? " and more" : "",
                       o->kind->key);
}
