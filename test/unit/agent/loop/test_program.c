/* SPDX-License-Identifier: MIT */
/* Programs whose output is wanted: what they print, how they fail, what they see, and their end. */
#include "unit.h"

#include "agent/loop/program.h"

#include <stdlib.h>
#include <unistd.h>

#define LIMIT_MS 20000

struct seen {
    unsigned calls;
    int rc;
    char output[256];
    struct cfr_err err;
};

static void on_end(void *ctx, int rc, struct cfr_secret *output, struct cfr_err *err)
{
    struct seen *s = ctx;

    s->calls++;
    s->rc = rc;
    s->err = *err;
    (void)snprintf(s->output, sizeof s->output, "%.*s", (int)output->len, output->len != 0 ? output->p : "");
}

static struct cfr_program *start(const char *script, size_t output_max, int64_t limit_ms, struct seen *s)
{
    char *argv[] = {(char[]){"/bin/sh"}, (char[]){"-c"}, (char *)(uintptr_t)script};
    struct cfr_program *p = NULL;
    struct cfr_err err = {0};

    if (cfr_program_start(argv, 3, output_max, limit_ms, on_end, s, &p, &err) != 0)
        fail_msg("%s", err.text);
    return p;
}

static struct seen run(const char *script, size_t output_max, int64_t limit_ms)
{
    int64_t end_ms = cfr_clock_now().boot_ms + LIMIT_MS;
    struct seen s = {0};

    (void)start(script, output_max, limit_ms, &s);
    while (s.calls == 0 && cfr_clock_now().boot_ms < end_ms) {
        cfr_program_on_child();
        cfr_program_step(cfr_clock_now());
        (void)usleep(1000);
    }
    assert_int_equal(s.calls, 1);
    assert_true(cfr_program_deadline() == INT64_MAX);
    return s;
}

static void prints(void **state)
{
    struct seen s = run("echo 123456", 64, LIMIT_MS);

    (void)state;
    assert_int_equal(s.rc, 0);
    assert_string_equal(s.output, "123456\n");
    s = run("printf 12345678", 8, LIMIT_MS);
    assert_int_equal(s.rc, 0);
    assert_string_equal(s.output, "12345678");
}

static void fails(void **state)
{
    struct seen s = run("echo 123456; exit 3", 64, LIMIT_MS);

    (void)state;
    assert_int_equal(s.rc, CFR_E_REJECTED);
    assert_contains(s.err.text, "the program /bin/sh exited with 3; its messages are on credfresh's standard error");
    assert_null(strstr(s.err.text, "123456"));
    assert_string_equal(s.output, "");
    s = run("printf 123456789", 8, LIMIT_MS);
    assert_int_equal(s.rc, CFR_E_LIMIT);
    assert_contains(s.err.text, "printed more than 8 bytes");
}

static void overdue(void **state)
{
    struct seen s = run("echo 123456; sleep 600", 64, 200);

    (void)state;
    assert_int_equal(s.rc, CFR_E_TIMEOUT);
    assert_contains(s.err.text, "took longer than 200 ms");
    assert_string_equal(s.output, "");
}

/* A child that holds the pipe does not keep the output back. */
static void left_child(void **state)
{
    struct seen s = run("sleep 5 & echo 1", 64, LIMIT_MS);

    (void)state;
    assert_int_equal(s.rc, 0);
    assert_string_equal(s.output, "1\n");
}

/* Variables of ours may be secrets. */
static void environment(void **state)
{
    struct seen s;

    (void)state;
    assert_int_equal(setenv("CFR_TEST_SECRET", "hidden", 1), 0);
    assert_int_equal(setenv("HOME", "/home/of-test", 1), 0);
    s = run("echo ${CFR_TEST_SECRET-none} $HOME", 64, LIMIT_MS);
    assert_string_equal(s.output, "none /home/of-test\n");
}

static void cancelled(void **state)
{
    struct seen one = {0};
    struct seen two = {0};
    struct cfr_program *first = start("sleep 600", 64, 1000, &one);
    struct cfr_program *second = start("sleep 600", 64, 2000, &two);
    int64_t at = cfr_program_deadline();

    (void)state;
    cfr_program_cancel(first);
    assert_true(cfr_program_deadline() > at);
    cfr_program_cancel(second);
    assert_true(cfr_program_deadline() == INT64_MAX);
    assert_int_equal(one.calls + two.calls, 0);
}

static void missing(void **state)
{
    char *argv[] = {(char[]){"/nowhere/code"}};
    struct cfr_program *p = NULL;
    struct cfr_err err = {0};

    (void)state;
    assert_int_not_equal(cfr_program_start(argv, 1, 64, LIMIT_MS, on_end, NULL, &p, &err), 0);
    assert_null(p);
    assert_contains(err.text, "/nowhere/code");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(prints),     cmocka_unit_test(fails),       cmocka_unit_test(overdue),
        cmocka_unit_test(left_child), cmocka_unit_test(environment), cmocka_unit_test(cancelled),
        cmocka_unit_test(missing),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
