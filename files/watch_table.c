/* SPDX-License-Identifier: MIT */
/* Hash tables of watched paths and of their owners. */
#include "files/watch_private.h"

#include "base/hash.h"

#include <stdlib.h>
#include <string.h>

#define BUCKETS_MIN 16

static size_t hash_path(const char *path)
{
    return cfr_hash_add(CFR_HASH_START, path, strlen(path));
}

static size_t hash_part(int wd, const char *part, size_t n)
{
    return cfr_hash_add(cfr_hash_add(CFR_HASH_START, &wd, sizeof wd), part, n);
}

static size_t hash_owner(const void *owner)
{
    return cfr_hash_add(CFR_HASH_START, &owner, sizeof owner);
}

static struct cfr_watch_entry **path_bucket(const struct cfr_watch *w, const char *path)
{
    return &w->paths[hash_path(path) & (w->buckets - 1)];
}

struct cfr_watch_entry **cfr_watch_part_bucket(const struct cfr_watch *w, int wd, const char *part)
{
    return &w->parts[hash_part(wd, part, strcspn(part, "/")) & (w->buckets - 1)];
}

static struct cfr_watch_watcher **watcher_bucket(const struct cfr_watch *w, const void *owner)
{
    return &w->watchers[hash_owner(owner) & (w->buckets - 1)];
}

void cfr_watch_remove_part(struct cfr_watch *w, const struct cfr_watch_entry *e)
{
    struct cfr_watch_entry **at = cfr_watch_part_bucket(w, e->directory->wd, e->path + e->part_at);

    while (*at != e)
        at = &(*at)->next_part;
    *at = e->next_part;
}

void cfr_watch_add_part(struct cfr_watch *w, struct cfr_watch_entry *e)
{
    struct cfr_watch_entry **bucket = cfr_watch_part_bucket(w, e->directory->wd, e->path + e->part_at);

    e->next_part = *bucket;
    *bucket = e;
}

/* Without memory the tables remain as they are, and become slow. */
static void grow_tables(struct cfr_watch *w, size_t buckets)
{
    struct cfr_watch old = *w;
    struct cfr_watch_entry **paths = calloc(buckets, sizeof(struct cfr_watch_entry *));
    struct cfr_watch_entry **parts = calloc(buckets, sizeof(struct cfr_watch_entry *));
    struct cfr_watch_watcher **watchers = calloc(buckets, sizeof(struct cfr_watch_watcher *));

    if (paths == NULL || parts == NULL || watchers == NULL) {
        free(paths);
        free(parts);
        free(watchers);
        return;
    }
    w->paths = paths;
    w->parts = parts;
    w->watchers = watchers;
    w->buckets = buckets;
    for (size_t i = 0; i < old.buckets; i++) {
        for (struct cfr_watch_entry *e = old.paths[i], *next; e != NULL; e = next) {
            struct cfr_watch_entry **bucket = path_bucket(w, e->path);

            next = e->next_path;
            e->next_path = *bucket;
            *bucket = e;
            if (e->directory != NULL)
                cfr_watch_add_part(w, e);
        }
        for (struct cfr_watch_watcher *x = old.watchers[i], *next; x != NULL; x = next) {
            struct cfr_watch_watcher **bucket = watcher_bucket(w, x->owner);

            next = x->next;
            x->next = *bucket;
            *bucket = x;
        }
    }
    free(old.paths);
    free(old.parts);
    free(old.watchers);
}

bool cfr_watch_make_tables(struct cfr_watch *w)
{
    grow_tables(w, BUCKETS_MIN);
    return w->buckets != 0;
}

void cfr_watch_free_tables(struct cfr_watch *w)
{
    for (size_t i = 0; i < w->buckets; i++) {
        for (struct cfr_watch_watcher *x = w->watchers[i], *next; x != NULL; x = next) {
            next = x->next;
            for (struct cfr_watch_link *l = x->links, *after; l != NULL; l = after) {
                after = l->next_of_watcher;
                free(l);
            }
            free(x);
        }
        for (struct cfr_watch_entry *e = w->paths[i], *next; e != NULL; e = next) {
            next = e->next_path;
            free(e);
        }
    }
    free(w->paths);
    free(w->parts);
    free(w->watchers);
}

struct cfr_watch_entry *cfr_watch_find_entry(const struct cfr_watch *w, const char *path)
{
    struct cfr_watch_entry *e = *path_bucket(w, path);

    while (e != NULL && strcmp(e->path, path) != 0)
        e = e->next_path;
    return e;
}

struct cfr_watch_watcher *cfr_watch_find_watcher(const struct cfr_watch *w, const void *owner)
{
    struct cfr_watch_watcher *x = *watcher_bucket(w, owner);

    while (x != NULL && x->owner != owner)
        x = x->next;
    return x;
}

struct cfr_watch_entry *cfr_watch_add_entry(struct cfr_watch *w, const char *path)
{
    size_t n = strlen(path);
    struct cfr_watch_entry *e = calloc(1, sizeof *e + n + 1);
    struct cfr_watch_entry **bucket;

    if (e == NULL)
        return NULL;
    if (w->entry_count >= w->buckets)
        grow_tables(w, w->buckets * 2);
    memcpy(e->path, path, n + 1);
    e->name_at = e->part_at = (uint16_t)(strrchr(path, '/') - path + 1);
    bucket = path_bucket(w, path);
    e->next_path = *bucket;
    *bucket = e;
    w->entry_count++;
    return e;
}

static struct cfr_watch_watcher *add_watcher(struct cfr_watch *w, void *owner)
{
    struct cfr_watch_watcher *x = cfr_watch_find_watcher(w, owner);
    struct cfr_watch_watcher **bucket;

    if (x != NULL)
        return x;
    x = calloc(1, sizeof *x);
    if (x == NULL)
        return NULL;
    if (w->watcher_count >= w->buckets)
        grow_tables(w, w->buckets * 2);
    x->owner = owner;
    bucket = watcher_bucket(w, owner);
    x->next = *bucket;
    *bucket = x;
    w->watcher_count++;
    return x;
}

struct cfr_watch_link *cfr_watch_find_link(const struct cfr_watch_watcher *x, const struct cfr_watch_entry *e)
{
    struct cfr_watch_link *l = x->links;

    while (l != NULL && l->entry != e)
        l = l->next_of_watcher;
    return l;
}

int cfr_watch_add_link(struct cfr_watch *w, struct cfr_watch_entry *e, void *owner)
{
    struct cfr_watch_link *l = calloc(1, sizeof *l);
    struct cfr_watch_watcher *x = l != NULL ? add_watcher(w, owner) : NULL;

    if (x == NULL || cfr_watch_find_link(x, e) != NULL) {
        free(l);
        return x == NULL ? CFR_E_NOMEM : 0;
    }
    *l = (struct cfr_watch_link){.watcher = x, .entry = e, .next_of_entry = e->links, .next_of_watcher = x->links};
    e->links = l;
    x->links = l;
    return 0;
}

void cfr_watch_free_entry(struct cfr_watch *w, struct cfr_watch_entry *e)
{
    struct cfr_watch_entry **at = path_bucket(w, e->path);

    while (*at != e)
        at = &(*at)->next_path;
    *at = e->next_path;
    w->entry_count--;
    free(e);
}

static void unqueue(struct cfr_watch_watcher **at, const struct cfr_watch_watcher *x)
{
    while (*at != NULL && *at != x)
        at = &(*at)->next_pending;
    if (*at != NULL)
        *at = x->next_pending;
}

void cfr_watch_free_watcher(struct cfr_watch *w, struct cfr_watch_watcher *x)
{
    struct cfr_watch_watcher **at = watcher_bucket(w, x->owner);

    while (*at != x)
        at = &(*at)->next;
    *at = x->next;
    if (x->pending) {
        unqueue(&w->pending, x);
        unqueue(&w->later, x);
    }
    w->watcher_count--;
    free(x);
}
