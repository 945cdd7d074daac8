/* SPDX-License-Identifier: MIT */
/* Errands that are waited for a moment, and files that may hang: what the files of this room share. */
#ifndef CFR_AGENT_LOOP_ERRAND_PRIVATE_H
#define CFR_AGENT_LOOP_ERRAND_PRIVATE_H

#include "agent/loop/errand.h"

#include <stdint.h>

#define CFR_ERRAND_DIR_FD 3

/* As cfr_errand_start, for work in the directory DIR_FD, which is CFR_ERRAND_DIR_FD in the child. */
int cfr_errand_start_in(int dir_fd, cfr_errand_fn *work, void *ctx, size_t result_bytes, struct cfr_errand **out,
                        struct cfr_err *err);
/* True after cfr_slow_file_guard. */
bool cfr_slow_file_guarded(void);

#endif
