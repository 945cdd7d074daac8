/* SPDX-License-Identifier: MIT */
/* Readers, one dispatcher, and swaps at full speed: no snapshot ever mixes two versions. */
#include "reload_volume.h"

#include <pthread.h>
#include <stdatomic.h>

#define READERS 4
#define SWAPS   300
#define FILES   4

static struct credfresh *watcher;
static atomic_bool ended;
static atomic_ulong mixed;
static atomic_ulong reads;
static atomic_ulong backwards;
static atomic_uint busy;

static void *swap_all(void *unused)
{
    char text[FILES][600];

    for (unsigned v = 2; v <= SWAPS; v++) {
        for (int i = 0; i < FILES; i++)
            (void)snprintf(text[i], sizeof text[i], "%u %0*d", v, (int)(v * 7 % 500), i);
        update(in("volume"), v, (const char *const[]){"a", text[0], "b", text[1], "c", text[2], "d", text[3], NULL});
    }
    atomic_store(&ended, true);
    return unused;
}

static bool is_whole(const struct credfresh_snapshot *s)
{
    static const char *const names[FILES] = {"a", "b", "c", "d"};
    uint64_t generation = credfresh_snapshot_generation(s);

    for (int i = 0; i < FILES; i++) {
        const struct credfresh_file *f = credfresh_snapshot_find(s, names[i]);

        if (f == NULL || strtoul((const char *)f->bytes, NULL, 10) != generation || f->bytes[f->size] != 0 ||
            strlen((const char *)f->bytes) != f->size)
            return false;
    }
    return credfresh_snapshot_count(s) == FILES;
}

static void *read_all(void *unused)
{
    uint64_t last = 0;

    while (!atomic_load(&ended) || credfresh_changed(watcher, last)) {
        const struct credfresh_snapshot *s = credfresh_acquire(watcher);
        uint64_t sequence = credfresh_snapshot_sequence(s);

        if (!is_whole(s))
            atomic_fetch_add(&mixed, 1);
        if (sequence < last)
            atomic_fetch_add(&backwards, 1);
        if (sequence % 3 == 0) {
            (void)credfresh_retain(s);
            credfresh_release(s);
        }
        credfresh_release(s);
        last = sequence;
        atomic_fetch_add(&reads, 1);
    }
    return unused;
}

static void *intrude(void *unused)
{
    while (!atomic_load(&ended)) {
        if (credfresh_dispatch(watcher) == CREDFRESH_E_BUSY)
            atomic_fetch_add(&busy, 1);
        (void)usleep(50);
    }
    return unused;
}

static void test_no_reader_sees_a_mixture(void **state)
{
    pthread_t threads[READERS + 2];
    struct credfresh_status s = {.struct_size = sizeof s};

    (void)state;
    update(volume_make(), 1, (const char *const[]){"a", "1 ", "b", "1 ", "c", "1 ", "d", "1 ", NULL});
    watcher = follow(in("volume"), NULL);
    assert_int_equal(pthread_create(&threads[0], NULL, swap_all, NULL), 0);
    assert_int_equal(pthread_create(&threads[1], NULL, intrude, NULL), 0);
    for (int i = 0; i < READERS; i++)
        assert_int_equal(pthread_create(&threads[2 + i], NULL, read_all, NULL), 0);
    while (credfresh_status(watcher, &s) != 0 || s.generation != SWAPS)
        (void)credfresh_wait(watcher, 100);
    for (int i = 0; i < READERS + 2; i++)
        assert_int_equal(pthread_join(threads[i], NULL), 0);
    print_message("%lu reads of %llu snapshots, %llu torn and read again, %u times busy\n", atomic_load(&reads),
                  (unsigned long long)credfresh_sequence(watcher), (unsigned long long)s.torn, atomic_load(&busy));
    assert_int_equal(atomic_load(&mixed), 0);
    assert_int_equal(atomic_load(&backwards), 0);
    assert_true(credfresh_sequence(watcher) > 1);
    credfresh_close(watcher);
}

static void *ask_status(void *unused)
{
    struct credfresh_status s = {.struct_size = sizeof s};

    while (!atomic_load(&ended)) {
        if (credfresh_status(watcher, &s) == CREDFRESH_E_BUSY)
            atomic_fetch_add(&busy, 1);
        atomic_fetch_add(&reads, 1);
        (void)usleep(20);
    }
    return unused;
}

/* Those that ask are not refused for each other, and a thread that dispatches is not refused for them. */
static void test_status_of_other_threads(void **state)
{
    pthread_t threads[2];

    (void)state;
    atomic_store(&ended, false);
    atomic_store(&busy, 0);
    atomic_store(&reads, 0);
    update(volume_make(), 1, (const char *const[]){"a", "1 ", NULL});
    watcher = follow(in("volume"), NULL);
    for (int i = 0; i < 2; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, ask_status, NULL), 0);
    while (atomic_load(&reads) < 5000)
        (void)usleep(100);
    assert_int_equal(atomic_load(&busy), 0);
    for (int i = 0; i < 1000; i++)
        assert_int_equal(credfresh_wait(watcher, 0), 0);
    atomic_store(&ended, true);
    for (int i = 0; i < 2; i++)
        assert_int_equal(pthread_join(threads[i], NULL), 0);
    credfresh_close(watcher);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_no_reader_sees_a_mixture, scratch_make_fast, scratch_remove),
        cmocka_unit_test_setup_teardown(test_status_of_other_threads, scratch_make_fast, scratch_remove),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
