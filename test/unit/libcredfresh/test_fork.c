/* SPDX-License-Identifier: MIT */
/* A child continues with its parent's watcher, without effect on the parent. */
#include "reload_volume.h"

#include <pthread.h>

/* In a child: cmocka's assertions would run the parent's tests on. */
#define MUST(condition)                                                                                                \
    do {                                                                                                               \
        if (!(condition))                                                                                              \
            _exit(__LINE__ % 251 + 1);                                                                                 \
    } while (0)

static void ends_well(pid_t child)
{
    int status = 0;

    assert_int_equal(waitpid(child, &status, 0), child);
    if (!WIFEXITED(status) || WEXITSTATUS(status) != 0)
        fail_msg("the child ended with %#x", (unsigned)status);
}

static void in_the_child(struct credfresh *w, const struct credfresh_snapshot *held, int to_parent, int from_parent,
                         int (*begin)(struct credfresh *))
{
    char byte;
    int fd = credfresh_fd(w);

    MUST(strcmp((const char *)credfresh_snapshot_find(held, "token")->bytes, "one") == 0);
    MUST(credfresh_sequence(w) == 1);
    MUST(begin(w) == 0);
    MUST(credfresh_fd(w) == fd);
    MUST((fcntl(fd, F_GETFD) & FD_CLOEXEC) != 0);
    MUST(write(to_parent, "x", 1) == 1);
    MUST(read(from_parent, &byte, 1) == 1); /* the parent has swapped and dispatched */
    MUST(wakes(w, 10000));
    MUST(credfresh_dispatch(w) == 1);
    MUST(strcmp(now(w, "token"), "two") == 0);
    credfresh_release(held);
    credfresh_close(w);
    _exit(0);
}

static void follow_across_fork(int (*begin)(struct credfresh *))
{
    const char *volume = volume_make();
    int to_child[2];
    int to_parent[2];
    char byte;

    update_token(volume, 1, "one");
    struct credfresh *w = follow(volume, NULL);
    const struct credfresh_snapshot *held = credfresh_acquire(w);

    assert_int_equal(pipe(to_child), 0);
    assert_int_equal(pipe(to_parent), 0);
    assert_int_equal(credfresh_after_fork(w), 0); /* nothing, in the parent */
    pid_t child = fork();

    if (child == 0)
        in_the_child(w, held, to_parent[1], to_child[0], begin);
    assert_true(child > 0);
    assert_int_equal(read(to_parent[0], &byte, 1), 1);
    update_token(volume, 2, "two");
    assert_true(changes(w));
    assert_int_equal(write(to_child[1], "x", 1), 1);
    ends_well(child);
    update_token(volume, 3, "three"); /* the child's end took nothing away */
    assert_true(changes(w));
    assert_string_equal(now(w, "token"), "three");
    credfresh_release(held);
    credfresh_close(w);
    (void)close(to_child[0]);
    (void)close(to_child[1]);
    (void)close(to_parent[0]);
    (void)close(to_parent[1]);
    tree_remove(volume);
}

static void test_child(void **state)
{
    (void)state;
    follow_across_fork(credfresh_dispatch);
    follow_across_fork(credfresh_after_fork);
}

static int ready[2];
static int go_on[2];

static void stop_inside(struct credfresh *w, const struct credfresh_snapshot *s, void *context)
{
    char byte;

    (void)w;
    (void)s;
    if (getpid() != *(pid_t *)context)
        return;
    assert_int_equal(write(ready[1], "x", 1), 1);
    assert_int_equal(read(go_on[0], &byte, 1), 1);
}

static void *dispatch_once(void *w)
{
    (void)changes(w);
    return NULL;
}

/* Another thread of the parent is dispatching at the fork: in the child nobody is. */
static void test_fork_while_dispatching(void **state)
{
    const char *volume = volume_make();
    pid_t parent = getpid();
    struct credfresh_options o = CREDFRESH_OPTIONS_INIT;
    pthread_t thread;
    char byte;

    (void)state;
    o.on_change = stop_inside;
    o.context = &parent;
    assert_int_equal(pipe(ready), 0);
    assert_int_equal(pipe(go_on), 0);
    update_token(volume, 1, "one");
    struct credfresh *w = follow(volume, &o);

    update_token(volume, 2, "two");
    assert_int_equal(pthread_create(&thread, NULL, dispatch_once, w), 0);
    assert_int_equal(read(ready[0], &byte, 1), 1);
    assert_int_equal(credfresh_dispatch(w), CREDFRESH_E_BUSY);
    assert_int_equal(credfresh_after_fork(w), CREDFRESH_E_BUSY);
    pid_t child = fork();

    if (child == 0) {
        MUST(strcmp(now(w, "token"), "two") == 0);
        MUST(credfresh_dispatch(w) == 0);
        update_token(volume, 3, "three");
        MUST(changes(w));
        MUST(strcmp(now(w, "token"), "three") == 0);
        _exit(0);
    }
    ends_well(child);
    assert_int_equal(write(go_on[1], "x", 1), 1);
    assert_int_equal(pthread_join(thread, NULL), 0);
    credfresh_close(w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
#define T(name) cmocka_unit_test_setup_teardown(name, scratch_make, scratch_remove)
        T(test_child),
        T(test_fork_while_dispatching),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
