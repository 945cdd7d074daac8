/* SPDX-License-Identifier: MIT */
/* Reading and comparing single files, and finding mount points. */
#include "files/file_private.h"

#include "files/cold_private.h"
#include "files/path_private.h"
#include "files/walk_private.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define MODE_BITS   07777
#define CHUNK_BYTES 4096
#define WARM_MAX    8388608 /* bytes of a file; nothing here reads more */
#define READ_FLAGS  (O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC)

static ssize_t read_some(int fd, enum cfr_file_reach reach, char *to, size_t n)
{
    ssize_t got;

    do {
        got = reach == CFR_FILE_ANSWERING ? cfr_cold_read(fd, to, n) : read(fd, to, n);
    } while (got < 0 && errno == EINTR);
    return got;
}

/* Reads to the end; the size from stat is only a hint, because files grow and /proc reports 0. */
static int read_all(int fd, enum cfr_file_reach reach, size_t hint, struct cfr_secret *out, struct cfr_err *err)
{
    size_t want = hint < out->limit ? hint + 1 : CHUNK_BYTES;

    for (;;) {
        size_t room = out->limit - out->len;
        size_t n = want < room ? want : room;
        char over = 0;
        char *to = n != 0 ? cfr_secret_reserve(out, n, err) : &over;
        ssize_t got;

        if (to == NULL)
            return CFR_E_NOMEM;
        got = read_some(fd, reach, to, n != 0 ? n : 1);
        if (got < 0 && errno == EAGAIN && reach == CFR_FILE_ANSWERING)
            return CFR_FILE_ELSEWHERE;
        if (got < 0)
            return cfr_err_sys(err, errno, "cannot read it");
        if (got == 0)
            return 0;
        if (n == 0) {
            cfr_secret_wipe(&over, 1);
            return cfr_err_set(err, CFR_E_LIMIT, "it is longer than the %zu bytes that are allowed here", out->limit);
        }
        cfr_secret_grown(out, (size_t)got);
        /* It has the size that its status said, and this is its end. */
        if (out->len == hint && (size_t)got < n)
            return 0;
        want = out->cap > out->len + 1 ? out->cap - out->len - 1 : CHUNK_BYTES;
    }
}

int cfr_file_check_own(int dir_fd, const struct stat *st, struct cfr_err *err)
{
    struct stat dir;

    if (fstat(dir_fd, &dir) != 0)
        return cfr_err_sys(err, errno, "cannot read the status of its directory");
    if (st->st_uid != geteuid() && st->st_uid != 0 && st->st_uid != dir.st_uid)
        return cfr_err_set(err, CFR_E_PERM, "it belongs to uid %u, another user, so it is not used: remove it",
                           (unsigned)st->st_uid);
    if ((st->st_mode & (S_IWGRP | S_IWOTH)) != 0)
        return cfr_err_set(
            err, CFR_E_PERM,
            "other users can write it (mode %04o), so it is not used: remove it, or set mode 0600 if you "
            "know its content",
            (unsigned)st->st_mode & MODE_BITS);
    return 0;
}

/* Consumes FD. OWN_DIR_FD: of the directory that it is in, if its owner and mode are to be checked; else -1. */
static int read_regular(int fd, enum cfr_file_reach reach, int own_dir_fd, struct cfr_secret *out, struct cfr_err *err)
{
    struct stat st;
    int rc;

    cfr_secret_clear(out);
    if (fstat(fd, &st) != 0)
        rc = cfr_err_sys(err, errno, "cannot read its status");
    else if (own_dir_fd >= 0 && S_ISREG(st.st_mode) && cfr_file_check_own(own_dir_fd, &st, err) != 0)
        rc = CFR_E_PERM;
    else if (S_ISDIR(st.st_mode))
        rc = cfr_err_set(err, CFR_E_PATH, "it is a directory, not a regular file; name a file in it");
    else if (!S_ISREG(st.st_mode))
        rc = cfr_err_set(err, CFR_E_PATH, "it is not a regular file");
    else if (st.st_size > 0 && (uint64_t)st.st_size > out->limit)
        rc = cfr_err_set(err, CFR_E_LIMIT, "it has %lld bytes, more than the %zu that are allowed here",
                         (long long)st.st_size, out->limit);
    else
        rc = read_all(fd, reach, (size_t)st.st_size, out, err);
    (void)close(fd);
    if (rc != 0)
        cfr_secret_clear(out);
    return rc;
}

static int read_at(int dir_fd, const char *name, bool own, struct cfr_secret *out, struct cfr_err *err)
{
    int fd = cfr_path_openat(dir_fd, name, READ_FLAGS, 0, err);
    int rc;

    if (fd < 0)
        return fd;
    rc = read_regular(fd, CFR_FILE_ANYWHERE, own ? dir_fd : -1, out, err);
    if (rc != 0)
        (void)cfr_err_prefix(err, "%s", name);
    return rc;
}

int cfr_file_read_below(int dir_fd, const char *name, enum cfr_file_reach reach, struct cfr_secret *out,
                        struct cfr_err *err)
{
    int fd;
    int rc = cfr_file_open_at(dir_fd, name, READ_FLAGS, reach, &fd, err);

    if (rc != 0)
        return rc;
    rc = read_regular(fd, reach, -1, out, err);
    return rc < 0 ? cfr_err_prefix(err, "%s", name) : rc;
}

int cfr_file_read_at(int dir_fd, const char *name, struct cfr_secret *out, struct cfr_err *err)
{
    return read_at(dir_fd, name, false, out, err);
}

int cfr_file_read_own_at(int dir_fd, const char *name, struct cfr_secret *out, struct cfr_err *err)
{
    return read_at(dir_fd, name, true, out, err);
}

int cfr_file_read(const char *path, struct cfr_secret *out, struct cfr_err *err)
{
    int fd = open(path, READ_FLAGS);
    int rc;

    if (fd < 0)
        return cfr_err_sys(err, errno, "cannot open %s", path);
    rc = read_regular(fd, CFR_FILE_ANYWHERE, -1, out, err);
    if (rc != 0)
        (void)cfr_err_prefix(err, "%s", path);
    return rc;
}

/* PATH is CFR_FILE_ELSEWHERE for the reason that errno says. WHY is for what does not change with time. */
static int refuse_elsewhere(const char *path, const char *why, struct cfr_err *err)
{
    if (errno == EAGAIN)
        return cfr_err_set(err, CFR_E_TIMEOUT, "%s: its disk has not answered", path);
    return cfr_err_set(err, CFR_E_PATH, "%s %s", path, why);
}

/* Opens the directory that PATH is in, for passing through, where its file system answers. */
static int open_answering_parent(const char *path, const char **name, bool *foreign, struct cfr_err *err)
{
    const char *last = strrchr(path, '/');
    int fd;
    int rc;

    *foreign = false;
    if (last == NULL || !cfr_path_is_name(last + 1))
        return cfr_err_set(err, CFR_E_PATH, "%s is not an absolute path of a file", path);
    *name = last + 1;
    rc = cfr_file_open_above(path, (size_t)(last - path), CFR_FILE_ANSWERING, foreign, &fd, err);
    if (rc == CFR_FILE_ELSEWHERE)
        return refuse_elsewhere(path,
                                "lies on a network or FUSE file system, which may not answer, and is not read: move it "
                                "to another file system of this machine",
                                err);
    return rc != 0 ? cfr_err_prefix(err, "%s", path) : fd;
}

int cfr_file_read_foreign(const char *path, struct cfr_secret *out, struct cfr_file_origin *origin, struct cfr_err *err)
{
    struct stat dir;
    struct stat st;
    const char *name = path;
    bool foreign;
    int dir_fd = open_answering_parent(path, &name, &foreign, err);
    int fd;
    int rc;

    if (dir_fd < 0)
        return dir_fd;
    rc = cfr_file_open_at(dir_fd, name, READ_FLAGS, CFR_FILE_ANSWERING, &fd, err);
    if (rc == CFR_FILE_ELSEWHERE) {
        rc = refuse_elsewhere(name, "is on a FUSE file system, which may not answer", err);
    } else if (rc == 0 && (fstat(fd, &st) != 0 || fstat(dir_fd, &dir) != 0)) {
        rc = cfr_err_sys(err, errno, "cannot read the status of %s", name);
        (void)close(fd);
    } else if (rc == 0) {
        *origin = (struct cfr_file_origin){
            .owner = st.st_uid,
            .trusted = cfr_walk_is_private(&st) && (dir.st_uid == 0 || dir.st_uid == geteuid()) && !foreign,
            .linked = st.st_nlink > 1 && (foreign || !cfr_walk_is_private(&dir)),
            .mode = st.st_mode & MODE_BITS,
            .group = st.st_gid,
            .mtime_ns = (int64_t)st.st_mtim.tv_sec * 1000000000 + st.st_mtim.tv_nsec,
            .size = (uint64_t)st.st_size,
        };
        rc = read_regular(fd, CFR_FILE_ANSWERING, -1, out, err);
        if (rc == CFR_FILE_ELSEWHERE)
            rc = refuse_elsewhere(name, "", err);
    }
    (void)close(dir_fd);
    return rc != 0 ? cfr_err_prefix(err, "%s", path) : 0;
}

int cfr_file_read_reach(const char *path, enum cfr_file_reach reach, struct cfr_secret *out, struct stat *status,
                        struct cfr_err *err)
{
    int fd;
    int rc = cfr_file_open(path, READ_FLAGS, reach, &fd, err);

    if (rc != 0)
        return rc;
    if (status != NULL && fstat(fd, status) != 0)
        *status = (struct stat){.st_size = 0};
    rc = read_regular(fd, reach, -1, out, err);
    return rc < 0 ? cfr_err_prefix(err, "%s", path) : rc;
}

int cfr_file_read_linked(const char *path, struct cfr_secret *out, struct cfr_err *err)
{
    int rc = cfr_file_read_reach(path, CFR_FILE_ANSWERING, out, NULL, err);

    return rc != CFR_FILE_ELSEWHERE
               ? rc
               : refuse_elsewhere(
                     path,
                     "lies on a network or FUSE file system, which may not answer, or leads through a link "
                     "that another user could have made, and is not read: name the real path, on another "
                     "file system of this machine",
                     err);
}

int cfr_file_status(const char *path, struct stat *out, struct cfr_err *err)
{
    int fd;
    int rc = cfr_file_open(path, O_PATH, CFR_FILE_ANSWERING, &fd, err);

    if (rc != 0)
        return rc;
    if (fstat(fd, out) != 0)
        rc = cfr_err_sys(err, errno, "cannot read the status of %s", path);
    (void)close(fd);
    return rc;
}

static bool same_content(int fd, struct cfr_view content)
{
    char chunk[CHUNK_BYTES];
    bool same = true;
    size_t at = 0;

    while (same) {
        ssize_t got = read_some(fd, CFR_FILE_ANYWHERE, chunk, sizeof chunk);

        if (got <= 0) {
            same = got == 0 && at == content.n;
            break;
        }
        same = (size_t)got <= content.n - at &&
               cfr_secret_equal((struct cfr_view){chunk, (size_t)got}, (struct cfr_view){content.p + at, (size_t)got});
        at += (size_t)got;
    }
    cfr_secret_wipe(chunk, sizeof chunk);
    return same;
}

int cfr_file_read_before(int dir_fd, const char *name, struct cfr_secret *content, struct stat *st, struct cfr_err *err)
{
    *st = (struct stat){0};
    if (fstatat(dir_fd, name, st, AT_SYMLINK_NOFOLLOW) != 0) {
        cfr_secret_clear(content);
        return errno == ENOENT ? 0 : cfr_err_sys(err, errno, "cannot read the status of %s", name);
    }
    return cfr_file_read_at(dir_fd, name, content, err);
}

bool cfr_file_is_as_before(int dir_fd, const char *name, const struct stat *before)
{
    struct stat st = {0};

    if (fstatat(dir_fd, name, &st, AT_SYMLINK_NOFOLLOW) != 0)
        return errno == ENOENT && before->st_nlink == 0;
    return st.st_ino == before->st_ino && st.st_dev == before->st_dev && st.st_size == before->st_size &&
           st.st_ctim.tv_sec == before->st_ctim.tv_sec && st.st_ctim.tv_nsec == before->st_ctim.tv_nsec;
}

bool cfr_file_same(int dir_fd, const struct cfr_file *file)
{
    int fd = cfr_path_openat(dir_fd, file->name, READ_FLAGS, 0, NULL);
    struct stat st;
    bool same;

    if (fd < 0)
        return false;
    same = fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && (st.st_mode & MODE_BITS) == file->mode &&
           (file->uid == CFR_FILE_KEEP_ID || st.st_uid == file->uid) &&
           (file->gid == CFR_FILE_KEEP_ID || st.st_gid == file->gid) && (uint64_t)st.st_size == file->content.n &&
           same_content(fd, file->content);
    (void)close(fd);
    return same;
}

static int open_entry(int dir_fd, const char *name)
{
    int fd;

    if (name[0] == '\0')
        return fcntl(dir_fd, F_DUPFD_CLOEXEC, 0);
    return cfr_file_open_at(dir_fd, name, O_RDONLY | O_NONBLOCK | O_NOCTTY, CFR_FILE_ANSWERING, &fd, NULL) == 0 ? fd
                                                                                                                : -1;
}

void cfr_file_warm(int dir_fd, const char *name)
{
    char chunk[CHUNK_BYTES];
    struct stat st;
    off_t at = 0;
    ssize_t got = 1;
    int fd = open_entry(dir_fd, name);

    if (fd < 0 || fstat(fd, &st) != 0)
        return;
    while (S_ISREG(st.st_mode) && got > 0 && at < WARM_MAX) {
        got = pread(fd, chunk, sizeof chunk, at);
        at += got;
    }
    cfr_secret_wipe(chunk, sizeof chunk);
    (void)close(fd);
}

/* Mount points in mountinfo have blanks, tabs, line feeds and backslashes as \ooo (proc(5)). */
static bool mountinfo_is(const char *field, const char *path)
{
    while (*field != '\0' && *field != ' ') {
        char c = *field++;

        if (c == '\\' && strspn(field, "01234567") >= 3) {
            c = (char)((field[0] - '0') << 6 | (field[1] - '0') << 3 | (field[2] - '0'));
            field += 3;
        }
        if (*path++ != c)
            return false;
    }
    return *path == '\0';
}

static bool find_in_mountinfo(const char *real)
{
    FILE *f = fopen("/proc/self/mountinfo", "re");
    char *line = NULL;
    size_t cap = 0;
    bool found = false;

    while (f != NULL && !found && getline(&line, &cap, f) > 0) {
        char *field = line;

        /* The mount point is the fifth field. */
        for (int i = 0; i < 4 && field != NULL; i++)
            field = strchr(field + (i > 0), ' ');
        found = field != NULL && mountinfo_is(field + 1, real);
    }
    free(line);
    if (f != NULL)
        (void)fclose(f);
    return found;
}

/* Sets *YES. False on kernels before 5.8, whose statx does not report mount points. */
static bool ask_kernel(int fd, const char *path, int flags, bool *yes)
{
    struct statx stx;

    if (statx(fd, path, flags | AT_NO_AUTOMOUNT, STATX_TYPE, &stx) != 0 ||
        (stx.stx_attributes_mask & STATX_ATTR_MOUNT_ROOT) == 0)
        return false;
    *yes = (stx.stx_attributes & STATX_ATTR_MOUNT_ROOT) != 0;
    return true;
}

bool cfr_file_is_mount(const char *path)
{
    struct stat st;
    char *real = NULL;
    bool yes = false;

    if (ask_kernel(AT_FDCWD, path, AT_SYMLINK_NOFOLLOW, &yes))
        return yes;
    if (lstat(path, &st) == 0 && !S_ISLNK(st.st_mode))
        real = realpath(path, NULL);
    yes = real != NULL && find_in_mountinfo(real);
    free(real);
    return yes;
}

bool cfr_file_leads_to_mount(const char *path)
{
    char real[PATH_MAX];
    bool yes = false;
    int fd;

    if (cfr_file_open(path, O_PATH, CFR_FILE_ANSWERING, &fd, NULL) != 0)
        return false;
    if (!ask_kernel(fd, "", AT_EMPTY_PATH | AT_STATX_DONT_SYNC, &yes))
        yes = cfr_path_of_fd(fd, real) && find_in_mountinfo(real);
    (void)close(fd);
    return yes;
}
