/* SPDX-License-Identifier: MIT */
/* Pauses that end at once when the program stops. */
#ifndef LC_PAUSE_H
#define LC_PAUSE_H

#include <stdbool.h>

/* Waits ms milliseconds of monotonic time. True when the program is stopping (then it may return early). */
bool lc_pause(double ms);
/* Wakes everybody; from now on every wait returns true at once. */
void lc_pause_stop(void);

#endif
