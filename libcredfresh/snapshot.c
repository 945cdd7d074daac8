/* SPDX-License-Identifier: MIT */
/* Snapshots, and the slots from which any thread acquires the current one without waiting.
 *
 * The problem of "load the pointer, then count up" is the time between the two, in which the publisher may free the
 * snapshot. And a count that every reader writes is a cache line that travels between the cores. Here each thread has a
 * stripe of its own, and in it a cell for each slot that a snapshot can have. A cell is open while the snapshot in
 * its slot is (or becomes) the current one, and counts what the threads of this stripe acquired less what they
 * released.
 *
 * - `current` is one word: in its lower 6 bits the slot of the current snapshot, above them its sequence. Readers only
 *   read it.
 * - Acquiring loads `current` and adds 1 to the slot's cell. The addition returns whether the cell was open: then the
 * hold is counted, and the snapshot stays. Else a newer one has become current since the load, and the reader repeats.
 * If the slot was emptied and filled again in between, the hold is on a snapshot with another sequence, which is
 *   released: it may not be current yet.
 * - Releasing takes 1 from the slot's cell. If that was open, the release is counted. Else the cell has been collected
 *   and its content means nothing: the release takes 1 from the snapshot's own `count`, which starts at BIAS.
 *   Retaining adds 1 to `count`.
 * - The publisher opens the new snapshot's cells in all stripes, makes it the current one, and retires the one before:
 * it closes each of its cells with an exchange, hence knows the final content N of each, and adds sum(N) - BIAS to
 * `count`.
 *
 * Therefore:
 *
 *   before that addition:  count = BIAS + retained - releases that found a closed cell
 *   afterwards:            count = the number of holds that are left
 *
 * - Before it the snapshot is not freed: count stays far above 0.
 * - Afterwards count is never negative, and only a holder can retain. So it reaches 0 exactly once: either in the
 *   publisher's addition (there is no hold) or in one release, and that thread frees it.
 * - The thread that frees a snapshot empties its slot, and the publisher fills only empty slots. So while a snapshot is
 *   held, an open cell of its slot is its own, and the slot leads to it.
 * - Order: the publisher writes the snapshot and the slot before it opens a cell (release); each addition of a reader
 *   continues that release sequence and acquires, so the reader sees both. What readers did with a snapshot is before
 *   their release, hence before the wiping by the thread that sees 0: through the exchange of the cell or through
 * `count`.
 *
 * A stripe may be shared: all operations on it are atomic, so whose stripe it is decides only how fast they are. So
 * nothing has to be done when a thread ends, is cancelled, or forks. A thread takes the first free stripe near the hash
 * of its thread pointer, and shares one if these are taken. Each publish frees all, those of ended threads among them;
 * the next acquire takes one again. A publish reads and writes one word of each stripe.
 *
 * The core is counted, too: by the watcher and by each published snapshot that is not freed yet, because a release
 * needs the cells and may come after credfresh_close(). After fork() the child has a copy of all this, in which
 * every word is whole; what other threads of the parent held, or were retiring, is never released there, which costs
 * memory and nothing else.
 *
 * test/model/readers.pml is a model of this, unit_libcredfresh_readers and libcredfresh_tsan try it. */
#include "snapshot.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define SLOTS       64
#define SLOT_BITS   6
#define CACHE_LINE  64
#define STRIPES_MIN 8 /* powers of 2 */
#define STRIPES_MAX 256
#define PROBES      8 /* stripes that a thread looks at before it shares one */
#define BIAS        ((int64_t)1 << 62)
/* A cell's content without any hold: open while it is negative. What is added stays far from changing the sign. */
#define OPENED (-BIAS)
#define CLOSED BIAS

/* Slot 0 stays empty and means "no snapshot"; one slot is the current one's. */
_Static_assert(CREDFRESH_HELD_MAX == SLOTS - 2, "the documented limit");
_Static_assert(ATOMIC_LLONG_LOCK_FREE == 2, "64-bit words have to be atomic without locks");

struct credfresh_snapshot {
    struct cfl_core *core;  /* NULL before it is published */
    _Atomic int64_t *cells; /*  its cell in the first stripe; SLOTS further the one in the next */
    unsigned hash_shift;    /* the core's: a release is spared a load that depends on another one */
    size_t slot;
    size_t mapped_bytes;
    uint64_t sequence;
    uint64_t generation;
    int64_t time_ms;
    size_t file_count;
    char *next_name;
    unsigned char *next_bytes;
    _Alignas(CACHE_LINE) _Atomic int64_t count; /* not in a line that every reader reads */
    _Alignas(CACHE_LINE) struct credfresh_file files[];
};

struct cfl_core {
    /* Readers only read what precedes the cells, but for `owners` at their first call after a publish. */
    _Alignas(CACHE_LINE) _Atomic uint64_t current;
    struct credfresh_snapshot *_Atomic slots[SLOTS];
    size_t stripe_count; /* a power of 2 */
    unsigned hash_shift;
    _Atomic uintptr_t owners[STRIPES_MAX]; /* the stripes' threads; 0: free */
    _Alignas(CACHE_LINE) _Atomic uint32_t users;
    _Alignas(CACHE_LINE) _Atomic int64_t cells[]; /* SLOTS for each stripe */
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
    long cpus = sysconf(_SC_NPROCESSORS_CONF);
    size_t count = STRIPES_MIN;
    unsigned bits = 3;

    for (; count < STRIPES_MAX && (long)count < 2 * cpus; count *= 2)
        bits++;
    struct cfl_core *core = aligned_alloc(CACHE_LINE, sizeof *core + count * SLOTS * sizeof core->cells[0]);

    if (core == NULL)
        return NULL;
    atomic_init(&core->current, 0);
    for (size_t i = 0; i < SLOTS; i++)
        atomic_init(&core->slots[i], NULL);
    core->stripe_count = count;
    core->hash_shift = 64 - bits;
    for (size_t i = 0; i < STRIPES_MAX; i++)
        atomic_init(&core->owners[i], 0);
    atomic_init(&core->users, 1);
    for (size_t i = 0; i < count * SLOTS; i++)
        atomic_init(&core->cells[i], CLOSED);
    return core;
}

static void core_leave(struct cfl_core *core)
{
    if (atomic_fetch_sub_explicit(&core->users, 1, memory_order_acq_rel) == 1)
        free(core);
}

/* Differs between any two threads that run at the same time. */
static inline uintptr_t thread_id(void)
{
#if defined(__x86_64__) || defined(__aarch64__)
    return (uintptr_t)__builtin_thread_pointer();
#else
    return (uintptr_t)pthread_self();
#endif
}

static inline size_t home_stripe(uintptr_t me, unsigned hash_shift)
{
    return (size_t)((uint64_t)me * UINT64_C(0x9e3779b97f4a7c15) >> hash_shift);
}

static inline bool owns(const struct cfl_core *core, size_t stripe, uintptr_t me)
{
    return atomic_load_explicit(&core->owners[stripe], memory_order_relaxed) == me;
}

/* The calling thread's stripe, which it takes if it has none. */
static size_t my_stripe(struct cfl_core *core)
{
    uintptr_t me = thread_id();
    size_t home = home_stripe(me, core->hash_shift);

    for (size_t i = 0; i < PROBES; i++) {
        size_t stripe = (home + i) & (core->stripe_count - 1);
        uintptr_t nobody = 0;

        if (owns(core, stripe, me) || (owns(core, stripe, 0) && atomic_compare_exchange_strong_explicit(
                                                                    &core->owners[stripe], &nobody, me,
                                                                    memory_order_relaxed, memory_order_relaxed)))
            return stripe;
    }
    return home;
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

/* Collects what the cells of SLOT have counted, whose snapshot is no longer the current one. */
static void retire(struct cfl_core *core, size_t slot)
{
    struct credfresh_snapshot *s = atomic_load_explicit(&core->slots[slot], memory_order_relaxed);
    int64_t change = -BIAS;

    if (s == NULL)
        return;
    for (size_t i = 0; i < core->stripe_count; i++)
        change += atomic_exchange_explicit(&s->cells[i * SLOTS], CLOSED, memory_order_acq_rel) - OPENED;
    if (atomic_fetch_add_explicit(&s->count, change, memory_order_acq_rel) + change == 0)
        snapshot_end(s);
}

void cfl_core_close(struct cfl_core *core)
{
    uint64_t old = atomic_exchange_explicit(&core->current, 0, memory_order_acq_rel);

    retire(core, old % SLOTS);
    core_leave(core);
}

int cfl_core_publish(struct cfl_core *core, struct credfresh_snapshot *s)
{
    uint64_t old = atomic_load_explicit(&core->current, memory_order_relaxed);
    size_t slot = 1;

    while (slot < SLOTS && atomic_load_explicit(&core->slots[slot], memory_order_acquire) != NULL)
        slot++;
    if (slot == SLOTS)
        return CREDFRESH_E_HELD;
    s->core = core;
    s->cells = &core->cells[slot];
    s->hash_shift = core->hash_shift;
    s->slot = slot;
    s->sequence = (old >> SLOT_BITS) + 1;
    (void)atomic_fetch_add_explicit(&core->users, 1, memory_order_relaxed);
    atomic_store_explicit(&core->slots[slot], s, memory_order_relaxed);
    for (size_t i = 0; i < core->stripe_count; i++) {
        atomic_store_explicit(&s->cells[i * SLOTS], OPENED, memory_order_release);
        atomic_store_explicit(&core->owners[i], 0, memory_order_relaxed);
    }
    atomic_store_explicit(&core->current, s->sequence << SLOT_BITS | slot, memory_order_release);
    retire(core, old % SLOTS);
    return 0;
}

/* One try in STRIPE. False: a newer snapshot became the current one meanwhile; HELD, unless NULL, is then an unwanted
 * hold.
 */
static inline bool try_acquire(struct cfl_core *core, size_t stripe, struct credfresh_snapshot **held)
{
    uint64_t word = atomic_load_explicit(&core->current, memory_order_acquire);
    size_t slot = word % SLOTS;

    *held = NULL;
    if (slot == 0)
        return true;
    if (atomic_fetch_add_explicit(&core->cells[stripe * SLOTS + slot], 1, memory_order_acquire) + 1 >= 0)
        return false;
    *held = atomic_load_explicit(&core->slots[slot], memory_order_relaxed);
    return (*held)->sequence == word >> SLOT_BITS;
}

static __attribute__((noinline)) const struct credfresh_snapshot *acquire(struct cfl_core *core)
{
    struct credfresh_snapshot *held;

    while (!try_acquire(core, my_stripe(core), &held))
        credfresh_release(held);
    return held;
}

static __attribute__((noinline)) const struct credfresh_snapshot *acquire_instead(struct cfl_core *core,
                                                                                  struct credfresh_snapshot *unwanted)
{
    credfresh_release(unwanted);
    return acquire(core);
}

/* The usual case alone, which needs no stack: the thread has its home stripe, and the first try succeeds. */
const struct credfresh_snapshot *cfl_core_acquire(struct cfl_core *core)
{
    uintptr_t me = thread_id();
    size_t home = home_stripe(me, core->hash_shift);
    struct credfresh_snapshot *held;

    if (!owns(core, home, me))
        return acquire(core);
    return try_acquire(core, home, &held) ? held : acquire_instead(core, held);
}

uint64_t cfl_core_sequence(const struct cfl_core *core)
{
    return atomic_load_explicit(&core->current, memory_order_acquire) >> SLOT_BITS;
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

static __attribute__((noinline)) void release_counted(struct credfresh_snapshot *s)
{
    if (atomic_fetch_sub_explicit(&s->count, 1, memory_order_acq_rel) == 1)
        snapshot_end(s);
}

static inline void release(struct credfresh_snapshot *s, size_t stripe)
{
    if (atomic_fetch_sub_explicit(&s->cells[stripe * SLOTS], 1, memory_order_release) - 1 >= 0)
        release_counted(s);
}

static __attribute__((noinline)) void release_away_from_home(struct credfresh_snapshot *s)
{
    release(s, my_stripe(s->core));
}

/* The usual case alone, as in cfl_core_acquire. */
void credfresh_release(const struct credfresh_snapshot *snapshot)
{
    struct credfresh_snapshot *s = counted(snapshot);
    uintptr_t me = thread_id();

    if (s == NULL)
        return;
    size_t home = home_stripe(me, s->hash_shift);

    if (owns(s->core, home, me))
        release(s, home);
    else
        release_away_from_home(s);
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
