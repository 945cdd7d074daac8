/* SPDX-License-Identifier: MIT */
/* Errands that are waited for a moment, and files that may hang: what the files of this room share. */
#ifndef CFR_AGENT_LOOP_ERRAND_PRIVATE_H
#define CFR_AGENT_LOOP_ERRAND_PRIVATE_H

#include "agent/loop/errand.h"

#include <stdint.h>
#include <sys/types.h>

#define CFR_ERRAND_DIR_FD 3

/* As cfr_errand_start, for work in the directory DIR_FD, which is CFR_ERRAND_DIR_FD in the child. */
int cfr_errand_start_in(int dir_fd, cfr_errand_fn *work, void *ctx, size_t result_bytes, struct cfr_errand **out,
                        struct cfr_err *err);
/* How long a loop waits for children of one kind. Zeroed at first. */
struct cfr_errand_budget {
    int64_t since_boot_ms;
    int64_t spent_ms;
};

/* As cfr_errand_wait for up to 50 ms, and for no more than that of each second of BUDGET. */
enum cfr_errand_state cfr_errand_wait_briefly(struct cfr_errand *e, struct cfr_errand_budget *budget);
/* PID is a child of ours that its owner reaps, and then disowns: cfr_process_reap_orphans leaves it alone. */
void cfr_process_own(pid_t pid);
void cfr_process_disown(pid_t pid);
/* True after cfr_slow_file_guard. */
bool cfr_slow_file_guarded(void);

#endif
