/* SPDX-License-Identifier: MIT */
/* Snapshots: holds, release and wiping. */
#include "reload_volume.h"

#include <sys/mman.h>

static int unmapped; /* snapshots, each of which was looked at: nothing may be left in it */
static bool no_memory;
int __real_munmap(void *p, size_t n);
int __wrap_munmap(void *p, size_t n);
void *__real_mmap(void *p, size_t n, int protection, int flags, int fd, off_t at);
void *__wrap_mmap(void *p, size_t n, int protection, int flags, int fd, off_t at);

int __wrap_munmap(void *p, size_t n)
{
    const unsigned char *bytes = p;

    for (size_t i = 0; i < n; i++)
        if (bytes[i] != 0)
            fail_msg("byte %zu of %zu was not wiped", i, n);
    unmapped++;
    return __real_munmap(p, n);
}

void *__wrap_mmap(void *p, size_t n, int protection, int flags, int fd, off_t at)
{
    errno = ENOMEM;
    return no_memory ? MAP_FAILED : __real_mmap(p, n, protection, flags, fd, at);
}

static int setup(void **state)
{
    unmapped = 0;
    no_memory = false;
    return scratch_make(state);
}

static void next(struct credfresh *w, unsigned number)
{
    char text[32];

    (void)snprintf(text, sizeof text, "secret %u", number);
    update_token(in("volume"), number, text);
    assert_true(changes(w));
}

static void test_held_until_released(void **state)
{
    const char *volume = volume_make();

    (void)state;
    update_token(volume, 1, "secret 1");
    struct credfresh *w = follow(volume, NULL);
    const struct credfresh_snapshot *a = credfresh_acquire(w);
    const struct credfresh_snapshot *b = credfresh_acquire(w);

    assert_ptr_equal(a, b);
    assert_ptr_equal(credfresh_retain(a), a);
    credfresh_release(a); /* while it is current */
    next(w, 2);
    assert_int_equal(unmapped, 0);
    assert_string_equal((const char *)credfresh_snapshot_find(a, "token")->bytes, "secret 1");
    assert_int_equal(credfresh_snapshot_sequence(a), 1);
    assert_int_equal(credfresh_snapshot_generation(a), 1);
    credfresh_release(a);
    assert_int_equal(unmapped, 0);
    credfresh_release(a);
    assert_int_equal(unmapped, 1);
    next(w, 3); /* nobody held the second */
    assert_int_equal(unmapped, 2);
    credfresh_close(w);
    assert_int_equal(unmapped, 3);
    credfresh_release(NULL);
    credfresh_close(NULL);
}

static void test_survives_the_watcher(void **state)
{
    const char *volume = volume_make();

    (void)state;
    update_token(volume, 1, "secret 1");
    struct credfresh *w = follow(volume, NULL);
    const struct credfresh_snapshot *old = credfresh_acquire(w);

    next(w, 2);
    const struct credfresh_snapshot *current = credfresh_acquire(w);

    credfresh_close(w);
    assert_int_equal(unmapped, 0);
    assert_string_equal((const char *)credfresh_snapshot_find(old, "token")->bytes, "secret 1");
    assert_string_equal((const char *)credfresh_snapshot_find(current, "token")->bytes, "secret 2");
    credfresh_release(current);
    credfresh_release(old);
    assert_int_equal(unmapped, 2);
}

static void test_too_many_are_held(void **state)
{
    const char *volume = volume_make();
    const struct credfresh_snapshot *held[CREDFRESH_HELD_MAX + 1];
    unsigned n = 0;

    (void)state;
    update_token(volume, 1, "secret 1");
    struct credfresh *w = follow(volume, NULL);

    for (; n < CREDFRESH_HELD_MAX; n++) {
        held[n] = credfresh_acquire(w);
        next(w, n + 2);
    }
    held[n] = credfresh_acquire(w); /* the current one, which is not an older one yet */
    update_token(volume, n + 2, "one too many");
    while (status_of(w).error == 0)
        assert_int_not_equal(credfresh_wait(w, 10), 1);
    assert_int_equal(status_of(w).error, CREDFRESH_E_HELD);
    assert_non_null(strstr(status_of(w).error_text, "does not release"));
    assert_int_equal(credfresh_sequence(w), n + 1);
    assert_true(unmapped >= 1); /* what found no place */
    credfresh_release(held[20]);
    assert_true(changes(w)); /* by itself */
    assert_string_equal(now(w, "token"), "one too many");
    for (unsigned i = 0; i <= n; i++) {
        char text[32];

        if (i == 20)
            continue;
        (void)snprintf(text, sizeof text, "secret %u", i + 1);
        assert_string_equal((const char *)credfresh_snapshot_find(held[i], "token")->bytes, text);
        credfresh_release(held[i]);
    }
    credfresh_close(w);
}

static void test_no_memory(void **state)
{
    const char *volume = volume_make();

    (void)state;
    update_token(volume, 1, "secret 1");
    struct credfresh *w = follow(volume, NULL);

    no_memory = true;
    update_token(volume, 2, "secret 2");
    while (status_of(w).error == 0)
        assert_int_not_equal(credfresh_wait(w, 10), 1);
    assert_int_equal(status_of(w).error, CREDFRESH_E_NOMEM);
    assert_string_equal(now(w, "token"), "secret 1");
    no_memory = false;
    assert_true(changes(w)); /* by itself */
    assert_string_equal(now(w, "token"), "secret 2");
    credfresh_close(w);
}

static void test_time_and_order(void **state)
{
    const char *volume = volume_make();
    struct stat st;

    (void)state;
    update(volume, 1, (const char *const[]){"b", "2", "a", "1", "B", "0", "a.b", "3", NULL});
    struct credfresh *w = follow(volume, NULL);
    const struct credfresh_snapshot *s = credfresh_acquire(w);

    assert_int_equal(stat(in("volume/..data"), &st), 0);
    assert_int_equal(credfresh_snapshot_time_ms(s), (int64_t)st.st_mtim.tv_sec * 1000 + st.st_mtim.tv_nsec / 1000000);
    assert_string_equal(credfresh_snapshot_file(s, 0)->name, "B");
    assert_string_equal(credfresh_snapshot_file(s, 1)->name, "a");
    assert_string_equal(credfresh_snapshot_file(s, 2)->name, "a.b");
    assert_string_equal(credfresh_snapshot_file(s, 3)->name, "b");
    for (size_t i = 0; i < credfresh_snapshot_count(s); i++)
        assert_ptr_equal(credfresh_snapshot_find(s, credfresh_snapshot_file(s, i)->name),
                         credfresh_snapshot_file(s, i));
    assert_null(credfresh_snapshot_find(s, "aa"));
    assert_null(credfresh_snapshot_find(s, ""));
    credfresh_release(s);
    credfresh_close(w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
#define T(name) cmocka_unit_test_setup_teardown(name, setup, scratch_remove)
        T(test_held_until_released), T(test_survives_the_watcher), T(test_too_many_are_held),
        T(test_no_memory),           T(test_time_and_order),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
