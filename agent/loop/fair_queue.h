/* SPDX-License-Identifier: MIT */
/* Fair queue: a limited number of active entries, first in first out within a lane, the lanes in turn.
 *
 * A lane is a cloud, an entry an exchange. A cloud that does not answer can hold at most three quarters of the slots,
 * so that it does not hold up the credentials of the others. Pure: never blocks, allocates nothing, reads no clock,
 * calls nothing back and cannot fail. An entry is the caller's, stays at its address while it is queued, and leaves
 * before it is freed. From the 16th key on, lanes share the last one. */
#ifndef CFR_AGENT_LOOP_FAIR_QUEUE_H
#define CFR_AGENT_LOOP_FAIR_QUEUE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define CFR_FAIR_QUEUE_LANES_MAX 16

/* Embedded in what waits for a slot; zero-initialised but for OWNER. */
struct cfr_fair_queue_entry {
    struct cfr_fair_queue_entry *next;
    void *owner;
    size_t lane; /* where it is queued or active */
    bool queued;
    bool active;
};

struct cfr_fair_queue_lane {
    const void *key;
    struct cfr_fair_queue_entry *head;
    struct cfr_fair_queue_entry *tail;
    int64_t active;
};

/* Zero-initialised is empty. */
struct cfr_fair_queue {
    struct cfr_fair_queue_lane lanes[CFR_FAIR_QUEUE_LANES_MAX];
    size_t count;
    size_t next; /* the lane that is asked first */
    int64_t active;
};

/* Announces entries of lane KEY: from now on no other lane may hold all slots. */
void cfr_fair_queue_expect(struct cfr_fair_queue *t, const void *key);
/* True if an entry of lane KEY may begin now without overtaking a queued one. LIMIT: the number of slots. */
bool cfr_fair_queue_may_begin(struct cfr_fair_queue *t, const void *key, int64_t limit);
/* Appends ENTRY to lane KEY, unless it is queued already. */
void cfr_fair_queue_add(struct cfr_fair_queue *t, struct cfr_fair_queue_entry *entry, const void *key);
/* Removes ENTRY from its queue, if it is in one. */
void cfr_fair_queue_leave(struct cfr_fair_queue *t, struct cfr_fair_queue_entry *entry);
/* True if cfr_fair_queue_take would return an owner. */
bool cfr_fair_queue_ready(const struct cfr_fair_queue *t, int64_t limit);
/* Removes the next entry and returns its owner; NULL if none is queued, or none may begin. */
void *cfr_fair_queue_take(struct cfr_fair_queue *t, int64_t limit);
/* ENTRY takes a slot of lane KEY until cfr_fair_queue_end. */
void cfr_fair_queue_begin(struct cfr_fair_queue *t, struct cfr_fair_queue_entry *entry, const void *key);
/* Gives the slot back; does nothing for an entry that has none. */
void cfr_fair_queue_end(struct cfr_fair_queue *t, struct cfr_fair_queue_entry *entry);

#endif
