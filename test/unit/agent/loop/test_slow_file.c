/* SPDX-License-Identifier: MIT */
/* Files of file systems that may not answer, read by a child. sysfs is one for us, and answers. */
#include "unit.h"

#include "agent/loop/clock.h"
#include "agent/loop/errand.h"
#include "agent/loop/slow_file.h"
#include "files/file.h"

#include <stdio.h>
#include <time.h>
#include <unistd.h>

#define SYSFS  "/sys/kernel/mm/transparent_hugepage/enabled"

#define PLACES 32

static struct cfr_err err;
static bool hangs;
static int64_t later_ms;
static int64_t stopped_ms; /* what the clock says; 0 = it goes */
static unsigned pauses;
static pid_t parent;

struct cfr_now __real_cfr_clock_now(void);
struct cfr_now __wrap_cfr_clock_now(void);
int __real_cfr_file_read_reach(const char *path, enum cfr_file_reach reach, struct cfr_secret *out, struct stat *status,
                               struct cfr_err *e);
int __wrap_cfr_file_read_reach(const char *path, enum cfr_file_reach reach, struct cfr_secret *out, struct stat *status,
                               struct cfr_err *e);
int __real_nanosleep(const struct timespec *pause, struct timespec *rest);
int __wrap_nanosleep(const struct timespec *pause, struct timespec *rest);

int __wrap_nanosleep(const struct timespec *pause, struct timespec *rest)
{
    pauses++;
    return __real_nanosleep(pause, rest);
}

struct cfr_now __wrap_cfr_clock_now(void)
{
    struct cfr_now now = __real_cfr_clock_now();

    now.boot_ms = stopped_ms != 0 ? stopped_ms : now.boot_ms + later_ms;
    return now;
}

int __wrap_cfr_file_read_reach(const char *path, enum cfr_file_reach reach, struct cfr_secret *out, struct stat *status,
                               struct cfr_err *e)
{
    while (hangs && reach != CFR_FILE_ANSWERING)
        (void)pause();
    return __real_cfr_file_read_reach(path, reach, out, status, e);
}

static void tells_which_files_they_are(void **state)
{
    (void)state;
    assert_false(cfr_slow_file_is(SYSFS));
    cfr_slow_file_guard();
    assert_true(cfr_slow_file_is("/sys/kernel/none"));
    assert_false(cfr_slow_file_is("/proc/self/status"));
    assert_false(cfr_slow_file_is("/dev/null"));
    assert_false(cfr_slow_file_is("/dev/shm/none"));
    assert_false(cfr_slow_file_is("/none"));
}

/* The child of a slow machine has not answered at the first look. */
static int read_slowly(const char *path, struct cfr_secret *out, struct stat *status)
{
    int rc;

    do {
        rc = cfr_slow_file_read(path, out, status, &err);
    } while (rc == CFR_E_TIMEOUT);
    return rc;
}

static void reads_as_we_would(void **state)
{
    struct stat status;
    struct stat here;
    struct cfr_secret ours;
    struct cfr_secret out;

    (void)state;
    if (access(SYSFS, R_OK) != 0)
        skip();
    cfr_secret_init(&ours, 100000);
    cfr_secret_init(&out, 100000);
    assert_int_equal(cfr_file_read(SYSFS, &ours, &err), 0);
    for (int i = 0; i < 3; i++) {
        assert_int_equal(read_slowly(SYSFS, &out, &status), 0);
        assert_true(out.len != 0 && cfr_secret_equal(cfr_secret_view(&ours), cfr_secret_view(&out)));
    }
    assert_int_equal(stat(SYSFS, &here), 0);
    assert_int_equal(here.st_ino, status.st_ino);
    assert_int_equal(read_slowly("/sys/kernel/none", &out, NULL), CFR_E_MISSING);
    assert_non_null(strstr(err.text, "/sys/kernel/none"));
    assert_int_equal(out.len, 0);
    assert_int_equal(read_slowly("/sys/kernel", &out, NULL), CFR_E_PATH);
    cfr_secret_free(&out);
    cfr_secret_init(&out, 4);
    assert_int_equal(read_slowly(SYSFS, &out, NULL), CFR_E_LIMIT);
    cfr_secret_free(&out);
    cfr_secret_free(&ours);
}

static bool is_tried(const char *name)
{
    struct cfr_secret out;
    char path[32];

    cfr_secret_init(&out, 100);
    (void)snprintf(path, sizeof path, "/sys/kernel/%s", name);
    assert_int_equal(cfr_slow_file_read(path, &out, NULL, &err), CFR_E_TIMEOUT);
    cfr_secret_free(&out);
    return strstr(err.text, "its file system has not answered") != NULL;
}

/* Those of a former configuration do not take all places for ever. */
static void forgets_what_nobody_asks_for(void **state)
{
    char name[8];

    (void)state;
    cfr_slow_file_guard();
    hangs = true;
    for (int i = 0; i < PLACES; i++) {
        (void)snprintf(name, sizeof name, "%d", i);
        assert_true(is_tried(name));
    }
    assert_false(is_tried("one more"));
    later_ms += 599000;
    assert_true(is_tried("0"));
    later_ms += 2000;
    assert_true(is_tried("one more"));
    /* What was asked for has kept its child. */
    hangs = false;
    assert_true(is_tried("0"));
    cfr_errand_reap();
}

/* A mount that begins to hang keeps the loop waiting once, not once for each of the files on it that are read now. */
static void waits_once_for_a_mount(void **state)
{
    (void)state;
    cfr_slow_file_guard();
    stopped_ms = cfr_clock_now().boot_ms + 601000;
    hangs = true;
    pauses = 0;
    assert_true(is_tried("first"));
    assert_int_equal(pauses, 100);
    assert_true(is_tried("second") && is_tried("third"));
    assert_int_equal(pauses, 100);
    stopped_ms += 1000;
    assert_true(is_tried("fourth"));
    assert_int_equal(pauses, 200);
    stopped_ms = 0;
    hangs = false;
}

static int try_it(const struct cfr_slow_read *what, enum cfr_file_reach reach, struct cfr_secret *out,
                  struct stat *status, struct cfr_err *e)
{
    assert_int_equal(reach, CFR_FILE_WAITING);
    assert_true(getpid() != parent);
    return cfr_file_read_reach(what->path, reach, out, status, e);
}

static void tries_before_we_do(void **state)
{
    const struct cfr_slow_read what = {.read = try_it, .path = "/sys/kernel/tried"};
    const struct cfr_slow_read in_memory = {.read = try_it, .path = "/dev/shm/x/tried"};

    (void)state;
    cfr_slow_file_guard();
    parent = getpid();
    later_ms += 601000;
    /* What became of it does not matter. */
    assert_int_equal(cfr_slow_file_try(&what, 10000, &err), 0);
    hangs = true;
    pauses = 0;
    assert_int_equal(cfr_slow_file_try(&what, 0, &err), CFR_E_TIMEOUT);
    assert_in_range(pauses, 10, 100);
    assert_non_null(strstr(err.text, "/sys/kernel/tried: its file system has not answered"));
    pauses = 0;
    assert_int_equal(cfr_slow_file_try(&what, 0, &err), CFR_E_TIMEOUT);
    assert_int_equal(pauses, 0);
    assert_int_equal(cfr_slow_file_try(&what, 20, &err), CFR_E_TIMEOUT);
    assert_in_range(pauses, 1, 40);
    assert_int_equal(cfr_slow_file_try(&in_memory, 0, &err), 0);
    hangs = false;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(tells_which_files_they_are),   cmocka_unit_test(reads_as_we_would),
        cmocka_unit_test(forgets_what_nobody_asks_for), cmocka_unit_test(waits_once_for_a_mount),
        cmocka_unit_test(tries_before_we_do),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
