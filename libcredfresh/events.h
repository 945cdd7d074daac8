/* SPDX-License-Identifier: MIT */
/* The descriptor that tells when to look: an epoll of inotify and of a timer. */
#ifndef CFL_EVENTS_H
#define CFL_EVENTS_H

#include "inside.h"

#include <limits.h>
#include <stdbool.h>

#define CFL_LOOK  1u /* look whether something changed */
#define CFL_FORCE 2u /* and do not trust the files' identities: one of them was written to */

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
    char awaited[NAME_MAX + 1]; /* what is to appear in the parent */
};

/* CREDFRESH_E_LIMIT, CREDFRESH_E_IO ... */
int cfl_events_open(struct cfl_events *ev, bool poll_only, struct cfl_error *e);
void cfl_events_close(struct cfl_events *ev);
/* After fork(): descriptors of the child's own, epoll_fd under its old number. On error all is as before. */
int cfl_events_reopen(struct cfl_events *ev, struct cfl_error *e);
/* Makes sure that what PATH (absolute) leads to now is watched, or else its nearest existing parent; sets the mode and
 * its reason. To be called before each look. */
void cfl_events_watch(struct cfl_events *ev, const char *path);
/* Reads all that is pending, never waits. KIND is what the directory is. Returns CFL_ flags. */
unsigned cfl_events_drain(struct cfl_events *ev, int kind);
/* The descriptor becomes readable in so many milliseconds. */
void cfl_events_arm(const struct cfl_events *ev, unsigned ms);

#endif
