/* SPDX-License-Identifier: MIT */
/* When to refresh: the kubelet's rule (80 % of the lifetime, or 24 h), earlier where consumers refresh earlier.
 * Pure arithmetic on milliseconds of one clock. */
#ifndef CFR_TOKEN_REFRESH_H
#define CFR_TOKEN_REFRESH_H

#include <stdbool.h>
#include <stdint.h>

struct cfr_refresh_life {
    int64_t issued_ms;
    int64_t expires_ms; /* INT64_MAX = never */
};

/* Two numbers in [0, 1): SPREAD is stable per credential, so that a fleet does not move in step; CHANCE is
 * new each time. */
struct cfr_refresh_jitter {
    double spread;
    double chance;
    bool phased; /* see cfr_refresh_at; for lives that begin with the refresh before */
};

/* The moment to refresh: the earlier of 80 % of the life and expires - WINDOW_MS (the consumers' own window;
 * 0 if none), minus jitter (CHANCE up to 10 s or 1/60 of the life, SPREAD up to 5 min or 1/20 of the life,
 * whichever is less), but never before half of the life; and no later than 24 h of age minus the same jitter,
 * which is what decides for lives of more than 30 h. INT64_MAX where nothing expires; issued_ms where there
 * is no life at all.
 *
 * PHASED, for lives of 10 min and more: a fleet that began at once, or was served again at once after an outage, would
 * refresh at once for many lives. So the times at which a credential may be refreshed are fixed by SPREAD, a period
 * apart, and the last of them before the moment above (without SPREAD's jitter, and not below 5/8 of the life) is
 * taken. The period is that life, less jitter, rounded down by up to 1/16. If that time is in the first half of the
 * life, the credential gets to its times over several lives: each is cut by at most what leaves its first half. The
 * first cut is different for each credential, so the requests spread at once; three cuts are enough if the moment above
 * is 2/3 of the life. Only a life of more than 48 h, which 24 h of age end, is refreshed before half of it. */
int64_t cfr_refresh_at(struct cfr_refresh_life life, int64_t window_ms, struct cfr_refresh_jitter jitter);
/* The same for what may be used up to its end, such as certificates: without the limit of 24 h. */
int64_t cfr_refresh_lasting_at(struct cfr_refresh_life life, int64_t window_ms, struct cfr_refresh_jitter jitter);
/* True when NOW is at or past AT, or before the life began (the clock was set back). */
bool cfr_refresh_due(struct cfr_refresh_life life, int64_t at_ms, int64_t now_ms);
/* A stable number in [0, 1) from text (FNV-1a with its bits mixed, so that names that differ in their last
 * character lie far apart). */
double cfr_refresh_spread(const char *text);

#endif
