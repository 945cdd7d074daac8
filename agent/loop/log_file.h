/* SPDX-License-Identifier: MIT */
/* A log that is a file on a disk, which may hang: a child that may do nothing else copies the lines to it.
 *
 * The agent writes to a pipe with the rule of base/log.h. Standard error itself stays as it is, for hooks. One for a
 * process, without threads. Opening forks; closing waits for up to 2 s. */
#ifndef CFR_AGENT_LOOP_LOG_FILE_H
#define CFR_AGENT_LOOP_LOG_FILE_H

#include "base/err.h"

/* From now on no line waits for standard error. Starts the child if that is a regular file. CFR_E_LIMIT, CFR_E_NOMEM,
 * CFR_E_IO: it may still wait for the disk. */
int cfr_log_file_open(struct cfr_err *err);
/* Waits until the child has written everything. What it could not write in 2 s, and all that is logged afterwards, is
 * lost. */
void cfr_log_file_close(void);

#endif
