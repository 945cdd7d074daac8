/* SPDX-License-Identifier: MIT */
/* Replacing a single file, and the obstacles to it. */
#include "files_scratch.h"

#include "files/single.h"

#include <sys/mount.h>
#include <sys/syscall.h>

#define KEEP CFR_FILE_KEEP_ID

static struct cfr_err err;
static bool changed;
static int swaps;
static bool before_5_8; /* the kernel */

int __real_statx(int fd, const char *path, int flags, unsigned mask, struct statx *out);
int __wrap_statx(int fd, const char *path, int flags, unsigned mask, struct statx *out);

/* While swaps is set, the link on the way leads elsewhere once a file was looked at. */
int __wrap_statx(int fd, const char *path, int flags, unsigned mask, struct statx *out)
{
    int rc = __real_statx(fd, path, flags, mask, out);

    if (rc == 0 && before_5_8)
        out->stx_attributes_mask &= ~(unsigned long long)STATX_ATTR_MOUNT_ROOT;
    if (rc == 0 && swaps != 0 && S_ISREG(out->stx_mode) &&
        (--swaps != 0 || unlink(in("link")) != 0 || symlink("/", in("link")) != 0))
        return -1;
    return rc;
}

static int publish(const char *path, const char *text, mode_t mode, bool in_place)
{
    struct cfr_file file = {NULL, {text, strlen(text)}, mode, KEEP, KEEP};

    err = (struct cfr_err){0};
    return cfr_single_publish(path, &file, in_place, NULL, &changed, &err);
}

static unsigned intruders; /* writes of another program during the merge */

static int merge_by_append(struct cfr_view there, struct cfr_secret *content, struct cfr_err *e)
{
    if (cfr_view_is(there, "refused"))
        return cfr_err_set(e, CFR_E_CONFLICT, "not of this format");
    if (intruders != 0) {
        /* Another size each time: the change time may be the same. */
        intruders--;
        put(in("shared"), &"newest!"[intruders % 7]);
    }
    return cfr_secret_append(content, there, e);
}

static int publish_merged(const char *text)
{
    struct cfr_file file = {NULL, {text, strlen(text)}, 0600, KEEP, KEEP};

    err = (struct cfr_err){0};
    return cfr_single_publish(in("shared"), &file, false, merge_by_append, &changed, &err);
}

static void what_others_write_is_merged(void **state)
{
    (void)state;
    assert_int_equal(publish_merged("ours"), 0);
    assert_true(changed);
    assert_string_equal(get(in("shared")), "ours");
    put(in("shared"), "theirs");
    assert_int_equal(publish_merged("ours,"), 0);
    assert_string_equal(get(in("shared")), "ours,theirs");
    /* A refusal changes nothing. */
    put(in("shared"), "refused");
    assert_int_equal(publish_merged("ours"), CFR_E_CONFLICT);
    assert_non_null(strstr(err.text, in("shared")));
    assert_false(changed);
    assert_string_equal(get(in("shared")), "refused");
    /* Another program writes between the read and the rename. */
    put(in("shared"), "old");
    intruders = 1;
    assert_int_equal(publish_merged("ours,"), 0);
    assert_string_equal(get(in("shared")), "ours,newest!");
    intruders = 100;
    assert_int_equal(publish_merged("ours,"), CFR_E_CONFLICT);
    assert_non_null(strstr(err.text, "another program keeps changing it"));
    assert_string_equal(get(in("shared")), &"newest!"[intruders % 7]);
    intruders = 0;
}

static void publishes_replaces_and_keeps(void **state)
{
    struct cfr_file_fingerprint first;
    struct cfr_file_fingerprint second;

    (void)state;
    assert_int_equal(cfr_single_fingerprint(in("a/b/token"), &first, &err), CFR_E_MISSING);
    assert_int_equal(publish(in("a/b/token"), "one", 0640, false), 0);
    assert_true(changed);
    assert_string_equal(get(in("a/b/token")), "one");
    assert_int_equal(mode_of(in("a/b/token")), 0640);
    assert_int_equal(mode_of(in("a/b")), 0755);
    assert_int_equal(cfr_single_fingerprint(in("a/b/token"), &first, &err), 0);
    assert_int_equal(publish(in("a/b/token"), "one", 0640, false), 0);
    assert_false(changed);
    assert_int_equal(cfr_single_fingerprint(in("a/b/token"), &second, &err), 0);
    assert_memory_equal(&first, &second, sizeof first);
    assert_int_equal(publish(in("a/b/token"), "two", 0640, false), 0);
    assert_true(changed);
    assert_string_equal(get(in("a/b/token")), "two");
    assert_int_equal(publish(in("a/b/token"), "two", 0600, false), 0);
    assert_true(changed);
    assert_int_equal(mode_of(in("a/b/token")), 0600);
    assert_int_equal(count_entries(in("a/b"), ""), 1);
}

static void in_place_means_nothing_where_rename_works(void **state)
{
    int fd;
    char c = 0;

    (void)state;
    assert_int_equal(publish(in("token"), "one", 0600, true), 0);
    fd = open(in("token"), O_RDONLY);
    assert_int_equal(publish(in("token"), "two", 0600, true), 0);
    assert_int_equal(read(fd, &c, 1), 1);
    assert_int_equal(c, 'o'); /* a reader keeps what it opened */
    (void)close(fd);
}

static void links_and_others_are_refused(void **state)
{
    (void)state;
    put(in("victim"), "victim");
    assert_int_equal(symlink("victim", in("token")), 0);
    assert_int_equal(publish(in("token"), "one", 0600, false), CFR_E_PATH);
    assert_non_null(strstr(err.text, in("token")));
    assert_non_null(strstr(err.text, "symbolic link"));
    assert_int_equal(publish(in("token"), "one", 0600, true), CFR_E_PATH);
    assert_int_equal(publish(in("token"), "victim", 0644, false), CFR_E_PATH);
    assert_string_equal(get(in("victim")), "victim");
    assert_int_equal(unlink(in("token")), 0);
    assert_int_equal(mkdir(in("token"), 0700), 0);
    assert_int_equal(publish(in("token"), "one", 0600, false), CFR_E_PATH);
    assert_int_equal(rmdir(in("token")), 0);
    assert_int_equal(mkfifo(in("token"), 0600), 0);
    assert_int_equal(publish(in("token"), "one", 0600, false), CFR_E_PATH);
    assert_int_equal(count_entries(scratch, ""), 2);
}

static void recover_removes_our_temporary_files_only(void **state)
{
    (void)state;
    assert_int_equal(cfr_single_recover(in("none/token"), &err), 0);
    put(in("token"), "one");
    put(in(".token.credfresh-0a1b2c3d"), "half");
    put(in(".tokens.credfresh-0a1b2c3d"), "another's");
    put(in(".token.credfresh-0a1b2c3"), "foreign");
    put(in(".token.swp"), "foreign");
    assert_int_equal(cfr_single_recover(in("token"), &err), 0);
    assert_false(exists(in(".token.credfresh-0a1b2c3d")));
    assert_true(exists(in(".tokens.credfresh-0a1b2c3d")));
    assert_true(exists(in(".token.credfresh-0a1b2c3")));
    assert_true(exists(in(".token.swp")));
    assert_string_equal(get(in("token")), "one");
}

static void on_a_mount_point(void)
{
    CHILD_CHECK(mount(in("source"), in("token"), "", MS_BIND, "") == 0);
    CHILD_CHECK(cfr_file_is_mount(in("token")));
    CHILD_CHECK(!cfr_file_is_mount(in("source")));
    CHILD_CHECK(!cfr_file_is_mount(in("none")));
    CHILD_CHECK(publish(in("token"), "two", 0600, false) == CFR_E_PATH);
    CHILD_CHECK(strstr(err.text, "in_place: true") != NULL);
    CHILD_CHECK(strstr(err.text, in("token")) != NULL);
    CHILD_CHECK(strcmp(get(in("token")), "one") == 0);
    CHILD_CHECK(count_entries(scratch, "") == 3);
    CHILD_CHECK(publish(in("token"), "22", 0640, true) == 0);
    CHILD_CHECK(changed);
    CHILD_CHECK(strcmp(get(in("source")), "22") == 0);
    CHILD_CHECK(mode_of(in("source")) == 0640);
    CHILD_CHECK(publish(in("token"), "22", 0640, true) == 0);
    CHILD_CHECK(!changed);
    /* By a path through a link, as /var/run is one. */
    CHILD_CHECK(symlink(".", in("link")) == 0);
    CHILD_CHECK(cfr_file_is_mount(in("link/token")));
    CHILD_CHECK(!cfr_file_is_mount(in("link")));
    CHILD_CHECK(cfr_file_leads_to_mount(in("link/token")));
    CHILD_CHECK(!cfr_file_leads_to_mount(in("source")));
    CHILD_CHECK(!cfr_file_leads_to_mount(in("none")));
    CHILD_CHECK(!cfr_file_leads_to_mount("/sys/kernel"));
    /* What another user puts there after it was looked at is not asked. */
    swaps = 1;
    CHILD_CHECK(cfr_file_leads_to_mount(in("link/token")));
    CHILD_CHECK(swaps == 0);
    CHILD_CHECK(!cfr_file_leads_to_mount(in("link/token")));
    CHILD_CHECK(unlink(in("link")) == 0 && symlink(".", in("link")) == 0);
    /* Kernels before 5.8 tell it in /proc/self/mountinfo only, where blanks are escaped. */
    CHILD_CHECK(mount(in("source"), in("a \\ and blanks"), "", MS_BIND, "") == 0);
    before_5_8 = true;
    CHILD_CHECK(cfr_file_leads_to_mount(in("link/token")));
    CHILD_CHECK(cfr_file_leads_to_mount(in("a \\ and blanks")));
    CHILD_CHECK(!cfr_file_leads_to_mount(in("source")));
    forbid_call(SYS_statx, ENOSYS);
    CHILD_CHECK(cfr_file_is_mount(in("link/token")));
    CHILD_CHECK(cfr_file_is_mount(in("a \\ and blanks")));
    CHILD_CHECK(!cfr_file_is_mount(in("link")));
    CHILD_CHECK(!cfr_file_is_mount(in("source")));
    CHILD_CHECK(!cfr_file_is_mount(in("none")));
}

static void mount_points_need_in_place(void **state)
{
    (void)state;
    put(in("source"), "one");
    put(in("token"), "");
    put(in("a \\ and blanks"), "");
    assert_int_equal(in_mount_namespace(on_a_mount_point), 0);
}

#define SCRATCH_TEST(f) cmocka_unit_test_setup_teardown(f, scratch_make, scratch_remove)

int main(void)
{
    const struct CMUnitTest tests[] = {
        SCRATCH_TEST(what_others_write_is_merged),
        SCRATCH_TEST(publishes_replaces_and_keeps),
        SCRATCH_TEST(in_place_means_nothing_where_rename_works),
        SCRATCH_TEST(links_and_others_are_refused),
        SCRATCH_TEST(recover_removes_our_temporary_files_only),
        SCRATCH_TEST(mount_points_need_in_place),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
