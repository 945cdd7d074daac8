/* SPDX-License-Identifier: MIT */
/* All targets of a credential: rendered together, then published one by one. */
#include "agent/publish/targets.h"

#include "agent/publish/target_private.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

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

static struct cfr_target target_at(const struct cfr_config_credential *c, size_t i)
{
    struct cfr_target t = {.credential = c, .config = config_at(c, i), .index = i};

    t.ops = find_kind(t.config, &t.own);
    return t;
}

static int render_target(const struct cfr_target *t, const struct cfr_publish_render *job,
                         struct cfr_target_content **out, struct cfr_err *err)
{
    *out = calloc(1, sizeof **out);
    if (*out == NULL)
        return cfr_err_nomem(err);
    return t->ops->render(t, job, *out, err);
}

static void free_content(struct cfr_target_content *content)
{
    if (content == NULL)
        return;
    cfr_publish_content_free(content);
    free(content);
}

void cfr_publish_inspect(const struct cfr_config_credential *c, size_t index, const struct cfr_publish_inspection *i)
{
    struct cfr_target t = target_at(c, index);

    if (t.ops->inspect != NULL)
        t.ops->inspect(&t, i);
}

static void note_mark(const struct cfr_target *t, struct cfr_publish_record *record)
{
    struct cfr_file_fingerprint *mark = &record->targets[t->index];

    if (t->ops->look == NULL || t->ops->look(t, mark, NULL) != 0)
        *mark = (struct cfr_file_fingerprint){0};
}

int cfr_publish(const struct cfr_config_credential *c, const struct cfr_publish_job *job,
                struct cfr_publish_record *record, bool *changed, struct cfr_err *err)
{
    struct cfr_target_content *all[CFR_CONFIG_TARGETS_MAX] = {NULL};
    int rc = 0;

    *changed = false;
    /* 1. Render all: a grant that does not fit one of them changes none. */
    for (size_t i = 0; rc == 0 && i < c->publish.count; i++) {
        struct cfr_target t = target_at(c, i);

        rc = render_target(&t, &job->render, &all[i], err);
    }
    /* 2. Publish each; those in the cluster once all others are done. */
    for (int remote = 0; remote <= 1; remote++) {
        for (size_t i = 0; rc == 0 && i < c->publish.count; i++) {
            struct cfr_target t = target_at(c, i);
            bool one = false;

            if (t.ops->is_remote != (remote == 1))
                continue;
            rc = t.ops->publish(&t, job, all[i], record, &one, err);
            if (rc == 0)
                note_mark(&t, record);
            *changed = *changed || one;
        }
    }
    /* 3. Wipe what was rendered. */
    for (size_t i = 0; i < c->publish.count; i++)
        free_content(all[i]);
    record->target_count = c->publish.count;
    return rc;
}

int cfr_publish_rehearse(const struct cfr_config_credential *c, const struct cfr_publish_render *render,
                         struct cfr_err *err)
{
    int rc = 0;

    for (size_t i = 0; rc == 0 && i < c->publish.count; i++) {
        struct cfr_target t = target_at(c, i);
        struct cfr_target_content *content = NULL;

        rc = render_target(&t, render, &content, err);
        free_content(content);
    }
    return rc;
}

int cfr_publish_recover(const struct cfr_config_credential *c, struct cfr_err *err)
{
    int rc = 0;

    for (size_t i = 0; rc == 0 && i < c->publish.count; i++) {
        struct cfr_target t = target_at(c, i);

        if (t.ops->recover != NULL)
            rc = t.ops->recover(&t, err);
    }
    return rc;
}

/* True also if nothing is on record, as by an older version. */
static bool is_as(const struct cfr_file_fingerprint *remembered, const struct cfr_file_fingerprint *now)
{
    bool known = remembered->inode != 0 || remembered->size != 0 || remembered->mtime_ns != 0;

    return !known ||
           (now->inode == remembered->inode && now->size == remembered->size && now->mtime_ns == remembered->mtime_ns);
}

static int verify_target(const struct cfr_target *t, const struct cfr_publish_record *record, struct cfr_err *err)
{
    struct cfr_file_fingerprint now;
    uint64_t current = 0;
    int rc = t->ops->current != NULL ? t->ops->current(t, &current, err) : 0;

    /* A publish that did not change this target has left it at an earlier generation. */
    if (rc == 0 && t->ops->current != NULL && (current == 0 || current > record->generation))
        rc = cfr_err_set(err, CFR_E_MISSING, "%s does not hold generation %llu", cfr_publish_path(t->config),
                         (unsigned long long)record->generation);
    if (rc != 0 || t->ops->look == NULL)
        return rc;
    rc = t->ops->look(t, &now, err);
    if (rc == 0 && !is_as(&record->targets[t->index], &now))
        rc = cfr_err_set(err, CFR_E_MISSING, "%s was changed by another program", cfr_publish_path(t->config));
    return rc;
}

int cfr_publish_verify(const struct cfr_config_credential *c, const struct cfr_publish_record *record,
                       struct cfr_err *err)
{
    int rc = 0;

    if (record->target_count != c->publish.count)
        return cfr_err_set(err, CFR_E_MISSING, "the targets have changed");
    for (size_t i = 0; rc == 0 && i < c->publish.count; i++) {
        struct cfr_target t = target_at(c, i);

        rc = verify_target(&t, record, err);
    }
    return rc;
}

void cfr_publish_found(const struct cfr_config_credential *c, struct cfr_publish_record *record)
{
    for (size_t i = 0; i < c->publish.count; i++) {
        struct cfr_target t = target_at(c, i);

        note_mark(&t, record);
    }
    record->target_count = c->publish.count;
}

bool cfr_publish_holds_key(const struct cfr_config_credential *c, const char *id)
{
    for (size_t i = 0; i < c->publish.count; i++) {
        struct cfr_target t = target_at(c, i);

        if (t.ops->holds_key == NULL || (t.ops->look != NULL && t.ops->look(&t, NULL, NULL) != 0) ||
            !t.ops->holds_key(&t, id))
            return false;
    }
    return c->publish.count != 0;
}

uint64_t cfr_publish_newest(const struct cfr_config_credential *c)
{
    uint64_t newest = 0;

    for (size_t i = 0; i < c->publish.count; i++) {
        struct cfr_target t = target_at(c, i);
        uint64_t number = 0;

        if (t.ops->current != NULL && t.ops->current(&t, &number, NULL) == 0 && number > newest)
            newest = number;
    }
    return newest;
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

int64_t cfr_publish_time_ns(const struct cfr_config_credential *c)
{
    int64_t newest_ns = 0;

    for (size_t i = 0; i < c->publish.count; i++) {
        struct cfr_target t = target_at(c, i);
        char path[CFR_TARGET_PATH_MAX];
        struct stat st;
        int64_t ns;

        if (cfr_publish_path(t.config) == NULL)
            continue;
        if (t.ops->renamed != NULL)
            t.ops->renamed(t.config, path);
        else
            (void)snprintf(path, sizeof path, "%s", cfr_publish_path(t.config));
        /* A rename changes its change time. */
        ns = lstat(path, &st) == 0 ? (int64_t)st.st_ctim.tv_sec * 1000000000 + st.st_ctim.tv_nsec : 0;
        if (ns > newest_ns)
            newest_ns = ns;
    }
    return newest_ns;
}

int cfr_publish_watch(const struct cfr_config_credential *c, struct cfr_watch *watch, void *watcher,
                      struct cfr_err *err)
{
    int rc = 0;

    for (size_t i = 0; i < c->publish.count; i++) {
        struct cfr_target t = target_at(c, i);
        char path[CFR_TARGET_PATH_MAX];

        if (t.ops->renamed == NULL)
            continue;
        t.ops->renamed(t.config, path);
        if (rc == 0)
            rc = cfr_watch_add(watch, path, watcher, err);
        else
            (void)cfr_watch_add(watch, path, watcher, NULL);
    }
    return rc;
}

int cfr_publish_retire(const struct cfr_config_credential *c, struct cfr_err *err)
{
    int rc = 0;

    for (size_t i = 0; rc == 0 && i < c->publish.count; i++) {
        struct cfr_target t = target_at(c, i);

        if (t.ops->retire != NULL)
            rc = t.ops->retire(&t, err);
    }
    return rc;
}
