/* SPDX-License-Identifier: MIT */
/* A ring of slots of two bits each. */
#include "serve/api/history_private.h"

#include <string.h>

static size_t place_of(int64_t slot)
{
    return (size_t)((slot % CFR_API_HISTORY_SLOTS + CFR_API_HISTORY_SLOTS) % CFR_API_HISTORY_SLOTS);
}

static enum cfr_api_history_health read_slot(const struct cfr_api_history *h, size_t place)
{
    return (enum cfr_api_history_health)((h->packed[place / 4] >> (place % 4 * 2)) & 3U);
}

static void write_slot(struct cfr_api_history *h, size_t place, enum cfr_api_history_health health)
{
    unsigned shift = (unsigned)(place % 4) * 2;

    h->packed[place / 4] = (uint8_t)((h->packed[place / 4] & ~(3U << shift)) | ((unsigned)health << shift));
}

void cfr_api_history_note(struct cfr_api_history *h, int64_t now_s, enum cfr_api_history_health health)
{
    int64_t slot = now_s / CFR_API_HISTORY_SLOT_S;

    /* A step back within a slot's length may cross the border between two: the newest one then stays the newest. */
    if (slot == h->newest - 1)
        slot = h->newest;
    if (slot < h->newest || slot - h->newest >= CFR_API_HISTORY_SLOTS) {
        memset(h->packed, 0, sizeof h->packed);
        h->newest = slot;
    }
    while (h->newest < slot)
        write_slot(h, place_of(++h->newest), CFR_API_HISTORY_UNKNOWN);
    if (health > read_slot(h, place_of(slot)))
        write_slot(h, place_of(slot), health);
}

enum cfr_api_history_health cfr_api_history_at(const struct cfr_api_history *h, size_t age)
{
    return read_slot(h, place_of(h->newest - (int64_t)age));
}
