/* SPDX-License-Identifier: MIT */
/* The systemd unit that this process runs in, and the drop-ins that give it more rights (docs/systemd.md).
 *
 * The packages' units name themselves in $CREDFRESH_UNIT; elsewhere nothing is said. Does not block, keeps nothing. */
#ifndef CFR_AGENT_LOOP_UNIT_H
#define CFR_AGENT_LOOP_UNIT_H

#include "base/err.h"

#include <stddef.h>

#define CFR_UNIT_ADVICE_MAX 512

/* "credfresh.service"; NULL if this process runs in no unit of ours. Borrowed from the environment. */
const char *cfr_unit_name(void);
/* Writes "; write LINE below [Service] in /etc/systemd/system/UNIT.d/FILE, ..." to OUT, for the end of a message; the
 * empty text without a unit. Returns OUT. */
const char *cfr_unit_drop_in(char out[CFR_UNIT_ADVICE_MAX], const char *file, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));
/* Appends to ERR which drop-in gives the unit a right that was refused; leaves any other error as it is. */
void cfr_unit_advise(struct cfr_err *err);

#endif
