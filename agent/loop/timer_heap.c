/* SPDX-License-Identifier: MIT */
/* The heap of deadlines. */
#include "agent/loop/timer_heap.h"

#include <stdlib.h>

static void put(struct cfr_timer_heap *h, size_t place, struct cfr_timer *t)
{
    h->heap[place - 1] = t;
    t->place = place;
}

static void rise(struct cfr_timer_heap *h, struct cfr_timer *t)
{
    size_t i = t->place;

    for (; i > 1 && h->heap[i / 2 - 1]->at_ms > t->at_ms; i /= 2)
        put(h, i, h->heap[i / 2 - 1]);
    put(h, i, t);
}

static void sink(struct cfr_timer_heap *h, struct cfr_timer *t)
{
    size_t i = t->place;

    for (;;) {
        size_t child = i * 2;

        if (child > h->count)
            break;
        if (child < h->count && h->heap[child]->at_ms < h->heap[child - 1]->at_ms)
            child++;
        if (h->heap[child - 1]->at_ms >= t->at_ms)
            break;
        put(h, i, h->heap[child - 1]);
        i = child;
    }
    put(h, i, t);
}

void cfr_timer_heap_remove(struct cfr_timer_heap *h, struct cfr_timer *t)
{
    struct cfr_timer *last;

    if (t->place == 0)
        return;
    last = h->heap[--h->count];
    if (last != t) {
        put(h, t->place, last);
        rise(h, last);
        sink(h, last);
    }
    t->place = 0;
}

static bool make_room(struct cfr_timer_heap *h)
{
    size_t room = h->room == 0 ? 16 : h->room * 2;
    struct cfr_timer **heap;

    if (h->count < h->room)
        return true;
    heap = realloc(h->heap, room * sizeof(struct cfr_timer *));
    if (heap == NULL)
        return false;
    h->heap = heap;
    h->room = room;
    return true;
}

bool cfr_timer_heap_set(struct cfr_timer_heap *h, struct cfr_timer *t, int64_t at_ms)
{
    cfr_timer_heap_remove(h, t);
    t->at_ms = at_ms;
    if (at_ms == INT64_MAX)
        return true;
    if (!make_room(h))
        return false;
    put(h, ++h->count, t);
    rise(h, t);
    return true;
}

int64_t cfr_timer_heap_next(const struct cfr_timer_heap *h)
{
    return h->count != 0 ? h->heap[0]->at_ms : INT64_MAX;
}

struct cfr_timer *cfr_timer_heap_pop(struct cfr_timer_heap *h, int64_t now_ms)
{
    struct cfr_timer *t = h->count != 0 ? h->heap[0] : NULL;

    if (t == NULL || t->at_ms > now_ms)
        return NULL;
    cfr_timer_heap_remove(h, t);
    return t;
}

void cfr_timer_heap_free(struct cfr_timer_heap *h)
{
    free(h->heap);
    *h = (struct cfr_timer_heap){0};
}
