/* SPDX-License-Identifier: MIT */
/* Snapshots, and the slots from which any thread acquires the current one without waiting.
 *
 * A hold is counted at two places. `current` is one word: in its lower 6 bits the slot of the current snapshot, above
 * them how often that was acquired since it became the current one. The snapshot's own `count` starts at BIAS.
 *
 * - Acquiring adds one to the upper bits of `current`. The addition returns the slot as well, so the hold is counted
 *   before the snapshot is touched, and nothing is ever repeated.
 * - Retaining adds 1 to `count`, releasing takes 1 from it.
 * - The publisher exchanges `current` for the new snapshot's slot, hence knows how often the one before was acquired,
 *   N, and adds N - BIAS to its `count`.
 *
 * Therefore:
 *
 *   before that addition:  count = BIAS + retained - released
 *   afterwards:            count = acquired + retained - released, which is the number of holds that are left
 *
 * - Before it the snapshot is not freed: count stays far above 0.
 * - Afterwards count is never negative, and only a holder can retain. So it reaches 0 exactly once: either in the
 *   publisher's addition (there is no hold) or in one release, and that thread frees it.
 * - The thread that frees a snapshot empties its slot, and the publisher fills only empty slots. So while a snapshot is
 *   held, the slot leads to it.
 * - Order: the publisher writes the snapshot and the slot before it exchanges `current` (release); each addition of a
 *   reader continues that release sequence and acquires, so the reader sees both. What readers did with a snapshot is
 *   before their release, hence before the wiping by the thread that sees 0.
 *
 * All readers write to the word `current`. That costs about as much as an uncontended mutex and never waits, so nothing
 * has to be done when a thread ends, is cancelled, or forks. 2^58 acquires of one snapshot are centuries.
 *
 * The core is counted, too: by the watcher and by each published snapshot that is not freed yet, because a release
 * needs the slots and may come after credfresh_close(). After fork() the child has a copy of all this, in which
 * every word is whole; what other threads of the parent held, or were retiring, is never released there, which costs
 * memory and nothing else.
 *
 * unit_libcredfresh_readers and libcredfresh_tsan try it. */
#include "snapshot.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define SLOTS     64
#define SLOT_BITS 6
#define BIAS      ((int64_t)1 << 62)

/* Slot 0 stays empty and means "no snapshot"; one slot is the current one's. */
_Static_assert(CREDFRESH_HELD_MAX == SLOTS - 2, "the documented limit");
_Static_assert(ATOMIC_LLONG_LOCK_FREE == 2, "64-bit words have to be atomic without locks");

struct credfresh_snapshot {
    struct cfl_core *core; /* NULL before it is published */
    size_t slot;
    size_t mapped_bytes;
    uint64_t sequence;
    uint64_t generation;
    int64_t time_ms;
    size_t file_count;
    char *next_name;
    unsigned char *next_bytes;
    _Atomic int64_t count;
    struct credfresh_file files[];
};

struct cfl_core {
    _Atomic uint64_t current;
    _Atomic uint64_t sequences[SLOTS]; /* of the snapshots that the slots have or had last; 0 in slot 0 */
    struct credfresh_snapshot *_Atomic slots[SLOTS];
    _Atomic uint32_t users;
};

struct credfresh_snapshot *cfl_snapshot_new(size_t file_count, size_t names_bytes, size_t bytes)
{
    size_t head = sizeof(struct credfresh_snapshot) + file_count * sizeof(struct credfresh_file);
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    size_t total = (head + names_bytes + bytes + file_count + page - 1) / page * page;
    struct credfresh_snapshot *s = mmap(NULL, total, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    if (s == MAP_FAILED)
        return NULL;
    (void)madvise(s, total, MADV_DONTDUMP);
    atomic_init(&s->count, BIAS);
    s->mapped_bytes = total;
    s->next_name = (char *)s + head;
    s->next_bytes = (unsigned char *)s + head + names_bytes;
    return s;
}

unsigned char *cfl_snapshot_add(struct credfresh_snapshot *s, const char *name, size_t size)
{
    struct credfresh_file *file = &s->files[s->file_count++];
    size_t n = strlen(name) + 1;
    unsigned char *bytes = s->next_bytes;

    memcpy(s->next_name, name, n);
    *file = (struct credfresh_file){.name = s->next_name, .bytes = bytes, .size = size};
    s->next_name += n;
    s->next_bytes += size + 1;
    return bytes;
}

void cfl_snapshot_stamp(struct credfresh_snapshot *s, uint64_t generation, int64_t time_ms)
{
    s->generation = generation;
    s->time_ms = time_ms;
}

void cfl_snapshot_drop(struct credfresh_snapshot *s)
{
    if (s == NULL)
        return;
    size_t n = s->mapped_bytes;

    explicit_bzero(s, n);
    (void)munmap(s, n);
}

int cfl_snapshot_same(const struct credfresh_snapshot *a, const struct credfresh_snapshot *b)
{
    if (a == NULL || b == NULL || a->generation != b->generation || a->file_count != b->file_count)
        return 0;
    for (size_t i = 0; i < a->file_count; i++)
        if (strcmp(a->files[i].name, b->files[i].name) != 0 || a->files[i].size != b->files[i].size ||
            memcmp(a->files[i].bytes, b->files[i].bytes, a->files[i].size) != 0)
            return 0;
    return 1;
}

struct cfl_core *cfl_core_new(void)
{
    struct cfl_core *core = malloc(sizeof *core);

    if (core == NULL)
        return NULL;
    atomic_init(&core->current, 0);
    for (size_t i = 0; i < SLOTS; i++) {
        atomic_init(&core->sequences[i], 0);
        atomic_init(&core->slots[i], NULL);
    }
    atomic_init(&core->users, 1);
    return core;
}

static void core_leave(struct cfl_core *core)
{
    if (atomic_fetch_sub_explicit(&core->users, 1, memory_order_acq_rel) == 1)
        free(core);
}

/* Frees a snapshot that is no longer current and has no hold left. */
static void snapshot_end(struct credfresh_snapshot *s)
{
    struct cfl_core *core = s->core;
    size_t slot = s->slot;

    cfl_snapshot_drop(s);
    atomic_store_explicit(&core->slots[slot], NULL, memory_order_release);
    core_leave(core);
}

/* Adds to its own count how often the snapshot was acquired that OLD, a former content of `current`, led to. */
static void retire(struct cfl_core *core, uint64_t old)
{
    struct credfresh_snapshot *s = atomic_load_explicit(&core->slots[old % SLOTS], memory_order_relaxed);
    int64_t change = (int64_t)(old >> SLOT_BITS) - BIAS;

    if (s != NULL && atomic_fetch_add_explicit(&s->count, change, memory_order_acq_rel) + change == 0)
        snapshot_end(s);
}

void cfl_core_close(struct cfl_core *core)
{
    retire(core, atomic_exchange_explicit(&core->current, 0, memory_order_acq_rel));
    core_leave(core);
}

int cfl_core_publish(struct cfl_core *core, struct credfresh_snapshot *s)
{
    size_t slot = 1;

    while (slot < SLOTS && atomic_load_explicit(&core->slots[slot], memory_order_acquire) != NULL)
        slot++;
    if (slot == SLOTS)
        return CREDFRESH_E_HELD;
    s->core = core;
    s->slot = slot;
    s->sequence = cfl_core_sequence(core) + 1;
    (void)atomic_fetch_add_explicit(&core->users, 1, memory_order_relaxed);
    atomic_store_explicit(&core->sequences[slot], s->sequence, memory_order_release);
    atomic_store_explicit(&core->slots[slot], s, memory_order_relaxed);
    retire(core, atomic_exchange_explicit(&core->current, slot, memory_order_acq_rel));
    return 0;
}

const struct credfresh_snapshot *cfl_core_acquire(struct cfl_core *core)
{
    uint64_t word = atomic_fetch_add_explicit(&core->current, (uint64_t)1 << SLOT_BITS, memory_order_acquire);

    return atomic_load_explicit(&core->slots[word % SLOTS], memory_order_relaxed);
}

/* A slot may be filled again between the two loads: its number holds only while it is the current one's. */
uint64_t cfl_core_sequence(const struct cfl_core *core)
{
    uint64_t sequence;
    size_t slot;

    do {
        slot = atomic_load_explicit(&core->current, memory_order_acquire) % SLOTS;
        sequence = atomic_load_explicit(&core->sequences[slot], memory_order_acquire);
    } while (slot != atomic_load_explicit(&core->current, memory_order_acquire) % SLOTS);
    return sequence;
}

/* Readers have const pointers, yet count. */
static inline struct credfresh_snapshot *counted(const struct credfresh_snapshot *snapshot)
{
    return (struct credfresh_snapshot *)(uintptr_t)snapshot;
}

const struct credfresh_snapshot *credfresh_retain(const struct credfresh_snapshot *snapshot)
{
    (void)atomic_fetch_add_explicit(&counted(snapshot)->count, 1, memory_order_relaxed);
    return snapshot;
}

void credfresh_release(const struct credfresh_snapshot *snapshot)
{
    struct credfresh_snapshot *s = counted(snapshot);

    if (s != NULL && atomic_fetch_sub_explicit(&s->count, 1, memory_order_acq_rel) == 1)
        snapshot_end(s);
}

uint64_t credfresh_snapshot_sequence(const struct credfresh_snapshot *snapshot)
{
    return snapshot->sequence;
}

uint64_t credfresh_snapshot_generation(const struct credfresh_snapshot *snapshot)
{
    return snapshot->generation;
}

int64_t credfresh_snapshot_time_ms(const struct credfresh_snapshot *snapshot)
{
    return snapshot->time_ms;
}

size_t credfresh_snapshot_count(const struct credfresh_snapshot *snapshot)
{
    return snapshot->file_count;
}

const struct credfresh_file *credfresh_snapshot_file(const struct credfresh_snapshot *snapshot, size_t index)
{
    return index < snapshot->file_count ? &snapshot->files[index] : NULL;
}

const struct credfresh_file *credfresh_snapshot_find(const struct credfresh_snapshot *snapshot, const char *name)
{
    size_t low = 0;
    size_t high = snapshot->file_count;

    while (low < high) {
        size_t middle = low + (high - low) / 2;
        int order = strcmp(snapshot->files[middle].name, name);

        if (order == 0)
            return &snapshot->files[middle];
        if (order < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return NULL;
}

int credfresh_snapshot_expiry(const struct credfresh_snapshot *snapshot, int64_t *expires_s)
{
    int found = CREDFRESH_E_NO_EXPIRY;

    for (size_t i = 0; i < snapshot->file_count; i++) {
        int64_t at;

        if (credfresh_expiry(snapshot->files[i].bytes, snapshot->files[i].size, &at) != 0)
            continue;
        if (found != 0 || at < *expires_s)
            *expires_s = at;
        found = 0;
    }
    return found;
}
