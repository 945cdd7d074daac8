/* SPDX-License-Identifier: MIT */
/* Readiness: when it is announced, lost and announced again, and what a supervisor is told. */
#include "daemon_fixture.h"

#include "agent/daemon/readiness.h"

#include <fcntl.h>
#include <unistd.h>

static char *const names[] = {(char[]){"a"}, (char[]){"b"}, (char[]){"c"}};

/* Something has happened to a worker, and the loop makes a turn. */
static void turn(struct cfr_daemon *a)
{
    cfr_loop_soon(&a->host.moved);
    run_loop();
}

static void end(struct cfr_daemon *a)
{
    cfr_daemon_readiness_close(a);
    cfr_loop_off(&a->notice);
}

static void test_all_required_ones_count(void **state)
{
    struct cfr_daemon a = agent_with(names, 3);

    (void)state;
    test_workers[2].is_optional = true;
    assert_false(cfr_daemon_readiness_is_open(&a, NULL));
    test_workers[0].is_ready = true;
    assert_false(cfr_daemon_readiness_is_open(&a, NULL));
    test_workers[1].is_ready = true;
    assert_true(cfr_daemon_readiness_is_open(&a, NULL));
}

static void test_a_gate_names_its_own(void **state)
{
    char *items[] = {names[2]};
    const struct cfr_strings gate = {items, 1};
    const struct cfr_strings none = {NULL, 0};
    struct cfr_daemon a = agent_with(names, 3);

    (void)state;
    test_workers[2].is_optional = true;
    test_workers[2].is_ready = true;
    assert_true(cfr_daemon_readiness_is_open(&a, &gate));
    assert_false(cfr_daemon_readiness_is_open(&a, &none));
    test_workers[2].is_ready = false;
    test_workers[0].is_ready = test_workers[1].is_ready = true;
    assert_false(cfr_daemon_readiness_is_open(&a, &gate));
    assert_true(cfr_daemon_readiness_is_open(&a, &none));
}

static void test_it_is_announced_once(void **state)
{
    struct cfr_daemon a = agent_with(names, 2);

    (void)state;
    cfr_daemon_readiness_open(&a);
    a.readiness.told_boot_ms = INT64_MIN / 2;
    turn(&a);
    assert_string_equal(test_notified, "waiting for a, b\n");
    assert_false(a.announced);
    forget();
    test_workers[0].is_ready = test_workers[1].is_ready = true;
    turn(&a);
    assert_string_equal(test_notified, "READY=1 2 credentials, all required ones published\n");
    assert_string_equal(test_log, "INFO ready: every required credential is published\n");
    assert_true(a.announced && a.readiness.ready);
    forget();
    turn(&a);
    pass_ms(2000);
    turn(&a);
    assert_string_equal(test_log, "");
    end(&a);
}

/* A check that the loop was not asked for costs nothing. */
static void test_nothing_is_checked_without_an_event(void **state)
{
    struct cfr_daemon a = agent_with(names, 1);

    (void)state;
    cfr_daemon_readiness_open(&a);
    test_workers[0].is_ready = true;
    pass_ms(60000);
    assert_false(a.announced);
    turn(&a);
    assert_true(a.announced);
    end(&a);
}

static void announce_all(struct cfr_daemon *a)
{
    for (size_t i = 0; i < a->count; i++)
        test_workers[i].is_ready = true;
    turn(a);
    assert_true(a->announced);
    forget();
}

static void test_what_is_repaired_at_once_is_not_reported(void **state)
{
    struct cfr_daemon a = agent_with(names, 2);

    (void)state;
    cfr_daemon_readiness_open(&a);
    announce_all(&a);
    test_workers[1].is_ready = false;
    turn(&a);
    pass_ms(500);
    test_workers[1].is_ready = true;
    turn(&a);
    pass_ms(600);
    turn(&a);
    assert_string_equal(test_log, "");
    assert_true(a.readiness.ready);
    end(&a);
}

static void test_it_is_lost_and_comes_back(void **state)
{
    struct cfr_daemon a = agent_with(names, 2);

    (void)state;
    cfr_daemon_readiness_open(&a);
    announce_all(&a);
    test_workers[1].is_ready = false;
    test_workers[1].error = "HTTP 503";
    turn(&a);
    pass_ms(999);
    assert_string_equal(test_log, "");
    pass_ms(1);
    assert_string_equal(test_log, "WARN not ready any more: b\n");
    assert_string_equal(test_notified, "not ready: b; b: HTTP 503\n");
    assert_false(a.readiness.ready);
    forget();
    pass_ms(61000);
    test_workers[1].is_ready = true;
    turn(&a);
    pass_ms(1000);
    assert_string_equal(test_log, "INFO ready again, after 1 min 2 s\n");
    /* The service manager has had its READY=1. */
    assert_string_equal(test_notified, "2 credentials, all required ones published\n");
    end(&a);
}

static void test_the_service_manager_gets_news_once_a_second(void **state)
{
    struct cfr_daemon a = agent_with(names, 2);

    (void)state;
    cfr_daemon_readiness_open(&a);
    a.readiness.told_boot_ms = test_now.boot_ms;
    test_workers[0].error = "first";
    turn(&a);
    assert_string_equal(test_notified, "");
    pass_ms(1000);
    assert_string_equal(test_notified, "waiting for a, b; a: first\n");
    forget();
    /* The same text is not sent twice. */
    turn(&a);
    pass_ms(1000);
    assert_string_equal(test_notified, "");
    test_workers[0].error = "second";
    turn(&a);
    pass_ms(1000);
    assert_string_equal(test_notified, "waiting for a, b; a: second\n");
    end(&a);
}

static void test_without_a_service_manager(void **state)
{
    struct cfr_daemon a = agent_with(names, 1);

    (void)state;
    cfr_daemon_readiness_open(&a);
    test_is_notified = false;
    a.readiness.told_boot_ms = INT64_MIN / 2;
    turn(&a);
    assert_string_equal(test_notified, "");
    assert_int_equal(cfr_loop_time(&a.readiness.tell), INT64_MAX);
    end(&a);
}

static void test_once_announces_nothing(void **state)
{
    struct cfr_daemon a = agent_with(names, 1);

    (void)state;
    a.options.once = true;
    cfr_daemon_readiness_open(&a);
    test_workers[0].is_ready = true;
    turn(&a);
    assert_string_equal(test_notified, "");
    assert_false(a.announced);
    end(&a);
}

static void test_once_says_what_it_waits_for(void **state)
{
    struct cfr_daemon a = agent_with(names, 3);

    (void)state;
    a.options.once = true;
    cfr_daemon_readiness_open(&a);
    test_workers[1].outcome = CFR_WORKER_GOOD;
    pass_ms(CFR_DAEMON_NOTICE_MS - 1);
    assert_string_equal(test_log, "");
    pass_ms(1);
    assert_string_equal(test_log, "INFO waiting for a (waiting), c (waiting)\n");
    forget();
    pass_ms(CFR_DAEMON_TICK_MS - 1);
    assert_string_equal(test_log, "");
    pass_ms(1);
    assert_string_equal(test_log, "INFO waiting for a (waiting), c (waiting)\n");
    forget();
    test_workers[0].outcome = test_workers[2].outcome = CFR_WORKER_BAD;
    pass_ms(CFR_DAEMON_TICK_MS);
    assert_string_equal(test_log, "");
    end(&a);
}

/* A list of many names is cut, and says how many it leaves out. */
static void test_many_names(void **state)
{
    static char many[WORKERS_MAX][24];
    char *list[WORKERS_MAX];
    struct cfr_daemon a;

    (void)state;
    for (size_t i = 0; i < WORKERS_MAX; i++) {
        (void)snprintf(many[i], sizeof many[i], "credential-number-%02zu", i);
        list[i] = many[i];
    }
    a = agent_with(list, WORKERS_MAX);
    cfr_daemon_readiness_open(&a);
    a.readiness.told_boot_ms = INT64_MIN / 2;
    turn(&a);
    assert_contains(test_notified, "credential-number-09 and 54 more\n");
    cfr_loop_soon(&a.notice);
    run_loop();
    assert_contains(test_log, "(waiting) and 57 more\n");
    end(&a);
}

/* ---- a supervisor's descriptor ---- */

/* What was written to it; 0: nothing, and it is open. */
static char word_of(struct cfr_daemon *a, int fd)
{
    char word = 0;

    cfr_daemon_readiness_report(a);
    return read(fd, &word, 1) == 1 ? word : 0;
}

static void test_a_supervisor(void **state)
{
    struct cfr_daemon a = agent_with(names, 2);
    int fds[2];

    (void)state;
    cfr_daemon_readiness_report(&a); /* without one */
    assert_int_equal(test_workers[0].wanted, 0);
    assert_int_equal(pipe2(fds, O_NONBLOCK | O_CLOEXEC), 0);
    a.options.ready_fd = fds[1];
    test_workers[0].is_ready = true;
    assert_int_equal(word_of(&a, fds[0]), 0);
    /* What it waits for is tried at once, and only that. */
    assert_int_equal(test_workers[0].wanted, 0);
    assert_int_equal(test_workers[1].wanted, 1);
    test_workers[1].is_ready = true;
    assert_int_equal(word_of(&a, fds[0]), CFR_DAEMON_READINESS_READY);
    assert_int_equal(a.options.ready_fd, 0);
    assert_int_equal(read(fds[0], &(char){0}, 1), 0);
    (void)close(fds[0]);
}

static void test_a_supervisor_of_what_cannot_be(void **state)
{
    struct cfr_daemon a = agent_with(names, 2);
    char *items[] = {names[1]};
    const struct cfr_strings gate = {items, 1};
    int fds[2];

    (void)state;
    assert_int_equal(pipe2(fds, O_NONBLOCK | O_CLOEXEC), 0);
    a.options.ready_fd = fds[1];
    a.options.gate = &gate;
    /* Another credential does not matter. */
    test_workers[0].outcome = CFR_WORKER_BAD;
    assert_int_equal(word_of(&a, fds[0]), 0);
    test_workers[1].outcome = CFR_WORKER_BAD;
    assert_int_equal(word_of(&a, fds[0]), CFR_DAEMON_READINESS_FAILED);
    (void)close(fds[0]);
}

/* A hook that fails makes the outcome bad, and does not hold back the command. */
static void test_a_failing_hook(void **state)
{
    struct cfr_daemon a = agent_with(names, 2);
    int fds[2];

    (void)state;
    assert_int_equal(pipe2(fds, O_NONBLOCK | O_CLOEXEC), 0);
    a.options.ready_fd = fds[1];
    test_workers[0].is_ready = true;
    test_workers[0].outcome = CFR_WORKER_BAD;
    assert_int_equal(word_of(&a, fds[0]), 0);
    test_workers[1].is_ready = true;
    assert_int_equal(word_of(&a, fds[0]), CFR_DAEMON_READINESS_READY);
    (void)close(fds[0]);
}

#define TEST(f) cmocka_unit_test_setup(f, begin_test)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_all_required_ones_count),
        TEST(test_a_gate_names_its_own),
        TEST(test_it_is_announced_once),
        TEST(test_nothing_is_checked_without_an_event),
        TEST(test_what_is_repaired_at_once_is_not_reported),
        TEST(test_it_is_lost_and_comes_back),
        TEST(test_the_service_manager_gets_news_once_a_second),
        TEST(test_without_a_service_manager),
        TEST(test_once_announces_nothing),
        TEST(test_once_says_what_it_waits_for),
        TEST(test_many_names),
        TEST(test_a_supervisor),
        TEST(test_a_supervisor_of_what_cannot_be),
        TEST(test_a_failing_hook),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
