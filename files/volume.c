/* SPDX-License-Identifier: MIT */
/* Reading all files of a mounted volume as one version. */
#include "files/volume.h"

#include "base/hash.h"
#include "files/file.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define SWAPS_MAX 5

static uint64_t mix_identity(uint64_t h, const struct stat *st)
{
    h = cfr_hash_add(h, &st->st_dev, sizeof st->st_dev);
    h = cfr_hash_add(h, &st->st_ino, sizeof st->st_ino);
    h = cfr_hash_add(h, &st->st_size, sizeof st->st_size);
    h = cfr_hash_add(h, &st->st_mtim.tv_sec, sizeof st->st_mtim.tv_sec);
    return cfr_hash_add(h, &st->st_mtim.tv_nsec, sizeof st->st_mtim.tv_nsec);
}

static int compare(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

static int add_name(struct cfr_volume *v, const char *name, struct cfr_err *err)
{
    if (v->count == CFR_VOLUME_FILES_MAX)
        return cfr_err_set(err, CFR_E_LIMIT, "it holds more than %d files", CFR_VOLUME_FILES_MAX);
    v->names[v->count] = strdup(name);
    if (v->names[v->count] == NULL)
        return cfr_err_nomem(err);
    v->count++;
    return 0;
}

/* Consumes FD. */
static int list_names(int fd, struct cfr_volume *v, struct cfr_err *err)
{
    DIR *dir = fdopendir(fd);
    const struct dirent *e;
    struct stat st;
    int rc = 0;

    if (dir == NULL) {
        rc = cfr_err_sys(err, errno, "cannot list it");
        (void)close(fd);
        return rc;
    }
    while (rc == 0 && (errno = 0, e = readdir(dir)) != NULL) {
        if (strncmp(e->d_name, "..", 2) == 0 || strcmp(e->d_name, ".") == 0)
            continue;
        if (fstatat(fd, e->d_name, &st, AT_SYMLINK_NOFOLLOW) == 0 && S_ISREG(st.st_mode))
            rc = add_name(v, e->d_name, err);
    }
    if (rc == 0 && errno != 0)
        rc = cfr_err_sys(err, errno, "cannot list it");
    (void)closedir(dir);
    qsort(v->names, v->count, sizeof v->names[0], compare);
    return rc;
}

/* Hash of the names and present identities of the files in V. */
static uint64_t hash_files(int fd, const struct cfr_volume *v)
{
    uint64_t mark = CFR_HASH_START;

    for (size_t i = 0; i < v->count; i++) {
        struct stat st = {0};

        (void)fstatat(fd, v->names[i], &st, AT_SYMLINK_NOFOLLOW);
        mark = mix_identity(cfr_hash_add(mark, v->names[i], strlen(v->names[i]) + 1), &st);
    }
    return mark;
}

static int read_files(int fd, struct cfr_volume *v, struct cfr_err *err)
{
    size_t room = CFR_VOLUME_BYTES_MAX;
    int rc = 0;

    for (size_t i = 0; rc == 0 && i < v->count; i++) {
        cfr_secret_init(&v->values[i], room);
        rc = cfr_file_read_at(fd, v->names[i], &v->values[i], err);
        room -= v->values[i].len;
    }
    return rc;
}

/* True if A and B are one directory, in which no entry was made, renamed or removed in between. */
static bool same_directory(const struct stat *a, const struct stat *b)
{
    return a->st_dev == b->st_dev && a->st_ino == b->st_ino && a->st_mtim.tv_sec == b->st_mtim.tv_sec &&
           a->st_mtim.tv_nsec == b->st_mtim.tv_nsec;
}

/* The directory that holds the files: what `..data` leads to, or DIRECTORY itself. */
static int open_version(const char *directory, struct cfr_err *err)
{
    int fd = open(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    int inner;

    if (fd < 0)
        return cfr_err_sys(err, errno, "cannot open %s", directory);
    inner = openat(fd, "..data", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (inner < 0 && errno != ENOENT) {
        inner = cfr_err_sys(err, errno, "cannot open %s/..data", directory);
        (void)close(fd);
        return inner;
    }
    if (inner < 0)
        return fd;
    (void)close(fd);
    return inner;
}

static int list_and_read(int fd, struct cfr_volume *out, struct cfr_err *err)
{
    int copy = fcntl(fd, F_DUPFD_CLOEXEC, 0);
    int rc = copy >= 0 ? list_names(copy, out, err) : cfr_err_sys(err, errno, "cannot list it");

    if (rc != 0)
        return rc;
    out->mark = hash_files(fd, out);
    rc = read_files(fd, out, err);
    if (rc == 0 && out->count == 0)
        rc = cfr_err_set(err, CFR_E_MISSING, "it holds no file");
    return rc;
}

/* True if all files read through FD belong to one version: the kubelet removes an old version
 * only after the swap, file by file, while a reader may still be in it. */
static bool check_unchanged(int fd, const struct stat *before, const char *directory, const struct cfr_volume *v)
{
    struct stat after;
    int again = open_version(directory, NULL);
    bool whole =
        again >= 0 && fstat(again, &after) == 0 && same_directory(before, &after) && hash_files(fd, v) == v->mark;

    if (again >= 0)
        (void)close(again);
    return whole;
}

static int read_version(const char *directory, struct cfr_volume *out, bool *whole, struct cfr_err *err)
{
    int fd = open_version(directory, err);
    struct stat before = {0};
    int rc;

    *whole = true;
    if (fd < 0)
        return fd;
    rc = fstat(fd, &before) == 0 ? list_and_read(fd, out, err) : cfr_err_sys(err, errno, "cannot read its status");
    *whole = check_unchanged(fd, &before, directory, out);
    (void)close(fd);
    return rc != 0 ? cfr_err_prefix(err, "%s", directory) : 0;
}

int cfr_volume_read(const char *directory, struct cfr_volume *out, struct cfr_err *err)
{
    bool whole = false;
    int rc = 0;

    *out = (struct cfr_volume){.count = 0};
    for (int i = 0; i < SWAPS_MAX && !whole; i++) {
        cfr_volume_free(out);
        rc = read_version(directory, out, &whole, err);
    }
    if (rc == 0 && !whole)
        rc =
            cfr_err_set(err, CFR_E_UNAVAILABLE, "%s changes while it is being read; it is read again later", directory);
    return rc;
}

void cfr_volume_free(struct cfr_volume *v)
{
    for (size_t i = 0; i < v->count; i++) {
        free(v->names[i]);
        cfr_secret_free(&v->values[i]);
    }
    *v = (struct cfr_volume){.count = 0};
}
