/* SPDX-License-Identifier: MIT */
/* What of a disk is in memory is opened by RESOLVE_CACHED (openat2(2), since Linux 5.12) and read by RWF_NOWAIT
 * (preadv2(2), since 4.14). Where the kernel or the file system has neither, the disk is waited for. */
#include "files/cold_private.h"

#include "files/mount_private.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#ifndef RESOLVE_CACHED
#define RESOLVE_CACHED 0x20
#endif

static cfr_file_ask_fn *asker;

void cfr_file_never_wait(cfr_file_ask_fn *ask)
{
    asker = ask;
}

/* NAME in FD, or FD itself, is not in memory, or in a file system that is, which keeps no note of what it lacks. */
static bool has_answered(int fd, const char *name)
{
    bool yes;

    cfr_mount_refresh();
    yes = cfr_mount_storage(fd, cfr_mount_of(fd)) == CFR_ROUTE_MEMORY || asker(fd, name);
    errno = EAGAIN;
    return yes;
}

int cfr_cold_openat(int dir_fd, const char *name, int flags)
{
    struct open_how how = {.flags = (unsigned)flags, .resolve = RESOLVE_CACHED};
    int fd = asker != NULL ? (int)syscall(SYS_openat2, dir_fd, name, &how, sizeof how) : -1;

    if (fd >= 0 || (asker != NULL && errno == EAGAIN && !has_answered(dir_fd, name)))
        return fd;
    return openat(dir_fd, name, flags, 0);
}

ssize_t cfr_cold_read(int fd, void *to, size_t n)
{
    struct iovec part = {to, n};
    ssize_t got = asker != NULL ? preadv2(fd, &part, 1, -1, RWF_NOWAIT) : -1;

    if (got >= 0 || (asker != NULL && errno == EAGAIN && !has_answered(fd, "")))
        return got;
    return read(fd, to, n);
}
