/* SPDX-License-Identifier: MIT */
/* File watches, for every way in which a file is created or changed. */
#include "files_scratch.h"

#include "files/watch.h"

#include <poll.h>
#include <sys/mount.h>

#define WAIT_MS 10000
#define MANY    1000

static struct cfr_err err;
static struct cfr_watch *w;
static int calls[MANY]; /* by owner; an owner is a pointer into it */

static int setup(void **state)
{
    memset(calls, 0, sizeof calls);
    return scratch_make(state) != 0 || cfr_watch_open(&w, &err) != 0 ? -1 : 0;
}

static int teardown(void **state)
{
    cfr_watch_close(w);
    return scratch_remove(state);
}

static bool called(void *ctx, void *owner)
{
    (void)ctx;
    ++*(int *)owner;
    return true;
}

static bool too_early(void *ctx, void *owner)
{
    (void)called(ctx, owner);
    return false;
}

static bool something_pending(int timeout_ms)
{
    struct pollfd p = {cfr_watch_fd(w), POLLIN, 0};

    return poll(&p, 1, timeout_ms) == 1;
}

static void dispatch(void)
{
    assert_int_equal(cfr_watch_dispatch(w, called, NULL, NULL, &err), 0);
}

/* Waits until owner I is called, and forgets all calls. */
static void expect_call(size_t i)
{
    while (calls[i] == 0) {
        assert_true(something_pending(WAIT_MS));
        dispatch();
    }
    memset(calls, 0, sizeof calls);
}

/* Events are queued before the system call that causes them returns, so nothing pending means nothing will
 * come. */
static void expect_no_call(size_t i)
{
    dispatch();
    assert_int_equal(calls[i], 0);
    memset(calls, 0, sizeof calls);
}

static void add(const char *path, size_t i)
{
    assert_int_equal(cfr_watch_add(w, path, &calls[i], &err), 0);
}

static void replace(const char *path, const char *text)
{
    char temp[PATH_MAX + 8];

    (void)snprintf(temp, sizeof temp, "%s.new", path);
    put(temp, text);
    assert_int_equal(rename(temp, path), 0);
}

static void plain_files(void **state)
{
    (void)state;
    put(in("token"), "one");
    put(in("other"), "one");
    add(in("token"), 0);
    expect_no_call(0);
    replace(in("token"), "two");
    expect_call(0);
    put(in("token"), "three");
    expect_call(0);
    replace(in("other"), "two");
    put(in("tokens"), "not it");
    expect_no_call(0);
    assert_int_equal(unlink(in("token")), 0);
    put(in("token"), "four");
    expect_call(0);
    assert_int_equal(unlink(in("token")), 0);
    assert_int_equal(symlink("other", in("token")), 0);
    expect_call(0);
}

/* A directory with files that is kept without the kubelet's links. */
static void a_whole_directory(void **state)
{
    (void)state;
    add(in("dir/..data"), 0);
    assert_int_equal(mkdir(in("dir"), 0755), 0);
    expect_call(0);
    put(in("dir/key"), "one");
    expect_call(0);
    replace(in("dir/key"), "two");
    expect_call(0);
    put(in("elsewhere"), "x");
    expect_no_call(0);
    /* What goes away is found by looking. */
    cfr_watch_rescan(w, called, NULL);
    memset(calls, 0, sizeof calls);
    assert_int_equal(unlink(in("dir/key")), 0);
    cfr_watch_rescan(w, called, NULL);
    assert_int_equal(calls[0], 1);
    cfr_watch_rescan(w, called, NULL);
    assert_int_equal(calls[0], 1);
}

/* The steps of the kubelet (kubernetes pkg/volume/util/atomic_writer.go). */
static void kubelet_swap(const char *generation, const char *old, const char *text)
{
    char path[PATH_MAX];

    assert_int_equal(mkdir(in(generation), 0755), 0);
    (void)snprintf(path, sizeof path, "%s/token", in(generation));
    put(path, text);
    assert_int_equal(symlink(strrchr(in(generation), '/') + 1, in("vol/..data_tmp")), 0);
    assert_int_equal(rename(in("vol/..data_tmp"), in("vol/..data")), 0);
    if (old == NULL) {
        assert_int_equal(symlink("..data/token", in("vol/token")), 0);
        return;
    }
    (void)snprintf(path, sizeof path, "%s/token", in(old));
    assert_int_equal(unlink(path), 0);
    assert_int_equal(rmdir(in(old)), 0);
}

static void kubelet_volume(void **state)
{
    (void)state;
    assert_int_equal(mkdir(in("vol"), 0755), 0);
    kubelet_swap("vol/..2026_01_02_03_04_05.1", NULL, "one");
    add(in("vol/token"), 0);
    expect_no_call(0);
    for (int i = 2; i < 6; i++) {
        char generation[64];
        char old[64];

        (void)snprintf(generation, sizeof generation, "vol/..2026_01_02_03_04_05.%d", i);
        (void)snprintf(old, sizeof old, "vol/..2026_01_02_03_04_05.%d", i - 1);
        kubelet_swap(generation, old, "next");
        expect_call(0);
    }
}

static void rename_data(const char *generation)
{
    assert_int_equal(symlink(generation, in("dir/..data_tmp")), 0);
    assert_int_equal(rename(in("dir/..data_tmp"), in("dir/..data")), 0);
}

/* Dispatches once: both owners watch the same directory, and what the first one does is not reported to it. */
static void expect_both(int first, int second)
{
    dispatch();
    assert_int_equal(calls[0], first);
    assert_int_equal(calls[1], second);
    memset(calls, 0, sizeof calls);
}

static void own_renames_are_not_reported(void **state)
{
    char data[PATH_MAX];

    (void)state;
    assert_int_equal(mkdir(in("dir"), 0755), 0);
    (void)snprintf(data, sizeof data, "%s", in("dir/..data"));
    add(data, 0);
    add(data, 1);
    rename_data("..1");
    cfr_watch_expect(w, data, &calls[0]);
    expect_both(0, 1);
    /* Another program does the same, before or after. */
    rename_data("..2");
    rename_data("..3");
    cfr_watch_expect(w, data, &calls[0]);
    expect_both(1, 1);
    /* It changes something else. */
    rename_data("..4");
    cfr_watch_expect(w, data, &calls[0]);
    put(in("dir/token"), "theirs");
    expect_both(1, 1);
    rename_data("..5");
    cfr_watch_expect(w, data, &calls[0]);
    assert_int_equal(unlink(in("dir/token")), 0);
    expect_both(1, 1);
    /* Later changes are not expected. */
    cfr_watch_expect(w, data, &calls[0]);
    expect_both(0, 0);
    rename_data("..6");
    expect_both(1, 1);
}

static void directory_that_comes_later(void **state)
{
    (void)state;
    add(in("a/b/c/token"), 0);
    put(in("x"), "noise");
    expect_no_call(0);
    assert_int_equal(mkdir(in("a"), 0755), 0);
    expect_call(0);
    assert_int_equal(mkdir(in("a/b"), 0755), 0);
    assert_int_equal(mkdir(in("a/b/c"), 0755), 0);
    expect_call(0);
    put(in("a/b/c/token"), "one");
    expect_call(0);
    put(in("x"), "noise");
    expect_no_call(0);
}

static void parents_that_come_all_at_once(void **state)
{
    (void)state;
    add(in("a/b/token"), 0);
    add(in("a/b/other"), 1);
    assert_int_equal(mkdir(in("tmp"), 0755), 0);
    assert_int_equal(mkdir(in("tmp/b"), 0755), 0);
    put(in("tmp/b/token"), "one");
    assert_int_equal(rename(in("tmp"), in("a")), 0);
    expect_call(0);
    replace(in("a/b/token"), "two");
    expect_call(0);
    replace(in("a/b/other"), "two");
    expect_call(1);
}

static void directory_that_goes_and_comes_again(void **state)
{
    (void)state;
    assert_int_equal(mkdir(in("d"), 0755), 0);
    put(in("d/token"), "one");
    add(in("d/token"), 0);
    assert_int_equal(unlink(in("d/token")), 0);
    assert_int_equal(rmdir(in("d")), 0);
    expect_call(0);
    assert_int_equal(mkdir(in("d"), 0755), 0);
    put(in("d/token"), "two");
    expect_call(0);
    replace(in("d/token"), "three");
    expect_call(0);
    /* Moved away: what happens there now is not ours. */
    assert_int_equal(rename(in("d"), in("moved")), 0);
    expect_call(0);
    replace(in("moved/token"), "four");
    expect_no_call(0);
    assert_int_equal(mkdir(in("d"), 0755), 0);
    expect_call(0);
    replace(in("d/token"), "five");
    expect_call(0);
}

/* A rename of a directory further up moves what is in it without a word there. */
static void directory_itself(void **state)
{
    (void)state;
    assert_int_equal(mkdir(in("up"), 0755), 0);
    assert_int_equal(mkdir(in("up/dir"), 0755), 0);
    put(in("up/dir/key"), "one");
    assert_int_equal(cfr_watch_add_with_parents(w, in("up/dir/..data"), &calls[0], &err), 0);
    assert_int_equal(cfr_watch_add_with_parents(w, in("up/dir2/..data"), &calls[1], &err), 0);
    put(in("up/other"), "one");
    assert_int_equal(unlink(in("up/other")), 0);
    assert_int_equal(symlink("dir", in("up/..data")), 0);
    expect_no_call(1);
    expect_no_call(0);
    assert_int_equal(rename(in("up"), in("down")), 0);
    expect_call(0);
    put(in("down/dir/key"), "two");
    expect_no_call(0);
    /* Without a rescan, the paths are followed again. */
    assert_int_equal(mkdir(in("up"), 0755), 0);
    expect_call(0);
    assert_int_equal(mkdir(in("up/dir"), 0755), 0);
    expect_call(0);
    put(in("up/dir/key"), "three");
    expect_call(0);
    assert_int_equal(rename(in("up"), in("away")), 0);
    expect_call(1);
    cfr_watch_rescan(w, called, NULL);
    memset(calls, 0, sizeof calls);
    assert_int_equal(mkdir(in("up"), 0755), 0);
    put(in("up/other"), "two");
    cfr_watch_rescan(w, called, NULL);
    memset(calls, 0, sizeof calls);
    put(in("up/third"), "three");
    cfr_watch_rescan(w, called, NULL);
    expect_no_call(1);
}

static size_t count_watches(void)
{
    char path[64];
    size_t count = 0;

    (void)snprintf(path, sizeof path, "/proc/self/fdinfo/%d", cfr_watch_fd(w));
    for (const char *at = strstr(get(path), "inotify "); at != NULL; at = strstr(at + 1, "inotify "))
        count++;
    return count;
}

/* Two owners watch one path, and a third one another below the same directories. */
static void parents_are_shared(void **state)
{
    size_t watches;

    (void)state;
    assert_int_equal(mkdir(in("up"), 0755), 0);
    assert_int_equal(mkdir(in("up/a"), 0755), 0);
    assert_int_equal(mkdir(in("up/b"), 0755), 0);
    assert_int_equal(cfr_watch_add_with_parents(w, in("up/a/..data"), &calls[0], &err), 0);
    watches = count_watches();
    assert_int_equal(cfr_watch_add_with_parents(w, in("up/a/..data"), &calls[1], &err), 0);
    assert_int_equal(count_watches(), watches);
    assert_int_equal(cfr_watch_add_with_parents(w, in("up/b/..data"), &calls[2], &err), 0);
    assert_int_equal(count_watches(), watches + 1);
    cfr_watch_remove(w, &calls[0]);
    cfr_watch_remove(w, &calls[2]);
    assert_int_equal(count_watches(), watches);
    assert_int_equal(rename(in("up"), in("down")), 0);
    dispatch();
    assert_int_equal(calls[0], 0);
    assert_int_equal(calls[1], 1);
    assert_int_equal(calls[2], 0);
    cfr_watch_remove(w, &calls[1]);
    assert_int_equal(count_watches(), 0);
}

static void owners_and_paths_many_to_many(void **state)
{
    (void)state;
    add(in("a"), 0);
    add(in("a"), 1);
    add(in("b"), 1);
    put(in("a"), "x");
    put(in("b"), "x");
    dispatch();
    assert_int_equal(calls[0], 1);
    assert_int_equal(calls[1], 1); /* once, though both changed */
    memset(calls, 0, sizeof calls);
    cfr_watch_remove(w, &calls[1]);
    replace(in("a"), "y");
    replace(in("b"), "y");
    dispatch();
    assert_int_equal(calls[0], 1);
    assert_int_equal(calls[1], 0);
    cfr_watch_remove(w, &calls[0]);
    cfr_watch_remove(w, &calls[0]);
    replace(in("a"), "z");
    dispatch();
    assert_int_equal(calls[0], 1);
}

static bool remove_and_add(void *ctx, void *owner)
{
    (void)ctx;
    ++*(int *)owner;
    cfr_watch_remove(w, &calls[0]);
    cfr_watch_remove(w, &calls[1]);
    cfr_watch_remove(w, &calls[2]);
    assert_int_equal(cfr_watch_add(w, in("new"), &calls[3], &err), 0);
    return true;
}

/* The next call reports it without another event. */
static void a_change_that_is_too_early(void **state)
{
    (void)state;
    put(in("a"), "x");
    add(in("a"), 0);
    put(in("a"), "y");
    for (int i = 0; i < 3; i++)
        assert_int_equal(cfr_watch_dispatch(w, too_early, NULL, NULL, &err), 0);
    cfr_watch_rescan(w, too_early, NULL);
    assert_int_equal(calls[0], 4);
    dispatch();
    assert_int_equal(calls[0], 5);
    dispatch();
    assert_int_equal(calls[0], 5);
}

static void callback_may_change_the_watches(void **state)
{
    (void)state;
    add(in("a"), 0);
    add(in("a"), 1);
    add(in("a"), 2);
    put(in("a"), "x");
    assert_int_equal(cfr_watch_dispatch(w, remove_and_add, NULL, NULL, &err), 0);
    assert_int_equal(calls[0] + calls[1] + calls[2], 1);
    memset(calls, 0, sizeof calls);
    put(in("new"), "x");
    expect_call(3);
}

static void overflow_calls_everybody(void **state)
{
    bool overflowed = false;
    long limit = strtol(get("/proc/sys/fs/inotify/max_queued_events"), NULL, 10);

    (void)state;
    if (limit <= 0 || limit > 100000) {
        print_message("[   NOTE   ] skipped: fs.inotify.max_queued_events is too great to overflow\n");
        skip();
    }
    assert_int_equal(mkdir(in("quiet"), 0755), 0);
    add(in("quiet/token"), 0);
    add(in("a"), 1);
    put(in("a"), "");
    /* To and fro, because the same event twice in a row counts once. */
    for (long i = 0; i < limit + 10; i++)
        assert_int_equal(rename(in(i % 2 == 0 ? "a" : "b"), in(i % 2 == 0 ? "b" : "a")), 0);
    assert_int_equal(cfr_watch_dispatch(w, called, NULL, &overflowed, &err), 0);
    assert_true(overflowed);
    assert_int_equal(calls[0], 1);
    assert_int_equal(calls[1], 1);
    memset(calls, 0, sizeof calls);
    put(in("quiet/token"), "x");
    expect_call(0);
}

static void rescan_sees_what_events_do_not_tell(void **state)
{
    (void)state;
    assert_int_equal(mkdir(in("real"), 0755), 0);
    assert_int_equal(mkdir(in("real2"), 0755), 0);
    put(in("real/token"), "one");
    put(in("real2/token"), "two!");
    assert_int_equal(symlink("real", in("link")), 0);
    put(in("still"), "x");
    add(in("link/token"), 0);
    add(in("still"), 1);
    cfr_watch_rescan(w, called, NULL);
    assert_int_equal(calls[0] + calls[1], 0);
    /* The link is not in the watched directory. */
    assert_int_equal(unlink(in("link")), 0);
    assert_int_equal(symlink("real2", in("link")), 0);
    expect_no_call(0);
    cfr_watch_rescan(w, called, NULL);
    assert_int_equal(calls[0], 1);
    assert_int_equal(calls[1], 0);
    cfr_watch_rescan(w, called, NULL);
    assert_int_equal(calls[0], 1);
    /* It has moved the watch too. */
    memset(calls, 0, sizeof calls);
    replace(in("real2/token"), "three");
    expect_call(0);
    /* The file may have changed between the event and the call. */
    for (int i = 0; i < 2; i++) {
        cfr_watch_rescan(w, called, NULL);
        assert_int_equal(calls[0], 1);
    }
}

static void rescan_after_a_mount(void)
{
    put(in("d/token"), "under");
    CHILD_CHECK(cfr_watch_add(w, in("d/token"), &calls[0], &err) == 0);
    CHILD_CHECK(mount("none", in("d"), "tmpfs", 0, "size=64k") == 0);
    put(in("d/token"), "above");
    cfr_watch_rescan(w, called, NULL);
    CHILD_CHECK(calls[0] == 1);
    put(in("d/token"), "again");
    CHILD_CHECK(cfr_watch_dispatch(w, called, NULL, NULL, &err) == 0);
    CHILD_CHECK(calls[0] == 2);
    CHILD_CHECK(umount(in("d")) == 0);
    CHILD_CHECK(cfr_watch_dispatch(w, called, NULL, NULL, &err) == 0);
    CHILD_CHECK(calls[0] == 3);
    put(in("d/token"), "under again");
    CHILD_CHECK(cfr_watch_dispatch(w, called, NULL, NULL, &err) == 0);
    CHILD_CHECK(calls[0] == 4);
}

static void mounts_come_and_go(void **state)
{
    (void)state;
    assert_int_equal(mkdir(in("d"), 0755), 0);
    assert_int_equal(in_mount_namespace(rescan_after_a_mount), 0);
}

static void bad_paths_are_refused(void **state)
{
    char path[PATH_MAX + 10];

    (void)state;
    memset(path, '/', sizeof path);
    path[sizeof path - 2] = 'x';
    path[sizeof path - 1] = '\0';
    assert_int_equal(cfr_watch_add(w, path, &calls[0], &err), CFR_E_PATH);
    assert_int_equal(cfr_watch_add(w, "token", &calls[0], &err), CFR_E_PATH);
    assert_int_equal(cfr_watch_add(w, "", &calls[0], &err), CFR_E_PATH);
    assert_int_equal(cfr_watch_add(w, "/run/", &calls[0], &err), CFR_E_PATH);
    assert_int_equal(cfr_watch_add(w, "/cfr-no-such-file", &calls[0], &err), 0);
}

static void thousand_directories(void **state)
{
    char name[32];

    (void)state;
    for (size_t i = 0; i < MANY; i++) {
        (void)snprintf(name, sizeof name, "d%zu", i);
        assert_int_equal(mkdir(in(name), 0755), 0);
        (void)snprintf(name, sizeof name, "d%zu/token", i);
        add(in(name), i);
    }
    for (size_t i = 0; i < MANY; i++) {
        (void)snprintf(name, sizeof name, "d%zu/token", i);
        put(in(name), "x");
    }
    dispatch();
    for (size_t i = 0; i < MANY; i++)
        assert_int_equal(calls[i], 1);
    for (size_t i = 0; i < MANY; i += 2)
        cfr_watch_remove(w, &calls[i]);
    for (size_t i = 0; i < MANY; i++) {
        (void)snprintf(name, sizeof name, "d%zu/token", i);
        put(in(name), "y");
    }
    dispatch();
    for (size_t i = 0; i < MANY; i++)
        assert_int_equal(calls[i], i % 2 == 0 ? 1 : 2);
}

#define SCRATCH_TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        /* First: the table of mounts that another one has opened would be of our namespace. */
        SCRATCH_TEST(mounts_come_and_go),
        SCRATCH_TEST(plain_files),
        SCRATCH_TEST(a_whole_directory),
        SCRATCH_TEST(kubelet_volume),
        SCRATCH_TEST(own_renames_are_not_reported),
        SCRATCH_TEST(directory_that_comes_later),
        SCRATCH_TEST(parents_that_come_all_at_once),
        SCRATCH_TEST(directory_that_goes_and_comes_again),
        SCRATCH_TEST(directory_itself),
        SCRATCH_TEST(parents_are_shared),
        SCRATCH_TEST(owners_and_paths_many_to_many),
        SCRATCH_TEST(a_change_that_is_too_early),
        SCRATCH_TEST(callback_may_change_the_watches),
        SCRATCH_TEST(overflow_calls_everybody),
        SCRATCH_TEST(rescan_sees_what_events_do_not_tell),
        SCRATCH_TEST(bad_paths_are_refused),
        SCRATCH_TEST(thousand_directories),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
