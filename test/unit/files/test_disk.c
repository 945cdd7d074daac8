/* SPDX-License-Identifier: MIT */
/* Full, read-only and forbidden disks: the published files stay, and nothing else is left behind. */
#include "files_scratch.h"

#include "files/generation.h"
#include "files/profile.h"
#include "files/single.h"
#include "files/state.h"

#include <sys/statvfs.h>
#include <sys/mount.h>

#define KEEP CFR_FILE_KEEP_ID
#define PAGE 4096

static struct cfr_err err;
static bool changed;

static int publish_pair(const char *directory, uint64_t number, char letter)
{
    static char a[PAGE * 2];
    static char b[PAGE * 2];
    struct cfr_file files[] = {{"a", {a, sizeof a}, 0644, KEEP, KEEP}, {"b", {b, sizeof b}, 0644, KEEP, KEEP}};
    struct cfr_generation g = {directory, 0755, KEEP, KEEP, files, 2, number, 0, false};

    memset(a, letter, sizeof a);
    memset(b, letter, sizeof b);
    err = (struct cfr_err){0};
    return cfr_generation_publish(&g, &changed, NULL, &err);
}

/* Both files are there, whole and of one generation. Returns its letter. */
static char view(void)
{
    const char *a = get(in("t/pub/a"));
    const char *b = get(in("t/pub/b"));

    CHILD_CHECK(strlen(a) == PAGE * 2 && strcmp(a, b) == 0);
    CHILD_CHECK(strspn(a, (char[]){a[0], '\0'}) == PAGE * 2);
    return a[0];
}

static void fill_up(long pages_left)
{
    int fd = open(in("t/filler"), O_WRONLY | O_CREAT | O_TRUNC, 0600);
    struct statvfs vfs;

    CHILD_CHECK(fd >= 0 && fstatvfs(fd, &vfs) == 0);
    CHILD_CHECK((long)vfs.f_bavail >= pages_left);
    CHILD_CHECK(posix_fallocate(fd, 0, ((long)vfs.f_bavail - pages_left) * PAGE) == 0);
    (void)close(fd);
}

/* With every amount of room up to what is enough, so that each step meets the full disk. */
static void full_disk(void)
{
    char published = 'A';
    bool fitted = false;

    CHILD_CHECK(mount("none", in("t"), "tmpfs", 0, "size=128k,nr_inodes=64") == 0);
    CHILD_CHECK(publish_pair(in("t/pub"), 1, 'A') == 0);
    for (long left = 0; left < 8; left++) {
        int entries = count_entries(in("t/pub"), "");

        fill_up(left);
        if (publish_pair(in("t/pub"), (uint64_t)left + 2, (char)('B' + left)) == 0) {
            published = (char)('B' + left);
            fitted = true;
        } else {
            CHILD_CHECK(err.code == CFR_E_NOSPACE);
            CHILD_CHECK(!changed);
            CHILD_CHECK(count_entries(in("t/pub"), "") == entries);
        }
        CHILD_CHECK(view() == published);
        CHILD_CHECK(unlink(in("t/filler")) == 0);
    }
    CHILD_CHECK(fitted);
}

static void no_inodes(void)
{
    char path[PATH_MAX];
    bool fitted = false;

    CHILD_CHECK(mount("none", in("t"), "tmpfs", 0, "size=1m,nr_inodes=40") == 0);
    for (int used = 0, fd = 0; fd >= 0 && used < 40; used++) {
        (void)snprintf(path, sizeof path, "%s/%d", in("t"), used);
        fd = open(path, O_WRONLY | O_CREAT, 0600);
        (void)close(fd);
    }
    /* One more at a time, from none at all: the directory, the generation, its files, the links. */
    for (int i = 0; i < 39 && !fitted; i++) {
        int rc = publish_pair(in("t/pub"), 1, 'A');

        if (rc == 0) {
            fitted = true;
            CHILD_CHECK(view() == 'A');
        } else {
            CHILD_CHECK(rc == CFR_E_NOSPACE);
            CHILD_CHECK(!exists(in("t/pub")));
            (void)snprintf(path, sizeof path, "%s/%d", in("t"), i);
            CHILD_CHECK(unlink(path) == 0);
        }
    }
    CHILD_CHECK(fitted);
}

static void full_disk_for_single_files(void)
{
    static char big[PAGE * 3];
    struct cfr_file file = {"f", {"small", 5}, 0600, KEEP, KEEP};
    int lock_fd;
    int fd;

    CHILD_CHECK(mount("none", in("t"), "tmpfs", 0, "size=128k") == 0);
    fd = cfr_state_open(in("t/state"), &lock_fd, &err);
    CHILD_CHECK(fd >= 0 && cfr_state_save(fd, "reg", cfr_view_of("old"), &err) == 0);
    CHILD_CHECK(cfr_single_publish(in("t/f"), &file, false, NULL, &changed, &err) == 0);
    put(in("t/p"), "[a]\nx = 1\n");
    fill_up(0);
    memset(big, 'x', sizeof big);
    file.content = (struct cfr_view){big, sizeof big};
    CHILD_CHECK(cfr_single_publish(in("t/f"), &file, false, NULL, &changed, &err) == CFR_E_NOSPACE);
    CHILD_CHECK(strcmp(get(in("t/f")), "small") == 0);
    file.content = cfr_view_of("k = v\n");
    CHILD_CHECK(cfr_profile_publish(in("t/p"), "b", &file, true, NULL, &changed, &err) == CFR_E_NOSPACE);
    CHILD_CHECK(strcmp(get(in("t/p")), "[a]\nx = 1\n") == 0);
    CHILD_CHECK(cfr_state_save(fd, "reg", cfr_view_of("new"), &err) == CFR_E_NOSPACE);
    CHILD_CHECK(strcmp(get(in("t/state/reg.json")), "old") == 0);
    CHILD_CHECK(count_entries(in("t"), ".") == 0);
    /* In place there is no way back, so the room is made sure of before anything is touched. */
    CHILD_CHECK(mount(in("t/f"), in("t/f"), "", MS_BIND, "") == 0);
    file.content = (struct cfr_view){big, sizeof big};
    CHILD_CHECK(cfr_single_publish(in("t/f"), &file, true, NULL, &changed, &err) == CFR_E_NOSPACE);
    CHILD_CHECK(strcmp(get(in("t/f")), "small") == 0);
}

static void read_only_disk(void)
{
    struct cfr_file file = {"f", {"new", 3}, 0600, KEEP, KEEP};

    CHILD_CHECK(mount("none", in("t"), "tmpfs", 0, "size=128k") == 0);
    CHILD_CHECK(publish_pair(in("t/pub"), 1, 'A') == 0);
    CHILD_CHECK(publish_pair(in("t/pub"), 2, 'B') == 0);
    put(in("t/f"), "old");
    CHILD_CHECK(mount("none", in("t"), "", MS_REMOUNT | MS_RDONLY, NULL) == 0);
    CHILD_CHECK(publish_pair(in("t/pub"), 3, 'C') == CFR_E_PERM);
    CHILD_CHECK(strstr(err.text, "Read-only") != NULL && strstr(err.text, in("t/pub")) != NULL);
    CHILD_CHECK(view() == 'B');
    CHILD_CHECK(publish_pair(in("t/new"), 1, 'C') == CFR_E_PERM);
    CHILD_CHECK(publish_pair(in("t/pub"), 3, 'B') == 0 && !changed);
    CHILD_CHECK(cfr_generation_retire(in("t/pub"), &err) == CFR_E_PERM);
    CHILD_CHECK(cfr_single_publish(in("t/f"), &file, false, NULL, &changed, &err) == CFR_E_PERM);
    CHILD_CHECK(strcmp(get(in("t/f")), "old") == 0);
    CHILD_CHECK(view() == 'B');
}

static void full_disk_keeps_the_old_set(void **state)
{
    (void)state;
    assert_int_equal(in_mount_namespace(full_disk), 0);
}

static void missing_inodes_leave_nothing_behind(void **state)
{
    (void)state;
    assert_int_equal(in_mount_namespace(no_inodes), 0);
}

static void full_disk_keeps_the_old_files(void **state)
{
    (void)state;
    assert_int_equal(in_mount_namespace(full_disk_for_single_files), 0);
}

static void read_only_disk_keeps_everything(void **state)
{
    (void)state;
    assert_int_equal(in_mount_namespace(read_only_disk), 0);
}

static void as_nobody(void)
{
    CHILD_CHECK(setgid(65534) == 0 && setuid(65534) == 0);
    CHILD_CHECK(publish_pair(in("t/pub"), 2, 'B') == CFR_E_PERM);
    CHILD_CHECK(strstr(err.text, in("t/pub")) != NULL);
    CHILD_CHECK(view() == 'A');
    CHILD_CHECK(publish_pair(in("t/new"), 1, 'B') == CFR_E_PERM);
    _exit(0);
}

static void missing_rights_keep_the_old_set(void **state)
{
    int status = 0;
    pid_t pid;

    (void)state;
    if (geteuid() != 0) {
        print_message("[   NOTE   ] skipped: only root can become a user without rights\n");
        skip();
    }
    assert_int_equal(chmod(scratch, 0755), 0);
    assert_int_equal(publish_pair(in("t/pub"), 1, 'A'), 0);
    pid = fork();
    assert_true(pid >= 0);
    if (pid == 0)
        as_nobody();
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_int_equal(status, 0);
    assert_int_equal(count_entries(in("t/pub"), ""), 4);
}

static int setup(void **state)
{
    return scratch_make(state) != 0 ? -1 : mkdir(in("t"), 0755);
}

#define SCRATCH_TEST(f) cmocka_unit_test_setup_teardown(f, setup, scratch_remove)

int main(void)
{
    const struct CMUnitTest tests[] = {
        SCRATCH_TEST(full_disk_keeps_the_old_set),     SCRATCH_TEST(missing_inodes_leave_nothing_behind),
        SCRATCH_TEST(full_disk_keeps_the_old_files),   SCRATCH_TEST(read_only_disk_keeps_everything),
        SCRATCH_TEST(missing_rights_keep_the_old_set),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
