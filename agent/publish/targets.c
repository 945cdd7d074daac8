/* SPDX-License-Identifier: MIT */
/* All targets of a credential: rendered together, then published one by one. */
#include "agent/publish/targets.h"

#include "agent/publish/target_private.h"
#include "files/route.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct cfr_config_publish *config_at(const struct cfr_config_credential *c, size_t i)
{
    return (const struct cfr_config_publish *)c->publish.items + i;
}

static const struct cfr_config_target_kind *kind_at(size_t index)
{
    for (size_t i = 0; cfr_publish_kinds[i] != NULL; i++) {
        if (cfr_publish_kinds[i]->kind.variant.key != NULL && index-- == 0)
            return &cfr_publish_kinds[i]->kind;
    }
    return NULL;
}

void cfr_publish_register(void)
{
    cfr_config_register_targets(kind_at);
}

/* The row of T's kind; one that brings its key begins with what the configuration knows of it. */
static const struct cfr_target_ops *find_kind(const struct cfr_config_publish *t, const void **own)
{
    const struct cfr_config_target_kind *kind = cfr_config_target_kind(t, own);
    size_t i = 0;

    if (kind != NULL)
        return (const struct cfr_target_ops *)kind;
    while (cfr_publish_kinds[i + 1] != NULL &&
           (cfr_publish_kinds[i]->is_configured == NULL || !cfr_publish_kinds[i]->is_configured(t)))
        i++;
    return cfr_publish_kinds[i];
}

struct cfr_target cfr_publish_target(const struct cfr_config_credential *c, size_t index)
{
    struct cfr_target t = {.credential = c, .config = config_at(c, index), .index = index};

    t.ops = find_kind(t.config, &t.own);
    return t;
}

int cfr_publish_target_render(const struct cfr_target *t, const struct cfr_publish_render *job,
                              struct cfr_target_content **out, struct cfr_err *err)
{
    *out = calloc(1, sizeof **out);
    if (*out == NULL)
        return cfr_err_nomem(err);
    return t->ops->render(t, job, *out, err);
}

void cfr_publish_content_drop(struct cfr_target_content *content)
{
    if (content == NULL)
        return;
    cfr_publish_content_free(content);
    free(content);
}

void cfr_publish_inspect(const struct cfr_config_credential *c, size_t index, const struct cfr_publish_inspection *i)
{
    struct cfr_target t = cfr_publish_target(c, index);

    if (t.ops->inspect != NULL)
        t.ops->inspect(&t, i);
}

int cfr_publish_rehearse(const struct cfr_config_credential *c, const struct cfr_publish_render *render,
                         struct cfr_err *err)
{
    int rc = 0;

    for (size_t i = 0; rc == 0 && i < c->publish.count; i++) {
        struct cfr_target t = cfr_publish_target(c, i);
        struct cfr_target_content *content = NULL;

        rc = cfr_publish_target_render(&t, render, &content, err);
        cfr_publish_content_drop(content);
    }
    return rc;
}

const char *cfr_publish_path(const struct cfr_config_publish *t)
{
    struct cfr_config_target_use use = {.path = NULL};
    const void *own;
    const struct cfr_target_ops *ops = find_kind(t, &own);

    if (ops->kind.describe != NULL)
        ops->kind.describe(own, &use);
    else if (ops->path != NULL)
        use.path = ops->path(t);
    return use.path;
}

int cfr_publish_watch(const struct cfr_config_credential *c, struct cfr_watch *watch, void *watcher,
                      struct cfr_err *err)
{
    int rc = 0;

    for (size_t i = 0; i < c->publish.count; i++) {
        struct cfr_target t = cfr_publish_target(c, i);
        char path[CFR_TARGET_PATH_MAX];
        struct cfr_route route;

        if (t.ops->renamed == NULL)
            continue;
        cfr_route_find(cfr_publish_path(t.config), t.ops->has_generations, false, &route);
        if (route.storage == CFR_ROUTE_REMOTE || route.blocked)
            continue;
        t.ops->renamed(t.config, path);
        if (rc == 0)
            rc = cfr_watch_add_with_parents(watch, path, watcher, err);
        else
            (void)cfr_watch_add_with_parents(watch, path, watcher, NULL);
    }
    return rc;
}
