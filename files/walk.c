/* SPDX-License-Identifier: MIT */
/* Going along a path, and which links on it are followed. */
#include "files/walk_private.h"

#include "files/cold_private.h"
#include "files/mount_private.h"
#include "files/path_private.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <time.h>
#include <unistd.h>

#ifndef RESOLVE_CACHED
#define RESOLVE_CACHED 0x20
#endif

#define LINKS_MAX 40 /* as the kernel has it */
#define DEPTH_MAX 32 /* of a path that is opened at once */
#define KEPT_MS   1000
#define REST_MAX  ((size_t)2 * PATH_MAX)

#define PASS      (O_PATH | O_CLOEXEC)
#define MODE_BITS 07777

/* A directory on the way. */
struct dir {
    struct stat st; /* device, inode, mode, user and group only */
    unsigned mount; /* 0: this kernel does not report it */
};

/* Where a walk is, and what is left of its way. */
struct at {
    int fd;
    struct dir dir; /* FD's */
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

/* Reads the status of NAME in FD, or of FD itself. CACHED: a network or FUSE file system is not asked. -1 with errno.
 */
static int read_dir(int fd, const char *name, bool cached, struct dir *out)
{
    struct statx now;

    if (statx(fd, name, AT_EMPTY_PATH | (cached ? AT_STATX_DONT_SYNC : 0), STATX_BASIC_STATS | STATX_MNT_ID, &now) != 0)
        return -1;
    *out = (struct dir){
        .st = {.st_dev = makedev(now.stx_dev_major, now.stx_dev_minor),
               .st_ino = now.stx_ino,
               .st_mode = now.stx_mode,
               .st_uid = now.stx_uid,
               .st_gid = now.stx_gid},
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

/* FD, which is DIR, is the directory to go on from. */
static void enter(struct at *at, int fd, const struct dir *dir)
{
    if (at->fd >= 0)
        (void)close(at->fd);
    at->fd = fd;
    at->dir = *dir;
}

static int enter_root(struct at *at, bool cached, struct cfr_err *err)
{
    struct dir dir;
    int fd = open("/", PASS | O_DIRECTORY);

    if (fd < 0)
        return cfr_err_sys(err, errno, "cannot open /");
    if (read_dir(fd, "", cached, &dir) != 0) {
        int failed = errno;

        (void)close(fd);
        return cfr_err_sys(err, failed, "cannot read the status of /");
    }
    enter(at, fd, &dir);
    return 0;
}

static int refuse_link(const struct at *at, struct cfr_err *err)
{
    const struct stat *dir = &at->dir.st;
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
static int follow(struct at *at, int fd, const struct dir *link, bool cached, struct cfr_err *err)
{
    char target[PATH_MAX];
    char rest[REST_MAX];
    ssize_t n = readlinkat(fd, "", target, sizeof target - 1);
    int failed = errno;

    (void)close(fd);
    if (n < 0)
        return cfr_err_sys(err, failed, "cannot read the link %s", at->name);
    target[n] = '\0';
    if (!cfr_walk_trusts_link(&at->dir.st, &link->st, target))
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

/* True if the walk may go on from DIR. */
static bool tell(const struct cfr_walk *walk, int fd, const struct dir *dir)
{
    return walk->enter == NULL || walk->enter(walk->ctx, fd, &dir->st, dir->mount);
}

/* True if nothing follows the component that AT is at. */
static bool is_at_end(const struct at *at)
{
    return at->rest[strspn(at->rest, "/")] == '\0';
}

/* One step, into AT->name. */
static int step(struct at *at, struct cfr_walk *walk, struct cfr_err *err)
{
    const char *what = walk->file && is_at_end(at) ? "" : "the directory ";
    int fd = walk->cached ? cfr_cold_openat(at->fd, at->name, PASS | O_NOFOLLOW)
                          : openat(at->fd, at->name, PASS | O_NOFOLLOW);
    struct dir found;
    int rc = 0;

    if (fd < 0 && errno == EAGAIN && walk->cached) {
        walk->silent = true;
        return 0;
    }
    /* Nothing is made where a link leads nowhere. */
    if (fd < 0 && errno == ENOENT && walk->create && !at->borrowed) {
        rc = cfr_path_make_dir(at->fd, at->name, 0755, (uid_t)-1, (gid_t)-1, err);
        fd = rc == 0 ? openat(at->fd, at->name, PASS | O_NOFOLLOW) : -1;
    }
    if (rc != 0)
        return rc;
    if (fd < 0 || read_dir(fd, "", walk->cached, &found) != 0) {
        rc = cfr_err_sys(err, errno, "cannot open %s%s", what, at->name);
        if (fd >= 0)
            (void)close(fd);
        return rc;
    }
    if (S_ISLNK(found.st.st_mode))
        return follow(at, fd, &found, walk->cached, err);
    if (S_ISDIR(found.st.st_mode)) {
        enter(at, fd, &found);
    } else if (what[0] == '\0') {
        walk->file_fd = fd;
        memcpy(walk->name, at->name, sizeof walk->name);
        walk->ended = !tell(walk, fd, &found);
    } else {
        (void)close(fd);
        rc = cfr_err_sys(err, ENOTDIR, "cannot open %s%s", what, at->name);
    }
    return rc;
}

/* Opens the first N bytes of PATH in one call. -1: a link is on the way, it does not exist, or this kernel has no
 * openat2. */
static int open_at_once(const char *path, size_t n, int flags, unsigned resolve)
{
    char whole[PATH_MAX];
    struct open_how how = {.flags = (unsigned)(PASS | flags),
                           .resolve = RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS | resolve};

    memcpy(whole, path, n);
    whole[n] = '\0';
    return (int)syscall(SYS_openat2, AT_FDCWD, n != 0 ? whole : "/", &how, sizeof how);
}

int cfr_walk_open_cached(const char *path)
{
    size_t n = strlen(path);

    return n < PATH_MAX ? open_at_once(path, n, 0, RESOLVE_CACHED) : -1;
}

/* The number of components of PATH; DEPTH_MAX if one of them is `.`, `..` or empty, or there are as many. */
static size_t count_components(const char *path, size_t n)
{
    size_t count = 0;

    for (size_t i = 0; i < n; i++) {
        const char *name = path + i + 1;

        if (path[i] != '/')
            continue;
        if (i + 1 == n || name[0] == '/' ||
            (name[0] == '.' && (i + 2 == n || name[1] == '/' || (name[1] == '.' && (i + 3 == n || name[2] == '/')))))
            return DEPTH_MAX;
        count++;
    }
    return count < DEPTH_MAX ? count : DEPTH_MAX;
}

/* The directories of the last walk, from the root: most of the next one's are the same. */
static struct {
    struct dir dirs[DEPTH_MAX];
    size_t count;
    int64_t since_ms; /* none of them was read earlier */
} last;

static int64_t now_ms(void)
{
    struct timespec now;

    (void)clock_gettime(CLOCK_MONOTONIC_COARSE, &now);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

/* True if the directory at depth I was the same less than a second ago: those above it are not read again. Another user
 * could have changed them only as the owner of one of them. A change of owner by root counts after a second. */
static bool is_as_last(const struct dir *dir, size_t i)
{
    const struct dir *then = &last.dirs[i];

    return i < last.count && now_ms() - last.since_ms < KEPT_MS && dir->mount == then->mount &&
           dir->st.st_ino == then->st.st_ino && dir->st.st_dev == then->st.st_dev &&
           dir->st.st_mode == then->st.st_mode && dir->st.st_uid == then->st.st_uid &&
           dir->st.st_gid == then->st.st_gid;
}

/* Reads the status of FD, which is DEPTH directories below the root, and of those above it, into LAST. False if one of
 * them may not answer: those above that are not asked. */
static bool read_upwards(int fd, size_t depth)
{
    char up[3 * DEPTH_MAX + 1] = "";
    size_t i = depth + 1;
    bool same = false;
    struct dir dir;

    while (!same && i-- > 0) {
        if (read_dir(fd, up, true, &dir) != 0 || dir.mount == 0 ||
            cfr_mount_storage(fd, dir.mount) == CFR_ROUTE_REMOTE) {
            last.count = 0;
            return false;
        }
        same = is_as_last(&dir, i);
        last.dirs[i] = dir;
        memcpy(up + 3 * (depth - i), "../", sizeof "../");
    }
    last.count = depth + 1;
    if (!same)
        last.since_ms = now_ms();
    return true;
}

/* Begins at the last directory of the path, or at the one above it, if no link leads there: from the root down, each
 * directory takes three calls instead of one. Another user could hide a directory of theirs from this only by moving
 * the one below it meanwhile, which they must be able to write to for that. False if the walk has to begin at the root.
 */
static bool begin_below(struct at *at, const char *path, size_t n, struct cfr_walk *walk)
{
    size_t used = n;
    size_t depth = 0;
    bool good;

    at->fd = -1;
    for (int i = walk->file; i < 2 && at->fd < 0; i++) {
        while (i > 0 && used > 0 && path[--used] != '/')
            ;
        depth = count_components(path, used);
        at->fd = depth < DEPTH_MAX ? open_at_once(path, used, O_DIRECTORY, RESOLVE_CACHED) : -1;
    }
    good = at->fd >= 0 && read_upwards(at->fd, depth);
    for (size_t i = 0; good && i < depth; i++)
        good = tell(walk, at->fd, &last.dirs[i]);
    if (!good && at->fd >= 0)
        (void)close(at->fd);
    if (!good)
        return false;
    walk->real = used == n;
    at->dir = last.dirs[depth];
    memcpy(at->rest, path + used, n - used);
    at->rest[n - used] = '\0';
    return true;
}

static int begin_at_root(struct at *at, const char *path, size_t n, const struct cfr_walk *walk, struct cfr_err *err)
{
    at->fd = -1;
    memcpy(at->rest, path, n);
    at->rest[n] = '\0';
    return enter_root(at, walk->cached, err);
}

/* One directory further. 1, 0 at the end, or an error. */
static int go_on(struct at *at, struct cfr_walk *walk, struct cfr_err *err)
{
    int before = at->fd;
    int rc = next_name(at, err);

    /* A link leads on from where it is, and is no directory to enter. */
    while (rc > 0) {
        rc = step(at, walk, err);
        if (rc != 0 || walk->silent || at->fd != before)
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
    walk->ended = walk->real = walk->silent = false;
    walk->file_fd = -1;
    rc = walk->enter == NULL ? open_at_once(path, n, O_DIRECTORY, 0) : -1;
    if (rc >= 0)
        return rc;
    at.dir = (struct dir){.mount = 0};
    at.own = REST_MAX;
    at.links = 0;
    at.borrowed = false;
    at.name[0] = '\0';
    rc = walk->enter != NULL && begin_below(&at, path, n, walk) ? 0 : begin_at_root(&at, path, n, walk, err);
    if (rc != 0)
        return rc;
    rc = 1;
    while (rc > 0) {
        walk->ended = walk->silent || !tell(walk, at.fd, &at.dir);
        rc = walk->ended ? 0 : go_on(&at, walk, err);
    }
    if (rc == 0)
        return at.fd;
    (void)close(at.fd);
    return rc;
}
