/* SPDX-License-Identifier: MIT */
/* Reading all files of a mounted volume as one version. */
#include "files/volume.h"

#include "base/hash.h"
#include "files/file_private.h"
#include "files/path_private.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
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

/* As fstatat(2) without following links, of what the kernel knows: an entry may be a file system that does not answer.
 */
static bool read_status(int fd, const char *name, struct stat *out)
{
    struct statx st;

    *out = (struct stat){.st_size = 0};
    if (statx(fd, name, AT_SYMLINK_NOFOLLOW | AT_NO_AUTOMOUNT | AT_STATX_DONT_SYNC, STATX_BASIC_STATS, &st) != 0)
        return false;
    out->st_dev = makedev(st.stx_dev_major, st.stx_dev_minor);
    out->st_ino = st.stx_ino;
    out->st_mode = st.stx_mode;
    out->st_size = (off_t)st.stx_size;
    out->st_mtim = (struct timespec){st.stx_mtime.tv_sec, st.stx_mtime.tv_nsec};
    return true;
}

static bool is_file(int fd, const char *name, enum cfr_file_reach reach)
{
    struct stat st;

    return (reach == CFR_FILE_ANSWERING ? read_status(fd, name, &st)
                                        : fstatat(fd, name, &st, AT_SYMLINK_NOFOLLOW) == 0) &&
           S_ISREG(st.st_mode);
}

/* Consumes FD. */
static int list_names(int fd, enum cfr_file_reach reach, struct cfr_volume *v, struct cfr_err *err)
{
    DIR *dir = fdopendir(fd);
    const struct dirent *e;
    size_t entries = 0;
    int rc = 0;

    if (dir == NULL) {
        rc = cfr_err_sys(err, errno, "cannot list it");
        (void)close(fd);
        return rc;
    }
    while (rc == 0 && (errno = 0, e = readdir(dir)) != NULL) {
        if (++entries > CFR_PATH_ENTRIES_MAX)
            rc = cfr_err_set(err, CFR_E_LIMIT, "it holds more than %d entries", CFR_PATH_ENTRIES_MAX);
        else if (strncmp(e->d_name, "..", 2) != 0 && strcmp(e->d_name, ".") != 0 && is_file(fd, e->d_name, reach))
            rc = add_name(v, e->d_name, err);
    }
    if (rc == 0 && errno != 0)
        rc = cfr_err_sys(err, errno, "cannot list it");
    (void)closedir(dir);
    qsort(v->names, v->count, sizeof v->names[0], compare);
    return rc;
}

/* Hash of the names and present identities of the files in V. */
static uint64_t hash_files(int fd, enum cfr_file_reach reach, const struct cfr_volume *v)
{
    uint64_t mark = CFR_HASH_START;

    for (size_t i = 0; i < v->count; i++) {
        struct stat st = {0};

        if (reach == CFR_FILE_ANSWERING)
            (void)read_status(fd, v->names[i], &st);
        else
            (void)fstatat(fd, v->names[i], &st, AT_SYMLINK_NOFOLLOW);
        mark = mix_identity(cfr_hash_add(mark, v->names[i], strlen(v->names[i]) + 1), &st);
    }
    return mark;
}

static int read_files(int fd, enum cfr_file_reach reach, struct cfr_volume *v, struct cfr_err *err)
{
    size_t room = CFR_VOLUME_BYTES_MAX;
    int rc = 0;

    for (size_t i = 0; rc == 0 && i < v->count; i++) {
        cfr_secret_init(&v->values[i], room);
        rc = cfr_file_read_below(fd, v->names[i], reach, &v->values[i], err);
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

/* What the link `..data` in FD names, or "" where there is none. */
static int find_version(int fd, char name[NAME_MAX + 1], struct cfr_err *err)
{
    ssize_t n = readlinkat(fd, "..data", name, NAME_MAX);

    if (n < 0 && errno != ENOENT)
        return cfr_err_sys(err, errno == EINVAL ? ENOTDIR : errno, "cannot follow ..data");
    name[n > 0 ? n : 0] = '\0';
    if (n >= 0 && !cfr_path_is_name(name))
        return cfr_err_set(err, CFR_E_PATH,
                           "..data leads to \"%.80s\", which is not a directory next to it: only what is in the "
                           "volume is read",
                           name);
    return 0;
}

/* The directory that holds the files: what `..data` leads to, or DIRECTORY itself. */
static int open_version(const char *directory, enum cfr_file_reach reach, int *out, struct cfr_err *err)
{
    char name[NAME_MAX + 1];
    int fd;
    int rc = cfr_file_open(directory, O_RDONLY | O_DIRECTORY, reach, &fd, err);

    if (rc != 0)
        return rc;
    rc = find_version(fd, name, err);
    if (rc == 0 && name[0] == '\0') {
        *out = fd;
        return 0;
    }
    if (rc == 0)
        rc = cfr_file_open_at(fd, name, O_RDONLY | O_DIRECTORY, reach, out, err);
    (void)close(fd);
    return rc < 0 ? cfr_err_prefix(err, "%s", directory) : rc;
}

static int list_and_read(int fd, enum cfr_file_reach reach, struct cfr_volume *out, struct cfr_err *err)
{
    int copy = fcntl(fd, F_DUPFD_CLOEXEC, 0);
    int rc = copy >= 0 ? list_names(copy, reach, out, err) : cfr_err_sys(err, errno, "cannot list it");

    if (rc != 0)
        return rc;
    out->mark = hash_files(fd, reach, out);
    rc = read_files(fd, reach, out, err);
    if (rc == 0 && out->count == 0)
        rc = cfr_err_set(err, CFR_E_MISSING, "it holds no file");
    return rc;
}

/* True if all files read through FD belong to one version: the kubelet removes an old version
 * only after the swap, file by file, while a reader may still be in it. */
static bool check_unchanged(int fd, const struct stat *before, const char *directory, enum cfr_file_reach reach,
                            const struct cfr_volume *v)
{
    struct stat after;
    int again = -1;
    bool whole = open_version(directory, reach, &again, NULL) == 0 && fstat(again, &after) == 0 &&
                 same_directory(before, &after) && hash_files(fd, reach, v) == v->mark;

    if (again >= 0)
        (void)close(again);
    return whole;
}

static int read_version(const char *directory, enum cfr_file_reach reach, struct cfr_volume *out, bool *whole,
                        struct cfr_err *err)
{
    struct stat before = {0};
    int fd = -1;
    int rc = open_version(directory, reach, &fd, err);

    *whole = true;
    if (rc != 0)
        return rc;
    rc = fstat(fd, &before) == 0 ? list_and_read(fd, reach, out, err)
                                 : cfr_err_sys(err, errno, "cannot read its status");
    *whole = rc == CFR_FILE_ELSEWHERE || check_unchanged(fd, &before, directory, reach, out);
    (void)close(fd);
    return rc < 0 ? cfr_err_prefix(err, "%s", directory) : rc;
}

int cfr_volume_read(const char *directory, enum cfr_file_reach reach, struct cfr_volume *out, struct cfr_err *err)
{
    bool whole = false;
    int rc = 0;

    *out = (struct cfr_volume){.count = 0};
    for (int i = 0; i < SWAPS_MAX && !whole; i++) {
        cfr_volume_free(out);
        rc = read_version(directory, reach, out, &whole, err);
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
