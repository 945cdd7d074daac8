/* SPDX-License-Identifier: MIT */
/* Listing the files of one directory. */
#include "listing.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define DEPTH_MAX 16

struct walk {
    const struct cfl_wanted *wanted;
    struct cfl_listing *list;
    struct cfl_error *e;
    int kind;
};

struct cfl_identity cfl_identity_of(const struct stat *st)
{
    return (struct cfl_identity){
        .device = st->st_dev,
        .inode = st->st_ino,
        .size = (uint64_t)st->st_size,
        .modified_ns = (int64_t)st->st_mtim.tv_sec * 1000000000 + st->st_mtim.tv_nsec,
        .changed_ns = (int64_t)st->st_ctim.tv_sec * 1000000000 + st->st_ctim.tv_nsec,
    };
}

bool cfl_identity_same(const struct cfl_identity *a, const struct cfl_identity *b)
{
    return a->device == b->device && a->inode == b->inode && a->size == b->size && a->modified_ns == b->modified_ns &&
           a->changed_ns == b->changed_ns;
}

static int grow_entries(struct cfl_listing *l)
{
    size_t cap = l->cap == 0 ? 16 : l->cap * 2;
    struct cfl_entry *more;

    if (l->count < l->cap)
        return 0;
    more = realloc(l->entries, cap * sizeof *more);
    if (more == NULL)
        return -1;
    l->entries = more;
    l->cap = cap;
    return 0;
}

static int add_entry(struct walk *w, const char *name, const struct stat *st)
{
    struct cfl_listing *l = w->list;
    uint64_t size = (uint64_t)st->st_size;

    if (l->count == w->wanted->files_max)
        return cfl_fail(w->e, CREDFRESH_E_LIMIT, "%s holds more than %zu files: raise files_max, or ask for names",
                        w->wanted->directory, w->wanted->files_max);
    if (size > w->wanted->bytes_max - l->bytes)
        return cfl_fail(w->e, CREDFRESH_E_LIMIT, "%s holds more than %zu bytes: raise bytes_max, or ask for names",
                        w->wanted->directory, w->wanted->bytes_max);
    char *copy = grow_entries(l) == 0 ? strdup(name) : NULL;

    if (copy == NULL)
        return cfl_fail(w->e, CREDFRESH_E_NOMEM, "out of memory");
    l->entries[l->count++] = (struct cfl_entry){copy, cfl_identity_of(st)};
    l->names_bytes += strlen(name) + 1;
    l->bytes += (size_t)size;
    return 0;
}

static int walk(struct walk *w, int fd, const char *prefix, int depth);

static int descend(struct walk *w, int fd, const char *entry, const char *path, int depth)
{
    int inner = openat(fd, entry, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    int rc;

    if (depth == DEPTH_MAX)
        rc = cfl_fail(w->e, CREDFRESH_E_LIMIT, "%s: its directories are nested too deeply", w->wanted->directory);
    else
        rc = inner >= 0 ? walk(w, inner, path, depth + 1)
                        : cfl_fail_errno(w->e, errno, "cannot open %s in %s", path, w->wanted->directory);
    if (inner >= 0)
        (void)close(inner);
    return rc;
}

static int visit(struct walk *w, int fd, const char *prefix, const char *entry, int depth)
{
    bool swapped = w->kind == CREDFRESH_KIND_SWAPPED;
    char path[CFL_NAME_MAX + 1];
    struct stat st;

    if (strcmp(entry, ".") == 0 || strncmp(entry, "..", 2) == 0 || (!swapped && entry[0] == '.'))
        return 0;
    if (fstatat(fd, entry, &st, swapped ? AT_SYMLINK_NOFOLLOW : 0) != 0)
        return 0; /* it went, or leads nowhere */
    if (snprintf(path, sizeof path, "%s%s%s", prefix, entry, S_ISDIR(st.st_mode) ? "/" : "") >= (int)sizeof path)
        return cfl_fail(w->e, CREDFRESH_E_LIMIT, "%s: a name in it is too long", w->wanted->directory);
    if (S_ISREG(st.st_mode))
        return add_entry(w, path, &st);
    if (!swapped || !S_ISDIR(st.st_mode))
        return 0;
    return descend(w, fd, entry, path, depth);
}

static int walk(struct walk *w, int fd, const char *prefix, int depth)
{
    int readable = openat(fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *dir = readable >= 0 ? fdopendir(readable) : NULL;
    const struct dirent *entry;
    int rc = 0;

    if (dir == NULL) {
        rc = cfl_fail_errno(w->e, errno, "cannot list %s", w->wanted->directory);
        if (readable >= 0)
            (void)close(readable);
        return rc;
    }
    while (rc == 0 && (errno = 0, entry = readdir(dir)) != NULL)
        rc = visit(w, fd, prefix, entry->d_name, depth);
    if (rc == 0 && errno != 0)
        rc = cfl_fail_errno(w->e, errno, "cannot list %s", w->wanted->directory);
    (void)closedir(dir);
    return rc;
}

static int read_wanted(struct walk *w, int fd)
{
    int flags = w->kind == CREDFRESH_KIND_SWAPPED ? AT_SYMLINK_NOFOLLOW : 0;
    int rc = 0;

    for (size_t i = 0; rc == 0 && i < w->wanted->name_count; i++) {
        const char *name = w->wanted->names[i];
        struct stat st;

        if (fstatat(fd, name, &st, flags) != 0)
            rc = cfl_fail_errno(w->e, errno, "%s in %s", name, w->wanted->directory);
        else if (!S_ISREG(st.st_mode))
            rc = cfl_fail(w->e, CREDFRESH_E_MISSING, "%s in %s is not a regular file", name, w->wanted->directory);
        else
            rc = add_entry(w, name, &st);
    }
    return rc;
}

static int compare(const void *a, const void *b)
{
    return strcmp(((const struct cfl_entry *)a)->name, ((const struct cfl_entry *)b)->name);
}

int cfl_listing_read(int fd, int kind, const struct cfl_wanted *wanted, struct cfl_listing *out, struct cfl_error *e)
{
    struct walk w = {wanted, out, e, kind};
    int rc = wanted->name_count != 0 ? read_wanted(&w, fd) : walk(&w, fd, "", 0);

    if (rc == 0 && out->count == 0)
        rc = cfl_fail(e, CREDFRESH_E_MISSING, "%s holds no file", wanted->directory);
    if (rc == 0)
        qsort(out->entries, out->count, sizeof *out->entries, compare);
    return rc;
}

void cfl_listing_free(struct cfl_listing *l)
{
    for (size_t i = 0; i < l->count; i++)
        free(l->entries[i].name);
    free(l->entries);
    *l = (struct cfl_listing){.count = 0};
}
