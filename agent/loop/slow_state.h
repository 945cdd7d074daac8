/* SPDX-License-Identifier: MIT */
/* Opens and reads directories of our own where they may not answer: a child does it first. One thread. */
#ifndef CFR_AGENT_LOOP_SLOW_STATE_H
#define CFR_AGENT_LOOP_SLOW_STATE_H

#include "base/err.h"

#include <stdint.h>

/* As cfr_state_open, which waits for a disk that is frozen. Also CFR_E_TIMEOUT, and blocks, as
 * cfr_slow_file_try. */
int cfr_slow_state_open(const char *directory, int64_t ms, int *lock_fd, struct cfr_err *err);
/* Whether what DIRECTORY holds can be read now: on a network or FUSE, a child reads all of it. 0, or CFR_E_TIMEOUT.
 * Blocks for up to 50 ms. */
int cfr_slow_state_answers(const char *directory, struct cfr_err *err);

#endif
