/* SPDX-License-Identifier: MIT */
/* Readers under stress: threads that come, go, are cancelled and fork while snapshots are published at full
 * speed. The test libcredfresh_tsan is the same program with ThreadSanitizer. */
#include "libcredfresh/snapshot.c" // NOLINT(bugprone-suspicious-include): ThreadSanitizer has to see its code

#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <sys/wait.h>

#include <cmocka.h>

#define SIZE      600
#define PUBLISHES 3000
#define MAILBOXES 4

static struct cfl_core *core;
static atomic_bool ended;
static atomic_ulong wrong;
static atomic_ulong unmapped;
static const struct credfresh_snapshot *_Atomic mailbox[MAILBOXES];
int __real_munmap(void *p, size_t n);
int __wrap_munmap(void *p, size_t n);

/* Threads' stacks are unmapped by libc itself, which does not come here. */
int __wrap_munmap(void *p, size_t n)
{
    memset(p, 0, n); /* ThreadSanitizer does not know explicit_bzero() as a write */
    atomic_fetch_add_explicit(&unmapped, 1, memory_order_relaxed);
    return __real_munmap(p, n);
}

static struct credfresh_snapshot *snapshot_of(uint64_t number)
{
    struct credfresh_snapshot *s = cfl_snapshot_new(1, sizeof "token", SIZE);

    memset(cfl_snapshot_add(s, "token", SIZE), (int)('a' + number % 26), SIZE);
    cfl_snapshot_stamp(s, number, 0);
    return s;
}

static bool is_whole(const struct credfresh_snapshot *s)
{
    const struct credfresh_file *file = credfresh_snapshot_file(s, 0);

    for (size_t i = 0; i < SIZE; i++)
        if (file->bytes[i] != 'a' + credfresh_snapshot_generation(s) % 26)
            return false;
    return file->bytes[SIZE] == 0;
}

/* What a reader does once: some holds are retained, some end in another thread. All else here is relaxed, so that
 * ThreadSanitizer knows of no order but the library's. */
static void read_once(uint64_t *last, unsigned turn)
{
    uint64_t before = cfl_core_sequence(core);
    const struct credfresh_snapshot *s = cfl_core_acquire(core);
    uint64_t sequence = credfresh_snapshot_sequence(s);

    if (!is_whole(s) || sequence < *last || sequence < before || sequence > cfl_core_sequence(core))
        atomic_fetch_add_explicit(&wrong, 1, memory_order_relaxed);
    *last = sequence;
    if (turn % 3 == 0)
        credfresh_release(credfresh_retain(s));
    if (turn % 2 == 0)
        s = atomic_exchange(&mailbox[turn % MAILBOXES], s);
    if (s != NULL && !is_whole(s))
        atomic_fetch_add_explicit(&wrong, 1, memory_order_relaxed);
    credfresh_release(s);
}

static void *read_all(void *unused)
{
    uint64_t last = 0;

    for (unsigned turn = 0; !atomic_load_explicit(&ended, memory_order_relaxed); turn++)
        read_once(&last, turn);
    return unused;
}

static void end_hold(void *held)
{
    credfresh_release(*(const struct credfresh_snapshot **)held);
}

/* HELD, a pointer to a snapshot: what it holds when it is cancelled. */
static void *read_until_cancelled(void *held)
{
    const struct credfresh_snapshot **mine = held;

    pthread_cleanup_push(end_hold, held);
    for (;;) {
        *mine = cfl_core_acquire(core);
        pthread_testcancel();
        credfresh_release(*mine);
        *mine = NULL;
        pthread_testcancel();
    }
    pthread_cleanup_pop(1);
    return NULL;
}

static void *read_a_little(void *unused)
{
    uint64_t last = 0;

    for (unsigned turn = 0; turn < 20; turn++)
        read_once(&last, turn);
    return unused;
}

static void publish(uint64_t number)
{
    struct credfresh_snapshot *s = snapshot_of(number);
    int rc = cfl_core_publish(core, s);

    if (rc == CREDFRESH_E_HELD) /* 62 are held by readers that the machine does not run */
        cfl_snapshot_drop(s);
    else if (rc != 0)
        atomic_fetch_add_explicit(&wrong, 1, memory_order_relaxed);
}

static int setup(void **state)
{
    (void)state;
    core = cfl_core_new();
    atomic_store(&ended, false);
    atomic_store(&wrong, 0);
    atomic_store(&unmapped, 0);
    for (size_t i = 0; i < MAILBOXES; i++)
        atomic_store(&mailbox[i], NULL);
    return core == NULL;
}

/* Closes the core while holds are left, ends these, and expects that nothing else kept a snapshot. */
static void close_and_count(uint64_t made)
{
    const struct credfresh_snapshot *held = cfl_core_acquire(core);

    cfl_core_close(core);
    assert_true(is_whole(held));
    credfresh_release(held);
    for (size_t i = 0; i < MAILBOXES; i++)
        credfresh_release(atomic_exchange(&mailbox[i], NULL));
    assert_int_equal(atomic_load(&wrong), 0);
    assert_int_equal(atomic_load(&unmapped), made);
}

static void start(pthread_t *threads, size_t count, void *(*function)(void *))
{
    for (size_t i = 0; i < count; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, function, NULL), 0);
}

static void join(const pthread_t *threads, size_t count)
{
    for (size_t i = 0; i < count; i++)
        assert_int_equal(pthread_join(threads[i], NULL), 0);
}

static void test_stress(void **state)
{
    pthread_t readers[12];

    (void)state;
    publish(1);
    start(readers, 12, read_all);
    for (uint64_t n = 2; n <= PUBLISHES; n++)
        publish(n);
    atomic_store(&ended, true);
    join(readers, 12);
    close_and_count(PUBLISHES);
}

static void test_threads_that_end(void **state)
{
    uint64_t n = 1;

    (void)state;
    publish(n);
    for (int round = 0; round < 60; round++) {
        pthread_t readers[6];

        start(readers, 6, read_a_little);
        publish(++n);
        publish(++n);
        join(readers, 6);
    }
    close_and_count(n);
}

static void test_threads_that_are_cancelled(void **state)
{
    uint64_t n = 1;

    (void)state;
    publish(n);
    for (int round = 0; round < 60; round++) {
        pthread_t readers[4];
        const struct credfresh_snapshot *held[4] = {NULL};

        for (int i = 0; i < 4; i++)
            assert_int_equal(pthread_create(&readers[i], NULL, read_until_cancelled, (void *)&held[i]), 0);
        publish(++n);
        for (int i = 0; i < 4; i++)
            assert_int_equal(pthread_cancel(readers[i]), 0);
        publish(++n);
        join(readers, 4);
    }
    close_and_count(n);
}

#ifndef __SANITIZE_THREAD__ /* it ends a child that goes on after a fork beside other threads */
static void continue_in_child(void)
{
    uint64_t before = cfl_core_sequence(core);
    const struct credfresh_snapshot *s = cfl_core_acquire(core);
    bool good = is_whole(s) && credfresh_snapshot_sequence(s) == before;

    for (uint64_t n = 1; n <= 8; n++)
        publish(n + 1000000);
    good = good && is_whole(s) && cfl_core_sequence(core) == before + 8;
    credfresh_release(s);
    s = cfl_core_acquire(core);
    good = good && is_whole(s) && credfresh_snapshot_generation(s) == 1000008;
    credfresh_release(s);
    _exit(good ? 0 : 1);
}

static void test_fork(void **state)
{
    pthread_t readers[4];
    uint64_t n = 1;

    (void)state;
    publish(n);
    start(readers, 4, read_all);
    for (int round = 0; round < 40; round++) {
        pid_t child = fork();
        int status = -1;

        if (child == 0)
            continue_in_child();
        publish(++n);
        assert_int_equal(waitpid(child, &status, 0), child);
        assert_int_equal(status, 0);
    }
    atomic_store(&ended, true);
    join(readers, 4);
    close_and_count(n);
}
#endif

/* Of a snapshot that is still the current one, and of one that is not. */
static void test_each_hold_is_counted(void **state)
{
    const struct credfresh_snapshot *held[3];

    (void)state;
    assert_null(cfl_core_acquire(core));
    assert_int_equal(cfl_core_sequence(core), 0);
    publish(1);
    for (size_t i = 0; i < 3; i++)
        held[i] = cfl_core_acquire(core);
    credfresh_release(held[0]);
    publish(2);
    assert_int_equal(cfl_core_sequence(core), 2);
    (void)credfresh_retain(held[1]);
    credfresh_release(held[1]);
    credfresh_release(held[1]);
    assert_int_equal(atomic_load(&unmapped), 0);
    assert_true(is_whole(held[2]));
    credfresh_release(held[2]);
    assert_int_equal(atomic_load(&unmapped), 1);
    publish(3); /* nothing holds 2 */
    assert_int_equal(atomic_load(&unmapped), 2);
    close_and_count(3);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
#define T(name) cmocka_unit_test_setup(name, setup)
        T(test_stress),
        T(test_threads_that_end),
        T(test_threads_that_are_cancelled),
#ifndef __SANITIZE_THREAD__
        T(test_fork),
#endif
        T(test_each_hold_is_counted),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
