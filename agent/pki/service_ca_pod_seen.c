/* SPDX-License-Identifier: MIT */
/* The requests of a signer: a list that is sorted by their paths. */
#include "agent/pki/service_ca_pod_seen_private.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define REQUESTS_MAX 20000

static bool write_path(struct cfr_view space, struct cfr_view name, char out[CFR_SERVICE_CA_POD_PATH_MAX])
{
    if (space.n == 0 || space.n > CFR_K8S_LABEL_MAX || name.n == 0 || name.n > CFR_K8S_NAME_MAX)
        return false;
    (void)snprintf(out, CFR_SERVICE_CA_POD_PATH_MAX, "%.*s/%.*s", (int)space.n, space.p, (int)name.n, name.p);
    return true;
}

/* Where PATH is, or belongs. */
static size_t place_of(const struct cfr_service_ca_pod_seen *s, const char *path)
{
    size_t low = 0;
    size_t high = s->count;

    while (low < high) {
        size_t middle = low + (high - low) / 2;

        if (strcmp(s->items[middle].path, path) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

struct cfr_service_ca_pod_seen_one *cfr_service_ca_pod_seen_find(const struct cfr_service_ca_pod_seen *s,
                                                                 const char *path)
{
    size_t at = place_of(s, path);

    return at < s->count && strcmp(s->items[at].path, path) == 0 ? &s->items[at] : NULL;
}

static void free_one(struct cfr_service_ca_pod_seen_one *one)
{
    free(one->path);
    free(one->version);
}

static int grow(struct cfr_service_ca_pod_seen *s, struct cfr_err *err)
{
    size_t room = s->room == 0 ? 16 : s->room * 2;
    struct cfr_service_ca_pod_seen_one *items;

    if (s->count == REQUESTS_MAX)
        return cfr_err_set(err, CFR_E_LIMIT, "it has more than %d requests", REQUESTS_MAX);
    if (s->count < s->room)
        return 0;
    items = realloc(s->items, room * sizeof *items);
    if (items == NULL)
        return cfr_err_nomem(err);
    s->items = items;
    s->room = room;
    return 0;
}

static int add(struct cfr_service_ca_pod_seen *s, const char *path, const char *version, struct cfr_err *err)
{
    size_t at = place_of(s, path);
    struct cfr_service_ca_pod_seen_one one = {.listed = true};
    int rc = grow(s, err);

    if (rc != 0)
        return rc;
    one.path = strdup(path);
    one.version = strdup(version);
    if (one.path == NULL || one.version == NULL) {
        free_one(&one);
        return cfr_err_nomem(err);
    }
    memmove(&s->items[at + 1], &s->items[at], (s->count - at) * sizeof *s->items);
    s->items[at] = one;
    s->count++;
    return 0;
}

int cfr_service_ca_pod_seen_note(struct cfr_service_ca_pod_seen *s, struct cfr_view space, struct cfr_view name,
                                 const char *version, struct cfr_err *err)
{
    struct cfr_service_ca_pod_seen_one *one;
    char path[CFR_SERVICE_CA_POD_PATH_MAX];
    char *copy;

    if (!write_path(space, name, path))
        return cfr_err_set(err, CFR_E_ANSWER, "the API server named an object that cannot be one");
    one = cfr_service_ca_pod_seen_find(s, path);
    if (one == NULL)
        return add(s, path, version, err);
    one->listed = true;
    if (strcmp(one->version, version) == 0)
        return 0;
    copy = strdup(version);
    if (copy == NULL)
        return cfr_err_nomem(err);
    free(one->version);
    *one = (struct cfr_service_ca_pod_seen_one){.path = one->path, .version = copy, .listed = true};
    return 0;
}

static void drop(struct cfr_service_ca_pod_seen *s, size_t at)
{
    free_one(&s->items[at]);
    s->count--;
    memmove(&s->items[at], &s->items[at + 1], (s->count - at) * sizeof *s->items);
}

void cfr_service_ca_pod_seen_drop(struct cfr_service_ca_pod_seen *s, struct cfr_view space, struct cfr_view name)
{
    char path[CFR_SERVICE_CA_POD_PATH_MAX];
    const struct cfr_service_ca_pod_seen_one *one =
        write_path(space, name, path) ? cfr_service_ca_pod_seen_find(s, path) : NULL;

    if (one != NULL)
        drop(s, (size_t)(one - s->items));
}

void cfr_service_ca_pod_seen_begin(struct cfr_service_ca_pod_seen *s)
{
    for (size_t i = 0; i < s->count; i++)
        s->items[i].listed = false;
}

void cfr_service_ca_pod_seen_end(struct cfr_service_ca_pod_seen *s)
{
    size_t kept = 0;

    for (size_t i = 0; i < s->count; i++) {
        if (s->items[i].listed)
            s->items[kept++] = s->items[i];
        else
            free_one(&s->items[i]);
    }
    s->count = kept;
}

struct cfr_service_ca_pod_seen_one *cfr_service_ca_pod_seen_due(const struct cfr_service_ca_pod_seen *s,
                                                                int64_t now_boot_ms)
{
    for (size_t i = 0; i < s->count; i++) {
        if (!s->items[i].done && s->items[i].next_boot_ms <= now_boot_ms)
            return &s->items[i];
    }
    return NULL;
}

int64_t cfr_service_ca_pod_seen_next(const struct cfr_service_ca_pod_seen *s)
{
    int64_t at = INT64_MAX;

    for (size_t i = 0; i < s->count; i++) {
        if (!s->items[i].done && s->items[i].next_boot_ms < at)
            at = s->items[i].next_boot_ms;
    }
    return at;
}

bool cfr_service_ca_pod_seen_waits(const struct cfr_service_ca_pod_seen *s)
{
    for (size_t i = 0; i < s->count; i++) {
        if (!s->items[i].done && s->items[i].backoff.failures != 0)
            return true;
    }
    return false;
}

void cfr_service_ca_pod_seen_resume(struct cfr_service_ca_pod_seen *s, int64_t now_boot_ms)
{
    for (size_t i = 0; i < s->count; i++) {
        if (s->items[i].backoff.failures == 0 || s->items[i].next_boot_ms <= now_boot_ms)
            continue;
        s->items[i].backoff = (struct cfr_backoff){0};
        s->items[i].next_boot_ms = now_boot_ms;
    }
}

void cfr_service_ca_pod_seen_finish(struct cfr_service_ca_pod_seen_one *one, const char *version)
{
    char *copy = strcmp(one->version, version) == 0 ? NULL : strdup(version);

    if (copy != NULL) {
        free(one->version);
        one->version = copy;
    }
    one->done = true;
    one->backoff = (struct cfr_backoff){0};
}

void cfr_service_ca_pod_seen_free(struct cfr_service_ca_pod_seen *s)
{
    for (size_t i = 0; i < s->count; i++)
        free_one(&s->items[i]);
    free(s->items);
    *s = (struct cfr_service_ca_pod_seen){0};
}
