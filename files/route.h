/* SPDX-License-Identifier: MIT */
/* What lies at a path that is written to, before anything is done there: its storage, and whose directories it leads
 * through. Values only. Linux only: statx(2), /proc/self/mountinfo (proc(5)). */
#ifndef CFR_FILES_ROUTE_H
#define CFR_FILES_ROUTE_H

#include "base/err.h"

#include <stdbool.h>
#include <sys/types.h>

enum cfr_route_storage {
    CFR_ROUTE_MEMORY, /* never keeps anybody waiting */
    CFR_ROUTE_DISK,   /* keeps a writer waiting while it is frozen (fsfreeze) or broken */
    CFR_ROUTE_REMOTE, /* blocks its readers, too, while its server does not answer: a network, FUSE, unknown */
};

struct cfr_route {
    enum cfr_route_storage storage;
    bool foreign;   /* it leads through a directory of a user who is neither root nor ours */
    uid_t uid;      /* with FOREIGN: whose */
    unsigned mount; /* of the last directory, as statx(2) numbers it; 0: the kernel does not say (before 5.8) */
    bool blocked;   /* a link on the way is not followed: what is behind it may be anything, and may not answer */
    bool silent;    /* a disk has not answered (cfr_file_never_wait); STORAGE is then CFR_ROUTE_REMOTE */
};

/* Looks at PATH (absolute) as far as it exists; at the directory that it is in, and with IS_DIRECTORY at itself too.
 * Without MAY_WAIT nothing is looked at beyond the root of a file system that may not answer, so that this never blocks
 * on one. What cannot be looked at is no error here: the write that follows reports it. */
void cfr_route_find(const char *path, bool is_directory, bool may_wait, struct cfr_route *out);
/* The same without MAY_WAIT, but CFR_ROUTE_REMOTE also if something that may not answer is mounted at the file PATH or
 * at its lock, or in the directory PATH, as its owner can do with FUSE. */
void cfr_route_find_whole(const char *path, bool is_directory, struct cfr_route *out);
/* The storage of the directory DIR_FD, and its mount, as above. Never blocks. */
enum cfr_route_storage cfr_route_storage_of(int dir_fd, unsigned *mount);

#endif
