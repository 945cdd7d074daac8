/* SPDX-License-Identifier: MIT */
/* Remembers for a second which directories a path led through, so that opening it again takes one system call for the
 * whole path. A publish opens its target several times. Not safe for threads. Linux only: openat2(2) with
 * RESOLVE_CACHED (5.12); on older kernels nothing is known. */
#ifndef CFR_FILES_WALK_KNOWN_PRIVATE_H
#define CFR_FILES_WALK_KNOWN_PRIVATE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>

#define CFR_WALK_DEPTH_MAX 16

/* A directory that a walk entered. */
struct cfr_walk_dir {
    uint64_t inode;
    dev_t device;
    mode_t mode;
    uid_t uid;
    gid_t gid;
    unsigned mount; /* 0: this kernel does not say */
};

/* The directories from the root to the last one. */
struct cfr_walk_trail {
    struct cfr_walk_dir dirs[CFR_WALK_DEPTH_MAX];
    size_t count;
    bool linked;      /* a link was followed on the way */
    int64_t since_ms; /* when the walk began */
};

/* Reads the status of FD. A network or FUSE file system is not asked with CACHED. 0, or -1 with errno. */
int cfr_walk_read(int fd, bool cached, struct cfr_walk_dir *out);
/* A trail without directories that begins now. */
void cfr_walk_begin(struct cfr_walk_trail *trail);
/* Finds the longest part of the first N bytes of PATH that ends with a component and is known. Returns a descriptor
 * (O_PATH) of the directory there, with its TRAIL and *USED, the bytes of PATH that lead to it. -1 if nothing is known,
 * a mount was made or removed since, the walk was over a second ago, or the path does not lead to the same directory,
 * with the same owner and mode, any more. Never blocks. */
int cfr_walk_known(const char *path, size_t n, struct cfr_walk_trail *trail, size_t *used);
/* Remembers that the first N bytes of PATH lead to the last directory of TRAIL. No user but root and ours may be able
 * to change a link on the way. */
void cfr_walk_remember(const char *path, size_t n, const struct cfr_walk_trail *trail);

#endif
