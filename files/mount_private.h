/* SPDX-License-Identifier: MIT */
/* Kinds of file systems. */
#ifndef CFR_FILES_MOUNT_PRIVATE_H
#define CFR_FILES_MOUNT_PRIVATE_H

#include "files/route.h"

#define CFR_MOUNT_LOCK ".lock" /* what a file's lock has after its name */

/* Reads the kernel's table of mounts, if it has changed since. */
void cfr_mount_refresh(void);
/* What FD, which may be of O_PATH, lies on; MOUNT is the number of its mount, or 0. Asks no file system, which might
 * not answer, but the table that cfr_mount_refresh read; CFR_ROUTE_REMOTE where that could not be read. */
enum cfr_route_storage cfr_mount_storage(int fd, unsigned mount);
/* The number of the mount of FD; 0 where the kernel does not say. */
unsigned cfr_mount_of(int fd);
/* True if a file system that may not answer is mounted at PATH (without links), below it or at its lock, by the same
 * table. */
bool cfr_mount_is_remote_below(const char *path);

#endif
