/* SPDX-License-Identifier: MIT */
/* Opening without following links, making directories, names, users and groups. */
#include "files_scratch.h"

#include "files/path_private.h"

#include <sys/syscall.h>

static const char *swapped; /* takes the place of the next directory that is made */

int __real_mkdirat(int dir_fd, const char *name, mode_t mode);
int __wrap_mkdirat(int dir_fd, const char *name, mode_t mode);

int __wrap_mkdirat(int dir_fd, const char *name, mode_t mode)
{
    int rc = __real_mkdirat(dir_fd, name, mode);

    if (rc == 0 && swapped != NULL) {
        assert_int_equal(renameat(dir_fd, name, dir_fd, "away"), 0);
        assert_int_equal(renameat(dir_fd, swapped, dir_fd, name), 0);
    }
    return rc;
}

/* As another user can do in a directory of root's that its group may write in. */
static void a_directory_that_takes_its_place_keeps_its_mode(void **state)
{
    struct cfr_err err = {0};
    struct stat before;
    struct stat after;
    int dir_fd = open(scratch, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    int fd;

    (void)state;
    assert_true(dir_fd >= 0);
    assert_int_equal(mkdir(in("private"), 0700), 0);
    put(in("private/secret"), "x");
    fd = open(in("private"), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    assert_int_equal(fstat(fd, &before), 0);
    swapped = "private";
    assert_int_equal(cfr_path_make_dir(dir_fd, "new", 0755, (uid_t)-1, (gid_t)-1, &err), CFR_E_CONFLICT);
    swapped = NULL;
    assert_int_equal(fstat(fd, &after), 0);
    assert_int_equal(after.st_mode, before.st_mode);
    assert_false(exists(in("new")));
    (void)close(fd);
    (void)close(dir_fd);
}

static void dir_is_made_with_its_mode_under_any_umask(void **state)
{
    struct cfr_err err = {0};
    mode_t old = umask(077);
    int fd = cfr_path_open_dir(in("a/b/c"), true, 0751, &err);

    (void)state;
    (void)umask(old);
    assert_true(fd >= 0);
    assert_int_equal(fcntl(fd, F_GETFD), FD_CLOEXEC);
    (void)close(fd);
    assert_int_equal(mode_of(in("a")), 0755);
    assert_int_equal(mode_of(in("a/b")), 0755);
    assert_int_equal(mode_of(in("a/b/c")), 0751);
    assert_int_equal(count_entries(scratch, ""), 1);
    fd = cfr_path_open_dir(in("a/b/c/"), false, 0, &err);
    assert_true(fd >= 0);
    (void)close(fd);
}

static void dir_may_have_linked_parents_but_be_no_link(void **state)
{
    struct cfr_err err = {0};
    int fd;

    (void)state;
    assert_int_equal(mkdir(in("real"), 0755), 0);
    assert_int_equal(symlink("real", in("link")), 0);
    fd = cfr_path_open_dir(in("link/sub"), true, 0700, &err);
    assert_true(fd >= 0);
    (void)close(fd);
    assert_true(exists(in("real/sub")));
    assert_int_equal(cfr_path_open_dir(in("link"), true, 0700, &err), CFR_E_PATH);
    assert_non_null(strstr(err.text, "symbolic link"));
    assert_non_null(strstr(err.text, in("link")));
    assert_int_equal(symlink("nowhere", in("dangling")), 0);
    assert_int_equal(cfr_path_open_dir(in("dangling"), true, 0700, &err), CFR_E_PATH);
    assert_int_equal(cfr_path_open_dir(in("dangling/sub"), true, 0700, &err), CFR_E_MISSING);
    assert_false(exists(in("nowhere")));
}

static void dir_errors(void **state)
{
    struct cfr_err err = {0};

    (void)state;
    put(in("file"), "x");
    assert_int_equal(cfr_path_open_dir(in("none"), false, 0, &err), CFR_E_MISSING);
    assert_int_equal(cfr_path_open_dir(in("none/sub"), false, 0, &err), CFR_E_MISSING);
    assert_int_equal(cfr_path_open_dir(in("file"), true, 0700, &err), CFR_E_PATH);
    assert_int_equal(cfr_path_open_dir(in("file/sub"), true, 0700, &err), CFR_E_PATH);
    assert_int_equal(cfr_path_open_dir("relative", true, 0700, &err), CFR_E_PATH);
    assert_int_equal(cfr_path_open_dir("", true, 0700, &err), CFR_E_PATH);
    assert_int_equal(cfr_path_open_dir(in(".."), true, 0700, &err), CFR_E_PATH);
    assert_int_equal(cfr_path_open_dir(in("file"), true, 0700, NULL), CFR_E_PATH);
}

static void openat_checks(int dir_fd)
{
    struct cfr_err err = {0};
    int fd;

    CHILD_CHECK(cfr_path_openat(dir_fd, "link", O_RDONLY, 0, &err) == CFR_E_PATH);
    CHILD_CHECK(cfr_path_openat(dir_fd, "link", O_WRONLY | O_CREAT, 0600, &err) == CFR_E_PATH);
    CHILD_CHECK(cfr_path_openat(dir_fd, "dirlink", O_RDONLY | O_DIRECTORY, 0, &err) == CFR_E_PATH);
    CHILD_CHECK(strstr(err.text, "dirlink is a symbolic link") != NULL);
    CHILD_CHECK(cfr_path_openat(dir_fd, "../file", O_RDONLY, 0, &err) == CFR_E_PATH);
    CHILD_CHECK(cfr_path_openat(dir_fd, "/etc/passwd", O_RDONLY, 0, &err) == CFR_E_PATH);
    CHILD_CHECK(cfr_path_openat(dir_fd, "none", O_RDONLY, 0, &err) == CFR_E_MISSING);
    CHILD_CHECK(cfr_path_openat(dir_fd, "file", O_WRONLY | O_CREAT | O_EXCL, 0600, &err) == CFR_E_CONFLICT);
    fd = cfr_path_openat(dir_fd, "file", O_RDONLY, 0, &err);
    CHILD_CHECK(fd >= 0 && fcntl(fd, F_GETFD) == FD_CLOEXEC);
    (void)close(fd);
}

static void openat_follows_no_link_with_and_without_openat2(void **state)
{
    static const unsigned cases[] = {0, ENOSYS, EPERM};

    (void)state;
    assert_int_equal(mkdir(in("d"), 0755), 0);
    assert_int_equal(mkdir(in("d/sub"), 0755), 0);
    put(in("file"), "outside");
    put(in("d/file"), "inside");
    assert_int_equal(symlink("file", in("d/link")), 0);
    assert_int_equal(symlink("sub", in("d/dirlink")), 0);
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        int status = 0;
        pid_t pid = fork();

        assert_true(pid >= 0);
        if (pid == 0) {
            int dir_fd = open(in("d"), O_RDONLY | O_DIRECTORY);

            /* As on a kernel before 5.6, or under a seccomp filter that does not know openat2. */
            if (cases[i] != 0)
                forbid_call(SYS_openat2, cases[i]);
            openat_checks(dir_fd);
            _exit(0);
        }
        assert_int_equal(waitpid(pid, &status, 0), pid);
        assert_int_equal(status, 0);
    }
}

static void parent_and_name(void **state)
{
    struct cfr_err err = {0};
    const char *path = in("p/q/file");
    const char *name = NULL;
    int fd = cfr_path_open_parent(path, false, &name, &err);

    (void)state;
    assert_int_equal(fd, CFR_E_MISSING);
    fd = cfr_path_open_parent(path, true, &name, &err);
    assert_true(fd >= 0);
    assert_ptr_equal(name, path + strlen(path) - 4);
    assert_int_equal(mode_of(in("p/q")), 0755);
    (void)close(fd);
    assert_int_equal(cfr_path_open_parent(in("p/"), true, &name, &err), CFR_E_PATH);
    assert_int_equal(cfr_path_open_parent("/", true, &name, &err), CFR_E_PATH);
    assert_int_equal(cfr_path_open_parent("file", true, &name, &err), CFR_E_PATH);
}

static void temporary_names(void **state)
{
    char name[CFR_PATH_TEMP_MAX];
    char other[CFR_PATH_TEMP_MAX];
    char longest[CFR_PATH_NAME_MAX + 1];

    (void)state;
    cfr_path_temp_name("token", name);
    cfr_path_temp_name("token", other);
    assert_string_not_equal(name, other);
    assert_int_equal(strncmp(name, ".token.credfresh-", 17), 0);
    assert_int_equal(strlen(name), 25);
    assert_true(cfr_path_is_temp(name, "token"));
    assert_true(cfr_path_is_temp(name, NULL));
    assert_false(cfr_path_is_temp(name, "toke"));
    assert_false(cfr_path_is_temp(name, "tokem"));
    assert_false(cfr_path_is_temp(".token.credfresh-0123456", "token"));
    assert_false(cfr_path_is_temp(".token.credfresh-012345678", "token"));
    assert_false(cfr_path_is_temp(".token.credfresh-0123456X", "token"));
    assert_false(cfr_path_is_temp("token", "token"));
    assert_false(cfr_path_is_temp("", NULL));
    assert_false(cfr_path_is_temp(".credfresh-01234567", NULL));
    memset(longest, 'n', sizeof longest - 1);
    longest[sizeof longest - 1] = '\0';
    cfr_path_temp_name(longest, name);
    assert_int_equal(strlen(name), CFR_PATH_NAME_MAX);
    assert_true(cfr_path_is_temp(name, longest));
}

static void component_names(void **state)
{
    char name[CFR_PATH_NAME_MAX + 2];

    (void)state;
    assert_true(cfr_path_is_name("token"));
    assert_true(cfr_path_is_name("..data"));
    assert_false(cfr_path_is_name(""));
    assert_false(cfr_path_is_name("."));
    assert_false(cfr_path_is_name(".."));
    assert_false(cfr_path_is_name("a/b"));
    memset(name, 'n', sizeof name - 1);
    name[sizeof name - 1] = '\0';
    assert_false(cfr_path_is_name(name));
    name[CFR_PATH_NAME_MAX] = '\0';
    assert_true(cfr_path_is_name(name));
}

static void users_and_groups(void **state)
{
    struct cfr_err err = {0};
    uid_t uid = 7;
    gid_t gid = 7;

    (void)state;
    assert_int_equal(cfr_path_uid("root", &uid, &err), 0);
    assert_int_equal(uid, 0);
    assert_int_equal(cfr_path_gid("root", &gid, &err), 0);
    assert_int_equal(gid, 0);
    assert_int_equal(cfr_path_uid("65534", &uid, &err), 0);
    assert_int_equal(uid, 65534);
    assert_int_equal(cfr_path_gid("1001000000", &gid, &err), 0);
    assert_int_equal(gid, 1001000000);
    assert_int_equal(cfr_path_uid("no-such-user", &uid, &err), CFR_E_CONFIG);
    assert_non_null(strstr(err.text, "no-such-user"));
    assert_int_equal(cfr_path_gid("no-such-group", &gid, &err), CFR_E_CONFIG);
    assert_int_equal(cfr_path_uid("4294967295", &uid, &err), CFR_E_CONFIG); /* would mean: leave it */
    assert_int_equal(cfr_path_uid("-1", &uid, &err), CFR_E_CONFIG);
    assert_int_equal(cfr_path_uid("", &uid, &err), CFR_E_CONFIG);
}

#define SCRATCH_TEST(f) cmocka_unit_test_setup_teardown(f, scratch_make, scratch_remove)

int main(void)
{
    const struct CMUnitTest tests[] = {
        SCRATCH_TEST(dir_is_made_with_its_mode_under_any_umask),
        SCRATCH_TEST(dir_may_have_linked_parents_but_be_no_link),
        SCRATCH_TEST(dir_errors),
        SCRATCH_TEST(a_directory_that_takes_its_place_keeps_its_mode),
        SCRATCH_TEST(openat_follows_no_link_with_and_without_openat2),
        SCRATCH_TEST(parent_and_name),
        cmocka_unit_test(temporary_names),
        cmocka_unit_test(component_names),
        cmocka_unit_test(users_and_groups),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
