/* SPDX-License-Identifier: MIT */
/* What lies at a path that is written to. */
#include "files/route.h"

#include "files/mount_private.h"
#include "files/path_private.h"
#include "files/walk_private.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

struct look {
    struct cfr_route *out;
    bool may_wait;
};

static bool enter(void *ctx, int dir_fd, const struct stat *st, unsigned mount)
{
    struct look *look = ctx;
    struct cfr_route *out = look->out;

    out->storage = cfr_mount_storage(dir_fd, mount);
    out->mount = mount;
    if (st->st_uid != 0 && st->st_uid != geteuid() && !out->foreign) {
        out->foreign = true;
        out->uid = st->st_uid;
    }
    return look->may_wait || out->storage != CFR_ROUTE_REMOTE;
}

/* True if a file system that may not answer is mounted at PATH or below, of which the directory DIR_FD is the first N
 * bytes. */
static bool crosses(int dir_fd, const char *path, size_t n, bool real)
{
    char found[2 * PATH_MAX];
    size_t len;

    if (real)
        return cfr_mount_is_remote_below(path);
    if (!cfr_path_of_fd(dir_fd, found))
        return false;
    len = strlen(found);
    (void)snprintf(found + len, sizeof found - len, "%s", path + n);
    return cfr_mount_is_remote_below(len == 1 ? found + strspn(path + n, "/") : found);
}

static void find(const char *path, bool is_directory, bool may_wait, bool whole, struct cfr_route *out)
{
    struct look look = {.may_wait = may_wait};
    struct cfr_walk walk = {.enter = enter, .ctx = &look, .cached = !may_wait};
    const char *last = strrchr(path, '/');
    size_t n = strlen(path);
    int fd;

    *out = (struct cfr_route){.storage = CFR_ROUTE_REMOTE};
    look.out = out;
    if (!is_directory && last != NULL)
        n = (size_t)(last - path);
    cfr_mount_refresh();
    fd = cfr_walk_open(path, n, &walk, NULL);
    out->blocked = fd == CFR_E_PATH;
    if (fd < 0)
        return;
    out->silent = walk.silent;
    if (walk.silent || (whole && !walk.ended && crosses(fd, path, n, walk.real)))
        out->storage = CFR_ROUTE_REMOTE;
    (void)close(fd);
}

void cfr_route_find(const char *path, bool is_directory, bool may_wait, struct cfr_route *out)
{
    find(path, is_directory, may_wait, false, out);
}

void cfr_route_find_whole(const char *path, bool is_directory, struct cfr_route *out)
{
    find(path, is_directory, false, true, out);
}

enum cfr_route_storage cfr_route_storage_of(int dir_fd, unsigned *mount)
{
    cfr_mount_refresh();
    *mount = cfr_mount_of(dir_fd);
    return cfr_mount_storage(dir_fd, *mount);
}
