/* SPDX-License-Identifier: MIT */
/* Opening and reading only what is in memory of a disk, which may hang. */
#ifndef CFR_FILES_COLD_PRIVATE_H
#define CFR_FILES_COLD_PRIVATE_H

#include "files/file.h"

#include <sys/types.h>

/* As openat(2) and read(2). Before cfr_file_never_wait they wait for the disk; after it, what is not in memory is first
 * read by its ASK. -1 with EAGAIN: the disk has not answered. */
int cfr_cold_openat(int dir_fd, const char *name, int flags);
ssize_t cfr_cold_read(int fd, void *to, size_t n);

#endif
