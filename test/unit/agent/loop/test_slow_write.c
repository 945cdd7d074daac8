/* SPDX-License-Identifier: MIT */
/* Writes that may take their time: in memory at once, elsewhere by one child for each mount. */
#include "unit.h"

#include "agent/loop/clock.h"
#include "agent/loop/errand.h"
#include "agent/loop/slow_file.h"
#include "agent/loop/slow_write.h"
#include "files/route.h"
#include "files/state.h"

#include <fcntl.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

#define LIMIT_MS 20000

static struct cfr_err err;
static enum cfr_route_storage storage = CFR_ROUTE_DISK;
static unsigned mount_number = 1;
static int64_t later_ms;
static unsigned pauses;

struct cfr_now __real_cfr_clock_now(void);
struct cfr_now __wrap_cfr_clock_now(void);
enum cfr_route_storage __wrap_cfr_route_storage_of(int dir_fd, unsigned *mount);
int __real_nanosleep(const struct timespec *pause, struct timespec *rest);
int __wrap_nanosleep(const struct timespec *pause, struct timespec *rest);

struct cfr_now __wrap_cfr_clock_now(void)
{
    struct cfr_now now = __real_cfr_clock_now();

    now.boot_ms += later_ms;
    return now;
}

enum cfr_route_storage __wrap_cfr_route_storage_of(int dir_fd, unsigned *mount)
{
    assert_true(dir_fd >= 0);
    *mount = mount_number;
    return storage;
}

int __wrap_nanosleep(const struct timespec *pause, struct timespec *rest)
{
    pauses++;
    return __real_nanosleep(pause, rest);
}

/* The disk hangs as long as the directory holds the file `hang`. */
static int save_slowly(int dir_fd, const char *name, struct cfr_view content, struct cfr_err *e)
{
    const struct timespec pause = {.tv_nsec = 1000000};

    while (faccessat(dir_fd, "hang", F_OK, 0) == 0)
        (void)__real_nanosleep(&pause, NULL);
    return cfr_state_save(dir_fd, name, content, e);
}

static int be_full(int dir_fd, const char *name, struct cfr_view content, struct cfr_err *e)
{
    (void)dir_fd;
    (void)content;
    return cfr_err_set(e, CFR_E_NOSPACE, "%s: the disk is full", name);
}

static int break_down(int dir_fd, const char *name, struct cfr_view content, struct cfr_err *e)
{
    (void)dir_fd;
    (void)name;
    (void)content;
    (void)e;
    _exit(3);
}

static char dir[64];
static int fd;

static int set_up(void **state)
{
    (void)state;
    (void)snprintf(dir, sizeof dir, "/tmp/credfresh-slow-XXXXXX");
    fd = mkdtemp(dir) != NULL ? open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC) : -1;
    storage = CFR_ROUTE_DISK;
    later_ms += 10000; /* what was waited for before does not count */
    pauses = 0;
    cfr_slow_file_guard();
    return fd >= 0 ? 0 : -1;
}

static int tear_down(void **state)
{
    static const char *const names[] = {"hang", "a.json", "b.json"};

    (void)state;
    for (size_t i = 0; i < COUNT(names); i++)
        (void)unlinkat(fd, names[i], 0);
    cfr_errand_reap();
    (void)close(fd);
    return rmdir(dir);
}

static void hang(bool on)
{
    int made;

    if (!on) {
        assert_int_equal(unlinkat(fd, "hang", 0), 0);
        return;
    }
    made = openat(fd, "hang", O_CREAT | O_WRONLY | O_CLOEXEC, 0600);
    assert_true(made >= 0);
    (void)close(made);
}

static int save(struct cfr_slow_write *s, const char *name, const char *content)
{
    return cfr_slow_write(s, fd, save_slowly, name, cfr_view_of(content), &err);
}

/* As its owner does, until it is no longer under way. */
static int save_in_the_end(struct cfr_slow_write *s, const char *name, const char *content)
{
    const struct timespec pause = {.tv_nsec = 1000000};
    int rc;

    for (int i = 0; (rc = save(s, name, content)) == CFR_SLOW_WRITE_UNDER_WAY && i < LIMIT_MS; i++)
        (void)__real_nanosleep(&pause, NULL);
    return rc;
}

static void assert_holds(const char *name, const char *content)
{
    struct cfr_secret text;

    cfr_secret_init(&text, CFR_STATE_MAX);
    if (content == NULL) {
        assert_int_equal(cfr_state_load(fd, name, &text, &err), CFR_E_MISSING);
    } else {
        assert_int_equal(cfr_state_load(fd, name, &text, &err), 0);
        assert_string_equal(text.p, content);
    }
    cfr_secret_free(&text);
}

static void in_memory_it_is_done_at_once(void **state)
{
    struct cfr_slow_write s = {.next = NULL};

    (void)state;
    storage = CFR_ROUTE_MEMORY;
    assert_int_equal(save(&s, "a", "one"), 0);
    assert_null(s.errand);
    assert_int_equal(pauses, 0);
    assert_holds("a", "one");
    assert_int_equal(cfr_slow_write(&s, fd, be_full, "a", cfr_view_of(""), &err), CFR_E_NOSPACE);
    cfr_slow_write_close(&s);
}

static void a_child_does_it_and_tells_how(void **state)
{
    struct cfr_slow_write s = {.next = NULL};
    int rc;

    (void)state;
    assert_int_equal(save_in_the_end(&s, "a", "one"), 0);
    assert_null(s.errand);
    assert_holds("a", "one");
    while ((rc = cfr_slow_write(&s, fd, be_full, "a", cfr_view_of(""), &err)) == CFR_SLOW_WRITE_UNDER_WAY)
        (void)usleep(1000);
    assert_int_equal(rc, CFR_E_NOSPACE);
    assert_string_equal(err.text, "a: the disk is full");
    while ((rc = cfr_slow_write(&s, fd, break_down, "a", cfr_view_of(""), &err)) == CFR_SLOW_WRITE_UNDER_WAY)
        (void)usleep(1000);
    assert_int_equal(rc, CFR_E_INTERNAL);
    assert_holds("a", "one");
    cfr_slow_write_close(&s);
}

/* The loop goes on; the last content gets there, and the first child's end is not taken for it. */
static void what_hangs_is_under_way(void **state)
{
    struct cfr_slow_write s = {.next = NULL};

    (void)state;
    hang(true);
    assert_int_equal(save(&s, "a", "one"), CFR_SLOW_WRITE_UNDER_WAY);
    assert_in_range(pauses, 1, 100);
    assert_holds("a", NULL);
    pauses = 0;
    assert_int_equal(save(&s, "a", "two"), CFR_SLOW_WRITE_UNDER_WAY);
    assert_int_equal(save(&s, "a", "two"), CFR_SLOW_WRITE_UNDER_WAY);
    assert_int_equal(pauses, 0);
    later_ms += 10001;
    assert_int_equal(save(&s, "a", "two"), CFR_E_TIMEOUT);
    assert_non_null(strstr(err.text, "has not answered for 10 s"));
    hang(false);
    while (cfr_errand_look(s.errand) == CFR_ERRAND_RUNNING)
        (void)usleep(1000);
    assert_holds("a", "one");
    while (save(&s, "a", "two") != 0)
        (void)usleep(1000);
    assert_holds("a", "two");
    cfr_slow_write_close(&s);
}

/* A thousand credentials on a frozen disk are not a thousand children, nor are they waited for one by one. */
static void one_child_for_each_mount(void **state)
{
    struct cfr_slow_write a = {.next = NULL};
    struct cfr_slow_write b = {.next = NULL};
    struct cfr_slow_write elsewhere = {.next = NULL};

    (void)state;
    hang(true);
    assert_int_equal(save(&a, "a", "one"), CFR_SLOW_WRITE_UNDER_WAY);
    pauses = 0;
    assert_int_equal(save(&b, "b", "one"), CFR_SLOW_WRITE_UNDER_WAY);
    assert_null(b.errand);
    mount_number = 2;
    assert_int_equal(save(&elsewhere, "b", "one"), CFR_SLOW_WRITE_UNDER_WAY);
    assert_non_null(elsewhere.errand);
    assert_int_equal(pauses, 0); /* the 50 ms of this second are spent */
    mount_number = 1;
    hang(false);
    while (cfr_slow_write(&elsewhere, fd, save_slowly, "b", cfr_view_of("one"), &err) == CFR_SLOW_WRITE_UNDER_WAY)
        (void)usleep(1000);
    assert_int_equal(save_in_the_end(&a, "a", "one"), 0);
    assert_int_equal(save_in_the_end(&b, "b", "one"), 0);
    assert_holds("a", "one");
    assert_holds("b", "one");
    cfr_slow_write_close(&a);
    cfr_slow_write_close(&b);
}

static void what_is_closed_goes_on(void **state)
{
    struct cfr_slow_write s = {.next = NULL};

    (void)state;
    hang(true);
    assert_int_equal(save(&s, "a", "one"), CFR_SLOW_WRITE_UNDER_WAY);
    cfr_slow_write_close(&s);
    assert_null(s.errand);
    /* The next one waits for it. */
    assert_int_equal(save(&s, "a", "two"), CFR_SLOW_WRITE_UNDER_WAY);
    assert_null(s.errand);
    hang(false);
    assert_int_equal(save_in_the_end(&s, "a", "two"), 0);
    assert_holds("a", "two");
    cfr_slow_write_reap();
    cfr_slow_write_close(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(in_memory_it_is_done_at_once, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_child_does_it_and_tells_how, set_up, tear_down),
        cmocka_unit_test_setup_teardown(what_hangs_is_under_way, set_up, tear_down),
        cmocka_unit_test_setup_teardown(one_child_for_each_mount, set_up, tear_down),
        cmocka_unit_test_setup_teardown(what_is_closed_goes_on, set_up, tear_down),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
