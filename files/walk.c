/* SPDX-License-Identifier: MIT */
/* Going along a path, and which links on it are followed. */
#include "files/walk_private.h"

#include "files/path_private.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#define LINKS_MAX 40 /* as the kernel has it */
#define REST_MAX  ((size_t)2 * PATH_MAX)

#define PASS      (O_PATH | O_CLOEXEC)
#define MODE_BITS 07777

struct status {
    struct stat st;
    unsigned mount; /* 0: this kernel does not say */
};

/* Where a walk is, and what is left of its way. */
struct at {
    int fd;
    struct status status; /* of the directory FD */
    char rest[REST_MAX];
    char name[CFR_PATH_NAME_MAX + 1]; /* of the next component */
    unsigned links;
    size_t own;    /* bytes of REST that no link brought */
    bool borrowed; /* a link brought NAME */
};

static bool is_trusted(uid_t uid)
{
    return uid == 0 || uid == geteuid();
}

bool cfr_walk_is_private(const struct stat *st)
{
    /* Whichever group it is: with an ACL the bits of the group are its mask, and show that another user may write. */
    return is_trusted(st->st_uid) && (st->st_mode & (S_IWGRP | S_IWOTH)) == 0;
}

static bool stays_beneath(const char *target)
{
    if (target[0] == '/')
        return false;
    for (const char *p = target; *p != '\0'; p += strspn(p, "/")) {
        size_t n = strcspn(p, "/");

        if (n == 2 && memcmp(p, "..", n) == 0)
            return false;
        p += n;
    }
    return true;
}

bool cfr_walk_trusts_link(const struct stat *dir, const struct stat *link, const char *target)
{
    return cfr_walk_is_private(dir) || (is_trusted(dir->st_uid) && is_trusted(link->st_uid) &&
                                        ((dir->st_mode & S_ISVTX) != 0 || stays_beneath(target)));
}

/* As fstat(2). A network or FUSE file system is not asked with CACHED. */
static int read_status(int fd, bool cached, struct status *out)
{
    struct statx now;

    if (statx(fd, "", AT_EMPTY_PATH | (cached ? AT_STATX_DONT_SYNC : 0), STATX_BASIC_STATS | STATX_MNT_ID, &now) != 0)
        return -1;
    *out = (struct status){
        .st = {.st_mode = now.stx_mode, .st_uid = now.stx_uid, .st_gid = now.stx_gid},
        .mount = (now.stx_mask & STATX_MNT_ID) != 0 ? (unsigned)now.stx_mnt_id : 0,
    };
    return 0;
}

/* Takes the next component off the way. 1, 0 at the end, or an error. */
static int next_name(struct at *at, struct cfr_err *err)
{
    char *p = at->rest + strspn(at->rest, "/");
    size_t n = strcspn(p, "/");

    if (n == 0)
        return 0;
    if (n > CFR_PATH_NAME_MAX)
        return cfr_err_set(err, CFR_E_PATH, "a component of the path has more than %d bytes", CFR_PATH_NAME_MAX);
    at->borrowed = strlen(p) > at->own;
    memcpy(at->name, p, n);
    at->name[n] = '\0';
    memmove(at->rest, p + n, strlen(p + n) + 1);
    return 1;
}

/* FD of STATUS is the directory to go on from. */
static void enter(struct at *at, int fd, const struct status *status)
{
    if (at->fd >= 0)
        (void)close(at->fd);
    at->fd = fd;
    at->status = *status;
}

static int enter_root(struct at *at, bool cached, struct cfr_err *err)
{
    struct status status;
    int fd = open("/", PASS | O_DIRECTORY);

    if (fd < 0)
        return cfr_err_sys(err, errno, "cannot open /");
    if (read_status(fd, cached, &status) != 0) {
        int failed = errno;

        (void)close(fd);
        return cfr_err_sys(err, failed, "cannot read the status of /");
    }
    enter(at, fd, &status);
    return 0;
}

static int refuse_link(const struct at *at, struct cfr_err *err)
{
    const struct stat *dir = &at->status.st;
    char advice[64] = "";

    if (is_trusted(dir->st_uid) && (dir->st_mode & S_ISVTX) == 0)
        (void)snprintf(advice, sizeof advice, ", or chmod %s that directory (its mode is %04o)",
                       (dir->st_mode & S_IWOTH) != 0 ? "go-w" : "g-w", (unsigned)dir->st_mode & MODE_BITS);
    return cfr_err_set(err, CFR_E_PATH,
                       "%s is a symbolic link in a directory that other users can write to, and is not followed: "
                       "remove it or name the real path%s",
                       at->name, advice);
}

/* The link that FD is takes the place of its name. Consumes FD. */
static int follow(struct at *at, int fd, const struct stat *link, bool cached, struct cfr_err *err)
{
    char target[PATH_MAX];
    char rest[REST_MAX];
    ssize_t n = readlinkat(fd, "", target, sizeof target - 1);
    int failed = errno;

    (void)close(fd);
    if (n < 0)
        return cfr_err_sys(err, failed, "cannot read the link %s", at->name);
    target[n] = '\0';
    if (!cfr_walk_trusts_link(&at->status.st, link, target))
        return refuse_link(at, err);
    if (!at->borrowed)
        at->own = strlen(at->rest);
    if (++at->links > LINKS_MAX)
        return cfr_err_sys(err, ELOOP, "cannot follow %s", at->name);
    if (snprintf(rest, sizeof rest, "%s/%s", target, at->rest) >= (int)sizeof rest)
        return cfr_err_sys(err, ENAMETOOLONG, "cannot follow %s", at->name);
    memcpy(at->rest, rest, sizeof rest);
    return target[0] == '/' ? enter_root(at, cached, err) : 0;
}

/* One step, into AT->name. */
static int step(struct at *at, const struct cfr_walk *walk, struct cfr_err *err)
{
    int fd = openat(at->fd, at->name, PASS | O_NOFOLLOW);
    struct status status;
    int rc = 0;

    /* Nothing is made where a link leads nowhere. */
    if (fd < 0 && errno == ENOENT && walk->create && !at->borrowed) {
        rc = cfr_path_make_dir(at->fd, at->name, 0755, (uid_t)-1, (gid_t)-1, err);
        fd = rc == 0 ? openat(at->fd, at->name, PASS | O_NOFOLLOW) : -1;
    }
    if (rc != 0)
        return rc;
    if (fd < 0 || read_status(fd, walk->cached, &status) != 0) {
        rc = cfr_err_sys(err, errno, "cannot open the directory %s", at->name);
        if (fd >= 0)
            (void)close(fd);
        return rc;
    }
    if (S_ISLNK(status.st.st_mode))
        return follow(at, fd, &status.st, walk->cached, err);
    if (!S_ISDIR(status.st.st_mode)) {
        (void)close(fd);
        return cfr_err_sys(err, ENOTDIR, "cannot open the directory %s", at->name);
    }
    enter(at, fd, &status);
    return 0;
}

/* A path without links needs one call. -1: it has some, is not there, or this kernel has no openat2. */
static int open_at_once(const char *path)
{
    struct open_how how = {.flags = PASS | O_DIRECTORY, .resolve = RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS};

    return (int)syscall(SYS_openat2, AT_FDCWD, path[0] != '\0' ? path : "/", &how, sizeof how);
}

int cfr_walk_open(const char *path, size_t n, struct cfr_walk *walk, struct cfr_err *err)
{
    struct at at; /* not cleared: its texts are long, and every path of every look comes here */
    int rc;

    if (n >= PATH_MAX)
        return cfr_err_sys(err, ENAMETOOLONG, "cannot open the directory");
    at.fd = -1;
    at.status = (struct status){.mount = 0};
    at.own = REST_MAX;
    at.links = 0;
    at.borrowed = false;
    at.name[0] = '\0';
    memcpy(at.rest, path, n);
    at.rest[n] = '\0';
    walk->ended = false;
    rc = walk->enter == NULL ? open_at_once(at.rest) : -1;
    if (rc >= 0)
        return rc;
    rc = enter_root(&at, walk->cached, err);
    if (rc != 0)
        return rc;
    rc = 1;
    while (rc > 0) {
        int before = at.fd;

        walk->ended = walk->enter != NULL && !walk->enter(walk->ctx, at.fd, &at.status.st, at.status.mount);
        rc = walk->ended ? 0 : next_name(&at, err);
        /* A link leaves it where it is, and is no directory to enter. */
        while (rc > 0 && (rc = step(&at, walk, err)) == 0 && at.fd == before)
            rc = next_name(&at, err);
        rc = rc == 0 && at.fd != before ? 1 : rc;
    }
    if (rc == 0)
        return at.fd;
    (void)close(at.fd);
    return rc;
}
