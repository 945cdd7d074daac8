/* SPDX-License-Identifier: MIT */
/* The Secret that holds the state of a rotation: reading and writing it. */
#include "kube/shared_state.h"

#include "base/base64.h"
#include "base/json.h"
#include "base/writer.h"
#include "kube/name_private.h"

#include <inttypes.h>
#include <stdio.h>

#define JOURNAL   "journal"
#define HOLDER    "holder"
#define TAKEOVER  "takeover"
#define NONCE     "nonce"
#define PENDING   "pending"
#define PUBLISHED "published"

bool cfr_k8s_shared_path(const struct cfr_k8s_shared_place *place, bool write, char out[CFR_K8S_SHARED_PATH_MAX])
{
    out[0] = '\0';
    if (!cfr_k8s_name_is_label(place->namespace_name) || !cfr_k8s_name_is_subdomain(place->name))
        return false;
    (void)snprintf(out, CFR_K8S_SHARED_PATH_MAX, "/api/v1/namespaces/%s/secrets/%s%s", place->namespace_name,
                   place->name, write ? "?fieldManager=credfresh" : "");
    return true;
}

void cfr_k8s_shared_free(struct cfr_k8s_shared_state *s)
{
    cfr_secret_free(&s->journal);
    cfr_secret_free(&s->pending);
    cfr_secret_free(&s->published);
    *s = (struct cfr_k8s_shared_state){.version = ""};
}

/* ---- reading ---- */

static int check_object(const struct cfr_k8s_shared_place *place, const struct cfr_json *doc, struct cfr_err *err)
{
    const struct cfr_json *metadata = cfr_json_get(doc, "metadata");
    bool immutable = false;

    if (!cfr_view_is(cfr_json_text(doc, "kind"), "Secret") || !cfr_view_is(cfr_json_text(doc, "apiVersion"), "v1"))
        return cfr_err_set(err, CFR_E_ANSWER, "the answer is not a Secret; check the API server's address");
    if (!cfr_view_is(cfr_json_text(metadata, "name"), place->name) ||
        !cfr_view_is(cfr_json_text(metadata, "namespace"), place->namespace_name))
        return cfr_err_set(err, CFR_E_ANSWER, "the answer is another Secret than %s/%s", place->namespace_name,
                           place->name);
    if (cfr_json_text(metadata, "deletionTimestamp").n != 0)
        return cfr_err_set(err, CFR_E_UNAVAILABLE, "the Secret %s/%s is being deleted", place->namespace_name,
                           place->name);
    if (cfr_json_bool(cfr_json_get(doc, "immutable"), &immutable) && immutable)
        return cfr_err_set(err, CFR_E_CONFLICT,
                           "the Secret %s/%s is immutable, so that no step can be written into it: create another one",
                           place->namespace_name, place->name);
    return 0;
}

static int bad_key(const struct cfr_k8s_shared_place *place, const char *key, struct cfr_err *err)
{
    return cfr_err_set(err, CFR_E_ANSWER,
                       "the key %s of the Secret %s/%s is not as credfresh writes it; restore the Secret", key,
                       place->namespace_name, place->name);
}

/* Reads KEY, if it is there. *THERE is left alone otherwise. */
static int read_key(const struct cfr_k8s_shared_place *place, const struct cfr_json *data, const char *key,
                    struct cfr_secret *out, bool *there, struct cfr_err *err)
{
    const struct cfr_json *value = cfr_json_get(data, key);
    struct cfr_view text = {NULL, 0};
    int rc;

    cfr_secret_init(out, CFR_K8S_SHARED_TEXT_MAX);
    if (value == NULL)
        return 0;
    if (!cfr_json_string(value, &text))
        return bad_key(place, key, err);
    rc = cfr_base64_decode(text, out, err);
    *there = true;
    return rc == 0 || rc == CFR_E_NOMEM ? rc : bad_key(place, key, err);
}

/* The same for a line of printable text. */
static int read_line(const struct cfr_k8s_shared_place *place, const struct cfr_json *data, const char *key, char *out,
                     size_t size, bool *there, struct cfr_err *err)
{
    struct cfr_secret text;
    int rc = read_key(place, data, key, &text, there, err);

    if (rc == 0 && (text.len >= size || !cfr_view_printable(cfr_secret_view(&text))))
        rc = bad_key(place, key, err);
    if (rc == 0 && text.len != 0)
        (void)snprintf(out, size, "%s", text.p);
    cfr_secret_free(&text);
    return rc;
}

static int read_takeover(const struct cfr_k8s_shared_place *place, const struct cfr_json *data, int64_t *out,
                         bool *there, struct cfr_err *err)
{
    char text[24] = "";
    int rc = read_line(place, data, TAKEOVER, text, sizeof text, there, err);

    if (rc == 0 && text[0] != '\0' &&
        (!cfr_view_int(cfr_view_of(text), out) || *out < 1 || *out > CFR_K8S_SHARED_TAKEOVER_MAX_MS))
        rc = bad_key(place, TAKEOVER, err);
    return rc;
}

static int read_data(const struct cfr_k8s_shared_place *place, const struct cfr_json *data,
                     struct cfr_k8s_shared_state *out, struct cfr_err *err)
{
    bool begun = false;
    bool left = false;
    int rc = read_key(place, data, JOURNAL, &out->journal, &begun, err);

    if (rc == 0)
        rc = read_key(place, data, PENDING, &out->pending, &left, err);
    if (rc == 0)
        rc = read_key(place, data, PUBLISHED, &out->published, &left, err);
    if (rc == 0)
        rc = read_line(place, data, HOLDER, out->holder, sizeof out->holder, &left, err);
    if (rc == 0)
        rc = read_line(place, data, NONCE, out->nonce, sizeof out->nonce, &left, err);
    if (rc == 0)
        rc = read_takeover(place, data, &out->takeover_ms, &left, err);
    if (rc == 0 && begun && out->journal.len == 0)
        return bad_key(place, JOURNAL, err);
    if (rc == 0 && left && !begun)
        return cfr_err_set(err, CFR_E_ANSWER,
                           "the Secret %s/%s has lost its key " JOURNAL
                           ", without which the existing keys are unknown; restore it",
                           place->namespace_name, place->name);
    return rc;
}

int cfr_k8s_shared_read(const struct cfr_k8s_shared_place *place, struct cfr_view body,
                        struct cfr_k8s_shared_state *out, struct cfr_err *err)
{
    struct cfr_json *doc = NULL;
    struct cfr_view version;
    int rc = cfr_json_parse(body, &doc, err);

    *out = (struct cfr_k8s_shared_state){.version = ""};
    if (rc != 0)
        return rc;
    rc = check_object(place, doc, err);
    version = cfr_json_text(cfr_json_get(doc, "metadata"), "resourceVersion");
    if (rc == 0 && (version.n == 0 || version.n >= sizeof out->version || !cfr_view_printable(version)))
        rc = cfr_err_set(err, CFR_E_ANSWER, "the Secret %s/%s has no resourceVersion", place->namespace_name,
                         place->name);
    if (rc == 0)
        rc = read_data(place, cfr_json_get(doc, "data"), out, err);
    if (rc == 0)
        (void)snprintf(out->version, sizeof out->version, "%.*s", (int)version.n, version.p);
    else
        cfr_k8s_shared_free(out);
    cfr_json_free(doc);
    return rc;
}

/* ---- writing ---- */

static void write_key(struct cfr_writer *w, const char *key, struct cfr_view value)
{
    struct cfr_secret encoded;

    cfr_secret_init(&encoded, CFR_K8S_SHARED_BODY_MAX);
    if (w->rc == 0 && value.n != 0)
        w->rc = cfr_base64_encode(value, &encoded, w->err);
    cfr_writer_string(w, key, cfr_secret_view(&encoded));
    cfr_secret_free(&encoded);
}

int cfr_k8s_shared_write(const struct cfr_k8s_shared_state *s, struct cfr_secret *body, struct cfr_err *err)
{
    struct cfr_writer w = {.secret = body, .err = err, .exact = true};
    char takeover[24];

    (void)snprintf(takeover, sizeof takeover, "%" PRId64, s->takeover_ms);
    cfr_writer_object(&w, NULL);
    cfr_writer_object(&w, "metadata");
    cfr_writer_string(&w, "resourceVersion", cfr_view_of(s->version));
    cfr_writer_close(&w);
    cfr_writer_object(&w, "data");
    write_key(&w, JOURNAL, cfr_secret_view(&s->journal));
    write_key(&w, HOLDER, cfr_view_of(s->holder));
    write_key(&w, NONCE, cfr_view_of(s->nonce));
    if (s->takeover_ms != 0)
        write_key(&w, TAKEOVER, cfr_view_of(takeover));
    /* null removes it. */
    write_key(&w, PENDING, s->pending.len != 0 ? cfr_secret_view(&s->pending) : (struct cfr_view){NULL, 0});
    if (s->published.len != 0)
        write_key(&w, PUBLISHED, cfr_secret_view(&s->published));
    cfr_writer_close(&w);
    cfr_writer_close(&w);
    return w.rc;
}
