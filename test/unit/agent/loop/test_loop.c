/* SPDX-License-Identifier: MIT */
/* Tasks of the loop, by a clock that the tests set. */
#include "unit.h"

#include "agent/loop/loop.h"

#include "agent/loop/clock.h"
#include "agent/loop/process.h"

#include <stdlib.h>
#include <unistd.h>

static int64_t clock_ms;
static int64_t work_ms; /* what each run takes */

struct cfr_now __wrap_cfr_clock_now(void);
struct cfr_now __wrap_cfr_clock_now(void)
{
    return (struct cfr_now){clock_ms, clock_ms};
}

struct job {
    struct cfr_task task;
    int64_t again_ms; /* what it sets itself to when it runs; 0 = nothing */
    struct job *kill; /* what it turns off when it runs */
    unsigned runs;
};

static struct job *order[64];
static size_t ran;

static void run(struct cfr_task *t)
{
    struct job *j = CFR_TASK_OWNER(t, struct job, task);

    order[ran++ % 64] = j;
    j->runs++;
    clock_ms += work_ms;
    if (j->again_ms != 0)
        cfr_loop_at(t, j->again_ms);
    if (j->kill != NULL)
        cfr_loop_off(&j->kill->task);
}

static void turn(int64_t now_ms)
{
    clock_ms = now_ms;
    ran = 0;
    cfr_loop_run(now_ms);
}

static int reset(void **state)
{
    (void)state;
    work_ms = 0;
    assert_int_equal(cfr_loop_next(), INT64_MAX);
    return 0;
}

static void in_order_under_random_changes(void **state)
{
    static struct job jobs[200];
    static int64_t times[200];
    unsigned seed = 7;

    (void)state;
    for (size_t i = 0; i < 200; i++) {
        jobs[i].task.run = run;
        times[i] = INT64_MAX;
    }
    for (int round = 0; round < 20000; round++) {
        size_t i = (size_t)(rand_r(&seed) % 200);
        int what = rand_r(&seed) % 4;
        int64_t least = INT64_MAX;

        times[i] = what < 2 ? INT64_MAX : 1 + rand_r(&seed) % 1000;
        if (what == 0)
            cfr_loop_off(&jobs[i].task);
        else
            cfr_loop_at(&jobs[i].task, times[i]);
        assert_int_equal(cfr_loop_time(&jobs[i].task), times[i]);
        for (size_t k = 0; k < 200; k++)
            least = times[k] < least ? times[k] : least;
        assert_int_equal(cfr_loop_next(), least);
    }
    for (int64_t now = 1; now <= 1000; now++) {
        turn(now);
        for (size_t k = 0; k < ran; k++)
            assert_int_equal(times[order[k] - jobs], now);
    }
}

static void runs_what_is_due_and_no_more(void **state)
{
    struct job a = {.task.run = run};
    struct job b = {.task.run = run};

    (void)state;
    cfr_loop_at(&a.task, 20);
    cfr_loop_at(&b.task, 10);
    cfr_loop_by(&b.task, 15);
    turn(9);
    assert_int_equal(ran, 0);
    turn(15);
    assert_int_equal(ran, 1);
    assert_ptr_equal(order[0], &b);
    cfr_loop_by(&a.task, 12);
    cfr_loop_soon(&b.task);
    assert_int_equal(cfr_loop_next(), 0);
    turn(20);
    assert_int_equal(ran, 2);
    assert_ptr_equal(order[0], &b);
    assert_ptr_equal(order[1], &a);
    turn(INT64_MAX - 1);
    assert_int_equal(ran, 0);
}

static void a_task_that_is_always_due_runs_once_a_turn(void **state)
{
    struct job a = {.task.run = run, .again_ms = 1};
    struct job b = {.task.run = run, .again_ms = -1};

    (void)state;
    cfr_loop_soon(&a.task);
    cfr_loop_soon(&b.task);
    for (int i = 1; i < 5; i++) {
        turn(100);
        assert_int_equal(ran, 2);
    }
    cfr_loop_off(&a.task);
    cfr_loop_off(&b.task);
}

static void a_task_may_turn_off_one_that_is_due(void **state)
{
    struct job b = {.task.run = run};
    struct job a = {.task.run = run, .kill = &b};

    (void)state;
    cfr_loop_at(&a.task, 1);
    cfr_loop_at(&b.task, 2);
    turn(5);
    assert_int_equal(ran, 1);
    assert_int_equal(b.runs, 0);
}

static void long_work_leaves_the_rest_to_the_next_turn(void **state)
{
    struct job jobs[10] = {0};

    (void)state;
    work_ms = 40;
    for (size_t i = 0; i < 10; i++) {
        jobs[i].task.run = run;
        cfr_loop_at(&jobs[i].task, 10 + (int64_t)i);
    }
    turn(100);
    assert_int_equal(ran, 3);
    assert_int_equal(cfr_loop_next(), 0);
    /* What became due meanwhile comes later. */
    cfr_loop_soon(&jobs[0].task);
    turn(300);
    assert_int_equal(ran, 3);
    assert_ptr_equal(order[0], &jobs[3]);
    work_ms = 0;
    turn(600);
    assert_int_equal(ran, 5);
    assert_ptr_equal(order[4], &jobs[0]);
}

static void descriptors_come_first(void **state)
{
    struct job a = {.task.run = run};
    struct job b = {.task.run = run};
    struct job c = {.task.run = run};
    struct pollfd *fds;
    int ends[2];

    (void)state;
    assert_int_equal(pipe(ends), 0);
    assert_int_equal(cfr_loop_fd(&a.task, ends[0], NULL), 0);
    assert_int_equal(cfr_loop_fd(&b.task, ends[0], NULL), 0);
    cfr_loop_at(&c.task, 1);
    assert_int_equal(cfr_loop_prepare(&fds), 2);
    assert_int_equal(poll(fds, 2, 0), 0);
    turn(0);
    assert_int_equal(ran, 0);
    assert_int_equal(write(ends[1], "x", 1), 1);
    assert_int_equal(poll(fds, 2, 0), 2);
    turn(1);
    assert_int_equal(ran, 3);
    assert_ptr_equal(order[0], &a);
    assert_ptr_equal(order[1], &b);
    assert_ptr_equal(order[2], &c);
    /* One that is turned off by another one does not run; a new one takes no part before it was polled for. */
    a.kill = &b;
    assert_int_equal(cfr_loop_fd(&c.task, ends[0], NULL), 0);
    turn(1);
    assert_int_equal(ran, 1);
    assert_int_equal(cfr_loop_prepare(&fds), 2);
    cfr_loop_off(&a.task);
    cfr_loop_off(&c.task);
    assert_int_equal(cfr_loop_prepare(&fds), 0);
    (void)close(ends[0]);
    (void)close(ends[1]);
}

static void busy_descriptors_leave_time_for_what_is_due(void **state)
{
    struct job busy[4] = {0};
    struct job due = {.task.run = run, .again_ms = 1};
    struct pollfd *fds;
    int ends[2];

    (void)state;
    work_ms = 40;
    assert_int_equal(pipe(ends), 0);
    assert_int_equal(write(ends[1], "x", 1), 1);
    for (size_t i = 0; i < 4; i++) {
        busy[i].task.run = run;
        assert_int_equal(cfr_loop_fd(&busy[i].task, ends[0], NULL), 0);
    }
    cfr_loop_at(&due.task, 1);
    for (unsigned i = 1; i < 4; i++) {
        assert_int_equal(cfr_loop_prepare(&fds), 4);
        assert_int_equal(poll(fds, 4, 0), 4);
        turn(clock_ms + 1);
        assert_int_equal(due.runs, i);
    }
    for (size_t i = 0; i < 4; i++)
        cfr_loop_off(&busy[i].task);
    cfr_loop_off(&due.task);
    (void)close(ends[0]);
    (void)close(ends[1]);
}

static void the_end_of_a_child_runs_its_task_once(void **state)
{
    struct job a = {.task.run = run};
    struct cfr_child child = {0};
    struct cfr_child gone = {0};
    int ends[2];
    pid_t pid;
    char c;

    (void)state;
    assert_int_equal(pipe(ends), 0);
    pid = fork();
    if (pid == 0) {
        (void)close(ends[1]);
        _exit(read(ends[0], &c, 1) == 0 ? 0 : 1);
    }
    (void)close(ends[0]);
    cfr_loop_child(&gone, pid, &a.task);
    cfr_loop_child(&child, pid, &a.task);
    cfr_loop_child_off(&gone);
    cfr_loop_at(&a.task, 50);
    cfr_loop_children();
    assert_int_equal(cfr_loop_next(), 50);
    (void)close(ends[1]);
    while (!cfr_process_has_ended(pid))
        (void)poll(NULL, 0, 1);
    cfr_loop_children();
    cfr_loop_children();
    assert_int_equal(cfr_loop_next(), 0);
    turn(1);
    assert_int_equal(ran, 1);
    assert_int_equal(child.pid, 0);
    assert_int_equal(cfr_loop_next(), INT64_MAX);
    assert_int_equal(cfr_process_reap(pid, NULL), 0);
}

static void the_alarm_rings_for_the_next_task(void **state)
{
    struct job a = {.task.run = run};
    struct pollfd *fds;
    struct cfr_err err = {0};

    (void)state;
    assert_int_equal(cfr_loop_open_alarm(&err), 0);
    assert_int_equal(cfr_loop_prepare(&fds), 1);
    assert_int_equal(poll(fds, 1, 0), 0);
    cfr_loop_at(&a.task, 1);
    assert_int_equal(cfr_loop_prepare(&fds), 1);
    assert_int_equal(poll(fds, 1, 10000), 1);
    /* It rang early: it is set again. */
    turn(0);
    assert_int_equal(ran, 0);
    assert_int_equal(cfr_loop_prepare(&fds), 1);
    assert_int_equal(poll(fds, 1, 10000), 1);
    turn(1);
    assert_int_equal(ran, 1);
    cfr_loop_close_alarm();
    assert_int_equal(cfr_loop_prepare(&fds), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(in_order_under_random_changes, reset),
        cmocka_unit_test_setup(runs_what_is_due_and_no_more, reset),
        cmocka_unit_test_setup(a_task_that_is_always_due_runs_once_a_turn, reset),
        cmocka_unit_test_setup(a_task_may_turn_off_one_that_is_due, reset),
        cmocka_unit_test_setup(long_work_leaves_the_rest_to_the_next_turn, reset),
        cmocka_unit_test_setup(descriptors_come_first, reset),
        cmocka_unit_test_setup(busy_descriptors_leave_time_for_what_is_due, reset),
        cmocka_unit_test_setup(the_end_of_a_child_runs_its_task_once, reset),
        cmocka_unit_test_setup(the_alarm_rings_for_the_next_task, reset),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
