/* SPDX-License-Identifier: MIT */
/* The process that the agent ends with: it is waited for, it ends, it comes back within the pause. */
#include "daemon_fixture.h"

#include "agent/daemon/follow_process_private.h"

#include <signal.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static struct cfr_daemon_follow follow;
static struct cfr_config_exit config;
static bool ended;
static char pid_file[PATH_MAX];

static int begin(void **state)
{
    if (scratch_make(state) != 0)
        return -1;
    (void)snprintf(pid_file, sizeof pid_file, "%s", in("pid"));
    follow = (struct cfr_daemon_follow){.pidfd = -1};
    config = (struct cfr_config_exit){.pid_file = pid_file, .linger_ms = 2000};
    ended = false;
    return begin_test(state);
}

static int end(void **state)
{
    cfr_daemon_follow(&follow, NULL, &ended);
    return scratch_remove(state);
}

/* Skips the test where the kernel, or valgrind, has no pidfd_open. */
static pid_t start_process(void)
{
    int fd = (int)syscall(SYS_pidfd_open, getpid(), 0);
    char text[32];
    pid_t pid;

    if (fd < 0)
        skip();
    (void)close(fd);
    pid = fork();
    if (pid == 0) {
        (void)pause();
        _exit(0);
    }
    assert_true(pid > 0);
    (void)snprintf(text, sizeof text, "%d\n", (int)pid);
    put(pid_file, text);
    return pid;
}

static void end_process(pid_t pid)
{
    assert_int_equal(kill(pid, SIGKILL), 0);
    assert_int_equal(waitpid(pid, NULL, 0), pid);
}

static void start(void)
{
    cfr_daemon_follow(&follow, &config, &ended);
    run_loop();
}

static void test_none_is_configured(void **state)
{
    (void)state;
    cfr_daemon_follow(&follow, NULL, &ended);
    pass_ms(60000);
    assert_int_equal(cfr_loop_time(&follow.task), INT64_MAX);
    assert_false(ended);
}

static void test_it_ends(void **state)
{
    pid_t pid;

    (void)state;
    start();
    pid = start_process();
    /* Before its time nothing is read. */
    pass_ms(249);
    assert_string_equal(test_log, "");
    pass_ms(1);
    assert_contains(test_log, "runs: the agent ends when it has ended\n");
    assert_true(follow.pidfd >= 0);
    assert_int_equal(cfr_loop_time(&follow.task), INT64_MAX);
    pass_ms(3600000);
    assert_false(ended);
    end_process(pid);
    (void)unlink(pid_file);
    forget();
    run_loop();
    pass_ms(1999);
    assert_false(ended);
    pass_ms(250);
    assert_true(ended);
    assert_contains(test_log, "has ended, and so does the agent\n");
    assert_int_equal(cfr_loop_time(&follow.task), INT64_MAX);
}

/* A restart within the pause is not the end. */
static void test_it_comes_back(void **state)
{
    pid_t pid;

    (void)state;
    pid = start_process();
    start();
    end_process(pid);
    (void)unlink(pid_file);
    pass_ms(1500);
    assert_int_equal(follow.pidfd, -1);
    pid = start_process();
    pass_ms(250);
    assert_true(follow.pidfd >= 0);
    pass_ms(60000);
    assert_false(ended);
    end_process(pid);
}

/* A process that ended before it was seen has left a file that is newer than the agent. */
static void test_it_was_too_short_to_be_seen(void **state)
{
    (void)state;
    test_now.wall_ms = (int64_t)time(NULL) * 1000 - 60000;
    start();
    put(pid_file, "999999999\n");
    pass_ms(250);
    assert_true(follow.seen);
    assert_false(ended);
    pass_ms(2000);
    assert_true(ended);
}

/* A file from before the agent's start names a process of an earlier run. */
static void test_an_old_file(void **state)
{
    (void)state;
    put(pid_file, "999999999\n");
    test_now.wall_ms = (int64_t)time(NULL) * 1000 + 60000;
    start();
    pass_ms(30000);
    assert_false(follow.seen || ended);
    assert_int_equal(cfr_loop_time(&follow.task), test_now.boot_ms + 250);
    /* After the first minute it is looked for less often. */
    pass_ms(60000);
    assert_int_equal(cfr_loop_time(&follow.task), test_now.boot_ms + 1000);
    assert_false(follow.seen || ended);
}

static void test_another_configuration(void **state)
{
    struct cfr_config_exit same = config;
    struct cfr_config_exit other = {.pid_file = (char[]){"/run/none/pid"}};
    pid_t pid = start_process();

    (void)state;
    start();
    assert_true(follow.seen);
    /* It may have ended just before, and must not be waited for again. */
    cfr_daemon_follow(&follow, &same, &ended);
    assert_true(follow.seen && follow.pidfd >= 0);
    cfr_daemon_follow(&follow, &other, &ended);
    assert_false(follow.seen);
    assert_int_equal(follow.pidfd, -1);
    end_process(pid);
    pass_ms(10000);
    assert_false(ended);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, begin, end)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_none_is_configured),          TEST(test_it_ends),     TEST(test_it_comes_back),
        TEST(test_it_was_too_short_to_be_seen), TEST(test_an_old_file), TEST(test_another_configuration),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
