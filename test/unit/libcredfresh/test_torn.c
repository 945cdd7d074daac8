/* SPDX-License-Identifier: MIT */
/* Swaps during a read, at every step of it: the result is of one version, or nothing. */
#include "reload_volume.h"

#include <sys/syscall.h>

#define FILES 3

static int countdown; /* before the n-th openat from now the volume is updated; 0: not any more */
static unsigned swaps_left;
static unsigned version;
static int real_openat(int dir, const char *path, int flags);
int __wrap_openat(int dir, const char *path, int flags, ...);

static int real_openat(int dir, const char *path, int flags)
{
    return (int)syscall(SYS_openat, dir, path, flags, 0);
}

static void next_version(void)
{
    char text[FILES][32];

    version++;
    for (int i = 0; i < FILES; i++)
        (void)snprintf(text[i], sizeof text[i], "%u", version);
    update(in("volume"), version, (const char *const[]){"a", text[0], "b", text[1], "d/c", text[2], NULL});
}

int __wrap_openat(int dir, const char *path, int flags, ...)
{
    if (countdown > 0 && --countdown == 0) {
        next_version();
        if (--swaps_left > 0)
            countdown = 2;
    }
    return real_openat(dir, path, flags);
}

static void is_whole(struct credfresh *w)
{
    const struct credfresh_snapshot *s = credfresh_acquire(w);
    const struct credfresh_file *a = credfresh_snapshot_find(s, "a");
    const struct credfresh_file *b = credfresh_snapshot_find(s, "b");
    const struct credfresh_file *c = credfresh_snapshot_find(s, "d/c");

    assert_int_equal(credfresh_snapshot_count(s), FILES);
    assert_string_equal((const char *)a->bytes, (const char *)b->bytes);
    assert_string_equal((const char *)a->bytes, (const char *)c->bytes);
    assert_int_equal(credfresh_snapshot_generation(s), strtoul((const char *)a->bytes, NULL, 10));
    credfresh_release(s);
}

static void swap_at_every_step(unsigned swaps)
{
    version = 0;
    (void)volume_make();
    next_version();
    struct credfresh *w = follow(in("volume"), NULL);
    uint64_t torn = 0;
    int step = 1;

    for (bool reached = true; reached; step++) {
        next_version();
        swaps_left = swaps;
        countdown = step;
        assert_true(changes(w));
        reached = countdown == 0 || swaps_left < swaps;
        countdown = 0;
        is_whole(w);
        torn = status_of(w).torn;
        while (status_of(w).generation != version)
            (void)credfresh_wait(w, 1000);
        is_whole(w);
    }
    assert_true(step > 6);
    assert_true(torn >= 4);
    credfresh_close(w);
}

static void test_one_swap(void **state)
{
    (void)state;
    swap_at_every_step(1);
}

static void test_swap_after_swap(void **state)
{
    (void)state;
    swap_at_every_step(4);
}

/* More swaps than it has patience for: the last good one stays, and it comes back to it. */
static void test_never_at_rest(void **state)
{
    (void)state;
    version = 0;
    (void)volume_make();
    next_version();
    struct credfresh *w = follow(in("volume"), NULL);

    next_version();
    swaps_left = 1000;
    countdown = 2;
    assert_int_equal(credfresh_dispatch(w), CREDFRESH_E_UNSTABLE);
    assert_int_equal(status_of(w).error, CREDFRESH_E_UNSTABLE);
    assert_int_equal(status_of(w).generation, 1);
    is_whole(w);
    countdown = 0;
    assert_true(changes(w));
    assert_int_equal(status_of(w).generation, version);
    credfresh_close(w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
#define T(name) cmocka_unit_test_setup_teardown(name, scratch_make_fast, scratch_remove)
        T(test_one_swap),
        T(test_swap_after_swap),
        T(test_never_at_rest),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
