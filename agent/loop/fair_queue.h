/* SPDX-License-Identifier: MIT */
/* Who may exchange next: so many at once, first come first served among those that go to the same cloud, the clouds in
 * turns. A cloud that does not answer can hold three quarters of the turns at most, so that it does not keep the
 * others' credentials waiting. No I/O, no clock. */
#ifndef CFR_AGENT_LOOP_FAIR_QUEUE_H
#define CFR_AGENT_LOOP_FAIR_QUEUE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define CFR_FAIR_QUEUE_LANES_MAX 16 /* what comes after these shares the last one */

/* Part of whoever wants turns; zero-initialised but for OWNER. */
struct cfr_fair_queue_entry {
    struct cfr_fair_queue_entry *next;
    void *owner;
    size_t lane; /* where it is queued or active */
    bool queued;
    bool active;
};

struct cfr_fair_queue_key {
    const void *key;
    struct cfr_fair_queue_entry *head;
    struct cfr_fair_queue_entry *tail;
    int64_t active;
};

/* Zero-initialised is empty. */
struct cfr_fair_queue {
    struct cfr_fair_queue_key lanes[CFR_FAIR_QUEUE_LANES_MAX];
    size_t count;
    size_t next; /* the lane that is asked first */
    int64_t active;
};

/* There will be some of lane KEY: from now on no other lane may have everything. */
void cfr_fair_queue_expect(struct cfr_fair_queue *t, const void *key);
/* True if one of lane KEY may begin now without overtaking anybody. LIMIT is how many may be active at once. */
bool cfr_fair_queue_may_begin(struct cfr_fair_queue *t, const void *key, int64_t limit);
/* T is queued already: nothing happens. */
void cfr_fair_queue_add(struct cfr_fair_queue *t, struct cfr_fair_queue_entry *turn, const void *key);
/* Takes it out of its queue, if it is in one. */
void cfr_fair_queue_leave(struct cfr_fair_queue *t, struct cfr_fair_queue_entry *turn);
/* True if cfr_fair_queue_take has somebody. */
bool cfr_fair_queue_ready(const struct cfr_fair_queue *t, int64_t limit);
/* The owner whose turn it is, no longer queued; NULL if there is nobody, or nobody may. */
void *cfr_fair_queue_take(struct cfr_fair_queue *t, int64_t limit);
/* It is active from now on, until it ends. */
void cfr_fair_queue_begin(struct cfr_fair_queue *t, struct cfr_fair_queue_entry *turn, const void *key);
/* Does nothing for one that is not active. */
void cfr_fair_queue_end(struct cfr_fair_queue *t, struct cfr_fair_queue_entry *turn);

#endif
