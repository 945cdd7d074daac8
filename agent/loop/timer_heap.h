/* SPDX-License-Identifier: MIT */
/* Timer heap ordered by boot time.
 *
 * Pure but for its memory: never blocks, reads no clock, calls nothing back. A struct cfr_timer is the caller's, stays
 * at its address while it is in the heap, and is removed before it is freed. Zero-initialise a heap;
 * cfr_timer_heap_free frees its array, not the timers. */
#ifndef CFR_AGENT_LOOP_TIMER_HEAP_H
#define CFR_AGENT_LOOP_TIMER_HEAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Embedded in what it wakes; zero-initialised. */
struct cfr_timer {
    int64_t at_ms;
    size_t place; /* 1-based place in the heap, 0 = not in it */
};

struct cfr_timer_heap {
    struct cfr_timer **heap;
    size_t count;
    size_t room;
};

/* Sets or moves T; INT64_MAX takes it out. False when memory is short (T is then not in the heap). */
bool cfr_timer_heap_set(struct cfr_timer_heap *h, struct cfr_timer *t, int64_t at_ms);
void cfr_timer_heap_remove(struct cfr_timer_heap *h, struct cfr_timer *t);
/* The earliest deadline, INT64_MAX if there is none. */
int64_t cfr_timer_heap_next(const struct cfr_timer_heap *h);
/* Takes out and returns a timer that is due at NOW_MS, or NULL. */
struct cfr_timer *cfr_timer_heap_pop(struct cfr_timer_heap *h, int64_t now_ms);
void cfr_timer_heap_free(struct cfr_timer_heap *h);

#endif
