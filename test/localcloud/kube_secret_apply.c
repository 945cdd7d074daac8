/* SPDX-License-Identifier: MIT */
/* Server-side apply of Secrets: checks, and the text of conflicts. */
#include "kube_fields.h"
#include "kube_work.h"

#include <stdlib.h>
#include <string.h>

/* "conflict with WHO: .PATH" for one; a list by manager for more. */
static int refuse_conflicts(struct lc_kube_work *work, json_t *conflicts)
{
    size_t count = json_array_size(conflicts);
    json_t *causes = json_array();
    json_t *details = NULL;
    json_t *item = NULL;
    struct lc_buf text = {0};
    const char *last = "";
    size_t index = 0;

    json_array_foreach(conflicts, index, item)
    {
        const char *who = lc_kube_text(item, "who");
        char *message = lc_text_format("conflict with %s", who);
        char *field = lc_text_format(".%s", lc_kube_text(item, "path"));
        (void)json_array_append_new(causes,
                                    json_pack("{s:s,s:s,s:s}", "reason", "FieldManagerConflict", "message",
                                              message == NULL ? "" : message, "field", field == NULL ? "" : field));
        if (count == 1) {
            lc_buf_format(&text, "conflict with %s: %s", who, field == NULL ? "" : field);
        } else {
            lc_buf_format(&text, "%s%s%s%s- %s", index == 0 ? "" : "\n",
                          strcmp(last, who) == 0 ? "" : "conflicts with ", strcmp(last, who) == 0 ? "" : who,
                          strcmp(last, who) == 0 ? "" : ":\n", field == NULL ? "" : field);
        }
        last = who;
        free(message);
        free(field);
    }
    details = json_pack("{s:s,s:s,s:o}", "name", work->name, "kind", work->kind->resource, "causes", causes);
    (void)lc_kube_refuse(work->visit, 409, "Conflict", details, "Apply failed with %zu conflict%s: %s", count,
                         count == 1 ? "" : "s", text.at == NULL ? "" : text.at);
    lc_buf_free(&text);
    return -1;
}

static int check_applied(struct lc_kube_work *work)
{
    json_t *metadata = json_object_get(work->body, "metadata");

    if (strcmp(lc_kube_text(work->body, "apiVersion"), "v1") != 0 ||
        strcmp(lc_kube_text(work->body, "kind"), work->kind->name) != 0) {
        return lc_kube_bad_request(work,
                                   "error decoding YAML: Object 'Kind' or 'apiVersion' is missing, or not v1 and the "
                                   "kind of the URL");
    }
    if (json_object_get(metadata, "managedFields") != NULL) {
        return lc_kube_bad_request(work, "metadata.managedFields must be nil");
    }
    if (*lc_kube_text(metadata, "name") == '\0') {
        return lc_kube_bad_request(work, "metadata.name is missing");
    }
    if (work->entry == NULL && !work->may_create) {
        /* The first look, for patch, says who may not do what; this one only that it is forbidden. */
        return lc_kube_forbidden(work->visit, work->kind->resource, work->name, "");
    }
    return work->entry == NULL && lc_kube_check_namespace(work) != 0 ? -1 : lc_kube_check_identity(work, work->body);
}

static int by_manager(const void *a, const void *b)
{
    json_t *const *left = a;
    json_t *const *right = b;
    int order = strcmp(lc_kube_text(*left, "who"), lc_kube_text(*right, "who"));

    return order != 0 ? order : strcmp(lc_kube_text(*left, "path"), lc_kube_text(*right, "path"));
}

/* The same array in the order of managers and paths; takes the reference. */
static json_t *sorted(json_t *conflicts)
{
    size_t count = json_array_size(conflicts);
    json_t **items = calloc(count + 1, sizeof(json_t *));
    json_t *out = json_array();

    for (size_t i = 0; items != NULL && i < count; i++) {
        items[i] = json_array_get(conflicts, i);
    }
    if (items != NULL) {
        qsort(items, count, sizeof(json_t *), by_manager);
    }
    for (size_t i = 0; items != NULL && i < count; i++) {
        (void)json_array_append(out, items[i]);
    }
    free(items);
    json_decref(conflicts);
    return out;
}

int lc_kube_secret_apply(struct lc_kube_work *work)
{
    json_t *config = check_applied(work) == 0 ? lc_kube_decode(work, work->body) : NULL;
    json_t *flat = config == NULL ? NULL : json_copy(work->before);
    json_t *conflicts = NULL;
    int result = -1;

    if (config == NULL) {
        return -1;
    }
    conflicts = sorted(lc_kube_apply(flat, work->managers, config, work->manager, work->force));
    result = json_array_size(conflicts) > 0 ? refuse_conflicts(work, conflicts) : lc_kube_finish(work, flat);
    json_decref(conflicts);
    json_decref(config);
    json_decref(flat);
    return result;
}
