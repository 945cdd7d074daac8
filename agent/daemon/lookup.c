/* SPDX-License-Identifier: MIT */
/* Lookup of credentials by name. */
#include "agent/daemon/lookup_private.h"

#include "agent/config/sdk_environment.h"

#include <stdlib.h>
#include <string.h>

static int compare(const void *a, const void *b)
{
    const struct cfr_worker *const *x = a;
    const struct cfr_worker *const *y = b;

    return strcmp(cfr_worker_config(*x)->name, cfr_worker_config(*y)->name);
}

void cfr_daemon_index_workers(struct cfr_daemon *a)
{
    free(a->by_name);
    a->by_name = calloc(a->count + 1, sizeof(struct cfr_worker *));
    if (a->by_name == NULL)
        return;
    memcpy(a->by_name, a->workers, a->count * sizeof(struct cfr_worker *));
    qsort(a->by_name, a->count, sizeof(struct cfr_worker *), compare);
}

/* Without the index, which needs memory, they are looked through. */
static struct cfr_worker *search_all(const struct cfr_daemon *a, const char *name)
{
    for (size_t i = 0; i < a->count; i++) {
        if (strcmp(cfr_worker_config(a->workers[i])->name, name) == 0)
            return a->workers[i];
    }
    return NULL;
}

struct cfr_worker *cfr_daemon_worker(const struct cfr_daemon *a, const char *name)
{
    size_t low = 0;
    size_t high = a->count;

    if (a->by_name == NULL)
        return search_all(a, name);
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        int order = strcmp(name, cfr_worker_config(a->by_name[middle])->name);

        if (order == 0)
            return a->by_name[middle];
        if (order < 0)
            high = middle;
        else
            low = middle + 1;
    }
    return NULL;
}

bool cfr_daemon_admin_needed(const struct cfr_daemon *a, const char *name)
{
    for (size_t i = 0; i < a->count; i++) {
        if (cfr_worker_needs(a->workers[i], name))
            return true;
    }
    return false;
}

void cfr_daemon_admin_changed(const struct cfr_daemon *a, const char *name)
{
    for (size_t i = 0; i < a->count; i++)
        cfr_worker_dependency_changed(a->workers[i], name);
}

bool cfr_daemon_offer(struct cfr_daemon *a, const char *name, struct cfr_offer *out)
{
    struct cfr_worker *w = cfr_daemon_worker(a, name);

    if (w == NULL)
        return false;
    cfr_worker_offer(w, out);
    out->role_arn = cfr_config_sdk_role_arn(cfr_worker_config(w));
    return true;
}
