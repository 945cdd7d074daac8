/* SPDX-License-Identifier: MIT */
/* Writes in directories of our own without waiting for a disk that is frozen or busy.
 *
 * On a file system in memory the work is done at once. Elsewhere a child does it, one for each mount at a time, and is
 * waited for a moment only: for up to 50 ms, and for no more than that of each second. What takes longer is under way.
 * SIGCHLD says that it may have ended. Before cfr_slow_file_guard the work is always done at once. One thread. */
#ifndef CFR_AGENT_LOOP_SLOW_WRITE_H
#define CFR_AGENT_LOOP_SLOW_WRITE_H

#include "base/secret.h"

#include <stdbool.h>
#include <stdint.h>

#define CFR_SLOW_WRITE_UNDER_WAY 1
#define CFR_SLOW_WRITE_LOOK_MS   1000 /* what is under way is to be asked for again after this, if no child has ended */

struct cfr_errand;

/* Puts CONTENT at NAME in the directory DIR_FD, or does without CONTENT what else is to be done to NAME. Called in a
 * child: what it changes in memory is lost. */
typedef int cfr_slow_write_fn(int dir_fd, const char *name, struct cfr_view content, struct cfr_err *err);

/* One file's; zeroed at first. What is in it is private. */
struct cfr_slow_write {
    struct cfr_slow_write *next;
    struct cfr_errand *errand;
    cfr_slow_write_fn *work;
    char *name;
    struct cfr_secret content;
    bool asked; /* what DIR_FD lies on */
    int dir_fd;
    bool in_memory;
    unsigned mount;
    int64_t since_boot_ms;
    bool left; /* nobody asks for it any more */
};

/* Does WORK. S is for one DIR_FD as long as that is open. CFR_SLOW_WRITE_UNDER_WAY: call it again, with what the file
 * is to hold by then; CFR_E_TIMEOUT in its place once 10 s have passed, though it still is. Otherwise what WORK
 * returned, CFR_E_INTERNAL if the child broke down, or CFR_E_NOMEM. */
int cfr_slow_write(struct cfr_slow_write *s, int dir_fd, cfr_slow_write_fn *work, const char *name,
                   struct cfr_view content, struct cfr_err *err);
/* What is under way goes on without its owner, as long as the process runs. */
void cfr_slow_write_close(struct cfr_slow_write *s);
/* After SIGCHLD. */
void cfr_slow_write_reap(void);

#endif
