/* SPDX-License-Identifier: MIT */
/* SubPath mounts as a container sees them are recognised. */
#include "reload_volume.h"

#include "libcredfresh/mount.h"

#include <sched.h>
#include <sys/mount.h>

static void test_lines(void **state)
{
    static const char frozen[] =
        "713 600 0:61 /..2026_01_02_03_04_05.123456789/tls.crt /etc/tls.crt ro,relatime - tmpfs tmpfs rw\n";
    static const char removed[] = "713 600 0:61 /..2026_01_02_03_04_05.1/d//deleted /etc/d ro - tmpfs tmpfs rw\n";
    static const char below[] = "713 600 254:1 /var/lib/v/..2026_01_02_03_04_05.1 /etc/d ro - ext4 /dev/vda1 rw\n";
    static const char *const others[] = {
        "713 600 0:61 / /etc/..2026_01_02_03_04_05.1 ro - tmpfs tmpfs rw\n",
        "713 600 0:61 /..data/x /etc/x ro - tmpfs t rw\n",
        "713 600 0:61 /a..2026_01 /etc/x ro - tmpfs t rw\n",
        "713 600 0:61 /..2026 /etc/x ro - tmpfs t rw\n",
        "713 600 0:61",
        "713",
        "",
        "x 600 0:61 /..2026_1 /x",
        " ",
    };

    (void)state;
    assert_true(cfl_mount_line_is_frozen(frozen, 713));
    assert_true(cfl_mount_line_is_frozen(removed, 713));
    assert_true(cfl_mount_line_is_frozen(below, 713));
    assert_false(cfl_mount_line_is_frozen(frozen, 71));
    assert_false(cfl_mount_line_is_frozen(frozen, -1));
    assert_false(cfl_mount_line_is_frozen(frozen, 0));
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        assert_false(cfl_mount_line_is_frozen(others[i], 713));
    assert_true(cfl_mount_id(0) >= 0);
    assert_int_equal(cfl_mount_id(-1), -1);
    assert_false(cfl_mount_is_frozen(-1));
}

static void own_mounts(void)
{
    if ((unshare(CLONE_NEWNS) != 0 && unshare(CLONE_NEWUSER | CLONE_NEWNS) != 0) ||
        mount("none", "/", "none", MS_REC | MS_PRIVATE, NULL) != 0) {
        print_message("mounting is not allowed here\n");
        skip();
    }
}

static void bind(const char *from, const char *to)
{
    char real[PATH_MAX];

    assert_non_null(realpath(from, real));
    assert_int_equal(mount(real, to, "none", MS_BIND, NULL), 0);
}

static void test_sub_path(void **state)
{
    const char *volume = volume_make();
    struct credfresh_options o = CREDFRESH_OPTIONS_INIT;

    (void)state;
    o.poll_ms = 20;
    own_mounts();
    update(volume, 1, (const char *const[]){"tls.crt", "one", "d/x", "one", NULL});
    assert_int_equal(mkdir(in("etc"), 0755), 0);
    assert_int_equal(mkdir(in("whole"), 0755), 0);
    put(in("etc/tls.crt"), "");
    bind(in("volume/tls.crt"), in("etc/tls.crt")); /* a file, */
    bind(in("volume/..data/d"), in("whole"));      /* a directory, */
    put(in("other"), "one");
    assert_int_equal(mkdir(in("single"), 0755), 0);
    put(in("single/token"), "");
    bind(in("other"), in("single/token")); /* and a file that may well be written to */
    struct credfresh *file = follow(in("etc"), &o);
    struct credfresh *directory = follow(in("whole"), &o);
    struct credfresh *single = follow(in("single"), &o);
    struct credfresh *good = follow(volume, &o);

    assert_int_equal(status_of(file).kind, CREDFRESH_KIND_FROZEN);
    assert_int_equal(status_of(directory).kind, CREDFRESH_KIND_FROZEN);
    assert_int_equal(status_of(file).error, 0);
    assert_non_null(strstr(status_of(file).error_text, "mount the whole volume"));
    assert_int_equal(status_of(good).kind, CREDFRESH_KIND_SWAPPED);
    assert_int_equal(status_of(single).kind, CREDFRESH_KIND_PLAIN);
    assert_int_equal(status_of(single).mode, CREDFRESH_MODE_POLLING);
    assert_non_null(strstr(status_of(single).mode_reason, "separate mount,"));
    put(in("other"), "two");
    assert_true(changes(single));
    assert_string_equal(now(single, "token"), "two");
    update(volume, 2, (const char *const[]){"tls.crt", "two", "d/x", "two", NULL});
    assert_true(changes(good));
    assert_int_equal(credfresh_wait(file, 100), 0);
    assert_string_equal(now(file, "tls.crt"), "one");
    assert_int_equal(status_of(file).kind, CREDFRESH_KIND_FROZEN);
    credfresh_close(file);
    credfresh_close(directory);
    credfresh_close(single);
    credfresh_close(good);
    assert_int_equal(umount2(in("etc/tls.crt"), MNT_DETACH), 0);
    assert_int_equal(umount2(in("whole"), MNT_DETACH), 0);
    assert_int_equal(umount2(in("single/token"), MNT_DETACH), 0);
}

/* A whole volume that is mounted over the path, and goes again. */
static void test_volume_is_mounted(void **state)
{
    struct credfresh_options o = CREDFRESH_OPTIONS_INIT;

    (void)state;
    o.check_ms = 100;
    own_mounts();
    assert_int_equal(mkdir(in("m"), 0755), 0);
    struct credfresh *w = follow(in("m"), &o);

    assert_int_equal(mount("tmpfs", in("m"), "tmpfs", 0, NULL), 0);
    update_token(in("m"), 1, "one");
    assert_true(changes(w));
    assert_string_equal(now(w, "token"), "one");
    assert_int_equal(umount2(in("m"), 0), 0);
    while (status_of(w).error == 0)
        assert_int_equal(credfresh_wait(w, 10) == 1, 0);
    update_token(in("m"), 1, "below");
    assert_true(changes(w));
    assert_string_equal(now(w, "token"), "below");
    credfresh_close(w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
#define T(name) cmocka_unit_test_setup_teardown(name, scratch_make, scratch_remove)
        T(test_lines),
        T(test_sub_path),
        T(test_volume_is_mounted),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
