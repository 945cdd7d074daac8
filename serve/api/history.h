/* SPDX-License-Identifier: MIT */
/* How a credential was over the last day: the worst of each quarter of an hour, by the wall clock, in 32 bytes. Pure:
 * time is a parameter; nothing here blocks, allocates or fails. Zero-initialise. */
#ifndef CFR_SERVE_API_HISTORY_H
#define CFR_SERVE_API_HISTORY_H

#include <stdint.h>

#define CFR_API_HISTORY_SLOTS  96
#define CFR_API_HISTORY_SLOT_S 900

/* Each is worse than the one before. */
enum cfr_api_history_health {
    CFR_API_HISTORY_UNKNOWN, /* the agent did not run, or had no result yet */
    CFR_API_HISTORY_GOOD,    /* usable, and the last renewal succeeded */
    CFR_API_HISTORY_FAILING, /* usable, but a renewal failed */
    CFR_API_HISTORY_UNUSABLE /* expired, missing or refused */
};

struct cfr_api_history {
    int64_t newest; /* number of the newest slot since 1970 */
    uint8_t packed[CFR_API_HISTORY_SLOTS / 4];
};

/* Makes the slot of NOW_S the newest and notes HEALTH in it, unless a worse one is there. Slots that were skipped are
 * unknown. A clock that was set back by more than a slot clears the history. */
void cfr_api_history_note(struct cfr_api_history *h, int64_t now_s, enum cfr_api_history_health health);

#endif
