/* SPDX-License-Identifier: MIT */
/* Rules of the configuration that concern Secrets of the cluster: each has one writer. */
#include "agent/config/crosscheck_private.h"

#include <stdlib.h>
#include <string.h>

/* A Secret, and who writes it. */
struct target {
    const struct cfr_config_secret *secret;
    const struct cfr_config_credential *credential;
};

static int compare_texts(const char *a, const char *b)
{
    return strcmp(a != NULL ? a : "", b != NULL ? b : "");
}

/* Two ways to one API server, or to one namespace, cannot be told before they are gone. */
static int compare_places(const struct target *a, const struct target *b)
{
    int order = compare_texts(a->secret->name, b->secret->name);

    if (order == 0)
        order = compare_texts(a->secret->namespace_name, b->secret->namespace_name);
    if (order == 0)
        order = compare_texts(a->secret->kubeconfig, b->secret->kubeconfig);
    return order != 0 ? order : compare_texts(a->secret->context, b->secret->context);
}

static int compare(const void *a, const void *b)
{
    const struct target *x = a;
    const struct target *y = b;
    int order = compare_places(x, y);

    return order != 0 ? order : x->secret->node.line - y->secret->node.line;
}

static void collect(const struct cfr_config_credential *c, struct target *all, size_t *count)
{
    for (size_t i = 0; i < c->publish.count; i++) {
        const struct cfr_config_publish *p = (const struct cfr_config_publish *)c->publish.items + i;

        if (p->secret != NULL && p->secret->name != NULL)
            all[(*count)++] = (struct target){p->secret, c};
    }
}

void cfr_config_check_cluster(const struct cfr_config *config, struct cfr_config_diagnostics *problems)
{
    struct target *all;
    size_t count = 1;

    for (size_t i = 0; i < config->credentials.count; i++)
        count += cfr_config_at(config, i)->publish.count;
    all = calloc(count, sizeof *all);
    if (all == NULL) {
        problems->nomem = true;
        return;
    }
    count = 0;
    for (size_t i = 0; i < config->credentials.count; i++)
        collect(cfr_config_at(config, i), all, &count);
    qsort(all, count, sizeof *all, compare);
    for (size_t i = 1; i < count; i++) {
        const struct target *t = &all[i];

        if (compare_places(t, &all[i - 1]) == 0)
            cfr_config_diagnostics_add(
                problems, t->secret->node.line,
                "credential %.63s: publish.secret: %.100s is also written on line %d; choose another name, or "
                "put the keys of both into one",
                t->credential->name != NULL ? t->credential->name : "without name", t->secret->name,
                all[i - 1].secret->node.line);
    }
    free(all);
}
