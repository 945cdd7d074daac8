/* SPDX-License-Identifier: MIT */
/* Opening what is read, where another user may have a hand in the path. */
#include "files/file_private.h"

#include "files/cold_private.h"
#include "files/mount_private.h"
#include "files/path_private.h"
#include "files/walk_private.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

struct passage {
    bool may_wait;
    bool foreign;
};

static bool pass(void *ctx, int dir_fd, const struct stat *st, unsigned mount)
{
    struct passage *p = ctx;

    p->foreign = p->foreign || (st->st_uid != 0 && st->st_uid != geteuid());
    return p->may_wait || cfr_mount_storage(dir_fd, mount) != CFR_ROUTE_REMOTE;
}

static int elsewhere(bool silent)
{
    errno = silent ? EAGAIN : 0;
    return CFR_FILE_ELSEWHERE;
}

int cfr_file_open_above(const char *path, size_t n, enum cfr_file_reach reach, bool *foreign, int *out,
                        struct cfr_err *err)
{
    struct passage p = {.may_wait = reach != CFR_FILE_ANSWERING};
    struct cfr_walk walk = {.enter = pass, .ctx = &p, .cached = !p.may_wait};
    int fd;

    cfr_mount_refresh();
    fd = cfr_walk_open(path, n, &walk, err);
    *foreign = p.foreign;
    if (fd < 0)
        return fd;
    if (walk.ended) {
        (void)close(fd);
        return elsewhere(walk.silent);
    }
    *out = fd;
    return 0;
}

/* FD is what NAME in DIR_FD was a moment ago. */
static int reopen(int fd, int dir_fd, const char *name, int flags)
{
    char path[32];
    int out;

    (void)snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    out = open(path, flags | O_CLOEXEC);
    /* Where there is no /proc. */
    return out < 0 && errno == ENOENT ? openat(dir_fd, name, flags | O_NOFOLLOW | O_CLOEXEC) : out;
}

int cfr_file_open_at(int dir_fd, const char *name, int flags, enum cfr_file_reach reach, int *out, struct cfr_err *err)
{
    bool waits = reach != CFR_FILE_ANSWERING;
    int fd = waits ? openat(dir_fd, name, O_PATH | O_NOFOLLOW | O_CLOEXEC)
                   : cfr_cold_openat(dir_fd, name, O_PATH | O_NOFOLLOW | O_CLOEXEC);
    struct stat st;
    unsigned mount;
    int rc = 0;

    if (fd < 0 && errno == EAGAIN && !waits)
        return elsewhere(true);
    if (fd < 0)
        return cfr_err_sys(err, errno, "cannot open %s", name);
    if (!waits && cfr_route_storage_of(fd, &mount) == CFR_ROUTE_REMOTE)
        rc = elsewhere(false);
    else if (fstat(fd, &st) != 0)
        rc = cfr_err_sys(err, errno, "cannot read the status of %s", name);
    else if (S_ISLNK(st.st_mode))
        rc = cfr_err_set(err, CFR_E_PATH,
                         "%s is a symbolic link in a directory that other users can write to, and is not followed: "
                         "remove it or name the real path",
                         name);
    if (rc == 0)
        *out = reopen(fd, dir_fd, name, flags);
    if (rc == 0 && *out < 0)
        rc = cfr_err_sys(err, errno, "cannot open %s", name);
    (void)close(fd);
    return rc;
}

/* Opens what a walk has found, which is FILE_FD in the directory FD, or FD itself. Consumes both. -1 with errno. */
static int open_found(int fd, const struct cfr_walk *walk, int flags)
{
    bool is_file = walk->file_fd >= 0;
    int found = is_file ? walk->file_fd : fd;
    int out = flags == O_PATH ? found : reopen(found, fd, is_file ? walk->name : ".", flags);
    int failed = errno;

    if (out != found)
        (void)close(found);
    if (is_file)
        (void)close(fd);
    errno = failed;
    return out;
}

int cfr_file_open(const char *path, int flags, enum cfr_file_reach reach, int *out, struct cfr_err *err)
{
    struct passage p = {.may_wait = reach != CFR_FILE_ANSWERING};
    struct cfr_walk walk = {.enter = pass, .ctx = &p, .cached = !p.may_wait, .file = true};
    size_t n = strlen(path);
    int fd;

    *out = -1;
    if (reach == CFR_FILE_ANYWHERE || path[0] != '/') {
        *out = open(path, flags | O_CLOEXEC);
        return *out < 0 ? cfr_err_sys(err, errno, "cannot open %s", path) : 0;
    }
    while (n > 1 && path[n - 1] == '/')
        n--;
    cfr_mount_refresh();
    fd = cfr_walk_open(path, n, &walk, err);
    if (fd == CFR_E_PATH && !p.may_wait)
        return elsewhere(false);
    if (fd < 0)
        return fd == CFR_E_MISSING ? cfr_err_sys(err, ENOENT, "cannot open %s", path) : cfr_err_prefix(err, "%s", path);
    if (walk.ended) {
        if (walk.file_fd >= 0)
            (void)close(walk.file_fd);
        (void)close(fd);
        return elsewhere(walk.silent);
    }
    *out = open_found(fd, &walk, flags);
    return *out < 0 ? cfr_err_sys(err, errno, "cannot open %s", path) : 0;
}

bool cfr_file_is_still(const char *path, const struct stat *seen)
{
    int fd = cfr_walk_open_cached(path);
    struct statx now;
    bool same;

    if (fd < 0)
        return false;
    same = statx(fd, "", AT_EMPTY_PATH | AT_STATX_DONT_SYNC, STATX_BASIC_STATS, &now) == 0 &&
           makedev(now.stx_dev_major, now.stx_dev_minor) == seen->st_dev && now.stx_ino == seen->st_ino &&
           now.stx_size == (uint64_t)seen->st_size && now.stx_mtime.tv_sec == seen->st_mtim.tv_sec &&
           now.stx_mtime.tv_nsec == seen->st_mtim.tv_nsec;
    (void)close(fd);
    return same;
}

bool cfr_file_leads_to(const char *path, enum cfr_file_reach reach, char *out)
{
    bool found;
    int fd;

    if (cfr_file_open(path, O_PATH, reach, &fd, NULL) != 0)
        return false;
    found = cfr_path_of_fd(fd, out);
    (void)close(fd);
    return found;
}
