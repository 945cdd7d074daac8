/* SPDX-License-Identifier: MIT */
/* Names and versions of objects, from a list and from events of a watch. */
#include "kube/watch_answer.h"

#include "base/json.h"

#include <inttypes.h>
#include <string.h>

#define GONE 410

/* False for one that is missing or too long. */
static bool copy_text(struct cfr_view text, char *out, size_t room)
{
    if (text.n == 0 || text.n >= room)
        return false;
    memcpy(out, text.p, text.n);
    out[text.n] = '\0';
    return true;
}

/* Opaque, but it becomes a part of a URL. */
static bool copy_version(struct cfr_view text, char out[CFR_K8S_VERSION_MAX])
{
    return cfr_view_printable(text) && copy_text(text, out, CFR_K8S_VERSION_MAX);
}

/* An API server writes an empty list of metadata as null. */
static bool is_list(const struct cfr_json *doc)
{
    const struct cfr_json *items = cfr_json_get(doc, "items");
    struct cfr_view kind = cfr_json_text(doc, "kind");

    return cfr_json_is_array(items) ||
           (cfr_json_is_null(items) && kind.n > 4 && memcmp(kind.p + kind.n - 4, "List", 4) == 0);
}

int cfr_k8s_watch_list(struct cfr_view body, cfr_k8s_seen_fn *seen, void *ctx, char version[CFR_K8S_VERSION_MAX],
                       char next[CFR_K8S_CONTINUE_MAX], struct cfr_err *err)
{
    const struct cfr_json *metadata;
    const struct cfr_json *item;
    struct cfr_view more;
    struct cfr_json *doc;
    int rc = cfr_json_parse(body, &doc, err);

    if (rc != 0)
        return rc;
    metadata = cfr_json_get(doc, "metadata");
    more = cfr_json_text(metadata, "continue");
    next[0] = '\0';
    if (!is_list(doc) || !copy_version(cfr_json_text(metadata, "resourceVersion"), version) ||
        (more.n != 0 && !copy_text(more, next, CFR_K8S_CONTINUE_MAX)))
        rc = cfr_err_set(err, CFR_E_ANSWER, "the answer is not a list of objects; check the API server's address");
    item = rc == 0 ? cfr_json_first(cfr_json_get(doc, "items")) : NULL;
    for (; item != NULL; item = cfr_json_next(item)) {
        const struct cfr_json *m = cfr_json_get(item, "metadata");
        char own[CFR_K8S_VERSION_MAX];

        if (copy_version(cfr_json_text(m, "resourceVersion"), own))
            seen(ctx, cfr_json_text(m, "namespace"), cfr_json_text(m, "name"), own);
    }
    cfr_json_free(doc);
    return rc;
}

static int read_error(const struct cfr_json *status, struct cfr_err *err)
{
    int64_t code = 0;

    if (cfr_json_integer(cfr_json_get(status, "code"), &code) && code == GONE)
        return cfr_err_set(err, CFR_E_UNAVAILABLE, "the server no longer knows the version that the watch has reached");
    /* Its message is left out: it may repeat what we sent. */
    return cfr_err_set(err, CFR_E_ANSWER, "the server ends the watch with the code %" PRId64, code);
}

int cfr_k8s_watch_event(struct cfr_view line, cfr_k8s_seen_fn *seen, void *ctx, char version[CFR_K8S_VERSION_MAX],
                        struct cfr_err *err)
{
    const struct cfr_json *object;
    const struct cfr_json *metadata;
    struct cfr_view type;
    struct cfr_json *doc;
    int rc = cfr_json_parse(line, &doc, err);

    if (rc != 0)
        return rc;
    type = cfr_json_text(doc, "type");
    object = cfr_json_get(doc, "object");
    metadata = cfr_json_get(object, "metadata");
    if (cfr_view_is(type, "ERROR"))
        rc = read_error(object, err);
    else if (!copy_version(cfr_json_text(metadata, "resourceVersion"), version))
        rc = cfr_err_set(err, CFR_E_ANSWER, "the answer is not an event of a watch");
    else if (cfr_view_is(type, "ADDED") || cfr_view_is(type, "MODIFIED"))
        seen(ctx, cfr_json_text(metadata, "namespace"), cfr_json_text(metadata, "name"), version);
    else if (cfr_view_is(type, "DELETED"))
        seen(ctx, cfr_json_text(metadata, "namespace"), cfr_json_text(metadata, "name"), NULL);
    cfr_json_free(doc);
    return rc;
}
