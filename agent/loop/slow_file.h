/* SPDX-License-Identifier: MIT */
/* Reads files without waiting for a file system that hangs (network, FUSE, unknown).
 *
 * Such a file is read by a child, which is waited for a moment only. One that hangs is left behind, and what it brings
 * in the end is given to the next reader of that file; without one for ten minutes it is ended, or its answer
 * forgotten. One thread. */
#ifndef CFR_AGENT_LOOP_SLOW_FILE_H
#define CFR_AGENT_LOOP_SLOW_FILE_H

#include "base/secret.h"

#include <stdbool.h>
#include <sys/stat.h>

/* From now on cfr_slow_file_is tells of such files. Before it says that there are none: a program that is to wait. */
void cfr_slow_file_guard(void);
/* True if PATH lies on such a file system, or a link on the way there is one that another user could have made. Never
 * blocks. */
bool cfr_slow_file_is(const char *path);
/* As cfr_file_read, but of such a file it blocks for up to 50 ms: CFR_E_TIMEOUT if there was no answer, and at once
 * while there is none to an earlier one, or for a second after another file of the same mount has not answered. STATUS
 * (may be NULL) is that of the file before it was read. */
int cfr_slow_file_read(const char *path, struct cfr_secret *out, struct stat *status, struct cfr_err *err);

#endif
