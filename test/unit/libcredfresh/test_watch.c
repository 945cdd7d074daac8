/* SPDX-License-Identifier: MIT */
/* Following a directory through everything that the kubelet and credfresh do to it. */
#include "reload_volume.h"

static int init_error; /* what inotify_init1 and inotify_add_watch fail with; 0: they work */
static int add_error;
int __real_inotify_init1(int flags);
int __wrap_inotify_init1(int flags);
int __real_inotify_add_watch(int fd, const char *path, uint32_t mask);
int __wrap_inotify_add_watch(int fd, const char *path, uint32_t mask);

int __wrap_inotify_init1(int flags)
{
    errno = init_error;
    return init_error != 0 ? -1 : __real_inotify_init1(flags);
}

int __wrap_inotify_add_watch(int fd, const char *path, uint32_t mask)
{
    errno = add_error;
    return add_error != 0 ? -1 : __real_inotify_add_watch(fd, path, mask);
}

static int setup(void **state)
{
    init_error = 0;
    add_error = 0;
    return scratch_make(state);
}

struct heard {
    int calls;
    uint64_t sequence;
    int dispatched;
    int status;
};

static void hear(struct credfresh *w, const struct credfresh_snapshot *s, void *context)
{
    struct heard *h = context;
    struct credfresh_status status = {.struct_size = sizeof status};

    h->calls++;
    h->sequence = credfresh_snapshot_sequence(s);
    h->dispatched = credfresh_dispatch(w);
    h->status = credfresh_status(w, &status);
}

static void test_swap(void **state)
{
    const char *volume = volume_make();
    struct heard heard = {0, 0, 0, 0};
    struct credfresh_options o = CREDFRESH_OPTIONS_INIT;

    (void)state;
    o.on_change = hear;
    o.context = &heard;
    update_token(volume, 1, "one");
    struct credfresh *w = follow(volume, &o);

    assert_string_equal(now(w, "token"), "one");
    assert_int_equal(credfresh_sequence(w), 1);
    assert_int_equal(heard.calls, 0);
    assert_true(credfresh_changed(w, 0));
    assert_false(credfresh_changed(w, 1));
    assert_int_equal(status_of(w).mode, CREDFRESH_MODE_EVENTS);
    assert_int_equal(status_of(w).kind, CREDFRESH_KIND_SWAPPED);
    assert_false(wakes(w, 0));
    update_token(volume, 2, "two");
    assert_true(wakes(w, 10000));
    assert_false(credfresh_changed(w, 1));
    assert_int_equal(credfresh_dispatch(w), 1);
    assert_true(credfresh_changed(w, 1));
    assert_string_equal(now(w, "token"), "two");
    assert_int_equal(status_of(w).generation, 2);
    assert_int_equal(heard.calls, 1);
    assert_int_equal(heard.sequence, 2);
    assert_int_equal(heard.dispatched, CREDFRESH_E_BUSY);
    assert_int_equal(heard.status, 0);
    assert_false(wakes(w, 0));
    assert_int_equal(credfresh_dispatch(w), 0);
    credfresh_close(w);
}

/* The number is what is acknowledged: it counts as new even if nothing else is. */
static void test_same_content_under_a_new_number(void **state)
{
    const char *volume = volume_make();

    (void)state;
    update_token(volume, 7, "same");
    struct credfresh *w = follow(volume, NULL);

    update_token(volume, 8, "same");
    assert_true(changes(w));
    assert_int_equal(status_of(w).generation, 8);
    credfresh_close(w);
}

static void test_appears_later(void **state)
{
    struct credfresh *w = follow(in("a/b/volume"), NULL);

    (void)state;
    assert_null(credfresh_acquire(w));
    assert_int_equal(credfresh_sequence(w), 0);
    assert_false(credfresh_changed(w, 0));
    assert_int_equal(status_of(w).error, CREDFRESH_E_MISSING);
    assert_int_equal(status_of(w).kind, CREDFRESH_KIND_NONE);
    assert_non_null(strstr(status_of(w).error_text, "a/b/volume: No such file or directory"));
    assert_int_equal(mkdir(in("a"), 0755), 0);
    assert_int_equal(credfresh_wait(w, 0), 0);
    assert_int_equal(mkdir(in("a/b"), 0755), 0);
    assert_int_equal(credfresh_wait(w, 0), 0);
    assert_int_equal(mkdir(in("a/b/volume"), 0755), 0);
    assert_int_equal(credfresh_wait(w, 0), 0);
    assert_int_equal(status_of(w).error, CREDFRESH_E_MISSING);
    assert_non_null(strstr(status_of(w).error_text, "holds no file"));
    update_token(in("a/b/volume"), 1, "first");
    assert_true(changes(w));
    assert_string_equal(now(w, "token"), "first");
    credfresh_close(w);
}

static void test_removal_and_return(void **state)
{
    const char *volume = volume_make();

    (void)state;
    update_token(volume, 1, "one");
    struct credfresh *w = follow(volume, NULL);

    for (unsigned round = 2; round < 5; round++) {
        char text[16];

        tree_remove(volume);
        while (status_of(w).kind != CREDFRESH_KIND_NONE)
            (void)credfresh_wait(w, 10);
        assert_int_equal(status_of(w).error, CREDFRESH_E_MISSING);
        assert_int_equal(credfresh_sequence(w), round - 1);
        (void)snprintf(text, sizeof text, "round %u", round);
        assert_int_equal(mkdir(volume, 0755), 0);
        update_token(volume, 1, text);
        assert_true(changes(w));
        assert_string_equal(now(w, "token"), text);
        assert_int_equal(status_of(w).error, 0);
    }
    /* Away and back as it was: nothing new, and still followed. */
    assert_int_equal(rename(volume, in("away")), 0);
    while (status_of(w).kind != CREDFRESH_KIND_NONE)
        (void)credfresh_wait(w, 10);
    assert_int_equal(rename(in("away"), volume), 0);
    while (status_of(w).kind == CREDFRESH_KIND_NONE)
        assert_int_equal(credfresh_wait(w, 10), 0);
    update_token(volume, 2, "after");
    assert_true(changes(w));
    assert_string_equal(now(w, "token"), "after");
    credfresh_close(w);
}

/* No event tells of a path that leads elsewhere by now: the regular look does. */
static void test_symlink_to_another_directory(void **state)
{
    struct credfresh_options o = CREDFRESH_OPTIONS_INIT;

    (void)state;
    o.check_ms = 100;
    assert_int_equal(mkdir(in("a"), 0755), 0);
    assert_int_equal(mkdir(in("b"), 0755), 0);
    update_token(in("a"), 1, "of a");
    update_token(in("b"), 1, "of b");
    assert_int_equal(symlink("a", in("current")), 0);
    struct credfresh *w = follow(in("current"), &o);

    assert_string_equal(now(w, "token"), "of a");
    assert_int_equal(symlink("b", in("next")), 0);
    assert_int_equal(rename(in("next"), in("current")), 0);
    assert_true(changes(w));
    assert_string_equal(now(w, "token"), "of b");
    update_token(in("b"), 2, "more of b");
    assert_true(changes(w));
    assert_string_equal(now(w, "token"), "more of b");
    credfresh_close(w);
}

/* What happens in the directory that the path leads to by now is seen at once, not by the next regular look. */
static void test_the_watch_moves_with_the_path(void **state)
{
    struct credfresh_options o = CREDFRESH_OPTIONS_INIT;

    (void)state;
    o.check_ms = 3600 * 1000;
    assert_int_equal(mkdir(in("a"), 0755), 0);
    assert_int_equal(mkdir(in("b"), 0755), 0);
    update_token(in("a"), 1, "of a");
    update_token(in("b"), 1, "of b");
    assert_int_equal(symlink("a", in("current")), 0);
    struct credfresh *w = follow(in("current"), &o);

    assert_int_equal(symlink("b", in("next")), 0);
    assert_int_equal(rename(in("next"), in("current")), 0);
    update_token(in("a"), 2, "unread");
    assert_true(changes(w));
    assert_string_equal(now(w, "token"), "of b");
    update_token(in("b"), 2, "more of b");
    assert_true(changes(w));
    assert_string_equal(now(w, "token"), "more of b");
    update_token(in("a"), 3, "unread, too");
    assert_false(wakes(w, 0));
    /* The directory itself is another one, too. */
    assert_int_equal(renameat2(AT_FDCWD, in("a"), AT_FDCWD, in("b"), RENAME_EXCHANGE), 0);
    assert_true(changes(w));
    assert_string_equal(now(w, "token"), "unread, too");
    update_token(in("b"), 4, "read");
    assert_true(changes(w));
    assert_string_equal(now(w, "token"), "read");
    credfresh_close(w);
}

static void test_incomplete_is_not_taken(void **state)
{
    const char *volume = volume_make();
    const char *const names[] = {"tls.key", "tls.crt"};
    struct credfresh_options o = CREDFRESH_OPTIONS_INIT;

    (void)state;
    o.names = names;
    o.name_count = 2;
    update(volume, 1, (const char *const[]){"tls.crt", "c1", "tls.key", "k1", "ca.crt", "a1", NULL});
    struct credfresh *w = follow(volume, &o);
    const struct credfresh_snapshot *s = credfresh_acquire(w);

    assert_int_equal(credfresh_snapshot_count(s), 2);
    assert_string_equal(credfresh_snapshot_file(s, 0)->name, "tls.crt");
    assert_string_equal(credfresh_snapshot_file(s, 1)->name, "tls.key");
    assert_null(credfresh_snapshot_file(s, 2));
    assert_null(credfresh_snapshot_find(s, "ca.crt"));
    credfresh_release(s);
    update(volume, 2, (const char *const[]){"tls.crt", "c2", "ca.crt", "a2", NULL});
    while (status_of(w).error == 0)
        assert_int_not_equal(credfresh_wait(w, 10), 1);
    assert_int_equal(status_of(w).error, CREDFRESH_E_MISSING);
    assert_non_null(strstr(status_of(w).error_text, "tls.key in "));
    assert_string_equal(now(w, "tls.crt"), "c1");
    update(volume, 3, (const char *const[]){"tls.crt", "c3", "tls.key", "k3", NULL});
    assert_true(changes(w));
    assert_string_equal(now(w, "tls.key"), "k3");
    credfresh_close(w);
}

static void test_nested_files(void **state)
{
    const char *volume = volume_make();

    (void)state;
    update(volume, 1, (const char *const[]){"a", "1", "tokens/vault", "2", "tokens/aws", "3", ".hidden", "4", NULL});
    assert_int_equal(symlink("..data/tokens", in("volume/tokens")), 0);
    struct credfresh *w = follow(volume, NULL);

    assert_string_equal(now(w, "tokens/vault"), "2");
    assert_string_equal(now(w, "tokens/aws"), "3");
    assert_string_equal(now(w, ".hidden"), "4");
    assert_string_equal(now(w, "tokens"), "(none)");
    credfresh_close(w);
}

static void test_plain_directory(void **state)
{
    const char *volume = volume_make();

    (void)state;
    put(in("volume/token"), "one");
    put(in("volume/.draft"), "no");
    put(in("elsewhere"), "linked");
    assert_int_equal(symlink("../elsewhere", in("volume/link")), 0);
    assert_int_equal(mkfifo(in("volume/fifo"), 0600), 0);
    struct credfresh *w = follow(volume, NULL);

    assert_int_equal(status_of(w).kind, CREDFRESH_KIND_PLAIN);
    assert_int_equal(status_of(w).generation, 0);
    assert_string_equal(now(w, "token"), "one");
    assert_string_equal(now(w, "link"), "linked");
    assert_string_equal(now(w, ".draft"), "(none)");
    assert_string_equal(now(w, "fifo"), "(none)");
    put(in("volume/token"), "two"); /* in place, of the same length, perhaps within one tick of the clock */
    assert_true(changes(w));
    assert_string_equal(now(w, "token"), "two");
    put(in("volume/.token.tmp"), "three");
    assert_int_equal(rename(in("volume/.token.tmp"), in("volume/token")), 0);
    assert_true(changes(w));
    assert_string_equal(now(w, "token"), "three");
    update_token(volume, 1, "no link: there is a file"); /* and from now on a volume */
    while (status_of(w).kind != CREDFRESH_KIND_SWAPPED)
        (void)credfresh_wait(w, 10);
    assert_string_equal(now(w, "token"), "no link: there is a file");
    credfresh_close(w);
}

/* Written again right after it was read, perhaps within one tick of the file system's clock, and no event to tell. */
static void test_plain_directory_without_events(void **state)
{
    const char *volume = volume_make();
    struct credfresh_options o = CREDFRESH_OPTIONS_INIT;

    (void)state;
    o.flags = CREDFRESH_POLL_ONLY;
    o.poll_ms = 10;
    for (int i = 0; i < 20; i++) {
        put(in("volume/token"), "one");
        struct credfresh *w = follow(volume, &o);

        put(in("volume/token"), "two");
        assert_true(changes(w));
        assert_string_equal(now(w, "token"), "two");
        credfresh_close(w);
    }
}

static void test_many_swaps(void **state)
{
    const char *volume = volume_make();

    (void)state;
    update_token(volume, 1, "1");
    struct credfresh *w = follow(volume, NULL);

    for (unsigned i = 2; i < 50; i++) {
        char text[16];

        (void)snprintf(text, sizeof text, "%u", i);
        update_token(volume, i, text);
        assert_true(changes(w));
        assert_string_equal(now(w, "token"), text);
        assert_int_equal(credfresh_sequence(w), i);
    }
    credfresh_close(w);
}

static void test_overflow(void **state)
{
    const char *volume = volume_make();
    FILE *f = fopen("/proc/sys/fs/inotify/max_queued_events", "re");
    long queue = 0;

    (void)state;
    assert_non_null(f);
    assert_int_equal(fscanf(f, "%ld", &queue), 1);
    (void)fclose(f);
    update_token(volume, 1, "one");
    struct credfresh *w = follow(volume, NULL);

    if (queue > 100000)
        skip();
    for (long i = 0; i <= queue; i += 2) { /* the kernel merges equal neighbours */
        put(in("volume/noise"), "");
        assert_int_equal(unlink(in("volume/noise")), 0);
    }
    update_token(volume, 2, "two");
    assert_true(changes(w));
    assert_string_equal(now(w, "token"), "two");
    assert_true(status_of(w).overflows >= 1);
    update_token(volume, 3, "three");
    assert_true(changes(w));
    assert_string_equal(now(w, "token"), "three");
    credfresh_close(w);
}

static void poll_without(int init, int add, unsigned flags, const char *reason)
{
    const char *volume = volume_make();
    struct credfresh_options o = CREDFRESH_OPTIONS_INIT;

    o.poll_ms = 20;
    o.check_ms = 200;
    o.flags = flags;
    init_error = init;
    add_error = add;
    update_token(volume, 1, "one");
    struct credfresh *w = follow(volume, &o);

    assert_int_equal(status_of(w).mode, CREDFRESH_MODE_POLLING);
    assert_non_null(strstr(status_of(w).mode_reason, reason));
    update_token(volume, 2, "two");
    assert_true(changes(w));
    assert_string_equal(now(w, "token"), "two");
    init_error = 0; /* and when there are some again */
    add_error = 0;
    while (flags == 0 && status_of(w).mode == CREDFRESH_MODE_POLLING)
        (void)credfresh_wait(w, 10);
    assert_string_equal(status_of(w).mode_reason, flags == 0 ? "" : reason);
    update_token(volume, 3, "three");
    assert_true(changes(w));
    assert_string_equal(now(w, "token"), "three");
    credfresh_close(w);
    tree_remove(volume);
}

static void test_polls_where_inotify_does_not_work(void **state)
{
    (void)state;
    poll_without(EMFILE, 0, 0, "fs.inotify.max_user_instances");
    poll_without(0, ENOSPC, 0, "fs.inotify.max_user_watches");
    poll_without(ENOSYS, 0, 0, "inotify does not start");
    poll_without(0, EACCES, 0, "may not be read");
    poll_without(0, 0, CREDFRESH_POLL_ONLY, "it was asked to");
}

static void test_relative_path(void **state)
{
    char here[PATH_MAX];

    (void)state;
    assert_non_null(getcwd(here, sizeof here));
    update_token(volume_make(), 1, "one");
    assert_int_equal(chdir(scratch), 0);
    struct credfresh *w = follow("volume", NULL);

    assert_int_equal(chdir(here), 0);
    update_token(in("volume"), 2, "two");
    assert_true(changes(w));
    assert_string_equal(now(w, "token"), "two");
    credfresh_close(w);
}

static void test_limits(void **state)
{
    const char *volume = volume_make();
    struct credfresh_options o = CREDFRESH_OPTIONS_INIT;

    (void)state;
    o.bytes_max = 10;
    o.files_max = 2;
    update(volume, 1, (const char *const[]){"a", "12345", "b", "67890", NULL});
    struct credfresh *w = follow(volume, &o);

    assert_string_equal(now(w, "b"), "67890");
    update(volume, 2, (const char *const[]){"a", "12345", "b", "678901", NULL});
    while (status_of(w).error == 0)
        assert_int_not_equal(credfresh_wait(w, 10), 1);
    assert_int_equal(status_of(w).error, CREDFRESH_E_LIMIT);
    assert_non_null(strstr(status_of(w).error_text, "raise bytes_max"));
    update(volume, 3, (const char *const[]){"a", "1", "b", "2", "c", "3", NULL});
    while (strstr(status_of(w).error_text, "raise files_max") == NULL)
        assert_int_not_equal(credfresh_wait(w, 10), 1);
    assert_string_equal(now(w, "b"), "67890");
    update(volume, 4, (const char *const[]){"a", "", "b", "1234567890", NULL});
    assert_true(changes(w));
    assert_string_equal(now(w, "a"), "");
    credfresh_close(w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
#define T(name) cmocka_unit_test_setup_teardown(name, setup, scratch_remove)
        T(test_swap),
        T(test_same_content_under_a_new_number),
        T(test_appears_later),
        T(test_removal_and_return),
        T(test_symlink_to_another_directory),
        T(test_the_watch_moves_with_the_path),
        T(test_incomplete_is_not_taken),
        T(test_nested_files),
        T(test_plain_directory),
        T(test_plain_directory_without_events),
        T(test_many_swaps),
        T(test_overflow),
        T(test_polls_where_inotify_does_not_work),
        T(test_relative_path),
        T(test_limits),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
