/* SPDX-License-Identifier: MIT */
/* A ring of slots, each with counts of minutes. */
#include "serve/api/page_private.h"

#include <stdbool.h>

#define BITS 5 /* of a count, which is at most CFR_API_HISTORY_SLOT_MINUTES */

/* Rounds down, also below zero. */
static int64_t slot_of(int64_t minute)
{
    int64_t slot = minute / CFR_API_HISTORY_SLOT_MINUTES;

    return minute % CFR_API_HISTORY_SLOT_MINUTES < 0 ? slot - 1 : slot;
}

static size_t place_of(int64_t slot)
{
    return (size_t)((slot % CFR_API_HISTORY_SLOTS + CFR_API_HISTORY_SLOTS) % CFR_API_HISTORY_SLOTS);
}

static unsigned shift_of(enum cfr_api_history_health health)
{
    return BITS * ((unsigned)health - CFR_API_HISTORY_GOOD);
}

static unsigned count(uint16_t slot, enum cfr_api_history_health health)
{
    return (unsigned)slot >> shift_of(health) & ((1U << BITS) - 1);
}

/* Adds STEP, 1 or -1, minutes of HEALTH to the newest slot. */
static void add(struct cfr_api_history *h, enum cfr_api_history_health health, int step)
{
    uint16_t *slot = &h->slots[place_of(slot_of(h->newest))];

    if (health != CFR_API_HISTORY_UNKNOWN)
        *slot = (uint16_t)(*slot + step * (1 << shift_of(health)));
}

/* Makes the next minute the newest, with HEALTH. */
static void advance(struct cfr_api_history *h, enum cfr_api_history_health health)
{
    h->newest++;
    if (slot_of(h->newest) != slot_of(h->newest - 1))
        h->slots[place_of(slot_of(h->newest))] = 0;
    h->worst = (uint8_t)health;
    add(h, health, 1);
}

void cfr_api_history_note(struct cfr_api_history *h, int64_t now_s, enum cfr_api_history_health health)
{
    int64_t minute = now_s / 60;
    bool filled = minute - h->newest <= CFR_API_HISTORY_SLOT_MINUTES;

    /* A clock that steps back a little leaves the newest minute the newest. */
    if (minute < h->newest && h->newest - minute <= CFR_API_HISTORY_SLOT_MINUTES)
        minute = h->newest;
    if (minute < h->newest || slot_of(minute) - slot_of(h->newest) >= CFR_API_HISTORY_SLOTS)
        *h = (struct cfr_api_history){.newest = minute};
    while (h->newest < minute - 1)
        advance(h, filled ? (enum cfr_api_history_health)h->latest : CFR_API_HISTORY_UNKNOWN);
    if (h->newest < minute)
        advance(h, CFR_API_HISTORY_UNKNOWN);
    h->latest = (uint8_t)health;
    if (health > (enum cfr_api_history_health)h->worst) {
        add(h, (enum cfr_api_history_health)h->worst, -1);
        add(h, health, 1);
        h->worst = (uint8_t)health;
    }
}

enum cfr_api_history_health cfr_api_history_at(const struct cfr_api_history *h, size_t age)
{
    uint16_t slot = h->slots[place_of(slot_of(h->newest) - (int64_t)age)];
    enum cfr_api_history_health worst = CFR_API_HISTORY_UNUSABLE;

    while (worst != CFR_API_HISTORY_UNKNOWN && count(slot, worst) == 0)
        worst--;
    return worst;
}

int64_t cfr_api_history_minutes(const struct cfr_api_history *h, enum cfr_api_history_health health)
{
    int64_t minutes = 0;

    for (size_t i = 0; i < CFR_API_HISTORY_SLOTS; i++)
        minutes += count(h->slots[i], health);
    return minutes;
}
