/* SPDX-License-Identifier: MIT */
/* Going along a path, and which links on it are followed. */
#include "files/walk_private.h"

#include "files/walk_known_private.h"
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

/* Where a walk is, and what is left of its way. */
struct at {
    int fd;
    struct cfr_walk_dir dir; /* FD's */
    char rest[REST_MAX];
    char name[CFR_PATH_NAME_MAX + 1]; /* of the next component */
    unsigned links;
    size_t own;    /* bytes of REST that no link brought */
    bool borrowed; /* a link brought NAME */
    struct cfr_walk_trail trail;
    bool whole; /* TRAIL has every directory, and only root and our user could change a link on the way */
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

static struct stat status_of(const struct cfr_walk_dir *dir)
{
    return (struct stat){.st_mode = dir->mode, .st_uid = dir->uid, .st_gid = dir->gid};
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

/* FD, which is DIR, is the directory to go on from. */
static void enter(struct at *at, int fd, const struct cfr_walk_dir *dir)
{
    if (at->fd >= 0)
        (void)close(at->fd);
    at->fd = fd;
    at->dir = *dir;
    at->whole = at->whole && at->trail.count < CFR_WALK_DEPTH_MAX;
    if (at->whole)
        at->trail.dirs[at->trail.count++] = *dir;
}

static int enter_root(struct at *at, bool cached, struct cfr_err *err)
{
    struct cfr_walk_dir dir;
    int fd = open("/", PASS | O_DIRECTORY);

    if (fd < 0)
        return cfr_err_sys(err, errno, "cannot open /");
    if (cfr_walk_read(fd, cached, &dir) != 0) {
        int failed = errno;

        (void)close(fd);
        return cfr_err_sys(err, failed, "cannot read the status of /");
    }
    enter(at, fd, &dir);
    return 0;
}

static int refuse_link(const struct at *at, struct cfr_err *err)
{
    const struct stat st = status_of(&at->dir);
    const struct stat *dir = &st;
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
static int follow(struct at *at, int fd, const struct cfr_walk_dir *found, bool cached, struct cfr_err *err)
{
    const struct stat dir = status_of(&at->dir);
    const struct stat link = status_of(found);
    char target[PATH_MAX];
    char rest[REST_MAX];
    ssize_t n = readlinkat(fd, "", target, sizeof target - 1);
    int failed = errno;

    (void)close(fd);
    if (n < 0)
        return cfr_err_sys(err, failed, "cannot read the link %s", at->name);
    target[n] = '\0';
    if (!cfr_walk_trusts_link(&dir, &link, target))
        return refuse_link(at, err);
    at->whole = at->whole && cfr_walk_is_private(&dir);
    at->trail.linked = true;
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
    struct cfr_walk_dir dir;
    int rc = 0;

    /* Nothing is made where a link leads nowhere. */
    if (fd < 0 && errno == ENOENT && walk->create && !at->borrowed) {
        rc = cfr_path_make_dir(at->fd, at->name, 0755, (uid_t)-1, (gid_t)-1, err);
        fd = rc == 0 ? openat(at->fd, at->name, PASS | O_NOFOLLOW) : -1;
    }
    if (rc != 0)
        return rc;
    if (fd < 0 || cfr_walk_read(fd, walk->cached, &dir) != 0) {
        rc = cfr_err_sys(err, errno, "cannot open the directory %s", at->name);
        if (fd >= 0)
            (void)close(fd);
        return rc;
    }
    if (S_ISLNK(dir.mode))
        return follow(at, fd, &dir, walk->cached, err);
    if (!S_ISDIR(dir.mode)) {
        (void)close(fd);
        return cfr_err_sys(err, ENOTDIR, "cannot open the directory %s", at->name);
    }
    enter(at, fd, &dir);
    return 0;
}

/* A path without links needs one call. -1: it has some, is not there, or this kernel has no openat2. */
static int open_at_once(const char *path, size_t n)
{
    char whole[PATH_MAX];
    struct open_how how = {.flags = PASS | O_DIRECTORY, .resolve = RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS};

    memcpy(whole, path, n);
    whole[n] = '\0';
    return (int)syscall(SYS_openat2, AT_FDCWD, n != 0 ? whole : "/", &how, sizeof how);
}

/* True if the walk may go on from DIR. */
static bool tell(const struct cfr_walk *walk, int fd, const struct cfr_walk_dir *dir)
{
    const struct stat st = status_of(dir);

    return walk->enter == NULL || walk->enter(walk->ctx, fd, &st, dir->mount);
}

/* Begins at the last directory on the way that is known. False: at none, or the walk may not go there. */
static bool begin_at_known(struct at *at, const char *path, size_t n, const struct cfr_walk *walk)
{
    size_t used;

    at->fd = walk->enter != NULL ? cfr_walk_known(path, n, &at->trail, &used) : -1;
    for (size_t i = 0; at->fd >= 0 && i + 1 < at->trail.count; i++) {
        if (!tell(walk, at->fd, &at->trail.dirs[i])) {
            (void)close(at->fd);
            at->fd = -1;
        }
    }
    if (at->fd < 0)
        return false;
    at->dir = at->trail.dirs[at->trail.count - 1];
    memcpy(at->rest, path + used, n - used);
    at->rest[n - used] = '\0';
    return true;
}

static int begin_at_root(struct at *at, const char *path, size_t n, const struct cfr_walk *walk, struct cfr_err *err)
{
    cfr_walk_begin(&at->trail);
    memcpy(at->rest, path, n);
    at->rest[n] = '\0';
    return enter_root(at, walk->cached, err);
}

/* The last directory of PATH, and the one that it is in, which others may share. */
static void remember(const struct at *at, const char *path, size_t n)
{
    const char *rest = at->rest + strspn(at->rest, "/");

    if (at->whole && (rest[0] == '\0' || (at->links == 0 && strchr(rest, '/') == NULL)))
        cfr_walk_remember(path, at->links == 0 ? n - strlen(at->rest) : n, &at->trail);
}

/* One directory further. 1, 0 at the end, or an error. */
static int go_on(struct at *at, const struct cfr_walk *walk, struct cfr_err *err)
{
    int before = at->fd;
    int rc = next_name(at, err);

    /* A link leads on from where it is, and is no directory to enter. */
    while (rc > 0) {
        rc = step(at, walk, err);
        if (rc != 0 || at->fd != before)
            return rc == 0 ? 1 : rc;
        rc = next_name(at, err);
    }
    return rc;
}

int cfr_walk_open(const char *path, size_t n, struct cfr_walk *walk, struct cfr_err *err)
{
    struct at at; /* not cleared: its texts are long, and every path of every look comes here */
    int rc;

    if (n >= PATH_MAX)
        return cfr_err_sys(err, ENAMETOOLONG, "cannot open the directory");
    walk->ended = false;
    rc = walk->enter == NULL ? open_at_once(path, n) : -1;
    if (rc >= 0)
        return rc;
    at.fd = -1;
    at.own = REST_MAX;
    at.links = 0;
    at.borrowed = false;
    at.name[0] = '\0';
    at.whole = walk->enter != NULL;
    rc = begin_at_known(&at, path, n, walk) ? 0 : begin_at_root(&at, path, n, walk, err);
    if (rc != 0)
        return rc;
    rc = 1;
    while (rc > 0) {
        walk->ended = !tell(walk, at.fd, &at.dir);
        if (!walk->ended)
            remember(&at, path, n);
        rc = walk->ended ? 0 : go_on(&at, walk, err);
    }
    if (rc == 0)
        return at.fd;
    (void)close(at.fd);
    return rc;
}
