/* SPDX-License-Identifier: MIT */
/* Programs whose standard output is wanted: one short secret, such as the code of an MFA device.
 *
 * A program runs without a shell, in a process group of its own, with PATH and HOME alone as its environment, standard
 * input from /dev/null, and its messages on our standard error. What it prints is kept in a struct cfr_secret and never
 * logged. Does not block. Callbacks come from cfr_program_on_child and cfr_program_step, once for each program, and may
 * start others or cancel others. Linux only, as agent/loop/process.h. */
#ifndef CFR_AGENT_LOOP_PROGRAM_H
#define CFR_AGENT_LOOP_PROGRAM_H

#include "agent/loop/clock.h"
#include "base/secret.h"

struct cfr_program; /* exists only while it runs */

/* RC is 0, or an error with ERR set: CFR_E_REJECTED (its exit status), CFR_E_LIMIT (it printed too much),
 * CFR_E_TIMEOUT, CFR_E_IO, CFR_E_NOMEM. OUTPUT is borrowed and may be moved out of. */
typedef void cfr_program_fn(void *ctx, int rc, struct cfr_secret *output, struct cfr_err *err);

/* Starts ARGV (argv[0] absolute, COUNT of them, no NULL at the end), which may print OUTPUT_MAX bytes (at most 4000)
 * and run LIMIT_MS. *OUT is gone once DONE is called. CFR_E_NOMEM, or what cfr_process_start_piped returns. */
int cfr_program_start(char *const *argv, size_t count, size_t output_max, int64_t limit_ms, cfr_program_fn *done,
                      void *ctx, struct cfr_program **out, struct cfr_err *err);
/* Ends it, without a callback. */
void cfr_program_cancel(struct cfr_program *p);
/* After SIGCHLD: reports those that have ended. */
void cfr_program_on_child(void);
/* When the next one is overdue, in ms of the boot clock; INT64_MAX = none runs. */
int64_t cfr_program_deadline(void);
/* Ends and reports those that are overdue. */
void cfr_program_step(struct cfr_now now);

#endif
