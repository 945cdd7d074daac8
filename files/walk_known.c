/* SPDX-License-Identifier: MIT */
/* Remembers for a second which directories a path led through.
 *
 * If the path still leads to the same directory, those above it are not checked again. Another user could have changed
 * the way only as the owner of a directory on it, and the trail has the owners. A change of owner by root counts after
 * a second. */
#include "files/walk_known_private.h"

#include "files/mount_private.h"

#include <fcntl.h>
#include <limits.h>
#include <linux/openat2.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <time.h>
#include <unistd.h>

#ifndef RESOLVE_CACHED
#define RESOLVE_CACHED 0x20
#endif

#define KNOWN_MAX 16
#define PATH_KEPT 256
#define KEPT_MS   1000

struct known {
    char path[PATH_KEPT];
    size_t n; /* of PATH; 0: not in use */
    struct cfr_walk_trail trail;
    uint64_t used; /* the time of its last use, by counting */
};

static struct {
    struct known items[KNOWN_MAX];
    uint64_t clock;
    unsigned mounts; /* as cfr_mount_changes() was when they were added */
} all;

static bool is_prefix(const struct known *k, const char *path, size_t n)
{
    return k->n != 0 && k->n <= n && memcmp(k->path, path, k->n) == 0 && (k->n == n || path[k->n] == '/');
}

static struct known *find(const char *path, size_t n)
{
    struct known *best = NULL;

    for (size_t i = 0; i < KNOWN_MAX; i++) {
        struct known *k = &all.items[i];

        if (is_prefix(k, path, n) && (best == NULL || k->n > best->n))
            best = k;
    }
    return best;
}

/* The path is not asked of a file system that may not answer: where its server has to be asked, this fails. */
static int open_cached(const struct known *k)
{
    struct open_how how = {.flags = O_PATH | O_DIRECTORY | O_CLOEXEC,
                           .resolve =
                               RESOLVE_CACHED | RESOLVE_NO_MAGICLINKS | (k->trail.linked ? 0 : RESOLVE_NO_SYMLINKS)};

    return (int)syscall(SYS_openat2, AT_FDCWD, k->path, &how, sizeof how);
}

int cfr_walk_read(int fd, bool cached, struct cfr_walk_dir *out)
{
    struct statx now;

    if (statx(fd, "", AT_EMPTY_PATH | (cached ? AT_STATX_DONT_SYNC : 0), STATX_BASIC_STATS | STATX_MNT_ID, &now) != 0)
        return -1;
    *out = (struct cfr_walk_dir){
        .inode = now.stx_ino,
        .device = makedev(now.stx_dev_major, now.stx_dev_minor),
        .mode = now.stx_mode,
        .uid = now.stx_uid,
        .gid = now.stx_gid,
        .mount = (now.stx_mask & STATX_MNT_ID) != 0 ? (unsigned)now.stx_mnt_id : 0,
    };
    return 0;
}

static bool is_same(int fd, const struct cfr_walk_dir *then)
{
    struct cfr_walk_dir now;

    return cfr_walk_read(fd, true, &now) == 0 && now.inode == then->inode && now.device == then->device &&
           now.mode == then->mode && now.uid == then->uid && now.gid == then->gid && now.mount == then->mount;
}

static int64_t now_ms(void)
{
    struct timespec now;

    (void)clock_gettime(CLOCK_MONOTONIC_COARSE, &now);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

void cfr_walk_begin(struct cfr_walk_trail *trail)
{
    trail->count = 0;
    trail->linked = false;
    trail->since_ms = now_ms();
}

static void forget_after_mount(void)
{
    unsigned now = cfr_mount_changes();

    for (size_t i = 0; now != all.mounts && i < KNOWN_MAX; i++)
        all.items[i].n = 0;
    all.mounts = now;
}

int cfr_walk_known(const char *path, size_t n, struct cfr_walk_trail *trail, size_t *used)
{
    struct known *k;

    forget_after_mount();
    while ((k = find(path, n)) != NULL) {
        int fd = now_ms() - k->trail.since_ms < KEPT_MS ? open_cached(k) : -1;

        if (fd >= 0 && is_same(fd, &k->trail.dirs[k->trail.count - 1])) {
            k->used = ++all.clock;
            *trail = k->trail;
            *used = k->n;
            return fd;
        }
        if (fd >= 0)
            (void)close(fd);
        k->n = 0;
    }
    return -1;
}

void cfr_walk_remember(const char *path, size_t n, const struct cfr_walk_trail *trail)
{
    struct known *k;

    if (n == 0 || n >= PATH_KEPT || trail->count == 0 || trail->count > CFR_WALK_DEPTH_MAX)
        return;
    for (size_t i = 0; i < trail->count; i++) {
        if (trail->dirs[i].mount == 0)
            return;
    }
    forget_after_mount();
    k = find(path, n);
    if (k == NULL || k->n != n) {
        k = &all.items[0];
        for (size_t i = 1; i < KNOWN_MAX; i++) {
            if (all.items[i].n == 0 || (k->n != 0 && all.items[i].used < k->used))
                k = &all.items[i];
        }
    }
    memcpy(k->path, path, n);
    k->path[n] = '\0';
    k->n = n;
    k->trail = *trail;
    k->used = ++all.clock;
}
