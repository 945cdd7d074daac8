/* SPDX-License-Identifier: MIT */
/* How a credential was over the last day: the minutes of each health in each quarter of an hour, by the wall clock, in
 * 208 bytes. Pure: time is a parameter; nothing here blocks, allocates or fails. Zero-initialise. */
#ifndef CFR_SERVE_API_HISTORY_H
#define CFR_SERVE_API_HISTORY_H

#include <stdint.h>

#define CFR_API_HISTORY_SLOTS        96
#define CFR_API_HISTORY_SLOT_MINUTES 15

/* Each is worse than the one before. */
enum cfr_api_history_health {
    CFR_API_HISTORY_UNKNOWN, /* the agent did not run, or had no result yet */
    CFR_API_HISTORY_GOOD,    /* usable, and the last renewal succeeded */
    CFR_API_HISTORY_FAILING, /* usable, but a renewal failed */
    CFR_API_HISTORY_UNUSABLE /* expired, missing or refused */
};

struct cfr_api_history {
    int64_t newest;                        /* the newest minute since 1970 */
    uint8_t worst;                         /* of the newest minute */
    uint8_t latest;                        /* the health that was noted last */
    uint16_t slots[CFR_API_HISTORY_SLOTS]; /* five bits with the minutes of each health but unknown */
};

/* Makes the minute of NOW_S the newest and notes HEALTH in it, unless a worse one is there. Skipped minutes have the
 * health that was noted before them; more than CFR_API_HISTORY_SLOT_MINUTES of them are unknown. A clock that was set
 * back by more than that clears the history. */
void cfr_api_history_note(struct cfr_api_history *h, int64_t now_s, enum cfr_api_history_health health);

#endif
