/* SPDX-License-Identifier: MIT */
/* List of environment variables for SDKs. */
#include "serve/sdk/shape_private.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- the list ---- */

const struct cfr_sdk_env_variable *cfr_sdk_env_find(const struct cfr_sdk_env *e, const char *name)
{
    for (size_t i = 0; i < e->count; i++) {
        if (strcmp(e->items[i].name, name) == 0)
            return &e->items[i];
    }
    return NULL;
}

bool cfr_sdk_env_has_way(const struct cfr_sdk_env *e, enum cfr_sdk_env_way way)
{
    for (size_t i = 0; i < e->count; i++) {
        if (e->items[i].way == way)
            return true;
    }
    return false;
}

void cfr_sdk_env_sort(struct cfr_sdk_env *e)
{
    for (size_t i = 1; i < e->count; i++) {
        struct cfr_sdk_env_variable v = e->items[i];
        size_t at = i;

        for (; at > 0 && e->items[at - 1].way > v.way; at--)
            e->items[at] = e->items[at - 1];
        e->items[at] = v;
    }
}

void cfr_sdk_env_free(struct cfr_sdk_env *e)
{
    for (size_t i = 0; i < e->count; i++)
        free(e->items[i].value);
    for (size_t i = 0; i < e->note_count; i++)
        free(e->notes[i]);
    *e = (struct cfr_sdk_env){0};
}

int cfr_sdk_env_note(struct cfr_sdk_env *e, struct cfr_err *err, const char *fmt, ...)
{
    char *line = NULL;
    va_list ap;
    int rc;

    va_start(ap, fmt);
    rc = vasprintf(&line, fmt, ap);
    va_end(ap);
    if (rc < 0)
        return cfr_err_nomem(err);
    for (size_t i = 0; line != NULL && i < e->note_count; i++) {
        if (strcmp(e->notes[i], line) == 0) {
            free(line);
            line = NULL;
        }
    }
    if (line != NULL && e->note_count < CFR_SDK_ENV_NOTES_MAX)
        e->notes[e->note_count++] = line;
    else
        free(line);
    return 0;
}

static int put(struct cfr_sdk_env *e, const struct cfr_sdk_env_variable *like, const char *value, struct cfr_err *err)
{
    const struct cfr_sdk_env_variable *old = cfr_sdk_env_find(e, like->name);
    struct cfr_sdk_env_variable *new = &e->items[e->count];

    if (old != NULL && old->from_file == like->from_file && strcmp(old->value, value) == 0)
        return 0;
    if (old != NULL)
        return cfr_sdk_env_note(e, err, "%s can name one of several only: it is %s, and %s is left out", old->name,
                                old->value, value);
    if (e->count == CFR_SDK_ENV_VARIABLES_MAX)
        return cfr_err_set(err, CFR_E_LIMIT, "the credential would need more than %d variables",
                           CFR_SDK_ENV_VARIABLES_MAX);
    *new = *like;
    new->value = cfr_str_dup(cfr_view_of(value));
    if (new->value == NULL)
        return cfr_err_nomem(err);
    e->count++;
    return 0;
}

int cfr_sdk_env_set(struct cfr_sdk_env *e, enum cfr_sdk_env_way way, const char *name, const char *value,
                    struct cfr_err *err)
{
    return put(e, &(struct cfr_sdk_env_variable){.name = name, .way = way}, value, err);
}

int cfr_sdk_env_set_file(struct cfr_sdk_env *e, enum cfr_sdk_env_way way, const char *name, const char *path,
                         struct cfr_err *err)
{
    return put(e, &(struct cfr_sdk_env_variable){.name = name, .way = way, .from_file = true}, path, err);
}
