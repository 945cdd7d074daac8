/* SPDX-License-Identifier: MIT */
/* What lies at a path, and which links on it are followed. */
#include "files_scratch.h"

#include "files/file.h"
#include "files/path.h"
#include "files/route.h"
#include "files/walk_private.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define OTHER 4321

/* As in a chroot that is no mount point, whose file system the table of mounts does not have. */
static void the_root_is_never_remote(void **state)
{
    struct cfr_route route;
    int status = 0;
    pid_t pid;

    (void)state;
    if (geteuid() != 0)
        skip();
    pid = fork();
    if (pid == 0) {
        if (chroot(in("")) != 0 || chdir("/") != 0)
            _exit(2);
        cfr_route_find("/file", false, false, &route);
        _exit(route.storage == CFR_ROUTE_DISK ? 0 : 1);
    }
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_int_equal(status, 0);
}

int __real_statx(int fd, const char *path, int flags, unsigned mask, struct statx *out);
int __wrap_statx(int fd, const char *path, int flags, unsigned mask, struct statx *out);

static bool old_kernel;
static int asked; /* how often statx was called */

int __wrap_statx(int fd, const char *path, int flags, unsigned mask, struct statx *out)
{
    int rc = __real_statx(fd, path, flags, mask, out);

    asked++;
    if (old_kernel)
        out->stx_mask &= ~STATX_MNT_ID;
    return rc;
}

static void tells_the_storage(void **state);

static void tells_the_storage_on_a_kernel_before_5_8(void **state)
{
    old_kernel = true;
    tells_the_storage(state);
    old_kernel = false;
}

static void tells_the_storage(void **state)
{
    struct cfr_route route;

    (void)state;
    cfr_route_find("/dev/shm/none/file", false, false, &route);
    assert_int_equal(route.storage, CFR_ROUTE_MEMORY);
    assert_false(route.foreign);
    cfr_route_find(in("none"), true, false, &route);
    assert_true(route.storage == CFR_ROUTE_DISK || route.storage == CFR_ROUTE_MEMORY);
    /* No file system of this kind is known to answer always. */
    cfr_route_find("/proc/self/status", false, false, &route);
    assert_int_equal(route.storage, CFR_ROUTE_REMOTE);
}

static void tells_whose_directories_it_leads_through(void **state)
{
    struct cfr_route route;

    (void)state;
    if (geteuid() != 0)
        skip();
    assert_int_equal(mkdir(in("theirs"), 0755), 0);
    assert_int_equal(mkdir(in("theirs/roots"), 0755), 0);
    assert_int_equal(chown(in("theirs"), OTHER, OTHER), 0);
    cfr_route_find(in("theirs"), false, false, &route);
    assert_false(route.foreign);
    cfr_route_find(in("theirs"), true, false, &route);
    assert_true(route.foreign);
    assert_int_equal(route.uid, OTHER);
    cfr_route_find(in("theirs/roots/none/file"), false, true, &route);
    assert_true(route.foreign);
    assert_int_equal(route.uid, OTHER);
}

/* 0, or the error of going to PATH. */
static int go(const char *path)
{
    struct cfr_walk walk = {.create = true};
    int fd = cfr_walk_open(path, strlen(path), &walk, NULL);

    if (fd < 0)
        return fd;
    assert_int_equal(close(fd), 0);
    return 0;
}

static void follows_only_links_that_nobody_else_could_make(void **state)
{
    (void)state;
    assert_int_equal(mkdir(in("real"), 0755), 0);
    assert_int_equal(symlink(in("real"), in("link")), 0);
    assert_int_equal(symlink("real", in("relative")), 0);
    assert_int_equal(symlink("link", in("twice")), 0);
    assert_int_equal(symlink("nowhere", in("dangling")), 0);
    assert_int_equal(symlink("round", in("round")), 0);
    assert_int_equal(go(in("link/made")), 0);
    assert_int_equal(go(in("relative/made")), 0);
    assert_int_equal(go(in("twice/../twice//made")), 0);
    assert_true(exists(in("real/made")));
    assert_int_equal(go(in("dangling")), CFR_E_MISSING);
    assert_false(exists(in("nowhere")));
    assert_int_equal(go(in("round")), CFR_E_PATH);
    assert_int_equal(mkdir(in("open"), 0755), 0);
    assert_int_equal(symlink(in("real"), in("open/link")), 0);
    assert_int_equal(chmod(in("open"), 0777), 0);
    assert_int_equal(go(in("open/link")), CFR_E_PATH);
    assert_int_equal(go(in("open/made")), 0);
    /* Of whichever group: an ACL's mask looks the same. */
    assert_int_equal(chmod(in("open"), 0775), 0);
    assert_int_equal(go(in("open/link")), CFR_E_PATH);
    assert_int_equal(chmod(in("open"), 0755), 0);
    assert_int_equal(go(in("open/link")), 0);
    /* Nobody can take away what is ours in a sticky directory. */
    assert_int_equal(chmod(in("open"), 01777), 0);
    assert_int_equal(go(in("open/link")), 0);
    if (geteuid() != 0)
        return;
    assert_int_equal(lchown(in("open/link"), OTHER, OTHER), 0);
    assert_int_equal(go(in("open/link")), CFR_E_PATH);
}

#define SCRATCH_TEST(f) cmocka_unit_test_setup_teardown(f, scratch_make, scratch_remove)

int __real_openat(int fd, const char *path, int flags, ...);
int __wrap_openat(int fd, const char *path, int flags, ...);

static int opened; /* how often openat was called */

/* The mode is for files that are made, which none is here. */
int __wrap_openat(int fd, const char *path, int flags, ...)
{
    opened++;
    return __real_openat(fd, path, flags, 0600);
}

/* How many calls the directories on the way to PATH take. */
static int count_calls(const char *path, struct cfr_route *route)
{
    asked = 0;
    opened = 0;
    cfr_route_find(path, true, false, route);
    return asked + opened;
}

static int depth_of(const char *path)
{
    int depth = 0;

    while (*path != '\0')
        depth += *path++ == '/';
    return depth;
}

int __real_clock_gettime(clockid_t id, struct timespec *out);
int __wrap_clock_gettime(clockid_t id, struct timespec *out);

static time_t later_s;

int __wrap_clock_gettime(clockid_t id, struct timespec *out)
{
    int rc = __real_clock_gettime(id, out);

    out->tv_sec += later_s;
    return rc;
}

static void reads_each_directory_once(void **state)
{
    char path[PATH_MAX];
    struct cfr_route route;

    (void)state;
    if (!has_openat2())
        skip();
    assert_int_equal(mkdir(in("a"), 0755), 0);
    assert_int_equal(mkdir(in("a/b"), 0755), 0);
    (void)snprintf(path, sizeof path, "%s", in("a/b"));
    later_s += 2;
    assert_int_equal(count_calls(path, &route), depth_of(path) + 1);
    /* Those above it are as they were. */
    assert_int_equal(count_calls(path, &route), 1);
    assert_int_equal(mkdir(in("a/c"), 0755), 0);
    assert_int_equal(count_calls(in("a/c"), &route), 2);
    later_s += 2;
    assert_int_equal(count_calls(path, &route), depth_of(path) + 1);
    /* Another directory has the name. */
    assert_int_equal(rename(in("a/b"), in("a/old")), 0);
    assert_int_equal(mkdir(in("a/b"), 0755), 0);
    assert_int_equal(count_calls(path, &route), 2);
    /* One that does not exist, in one that does. */
    assert_int_equal(count_calls(in("a/none"), &route), 2);
    if (geteuid() != 0)
        return;
    /* What root does above counts after a second. */
    assert_int_equal(mkdir(in("a/b/c"), 0755), 0);
    assert_int_equal(count_calls(in("a/b/c"), &route), 3);
    assert_int_equal(chown(in("a"), OTHER, OTHER), 0);
    assert_int_equal(count_calls(in("a/b/c"), &route), 1);
    assert_false(route.foreign);
    later_s += 2;
    assert_int_equal(count_calls(in("a/b/c"), &route), depth_of(path) + 2);
    assert_true(route.foreign);
    assert_int_equal(route.uid, OTHER);
    /* Of two other users, the one nearer to the root. */
    assert_int_equal(chown(path, OTHER + 1, (gid_t)-1), 0);
    assert_int_equal(count_calls(path, &route), 2);
    assert_true(route.foreign);
    assert_int_equal(route.uid, OTHER);
}

/* The devices of terminals are on a file system of no known kind. */
static void tells_what_is_mounted_below(void **state)
{
    static const char *const paths[] = {"/dev", "/dev/", "//dev", "/dev/.", "/dev/../dev"};
    struct cfr_route route;

    (void)state;
    if (!cfr_file_is_mount("/dev/pts"))
        skip();
    for (size_t i = 0; i < sizeof paths / sizeof paths[0]; i++) {
        cfr_route_find(paths[i], true, false, &route);
        assert_true(route.storage != CFR_ROUTE_REMOTE);
        cfr_route_find_whole(paths[i], true, &route);
        assert_int_equal(route.storage, CFR_ROUTE_REMOTE);
    }
    cfr_route_find_whole("/dev/pts/none", false, &route);
    assert_int_equal(route.storage, CFR_ROUTE_REMOTE);
    cfr_route_find_whole("/dev/none", false, &route);
    assert_true(route.storage != CFR_ROUTE_REMOTE);
}

static void goes_from_the_root_where_a_path_leads_up(void **state)
{
    char path[PATH_MAX];
    struct cfr_route route;

    (void)state;
    if (geteuid() != 0)
        skip();
    /* The way leads through a directory that is not above its end. */
    assert_int_equal(mkdir(in("theirs"), 0755), 0);
    assert_int_equal(mkdir(in("ours"), 0755), 0);
    assert_int_equal(chown(in("theirs"), OTHER, OTHER), 0);
    (void)snprintf(path, sizeof path, "%s", in("theirs/../ours"));
    cfr_route_find(path, true, false, &route);
    assert_true(route.foreign);
    (void)snprintf(path, sizeof path, "%s", in("./ours//."));
    cfr_route_find(path, true, false, &route);
    assert_false(route.foreign);
}

static void looks_at_the_way_again_where_a_link_has_come(void **state)
{
    struct cfr_route route;

    (void)state;
    assert_int_equal(mkdir(in("open"), 0755), 0);
    assert_int_equal(mkdir(in("open/dir"), 0755), 0);
    assert_int_equal(chmod(in("open"), 0777), 0);
    cfr_route_find(in("open/dir"), true, false, &route);
    assert_false(route.blocked);
    /* Another user, who may write there, moves it, and puts a link in its place that leads to it. */
    assert_int_equal(rename(in("open/dir"), in("real")), 0);
    assert_int_equal(symlink("../real", in("open/dir")), 0);
    cfr_route_find(in("open/dir"), true, false, &route);
    assert_true(route.blocked);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        SCRATCH_TEST(the_root_is_never_remote),
        SCRATCH_TEST(tells_the_storage),
        SCRATCH_TEST(tells_the_storage_on_a_kernel_before_5_8),
        SCRATCH_TEST(tells_whose_directories_it_leads_through),
        SCRATCH_TEST(reads_each_directory_once),
        SCRATCH_TEST(tells_what_is_mounted_below),
        SCRATCH_TEST(goes_from_the_root_where_a_path_leads_up),
        SCRATCH_TEST(looks_at_the_way_again_where_a_link_has_come),
        SCRATCH_TEST(follows_only_links_that_nobody_else_could_make),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
