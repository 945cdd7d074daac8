/* SPDX-License-Identifier: MIT */
/* The watcher's descriptor: an epoll of inotify and a timer. */
#ifndef CFL_EVENTS_H
#define CFL_EVENTS_H

#include "error.h"

#include <limits.h>
#include <stdbool.h>

#define CFL_LOOK  1u /* check the directory for changes */
#define CFL_FORCE 2u /* and do not trust the files' identities: one was written to */

struct cfl_events {
    int epoll_fd; /* stays the same number */
    int timer_fd;
    int inotify_fd; /* -1 while there is none */
    int directory_wd;
    int parent_wd; /* of the nearest existing parent, while there is no directory; else -1 */
    bool poll_only;
    int mode; /* CREDFRESH_MODE_ */
    uint64_t overflows;
    char reason[200];           /* why it polls */
    char awaited[NAME_MAX + 1]; /* the name to wait for in the parent */
};

/* CREDFRESH_E_LIMIT, CREDFRESH_E_IO ... */
int cfl_events_open(struct cfl_events *ev, bool poll_only, struct cfl_error *e);
void cfl_events_close(struct cfl_events *ev);
/* After fork(): new descriptors for the child, epoll_fd with its old number. On error nothing changes. */
int cfl_events_reopen(struct cfl_events *ev, struct cfl_error *e);
/* Watches the directory that PATH (absolute) leads to now, or else its nearest existing parent; sets the mode and
 * its reason. To be called before each check. */
void cfl_events_watch(struct cfl_events *ev, const char *path);
/* Reads all pending events, never waits. KIND is CREDFRESH_KIND_ of the directory. Returns CFL_ flags. */
unsigned cfl_events_drain(struct cfl_events *ev, int kind);
/* Makes the descriptor readable in MS milliseconds. */
void cfl_events_arm(const struct cfl_events *ev, unsigned ms);

#endif
