/* SPDX-License-Identifier: MIT */
/* Creating, reading, comparing and wiping single files. */
#include "files_scratch.h"

#include "files/file_private.h"
#include "files/path_private.h"

#include <dirent.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/syscall.h>

#define KEEP        CFR_FILE_KEEP_ID
#define OTHER       4321
#define ENTRIES     10000
#define ENTRIES_MAX 4096

static struct cfr_err err;
static int dir_fd = -1;

static int setup(void **state)
{
    if (scratch_make(state) != 0)
        return -1;
    dir_fd = open(scratch, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    return dir_fd < 0 ? -1 : 0;
}

static int teardown(void **state)
{
    (void)close(dir_fd);
    return scratch_remove(state);
}

static struct cfr_file file_of(const char *name, const char *text, mode_t mode)
{
    return (struct cfr_file){name, {text, strlen(text)}, mode, KEEP, KEEP};
}

static void create_sets_mode_under_any_umask_and_never_overwrites(void **state)
{
    struct cfr_file file = file_of("f", "first", 0664);
    struct cfr_file other = file_of("f", "second", 0600);
    mode_t old = umask(077);

    (void)state;
    assert_int_equal(cfr_file_create(dir_fd, &file, &err), 0);
    (void)umask(old);
    assert_int_equal(mode_of(in("f")), 0664);
    assert_int_equal(cfr_file_create(dir_fd, &other, &err), CFR_E_CONFLICT);
    assert_string_equal(get(in("f")), "first");
    assert_int_equal(symlink("target", in("link")), 0);
    other.name = "link";
    assert_true(cfr_file_create(dir_fd, &other, &err) < 0);
    assert_false(exists(in("target")));
}

static void failed_write_leaves_nothing(void **state)
{
    static char big[65536];
    struct cfr_file file = {"f", {big, sizeof big}, 0600, KEEP, KEEP};
    struct rlimit small = {1000, RLIM_INFINITY};
    struct rlimit all = {RLIM_INFINITY, RLIM_INFINITY};
    void (*old)(int) = signal(SIGXFSZ, SIG_IGN);

    (void)state;
    put(in("r"), "stays");
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &small), 0);
    assert_int_equal(cfr_file_create(dir_fd, &file, &err), CFR_E_LIMIT);
    file.name = "r";
    assert_int_equal(cfr_file_replace(dir_fd, &file, &err), CFR_E_LIMIT);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &all), 0);
    (void)signal(SIGXFSZ, old);
    assert_string_equal(get(in("r")), "stays");
    assert_int_equal(count_entries(scratch, ""), 1);
}

static void read_has_a_limit_and_takes_regular_files_only(void **state)
{
    struct cfr_secret out;

    (void)state;
    cfr_secret_init(&out, 10);
    put(in("f"), "0123456789");
    assert_int_equal(cfr_file_read_at(dir_fd, "f", &out, &err), 0);
    assert_true(cfr_view_is(cfr_secret_view(&out), "0123456789"));
    assert_int_equal(cfr_file_read(in("f"), &out, &err), 0); /* again: the old content goes */
    assert_int_equal(out.len, 10);
    put(in("f"), "0123456789a");
    assert_int_equal(cfr_file_read(in("f"), &out, &err), CFR_E_LIMIT);
    assert_int_equal(out.len, 0);
    assert_non_null(strstr(err.text, in("f")));
    put(in("f"), "");
    assert_int_equal(cfr_file_read(in("f"), &out, &err), 0);
    assert_int_equal(out.len, 0);
    assert_int_equal(cfr_file_read(in("none"), &out, &err), CFR_E_MISSING);
    assert_int_equal(cfr_file_read(scratch, &out, &err), CFR_E_PATH);
    assert_int_equal(mkfifo(in("fifo"), 0600), 0);
    assert_int_equal(cfr_file_read(in("fifo"), &out, &err), CFR_E_PATH);
    assert_int_equal(cfr_file_read("/dev/null", &out, &err), CFR_E_PATH);
    /* Its size is told as 0. */
    assert_int_equal(cfr_file_read("/proc/self/status", &out, &err), CFR_E_LIMIT);
    cfr_secret_free(&out);
    cfr_secret_init(&out, 65536);
    assert_int_equal(cfr_file_read("/proc/self/status", &out, &err), 0);
    assert_true(cfr_view_starts(cfr_secret_view(&out), "Name:"));
    cfr_secret_free(&out);
}

static void read_by_path_follows_links_and_below_a_directory_does_not(void **state)
{
    struct cfr_secret out;

    (void)state;
    cfr_secret_init(&out, 100);
    put(in("f"), "content");
    assert_int_equal(symlink("f", in("link")), 0);
    assert_int_equal(cfr_file_read(in("link"), &out, &err), 0);
    assert_true(cfr_view_is(cfr_secret_view(&out), "content"));
    assert_int_equal(cfr_file_read_at(dir_fd, "link", &out, &err), CFR_E_PATH);
    cfr_secret_free(&out);
}

/* The links of a directory that everybody may write, as the kubelet makes one for a ConfigMap. */
static void read_linked_stays_beneath_a_directory_of_everybodys(void **state)
{
    static const char *const outside[] = {"", "../f", "..data/../../f", "..data/.."};
    struct cfr_secret out;

    (void)state;
    cfr_secret_init(&out, 100);
    put(in("f"), "content");
    assert_int_equal(mkdir(in("volume"), 0755), 0);
    assert_int_equal(mkdir(in("volume/..1"), 0755), 0);
    put(in("volume/..1/token"), "content");
    assert_int_equal(symlink("..1", in("volume/..data")), 0);
    assert_int_equal(symlink("..data//token", in("volume/token")), 0);
    assert_int_equal(chmod(in("volume"), 0777), 0);
    assert_int_equal(cfr_file_read_linked(in("volume/token"), &out, &err), 0);
    assert_true(cfr_view_is(cfr_secret_view(&out), "content"));
    for (size_t i = 0; i < sizeof outside / sizeof outside[0]; i++) {
        assert_int_equal(symlink(outside[i][0] != '\0' ? outside[i] : in("f"), in("volume/leads")), 0);
        assert_int_equal(cfr_file_read_linked(in("volume/leads"), &out, &err), CFR_E_PATH);
        assert_int_equal(unlink(in("volume/leads")), 0);
    }
    /* Others make links of their own there. */
    if (geteuid() == 0) {
        assert_int_equal(lchown(in("volume/..data"), OTHER, OTHER), 0);
        assert_int_equal(cfr_file_read_linked(in("volume/token"), &out, &err), CFR_E_PATH);
        assert_int_equal(lchown(in("volume/..data"), 0, 0), 0);
        assert_int_equal(lchown(in("volume/token"), OTHER, OTHER), 0);
        assert_int_equal(cfr_file_read_linked(in("volume/token"), &out, &err), CFR_E_PATH);
        assert_int_equal(lchown(in("volume/token"), 0, 0), 0);
        assert_int_equal(chown(in("volume"), OTHER, OTHER), 0);
        assert_int_equal(cfr_file_read_linked(in("volume/token"), &out, &err), CFR_E_PATH);
    }
    cfr_secret_free(&out);
}

static void read_linked_follows_only_links_that_nobody_else_could_make(void **state)
{
    struct cfr_secret out;

    (void)state;
    cfr_secret_init(&out, 100);
    /* As a volume of the kubelet is. */
    assert_int_equal(mkdir(in("volume"), 0755), 0);
    assert_int_equal(mkdir(in("volume/..1"), 0755), 0);
    put(in("volume/..1/token"), "content");
    assert_int_equal(symlink("..1", in("volume/..data")), 0);
    assert_int_equal(symlink("..data/token", in("volume/token")), 0);
    assert_int_equal(symlink(in("volume/token"), in("link")), 0);
    assert_int_equal(cfr_file_read_linked(in("volume/token"), &out, &err), 0);
    assert_true(cfr_view_is(cfr_secret_view(&out), "content"));
    assert_int_equal(cfr_file_read_linked(in("link"), &out, &err), 0);
    assert_true(cfr_view_is(cfr_secret_view(&out), "content"));
    assert_int_equal(chmod(in("volume"), 01777), 0);
    assert_int_equal(cfr_file_read_linked(in("link"), &out, &err), 0);
    assert_int_equal(rename(in("link"), in("volume/link")), 0);
    assert_int_equal(cfr_file_read_linked(in("volume/link"), &out, &err), 0);
    assert_int_equal(chmod(in("volume"), 0777), 0);
    assert_int_equal(cfr_file_read_linked(in("volume/link"), &out, &err), CFR_E_PATH);
    assert_int_equal(symlink("loop", in("loop")), 0);
    assert_int_equal(cfr_file_read_linked(in("loop"), &out, &err), CFR_E_PATH);
    assert_int_equal(cfr_file_read_linked(in("none"), &out, &err), CFR_E_MISSING);
    assert_int_equal(cfr_file_read_linked("/proc/self/status", &out, &err), CFR_E_PATH);
    cfr_secret_free(&out);
}

static void same_compares_content_mode_and_owner(void **state)
{
    struct cfr_file file = file_of("f", "content", 0640);

    (void)state;
    assert_false(cfr_file_same(dir_fd, &file));
    assert_int_equal(cfr_file_create(dir_fd, &file, &err), 0);
    assert_true(cfr_file_same(dir_fd, &file));
    file.uid = geteuid();
    assert_true(cfr_file_same(dir_fd, &file));
    file.uid = geteuid() + 1;
    assert_false(cfr_file_same(dir_fd, &file));
    file = file_of("f", "content", 0600);
    assert_false(cfr_file_same(dir_fd, &file));
    file = file_of("f", "contenu", 0640);
    assert_false(cfr_file_same(dir_fd, &file));
    file = file_of("f", "content ", 0640);
    assert_false(cfr_file_same(dir_fd, &file));
    assert_int_equal(rename(in("f"), in("g")), 0);
    assert_int_equal(symlink("g", in("f")), 0);
    file = file_of("f", "content", 0640);
    assert_false(cfr_file_same(dir_fd, &file));
}

static void same_reads_long_files(void **state)
{
    static char big[10000];
    struct cfr_file file = {"f", {big, sizeof big}, 0600, KEEP, KEEP};

    (void)state;
    memset(big, 'x', sizeof big);
    assert_int_equal(cfr_file_create(dir_fd, &file, &err), 0);
    assert_true(cfr_file_same(dir_fd, &file));
    big[sizeof big - 1] = 'y';
    assert_false(cfr_file_same(dir_fd, &file));
}

static void wipe_overwrites(void **state)
{
    static char big[10001];
    char bytes[sizeof big];
    struct cfr_file file = {"f", {big, sizeof big}, 0400, KEEP, KEEP};
    int fd;

    (void)state;
    memset(big, 's', sizeof big);
    assert_int_equal(cfr_file_wipe(dir_fd, "f", &err), 0);
    assert_int_equal(cfr_file_create(dir_fd, &file, &err), 0);
    fd = open(in("f"), O_RDONLY);
    assert_true(fd >= 0);
    assert_int_equal(cfr_file_wipe(dir_fd, "f", &err), 0);
    assert_false(exists(in("f")));
    assert_int_equal(pread(fd, bytes, sizeof bytes, 0), sizeof bytes);
    memset(big, 0, sizeof big);
    assert_memory_equal(bytes, big, sizeof big);
    (void)close(fd);
}

static void wipe_never_overwrites_what_somebody_else_has(void **state)
{
    (void)state;
    put(in("victim"), "victim");
    assert_int_equal(link(in("victim"), in("planted")), 0);
    assert_int_equal(cfr_file_wipe(dir_fd, "planted", &err), 0);
    assert_false(exists(in("planted")));
    assert_string_equal(get(in("victim")), "victim");
    assert_int_equal(symlink("victim", in("planted")), 0);
    assert_int_equal(cfr_file_wipe(dir_fd, "planted", &err), 0);
    assert_string_equal(get(in("victim")), "victim");
    assert_int_equal(mkdir(in("dir"), 0700), 0);
    /* Zeros for a sparse file would fill the disk, and take their time. */
    put(in("sparse"), "x");
    assert_int_equal(truncate(in("sparse"), INT64_C(1) << 40), 0);
    assert_int_equal(cfr_file_wipe(dir_fd, "sparse", &err), 0);
    assert_false(exists(in("sparse")));
    assert_true(cfr_file_wipe(dir_fd, "dir", &err) < 0);
    assert_true(exists(in("dir")));
}

static void a_file_is_still_the_one_that_was_read(void **state)
{
    char path[PATH_MAX];
    char link[PATH_MAX];
    struct stat seen;

    (void)state;
    (void)snprintf(path, sizeof path, "%s", in("ca.pem"));
    (void)snprintf(link, sizeof link, "%s", in("link.pem"));
    put(path, "one");
    assert_int_equal(stat(path, &seen), 0);
    assert_true(cfr_file_is_still(path, &seen) || !has_openat2());
    /* Where a link leads has to be checked on the way. */
    assert_int_equal(symlink("ca.pem", link), 0);
    assert_false(cfr_file_is_still(link, &seen));
    put(path, "three");
    assert_false(cfr_file_is_still(path, &seen));
    assert_int_equal(stat(path, &seen), 0);
    /* Another file with the same size and time. */
    put(in("new.pem"), "three");
    assert_int_equal(utimensat(AT_FDCWD, in("new.pem"), (const struct timespec[]){seen.st_mtim, seen.st_mtim}, 0), 0);
    assert_int_equal(rename(in("new.pem"), path), 0);
    assert_false(cfr_file_is_still(path, &seen));
    assert_int_equal(unlink(path), 0);
    assert_false(cfr_file_is_still(path, &seen));
}

static void mark_tells_which_file_it_is(void **state)
{
    struct cfr_file_fingerprint a;
    struct cfr_file_fingerprint b;

    (void)state;
    assert_int_equal(cfr_file_fingerprint(dir_fd, "f", &a, &err), CFR_E_MISSING);
    put(in("f"), "12345");
    assert_int_equal(cfr_file_fingerprint(dir_fd, "f", &a, &err), 0);
    assert_int_equal(a.size, 5);
    assert_int_equal(cfr_file_fingerprint(dir_fd, "f", &b, &err), 0);
    assert_memory_equal(&a, &b, sizeof a);
    put(in("g"), "12345");
    assert_int_equal(cfr_file_fingerprint(dir_fd, "g", &b, &err), 0);
    assert_int_not_equal(a.inode, b.inode);
    assert_int_equal(symlink("f", in("link")), 0);
    assert_int_equal(cfr_file_fingerprint(dir_fd, "link", &b, &err), CFR_E_PATH);
}

static void overwrite_keeps_the_inode(void **state)
{
    struct cfr_file file = file_of("f", "new", 0640);
    struct cfr_file_fingerprint before;
    struct cfr_file_fingerprint after;

    (void)state;
    put(in("f"), "a longer old content");
    assert_int_equal(cfr_file_fingerprint(dir_fd, "f", &before, &err), 0);
    assert_int_equal(cfr_file_overwrite(dir_fd, &file, &err), 0);
    assert_int_equal(cfr_file_fingerprint(dir_fd, "f", &after, &err), 0);
    assert_int_equal(before.inode, after.inode);
    assert_string_equal(get(in("f")), "new");
    assert_int_equal(mode_of(in("f")), 0640);
    file.name = "none";
    assert_int_equal(cfr_file_overwrite(dir_fd, &file, &err), CFR_E_MISSING);
}

#define SCRATCH_TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

/* The mode is set first: who may not set it changes nothing, and nobody reads the new content by the old mode. */
static void overwrite_that_may_not_set_the_mode_changes_nothing(void **state)
{
    struct cfr_file file = file_of("f", "SECRET", 0600);
    int status = 0;
    pid_t child;

    (void)state;
    if (getuid() != 0)
        skip();
    put(in("f"), "old");
    assert_int_equal(chmod(in("f"), 0666), 0);
    assert_int_equal(fchmod(dir_fd, 0755), 0);
    child = fork();
    assert_true(child >= 0);
    if (child == 0)
        _exit(setresuid(65534, 65534, 65534) == 0 && cfr_file_overwrite(dir_fd, &file, &err) == CFR_E_PERM ? 0 : 1);
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    assert_string_equal(get(in("f")), "old");
    assert_int_equal(mode_of(in("f")), 0666);
}

static void an_id_that_is_not_mapped_is_named(void **state)
{
    struct cfr_file file = file_of("f", "SECRET", 0640);
    int status = 0;
    pid_t child;

    (void)state;
    file.uid = getuid() + 1;
    child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        forbid_call(SYS_fchown, EINVAL);
        CHILD_CHECK(cfr_file_create(dir_fd, &file, &err) != 0);
        CHILD_CHECK(strstr(err.text, "has no id in credfresh's user namespace") != NULL);
        _exit(0);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
}

static void a_refused_owner_is_named_and_what_it_takes(void **state)
{
    struct cfr_file file = file_of("f", "SECRET", 0640);
    int status = 0;
    pid_t child;

    (void)state;
    file.uid = getuid() + 1;
    child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        char words[128];

        forbid_call(SYS_fchown, EPERM);
        (void)snprintf(words, sizeof words, "cannot set the mode or owner of f (mode 0640, owner %u); another owner, ",
                       (unsigned)file.uid);
        CHILD_CHECK(cfr_file_create(dir_fd, &file, &err) == CFR_E_PERM);
        CHILD_CHECK(strstr(err.text, words) != NULL && strstr(err.text, "CAP_CHOWN") != NULL);
        _exit(0);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
    assert_false(exists(in("f")));
}

/* As for a pid file: who could have written what was read? */
static void foreign_files_are_trusted_by_owner_mode_and_place(void **state)
{
    struct cfr_secret text = {.limit = 64};
    struct cfr_file_origin origin;
    char path[PATH_MAX];

    (void)state;
    assert_int_equal(mkdir(in("d"), 0755), 0);
    assert_int_equal(mkdir(in("d/e"), 0755), 0);
    put(in("d/e/f"), "7");
    (void)snprintf(path, sizeof path, "%s", in("d/e/f"));
    assert_int_equal(chmod(path, 0644), 0);
    assert_int_equal(cfr_file_read_foreign(path, &text, &origin, &err), 0);
    assert_true(origin.trusted);
    assert_int_equal(origin.mode, 0644);
    for (size_t i = 0; i < 2; i++) {
        assert_int_equal(chmod(path, i == 0 ? 0664 : 0646), 0);
        assert_int_equal(cfr_file_read_foreign(path, &text, &origin, &err), 0);
        assert_false(origin.trusted);
    }
    assert_int_equal(chmod(path, 0644), 0);
    if (geteuid() == 0) {
        /* In a directory of another user, */
        assert_int_equal(chown(in("d/e"), OTHER, OTHER), 0);
        assert_int_equal(cfr_file_read_foreign(path, &text, &origin, &err), 0);
        assert_false(origin.trusted);
        /* in ours below one of another user, who can put another in its place, */
        assert_int_equal(chown(in("d/e"), 0, 0), 0);
        assert_int_equal(chown(in("d"), OTHER, OTHER), 0);
        assert_int_equal(cfr_file_read_foreign(path, &text, &origin, &err), 0);
        assert_false(origin.trusted);
        /* and of another user. */
        assert_int_equal(chown(in("d"), 0, 0), 0);
        assert_int_equal(chown(path, OTHER, OTHER), 0);
        assert_int_equal(cfr_file_read_foreign(path, &text, &origin, &err), 0);
        assert_false(origin.trusted);
        assert_int_equal(origin.owner, OTHER);
    }
    cfr_secret_free(&text);
}

ssize_t __real_getdents64(int fd, void *buf, size_t n);
ssize_t __wrap_getdents64(int fd, void *buf, size_t n);

static int listings; /* how often part of a directory was read */

ssize_t __wrap_getdents64(int fd, void *buf, size_t n)
{
    listings++;
    return __real_getdents64(fd, buf, n);
}

static int see_entry(void *ctx, int at, const char *name)
{
    int *seen = ctx;

    (void)at;
    (void)name;
    (*seen)++;
    return 0;
}

/* Others may have filled it. */
static void of_a_full_directory_a_part_is_looked_at(void **state)
{
    char name[32];
    int seen = 0;
    int whole;
    int fd;

    (void)state;
    for (int i = 0; i < ENTRIES; i++) {
        (void)snprintf(name, sizeof name, "%d", i);
        fd = open(in(name), O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
        assert_true(fd >= 0);
        (void)close(fd);
    }
    listings = 0;
    assert_int_equal(cfr_path_each(dir_fd, see_entry, &seen, &err), 0);
    assert_in_range(seen, ENTRIES_MAX / 2, ENTRIES_MAX);
    whole = listings;
    listings = 0;
    assert_int_equal(cfr_file_remove_temps(dir_fd, NULL, &err), 0);
    assert_int_equal(listings, whole);
}

/* Targets share the directory above them, and each looks there for what a crash has left. */
static void a_directory_without_leftovers_is_looked_through_once(void **state)
{
    (void)state;
    assert_int_equal(mkdir(in("one"), 0755), 0);
    listings = 0;
    assert_int_equal(cfr_file_remove_temps(dir_fd, "one", &err), 0);
    assert_true(listings > 0);
    listings = 0;
    assert_int_equal(mkdir(in(".two.credfresh-01234567"), 0700), 0);
    assert_int_equal(cfr_file_remove_temps(dir_fd, "two", &err), 0);
    assert_int_equal(listings, 0);
    /* A child was killed since. */
    cfr_file_forget_clean();
    assert_int_equal(cfr_file_remove_temps(dir_fd, "one", &err), 0);
    assert_true(exists(in(".two.credfresh-01234567")));
    assert_int_equal(cfr_file_remove_temps(dir_fd, "two", &err), 0);
    assert_false(exists(in(".two.credfresh-01234567")));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        SCRATCH_TEST(create_sets_mode_under_any_umask_and_never_overwrites),
        SCRATCH_TEST(failed_write_leaves_nothing),
        SCRATCH_TEST(read_has_a_limit_and_takes_regular_files_only),
        SCRATCH_TEST(read_by_path_follows_links_and_below_a_directory_does_not),
        SCRATCH_TEST(read_linked_stays_beneath_a_directory_of_everybodys),
        SCRATCH_TEST(read_linked_follows_only_links_that_nobody_else_could_make),
        SCRATCH_TEST(same_compares_content_mode_and_owner),
        SCRATCH_TEST(same_reads_long_files),
        SCRATCH_TEST(wipe_overwrites),
        SCRATCH_TEST(wipe_never_overwrites_what_somebody_else_has),
        SCRATCH_TEST(a_file_is_still_the_one_that_was_read),
        SCRATCH_TEST(mark_tells_which_file_it_is),
        SCRATCH_TEST(overwrite_keeps_the_inode),
        SCRATCH_TEST(overwrite_that_may_not_set_the_mode_changes_nothing),
        SCRATCH_TEST(a_refused_owner_is_named_and_what_it_takes),
        SCRATCH_TEST(an_id_that_is_not_mapped_is_named),
        SCRATCH_TEST(foreign_files_are_trusted_by_owner_mode_and_place),
        SCRATCH_TEST(a_directory_without_leftovers_is_looked_through_once),
        SCRATCH_TEST(of_a_full_directory_a_part_is_looked_at),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
