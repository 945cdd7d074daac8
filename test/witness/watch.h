/* SPDX-License-Identifier: MIT */
/* Watch of a directory for changes. Process-wide state, because the library below has nothing else. */
#ifndef CFW_WATCH_H
#define CFW_WATCH_H

#include <stdbool.h>

/* Must be called once, before any other descriptor is opened. Returns 0, or -1 with one line on stderr. */
int cfw_watch_open(void);

/* Watches a directory; the path is followed. Returns its watch number, or -1 with errno set. */
int cfw_watch_add(const char *dir);

/* Waits up to pause_ms (0: does not wait) for something to happen in any watched directory and forgets what
 * did. `lost` is called with the watch number of each directory that is no longer watched where it was.
 * Returns the number of events. A signal ends the wait early. */
unsigned cfw_watch_wait(int pause_ms, void (*lost)(void *context, int watch), void *context);

void cfw_watch_close(void);

#endif
