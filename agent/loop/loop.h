/* SPDX-License-Identifier: MIT */
/* The loop: runs tasks at their time, when their descriptor is readable, or when a child process has ended.
 *
 * A process has one loop, and only its main thread uses it. Never blocks, and starts nothing itself: a program that
 * waits calls cfr_loop_prepare before the wait and cfr_loop_run after it. A task is embedded in its owner, which turns
 * it off before it is freed; zero is an idle task. RUN is called from cfr_loop_run only, and may set, move and turn off
 * any task. */
#ifndef CFR_AGENT_LOOP_LOOP_H
#define CFR_AGENT_LOOP_LOOP_H

#include "base/err.h"

#include <poll.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* How long one turn runs tasks that are due; what is then left runs in the next turn. */
#define CFR_LOOP_TURN_MS 100

struct cfr_task {
    void (*run)(struct cfr_task *task); /* set by the owner; NULL: it never runs */
    int64_t at_boot_ms;                 /* the rest belongs to the loop */
    struct cfr_task *next;
    struct cfr_task *previous;
    struct cfr_task *child;
};

/* The structure of TYPE that TASK is the member MEMBER of. */
#define CFR_TASK_OWNER(task, type, member) ((type *)(void *)((char *)(task)-offsetof(type, member)))

/* Runs T once, at AT, in place of the time that it had. INT64_MAX is never; a time that has passed is the next turn. */
void cfr_loop_at(struct cfr_task *t, int64_t at_boot_ms);
/* The same if T has no time, or a later one. */
void cfr_loop_by(struct cfr_task *t, int64_t at_boot_ms);
/* Runs T in the next turn. */
void cfr_loop_soon(struct cfr_task *t);
/* Also runs T in each turn in which FD is readable; -1: no more. A task has one descriptor, and FD stays the caller's.
 * CFR_E_NOMEM. */
int cfr_loop_fd(struct cfr_task *t, int fd, struct cfr_err *err);
/* Takes T out of the loop. */
void cfr_loop_off(struct cfr_task *t);

/* Zero-initialised, and embedded in the owner of a child process. */
struct cfr_child {
    pid_t pid; /* 0 = none */
    struct cfr_task *task;
    struct cfr_child *next;
};

/* Runs TASK once, soon after PID has ended, which its owner then reaps. Until cfr_loop_child_off. */
void cfr_loop_child(struct cfr_child *c, pid_t pid, struct cfr_task *task);
void cfr_loop_child_off(struct cfr_child *c);
/* After SIGCHLD: makes the tasks due whose child has ended. */
void cfr_loop_children(void);

/* When T runs: 0 in the next turn, INT64_MAX never. */
int64_t cfr_loop_time(const struct cfr_task *t);
/* When the first task runs, by the same rule. */
int64_t cfr_loop_next(void);

/* A descriptor of the loop's own that ends the wait at the time of the next task, also after a suspend. Without it the
 * caller limits its wait by cfr_loop_next. */
int cfr_loop_open_alarm(struct cfr_err *err);
void cfr_loop_close_alarm(void);
/* Sets *FDS to the descriptors to be polled for, in an array of the loop, and returns their number. */
size_t cfr_loop_prepare(struct pollfd **fds);
/* One turn: runs the tasks whose descriptor the last poll found readable, in the order in which they got it, then those
 * that are due at NOW, by time. What they make due runs in the next turn. */
void cfr_loop_run(int64_t now_boot_ms);

#endif
