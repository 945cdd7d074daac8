/* SPDX-License-Identifier: MIT */
/* Fair queue: lanes, slots, round robin. */
#include "agent/loop/fair_queue.h"

static size_t lane_of(struct cfr_fair_queue *t, const void *key)
{
    size_t i = 0;

    while (i < t->count && t->lanes[i].key != key)
        i++;
    if (i == CFR_FAIR_QUEUE_LANES_MAX)
        return CFR_FAIR_QUEUE_LANES_MAX - 1;
    if (i == t->count)
        t->lanes[t->count++].key = key;
    return i;
}

/* One lane alone may have everything. */
static bool may(const struct cfr_fair_queue *t, size_t lane, int64_t limit)
{
    int64_t share = t->count > 1 && limit > 1 ? limit - (limit + 3) / 4 : limit;

    return t->active < limit && t->lanes[lane].active < share;
}

static bool is_next(const struct cfr_fair_queue *t, size_t lane, int64_t limit)
{
    return t->lanes[lane].head != NULL && may(t, lane, limit);
}

void cfr_fair_queue_expect(struct cfr_fair_queue *t, const void *key)
{
    (void)lane_of(t, key);
}

bool cfr_fair_queue_may_begin(struct cfr_fair_queue *t, const void *key, int64_t limit)
{
    size_t lane = lane_of(t, key);

    return t->lanes[lane].head == NULL && may(t, lane, limit);
}

void cfr_fair_queue_add(struct cfr_fair_queue *t, struct cfr_fair_queue_entry *entry, const void *key)
{
    struct cfr_fair_queue_lane *l;

    if (entry->queued)
        return;
    entry->lane = lane_of(t, key);
    l = &t->lanes[entry->lane];
    entry->queued = true;
    entry->next = NULL;
    if (l->tail != NULL)
        l->tail->next = entry;
    else
        l->head = entry;
    l->tail = entry;
}

void cfr_fair_queue_leave(struct cfr_fair_queue *t, struct cfr_fair_queue_entry *entry)
{
    struct cfr_fair_queue_lane *l = &t->lanes[entry->lane];
    struct cfr_fair_queue_entry **at = &l->head;
    struct cfr_fair_queue_entry *before = NULL;

    if (!entry->queued)
        return;
    for (; *at != entry; at = &(*at)->next)
        before = *at;
    *at = entry->next;
    if (l->tail == entry)
        l->tail = before;
    entry->queued = false;
    entry->next = NULL;
}

bool cfr_fair_queue_ready(const struct cfr_fair_queue *t, int64_t limit)
{
    for (size_t i = 0; i < t->count; i++) {
        if (is_next(t, i, limit))
            return true;
    }
    return false;
}

void *cfr_fair_queue_take(struct cfr_fair_queue *t, int64_t limit)
{
    for (size_t i = 0; i < t->count; i++) {
        size_t lane = (t->next + i) % t->count;
        struct cfr_fair_queue_entry *entry = t->lanes[lane].head;

        if (!is_next(t, lane, limit))
            continue;
        t->next = lane + 1;
        cfr_fair_queue_leave(t, entry);
        return entry->owner;
    }
    return NULL;
}

void cfr_fair_queue_begin(struct cfr_fair_queue *t, struct cfr_fair_queue_entry *entry, const void *key)
{
    entry->lane = lane_of(t, key);
    entry->active = true;
    t->lanes[entry->lane].active++;
    t->active++;
}

void cfr_fair_queue_end(struct cfr_fair_queue *t, struct cfr_fair_queue_entry *entry)
{
    if (!entry->active)
        return;
    entry->active = false;
    t->lanes[entry->lane].active--;
    t->active--;
}
