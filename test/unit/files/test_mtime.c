/* SPDX-License-Identifier: MIT */
/* A reader that compares times misses no publish.
 *
 * The reader does as the AWS SDK for Java v2 does (ProfileFileSupplier.reloadWhenModified): it reads a file again only
 * if the file's mtime is after its last load. It loads at the worst moment, just before each rename. */
#include "files_scratch.h"

#include "files/generation.h"
#include "files/profile.h"
#include "files/single.h"

#include <linux/fs.h>
#include <sys/syscall.h>
#include <time.h>

#define KEEP CFR_FILE_KEEP_ID

static struct cfr_err err;
static bool changed;
static const char *watched; /* NULL: nothing is read */
static struct timespec loaded_at;
static char loaded[64];

static void load(void)
{
    (void)snprintf(loaded, sizeof loaded, "%s", get(watched));
    assert_int_equal(clock_gettime(CLOCK_REALTIME, &loaded_at), 0);
}

static void load_if_modified(void)
{
    struct stat st;

    assert_int_equal(stat(watched, &st), 0);
    if (st.st_mtim.tv_sec > loaded_at.tv_sec ||
        (st.st_mtim.tv_sec == loaded_at.tv_sec && st.st_mtim.tv_nsec > loaded_at.tv_nsec))
        load();
}

/* In place of the C library's. */
int renameat(int old_fd, const char *old, int new_fd, const char *new)
{
    if (watched != NULL)
        load();
    return (int)syscall(SYS_renameat2, old_fd, old, new_fd, new, 0);
}

static void reads_what_is_published(const char *expected)
{
    assert_true(changed);
    load_if_modified();
    assert_non_null(strstr(loaded, expected));
}

static void publish_directory(uint64_t number, const char *text)
{
    struct cfr_file files[] = {{"config", {text, strlen(text)}, 0644, KEEP, KEEP},
                               {"credentials", {text, strlen(text)}, 0600, KEEP, KEEP}};
    struct cfr_generation g = {.directory = in("dir"),
                               .directory_mode = 0755,
                               .uid = KEEP,
                               .gid = KEEP,
                               .number = number,
                               .now_s = 1,
                               .files = files,
                               .file_count = 2};

    assert_int_equal(cfr_generation_publish(&g, &changed, NULL, &err), 0);
}

static void of_a_directory(void **state)
{
    char path[PATH_MAX];

    (void)state;
    publish_directory(1, "one");
    for (uint64_t i = 2; i < 100; i++) {
        char text[32];

        (void)snprintf(path, sizeof path, "%s", in(i % 2 == 0 ? "dir/config" : "dir/credentials"));
        (void)snprintf(text, sizeof text, "generation %u", (unsigned)i);
        watched = path;
        publish_directory(i, text);
        reads_what_is_published(text);
        watched = NULL;
    }
}

static void of_a_file(void **state)
{
    char path[PATH_MAX];

    (void)state;
    (void)snprintf(path, sizeof path, "%s", in("token"));
    put(path, "old");
    watched = path;
    for (unsigned i = 0; i < 100; i++) {
        char text[32];
        struct cfr_file file = {NULL, {text, (size_t)snprintf(text, sizeof text, "token %u", i)}, 0600, KEEP, KEEP};

        assert_int_equal(cfr_single_publish(path, &file, false, NULL, &changed, &err), 0);
        reads_what_is_published(text);
    }
    watched = NULL;
}

static void of_a_profile(void **state)
{
    char path[PATH_MAX];

    (void)state;
    (void)snprintf(path, sizeof path, "%s", in("profile"));
    put(path, "[other]\nx = 1\n");
    watched = path;
    for (unsigned i = 0; i < 100; i++) {
        char text[32];
        struct cfr_file file = {NULL, {text, (size_t)snprintf(text, sizeof text, "k = %u\n", i)}, 0600, KEEP, KEEP};

        assert_int_equal(cfr_profile_publish(path, "default", &file, true, NULL, &changed, &err), 0);
        reads_what_is_published(text);
    }
    watched = NULL;
}

/* Killed after the rename and before the times were set. */
static void of_a_directory_after_a_crash(void **state)
{
    struct timespec early[2] = {{.tv_nsec = UTIME_OMIT}, {.tv_sec = 1}};
    struct timespec before;
    char path[PATH_MAX];
    struct stat st;

    (void)state;
    (void)snprintf(path, sizeof path, "%s", in("dir/config"));
    publish_directory(1, "one");
    assert_int_equal(stat(path, &st), 0);
    before = st.st_mtim;
    assert_int_equal(cfr_generation_recover(in("dir"), false, &err), 0);
    assert_int_equal(stat(path, &st), 0);
    assert_memory_equal(&st.st_mtim, &before, sizeof before); /* no second time for a reader that has seen it */
    assert_int_equal(utimensat(AT_FDCWD, path, early, 0), 0);
    watched = path;
    load();
    changed = true;
    (void)snprintf(loaded, sizeof loaded, "what was there before");
    assert_int_equal(cfr_generation_recover(in("dir"), true, &err), 0);
    assert_int_equal(stat(path, &st), 0);
    assert_int_equal(st.st_mtim.tv_sec, 1); /* what is on record has the time that is on record */
    assert_int_equal(cfr_generation_recover(in("dir"), false, &err), 0);
    reads_what_is_published("one");
    watched = NULL;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(of_a_directory, scratch_make_fast, scratch_remove),
        cmocka_unit_test_setup_teardown(of_a_file, scratch_make_fast, scratch_remove),
        cmocka_unit_test_setup_teardown(of_a_profile, scratch_make_fast, scratch_remove),
        cmocka_unit_test_setup_teardown(of_a_directory_after_a_crash, scratch_make, scratch_remove),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
