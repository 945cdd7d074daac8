/* SPDX-License-Identifier: MIT */
/* Reads what may lie on a file system that hangs (network, FUSE, unknown), or behind a link of another user.
 *
 * What answers, and what only root and our user can have led to, is read at once. Anything else is read by a child,
 * which has the rights of the user whose directory the path leads through, if we are root, and is waited for a moment
 * only. One that hangs is left behind, and what it brings in the end is given to the next reader of that file; without
 * one for ten minutes it is ended, or its answer forgotten. One thread. */
#ifndef CFR_AGENT_LOOP_SLOW_FILE_H
#define CFR_AGENT_LOOP_SLOW_FILE_H

#include "files/volume.h"

#include <stdbool.h>
#include <sys/stat.h>

/* What is read, and how: READ reads as far as REACH goes, in a child, too. */
struct cfr_slow_read;
typedef int cfr_slow_read_fn(const struct cfr_slow_read *what, enum cfr_file_reach reach, struct cfr_secret *out,
                             struct stat *status, struct cfr_err *err);

struct cfr_slow_read {
    cfr_slow_read_fn *read;
    const char *path;
    const char *directory; /* for READ; may be NULL */
};

/* From now on a child is not waited for to its end. Before it is: by a program that is to wait. */
void cfr_slow_file_guard(void);
/* From now on a disk is not waited for either. Not before what the configuration needs is known: what a slow disk did
 * not show in time could not be read until the next start. */
void cfr_slow_file_guard_disks(void);
/* How PATH is read without a child: CFR_FILE_ANYWHERE for the kernel's own, which always answer. */
enum cfr_file_reach cfr_slow_file_reach(const char *path);
/* True, after that, if PATH would be read by a child. Never blocks. */
bool cfr_slow_file_is(const char *path);
/* As stat(2); CFR_FILE_ELSEWHERE if PATH would be read by a child. Never blocks. */
int cfr_slow_file_status(const char *path, struct stat *out, struct cfr_err *err);
/* Reads PATH. Blocks for a child, for up to 50 ms: CFR_E_TIMEOUT if there was no answer, and at once while there is
 * none to an earlier one, or if another one has hung within the last second. CFR_E_PATH for a link that another user
 * could have made, where we are not root. STATUS (may be NULL) is that of the file before it was read. */
int cfr_slow_file_read(const char *path, struct cfr_secret *out, struct stat *status, struct cfr_err *err);
/* The same by a function of the caller's. */
int cfr_slow_file_read_by(const struct cfr_slow_read *what, struct cfr_secret *out, struct stat *status,
                          struct cfr_err *err);
/* The same of a volume. The caller frees OUT also after an error. */
int cfr_slow_file_read_volume(const char *directory, struct cfr_volume *out, struct cfr_err *err);
/* Has a child do first what could keep us waiting: calls WHAT's READ there, with our rights and CFR_FILE_WAITING. 0
 * once that has ended, whatever became of it; at once if PATH is in memory, or before cfr_slow_file_guard. Blocks for
 * up to MS; if that is 0 for up to 50 ms, and for no more than that of each second. CFR_E_TIMEOUT: it goes on, and
 * until it has ended no other one is begun; with an MS of 0 the error then comes at once. */
int cfr_slow_file_try(const struct cfr_slow_read *what, int64_t ms, struct cfr_err *err);

#endif
