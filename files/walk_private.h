/* SPDX-License-Identifier: MIT */
/* Going along a path whose directories may belong to others: component by component, each looked at before the next.
 * Blocks on disk. Linux only: O_PATH. */
#ifndef CFR_FILES_WALK_PRIVATE_H
#define CFR_FILES_WALK_PRIVATE_H

#include "files/path.h"

#include <stdbool.h>
#include <stddef.h>
#include <sys/stat.h>

struct cfr_walk {
    /* Called with each directory on the way, the root first and the last one too; of ST, mode, user and group are set;
     * MOUNT is the number of its mount, 0 where this kernel does not say (before 5.8). False: go no further. May be
     * NULL. */
    bool (*enter)(void *ctx, int dir_fd, const struct stat *st, unsigned mount);
    void *ctx;
    bool create; /* missing directories are made with mode 0755 */
    bool cached; /* directories are looked at without asking a file system that may not answer */
    bool file;   /* the last component need not be a directory */
    bool ended;  /* out: ENTER said so, or SILENT */
    bool silent; /* out, with CACHED: a disk has not answered */
    bool real;   /* out: PATH is the directory's real path, without links and needless slashes */
    /* Out, with FILE: the last component (O_PATH) and its name, if it is not a directory; else -1. ENTER is called with
     * it, too, and the directory that it is in is what is returned. */
    int file_fd;
    char name[CFR_PATH_NAME_MAX + 1];
};

/* True if a file or directory of status ST can only be written by root and by our user. */
bool cfr_walk_is_private(const struct stat *st);
/* True if the link of status LINK, which leads to TARGET, may be followed from the directory of status DIR: only root
 * and our user could have made it there, or one of these made it and it leads to what is beneath the directory, as
 * those of the kubelet's volumes do, which everybody may write where they are not mounted read-only. */
bool cfr_walk_trusts_link(const struct stat *dir, const struct stat *link, const char *target);
/* Opens the directory whose absolute path is the first N bytes of PATH (none: the root); the descriptor can be used
 * for passing through only (O_PATH). A link is followed where cfr_walk_trusts_link says so; another one is
 * CFR_E_PATH. Where ENTER says so, the directory that it
 * was called with last is what is returned. Errors name the directory that could not be opened. */
int cfr_walk_open(const char *path, size_t n, struct cfr_walk *walk, struct cfr_err *err);

/* Opens PATH, which has no links, for passing through (O_PATH), whatever it is. -1 also if that takes a file system
 * that may not answer, or an older kernel than 5.12. */
int cfr_walk_open_cached(const char *path);

#endif
