/* SPDX-License-Identifier: MIT */
/* Snapshots, and the slots from which any thread acquires the current one without waiting.
 *
 * The problem of "load the pointer, then count up" is the time between the two, in which the publisher may free the
 * snapshot. Here both are one step. `current` is one 64-bit word: in its upper 6 bits the slot of the
 * current snapshot, in the lower 58 how often it was acquired since it became current. Acquiring is one atomic
 * addition to this word, which returns the slot and counts the hold at once; it neither loops nor fails.
 *
 * The count of holds is split: acquisitions are counted in the word, everything else in the snapshot's own `count`,
 * which starts at BIAS. A release takes 1 from `count`, retaining adds 1. When the publisher replaces the snapshot it
 * takes the whole word with one exchange, hence the final number N of acquisitions, and adds N - BIAS to `count`.
 * Therefore:
 *
 *   while it is current:  count = BIAS + retained - released
 *   afterwards:           count = N + retained - released = the number of holds that are left
 *
 * - While it is current it is not freed: count cannot reach 0, because |retained - released| stays far below BIAS =
 * 2^62 (N is below 2^58: 2^58 acquisitions of one snapshot, one each nanosecond, take nine years).
 * - Afterwards count is never negative, and only a holder can retain. So it reaches 0 exactly
 * once: either in the publisher's addition (there is no hold) or in one release, and that thread frees it.
 * - A hold that is taken between the exchange and the addition cannot exist: the exchange put another slot into the
 * word.
 * - The thread that frees a snapshot empties its slot, and the publisher fills only empty slots, so a reader that
 * found a slot in the word, and thereby holds its snapshot, finds that very snapshot in it.
 * - Order: the publisher writes the snapshot and the slot before its exchange (release); each addition of a reader
 * continues that release sequence and acquires, so the reader sees both. What readers did with a snapshot is before
 * their release (acq_rel), hence before the wiping by the thread that sees 0. `sequence` is stored after the exchange
 * (release), so a reader that sees the new number acquires the new snapshot, or a newer one.
 *
 * The core is counted, too: by the watcher and by each published snapshot that is not freed yet, because emptying a
 * slot needs the core and may come after credfresh_close(). After fork() the child has a copy of all this, in which
 * every word is whole; what other threads of the parent held is never released there, which costs memory and nothing
 * else. */
#include "snapshot.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define SLOTS      64
#define SLOT_SHIFT 58
#define COUNT_MASK (((uint64_t)1 << SLOT_SHIFT) - 1)
#define BIAS       ((int64_t)1 << 62)
#define CACHE_LINE 64

/* Slot 0 stays empty and means "no snapshot"; one slot is the current one's. */
_Static_assert(CREDFRESH_HELD_MAX == SLOTS - 2, "the documented limit");
_Static_assert(ATOMIC_LLONG_LOCK_FREE == 2, "64-bit words have to be atomic without locks");

struct credfresh_snapshot {
    _Atomic int64_t count;
    struct credfresh_snapshot *self; /* the same, not const: readers have const pointers, yet count */
    struct cfl_core *core;           /* NULL before it is published */
    size_t slot;
    size_t mapped_bytes;
    uint64_t sequence;
    uint64_t generation;
    int64_t time_ms;
    size_t file_count;
    char *next_name;
    unsigned char *next_bytes;
    struct credfresh_file files[];
};

struct cfl_core {
    /* Readers write the first and only read the rest, so the first has a cache line for itself. */
    _Alignas(CACHE_LINE) _Atomic uint64_t current;
    _Alignas(CACHE_LINE) _Atomic uint64_t sequence;
    struct credfresh_snapshot *_Atomic slots[SLOTS];
    _Alignas(CACHE_LINE) _Atomic uint32_t users;
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
    s->self = s;
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
    struct cfl_core *core = aligned_alloc(CACHE_LINE, sizeof *core);

    if (core == NULL)
        return NULL;
    atomic_init(&core->current, 0);
    atomic_init(&core->sequence, 0);
    for (size_t i = 0; i < SLOTS; i++)
        atomic_init(&core->slots[i], NULL);
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

/* Gives back the publisher's part of the count, after WORD was taken out of `current`. */
static void retire(struct cfl_core *core, uint64_t word)
{
    struct credfresh_snapshot *s = atomic_load_explicit(&core->slots[word >> SLOT_SHIFT], memory_order_relaxed);
    int64_t change;

    if (s == NULL)
        return;
    change = (int64_t)(word & COUNT_MASK) - BIAS;
    if (atomic_fetch_add_explicit(&s->count, change, memory_order_acq_rel) + change == 0)
        snapshot_end(s);
}

void cfl_core_close(struct cfl_core *core)
{
    retire(core, atomic_exchange_explicit(&core->current, 0, memory_order_acq_rel));
    core_leave(core);
}

int cfl_core_publish(struct cfl_core *core, struct credfresh_snapshot *s)
{
    uint64_t sequence = atomic_load_explicit(&core->sequence, memory_order_relaxed) + 1;
    size_t slot = 1;

    while (slot < SLOTS && atomic_load_explicit(&core->slots[slot], memory_order_acquire) != NULL)
        slot++;
    if (slot == SLOTS)
        return CREDFRESH_E_HELD;
    s->core = core;
    s->slot = slot;
    s->sequence = sequence;
    (void)atomic_fetch_add_explicit(&core->users, 1, memory_order_relaxed);
    atomic_store_explicit(&core->slots[slot], s, memory_order_relaxed);
    uint64_t old = atomic_exchange_explicit(&core->current, (uint64_t)slot << SLOT_SHIFT, memory_order_acq_rel);

    atomic_store_explicit(&core->sequence, sequence, memory_order_release);
    retire(core, old);
    return 0;
}

const struct credfresh_snapshot *cfl_core_acquire(struct cfl_core *core)
{
    uint64_t word = atomic_fetch_add_explicit(&core->current, 1, memory_order_acquire);

    return atomic_load_explicit(&core->slots[word >> SLOT_SHIFT], memory_order_relaxed);
}

uint64_t cfl_core_sequence(const struct cfl_core *core)
{
    return atomic_load_explicit(&core->sequence, memory_order_acquire);
}

const struct credfresh_snapshot *credfresh_retain(const struct credfresh_snapshot *snapshot)
{
    (void)atomic_fetch_add_explicit(&snapshot->self->count, 1, memory_order_relaxed);
    return snapshot;
}

void credfresh_release(const struct credfresh_snapshot *snapshot)
{
    if (snapshot == NULL)
        return;
    struct credfresh_snapshot *s = snapshot->self;

    if (atomic_fetch_sub_explicit(&s->count, 1, memory_order_acq_rel) == 1)
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
