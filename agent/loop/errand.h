/* SPDX-License-Identifier: MIT */
/* Errands: work on files that may keep us waiting, or that is to be done with another user's rights, in a short-lived
 * child of ours.
 *
 * The child begins with all our memory and has no descriptor of ours but standard error. What it learns is handed over
 * in memory that is shared; its own is gone with it. The caller owns the errand. No callbacks but the work itself,
 * which runs in the child alone. SIGCHLD says that it may have ended. Never blocks, except where a function says so.
 * Linux only: close_range(2). */
#ifndef CFR_AGENT_LOOP_ERRAND_H
#define CFR_AGENT_LOOP_ERRAND_H

#include "base/err.h"

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

struct cfr_errand;

/* RESULT is shared memory, zeroed at first. */
typedef void cfr_errand_fn(void *ctx, void *result);

enum cfr_errand_state {
    CFR_ERRAND_RUNNING,
    CFR_ERRAND_DONE,   /* its result is whole */
    CFR_ERRAND_FAILED, /* it was killed, or broke down */
};

/* Begins WORK in a child. CFR_E_NOMEM, CFR_E_LIMIT, CFR_E_IO. */
int cfr_errand_start(cfr_errand_fn *work, void *ctx, size_t result_bytes, struct cfr_errand **out, struct cfr_err *err);
/* What became of it so far. Reaps the child. */
enum cfr_errand_state cfr_errand_look(struct cfr_errand *e);
/* As cfr_errand_look, after it has ended, or after MS. Blocks. */
enum cfr_errand_state cfr_errand_wait(struct cfr_errand *e, int64_t ms);
/* What it left; whole once it is DONE. Lives as long as E. */
void *cfr_errand_result(const struct cfr_errand *e);
/* SIGKILL. A child that hangs in the kernel ends when it gets out of there. */
void cfr_errand_kill(struct cfr_errand *e);
/* Kills it if it still runs, without waiting for its end, and wipes its result. NULL is allowed. */
void cfr_errand_close(struct cfr_errand *e);
/* After SIGCHLD: reaps those that have ended since they were closed. */
void cfr_errand_reap(void);

#define CFR_ERRAND_GIDS_MAX 64

/* Groups of a user beside those by /etc/passwd and /etc/group. */
struct cfr_errand_gids {
    gid_t gids[CFR_ERRAND_GIDS_MAX];
    size_t count;
};

/* In an errand: calls WORK in a child with the rights of UID alone (its groups by /etc/passwd and /etc/group, and MORE;
 * no capabilities) and waits for its end. CFR_E_PERM if we are root, but may not take another user's rights; a process
 * of another user then calls it with its own. CFR_E_INTERNAL if it broke down. ERR is where WORK leaves its error, in
 * the shared memory: a CFR_E_PERM there gets the reason before it. */
int cfr_errand_as(uid_t uid, const struct cfr_errand_gids *more, cfr_errand_fn *work, void *ctx, void *result,
                  struct cfr_err *err);

#endif
