/* SPDX-License-Identifier: MIT */
/* Publishing generations: what a consumer sees, what stays, what is removed, and what is refused. */
#include "files_scratch.h"

#include "files/generation.h"

#define KEEP  CFR_FILE_KEEP_ID
#define OTHER 4321

static struct cfr_err err;
static bool changed;
static struct cfr_generation_state published;

static int publish(uint64_t number, const struct cfr_file *files, size_t count)
{
    char directory[PATH_MAX];
    struct cfr_generation g = {directory, 0755, KEEP, KEEP, files, count, number, 1767323045, false};

    (void)snprintf(directory, sizeof directory, "%s/pub", scratch);
    err = (struct cfr_err){0};
    return cfr_generation_publish(&g, &changed, &published, &err);
}

static int publish_two(uint64_t number, const char *a, const char *b)
{
    struct cfr_file files[] = {
        {"credentials", {a, strlen(a)}, 0640, KEEP, KEEP},
        {"token", {b, strlen(b)}, 0600, KEEP, KEEP},
    };

    return publish(number, files, 2);
}

static int publish_token(uint64_t number, const char *text)
{
    struct cfr_file file = {"token", {text, strlen(text)}, 0600, KEEP, KEEP};

    return publish(number, &file, 1);
}

static struct cfr_generation_state seen;

/* Looks for COUNT NAMES, which may be empty. */
static int look_for(const char *const *names, size_t count)
{
    struct cfr_generation_expected expected = {
        .names = names, .count = count, .may_be_empty = true, .owner = CFR_FILE_KEEP_ID};

    return cfr_generation_look(in("pub"), &expected, &seen, &err);
}

/* The same, and none may be empty. */
static int look_for_full(const char *const *names, size_t count)
{
    struct cfr_generation_expected expected = {.names = names, .count = count, .owner = CFR_FILE_KEEP_ID};

    return cfr_generation_look(in("pub"), &expected, &seen, &err);
}

static uint64_t current(void)
{
    (void)look_for(NULL, 0);
    return seen.number;
}

static int generations(void)
{
    return count_entries(in("pub"), "..2");
}

static void one_file_is_dropped_in_place(void **state)
{
    struct cfr_file_fingerprint before;
    struct cfr_file_fingerprint after;

    (void)state;
    assert_int_equal(cfr_generation_drop(in("pub"), "token", &err), 0);
    assert_int_equal(publish_two(1, "keys", "jwt"), 0);
    assert_int_equal(look_for(NULL, 0), 0);
    before = seen.mark;
    assert_int_equal(cfr_generation_drop(in("pub"), "missing", &err), 0);
    assert_int_equal(look_for(NULL, 0), 0);
    after = seen.mark;
    assert_memory_equal(&before, &after, sizeof before);
    assert_int_equal(cfr_generation_drop(in("pub"), "token", &err), 0);
    assert_string_equal(get(in("pub/credentials")), "keys");
    assert_int_equal(faccessat(AT_FDCWD, in("pub/token"), F_OK, AT_SYMLINK_NOFOLLOW), -1);
    assert_int_equal(faccessat(AT_FDCWD, in("pub/..data/token"), F_OK, AT_SYMLINK_NOFOLLOW), -1);
    assert_int_equal(current(), 1);
    assert_int_equal(look_for(NULL, 0), 0);
    after = seen.mark;
    assert_memory_not_equal(&before, &after, sizeof before);
    /* Another program's file of that name remains. */
    put(in("pub/token"), "theirs");
    assert_int_equal(cfr_generation_drop(in("pub"), "token", &err), 0);
    assert_string_equal(get(in("pub/token")), "theirs");
}

/* A volume with fsGroup: what is published in it and below it has its group. */
static void a_volume_gives_its_group(void **state)
{
    struct stat st;

    (void)state;
    assert_int_equal(mkdir(in("vol"), 0700), 0);
    if (chown(in("vol"), (uid_t)-1, OTHER) != 0)
        skip();
    assert_int_equal(chmod(in("vol"), 02770), 0);
    for (int i = 0; i < 2; i++) {
        const struct cfr_file file = {"token", {"jwt", 3}, 0640, KEEP, KEEP};
        char directory[PATH_MAX];
        const struct cfr_generation g = {directory, 0755, KEEP, KEEP, &file, 1, 1, 1767323045, false};

        (void)snprintf(directory, sizeof directory, "%s/vol%s", scratch, i == 0 ? "" : "/sub");
        assert_int_equal(cfr_generation_publish(&g, &changed, NULL, &err), 0);
        assert_int_equal(stat(i == 0 ? in("vol/token") : in("vol/sub/token"), &st), 0);
        assert_int_equal(st.st_gid, OTHER);
    }
}

static void first_set_has_the_kubelets_layout(void **state)
{
    char target[256] = "";

    (void)state;
    assert_int_equal(current(), 0);
    assert_int_equal(publish_two(1, "keys", "jwt"), 0);
    assert_true(changed);
    assert_int_equal(current(), 1);
    assert_true(readlink(in("pub/..data"), target, sizeof target - 1) > 0);
    assert_string_equal(target, "..2026_01_02_03_04_05.000000001");
    memset(target, 0, sizeof target);
    assert_true(readlink(in("pub/token"), target, sizeof target - 1) > 0);
    assert_string_equal(target, "..data/token");
    assert_string_equal(get(in("pub/token")), "jwt");
    assert_string_equal(get(in("pub/credentials")), "keys");
    assert_int_equal(mode_of(in("pub/..data/credentials")), 0640);
    assert_int_equal(mode_of(in("pub/..data/token")), 0600);
    assert_int_equal(mode_of(in("pub/..2026_01_02_03_04_05.000000001")), 0755);
    assert_int_equal(mode_of(in("pub")), 0755);
    assert_int_equal(count_entries(in("pub"), ""), 4);
}

static void same_set_is_not_published_again(void **state)
{
    struct stat before;
    struct stat after;

    (void)state;
    assert_int_equal(publish_two(1, "keys", "jwt"), 0);
    assert_int_equal(stat(in("pub"), &before), 0);
    assert_int_equal(publish_two(2, "keys", "jwt"), 0);
    assert_false(changed);
    assert_int_equal(current(), 1);
    assert_int_equal(stat(in("pub"), &after), 0);
    assert_int_equal(before.st_mtim.tv_nsec, after.st_mtim.tv_nsec);
    /* A link that was removed is put back. */
    assert_int_equal(unlink(in("pub/token")), 0);
    assert_int_equal(publish_two(2, "keys", "jwt"), 0);
    assert_false(changed);
    assert_string_equal(get(in("pub/token")), "jwt");
}

static void mode_alone_is_a_change(void **state)
{
    struct cfr_file file = {"token", {"jwt", 3}, 0644, KEEP, KEEP};

    (void)state;
    assert_int_equal(publish_token(1, "jwt"), 0);
    assert_int_equal(publish(2, &file, 1), 0);
    assert_true(changed);
    assert_int_equal(mode_of(in("pub/..data/token")), 0644);
}

static void previous_stays_and_the_third_goes(void **state)
{
    (void)state;
    assert_int_equal(publish_token(1, "one"), 0);
    assert_int_equal(publish_token(2, "two"), 0);
    assert_int_equal(generations(), 2);
    assert_string_equal(get(in("pub/..2026_01_02_03_04_05.000000001/token")), "one");
    assert_int_equal(publish_token(3, "three"), 0);
    assert_int_equal(generations(), 2);
    assert_false(exists(in("pub/..2026_01_02_03_04_05.000000001")));
    assert_string_equal(get(in("pub/token")), "three");
    assert_int_equal(cfr_generation_retire(in("pub"), &err), 0);
    assert_int_equal(generations(), 1);
    assert_string_equal(get(in("pub/token")), "three");
    assert_int_equal(cfr_generation_retire(in("none"), &err), 0);
}

static void retired_content_is_overwritten(void **state)
{
    char bytes[64];
    int fd;

    (void)state;
    assert_int_equal(publish_token(1, "a very secret token"), 0);
    fd = open(in("pub/token"), O_RDONLY);
    assert_true(fd >= 0);
    assert_int_equal(publish_token(2, "another"), 0);
    assert_int_equal(pread(fd, bytes, sizeof bytes, 0), 19);
    assert_memory_equal(bytes, "a very secret token", 19);
    assert_int_equal(cfr_generation_retire(in("pub"), &err), 0);
    assert_int_equal(pread(fd, bytes, sizeof bytes, 0), 19);
    for (size_t i = 0; i < 19; i++)
        assert_int_equal(bytes[i], 0);
    (void)close(fd);
}

static void set_may_change_its_names(void **state)
{
    (void)state;
    assert_int_equal(publish_two(1, "keys", "jwt"), 0);
    assert_int_equal(publish_token(2, "jwt"), 0);
    assert_true(changed);
    assert_false(exists(in("pub/credentials")));
    assert_string_equal(get(in("pub/token")), "jwt");
    assert_int_equal(publish_two(3, "keys", "jwt"), 0);
    assert_string_equal(get(in("pub/credentials")), "keys");
}

static void number_may_fall_and_be_long(void **state)
{
    (void)state;
    assert_int_equal(publish_token(5, "five"), 0);
    assert_int_equal(publish_token(5, "again"), CFR_E_CONFLICT);
    assert_string_equal(get(in("pub/token")), "five");
    assert_int_equal(publish_token(4, "again"), 0);
    assert_string_equal(get(in("pub/token")), "again");
    assert_int_equal(current(), 4);
    assert_int_equal(publish_token(12345678901U, "long"), 0);
    assert_int_equal(current(), 12345678901U);
    assert_int_equal(publish_token(UINT64_MAX, "longest"), 0);
    assert_int_equal(current(), UINT64_MAX);
    assert_int_equal(generations(), 2);
}

static void bad_sets_are_refused(void **state)
{
    static const char *const names[] = {"", ".", "..", "..data", "..x", "a/b", "/etc/passwd"};
    struct cfr_file twins[] = {{"a", {"1", 1}, 0600, KEEP, KEEP}, {"a", {"2", 1}, 0600, KEEP, KEEP}};

    (void)state;
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        struct cfr_file file = {names[i], {"x", 1}, 0600, KEEP, KEEP};

        assert_int_equal(publish(1, &file, 1), CFR_E_CONFIG);
    }
    assert_int_equal(publish(1, twins, 2), CFR_E_CONFIG);
    assert_int_equal(publish(1, twins, 0), CFR_E_LIMIT);
    assert_int_equal(publish(1, twins, 1000), CFR_E_LIMIT);
    assert_false(exists(in("pub")));
}

/* Something foreign at PATH: refused by name, and left as it is. */
static void check_refused(const char *name)
{
    char path[PATH_MAX];
    struct stat before;
    struct stat after;

    (void)snprintf(path, sizeof path, "%s", in(name));
    assert_int_equal(lstat(path, &before), 0);
    assert_int_equal(publish_token(7, "seven"), CFR_E_CONFLICT);
    assert_false(changed);
    assert_non_null(strstr(err.text, strrchr(path, '/') + 1));
    assert_non_null(strstr(err.text, in("pub")));
    assert_int_equal(lstat(path, &after), 0);
    assert_int_equal(before.st_ino, after.st_ino);
    assert_int_equal(generations(), 0);
}

static void foreign_files_are_refused_and_left_alone(void **state)
{
    (void)state;
    assert_int_equal(mkdir(in("pub"), 0755), 0);
    put(in("pub/token"), "foreign");
    check_refused("pub/token");
    assert_non_null(strstr(err.text, in("pub/token")));
    assert_int_equal(unlink(in("pub/token")), 0);
    put(in("victim"), "victim");
    assert_int_equal(symlink(in("victim"), in("pub/token")), 0);
    check_refused("pub/token");
    assert_string_equal(get(in("victim")), "victim");
    assert_int_equal(unlink(in("pub/token")), 0);
    assert_int_equal(symlink("..data/other", in("pub/token")), 0);
    check_refused("pub/token");
    assert_int_equal(unlink(in("pub/token")), 0);
    put(in("pub/..data"), "foreign");
    check_refused("pub/..data");
    assert_int_equal(unlink(in("pub/..data")), 0);
    assert_int_equal(symlink(scratch, in("pub/..data")), 0);
    check_refused("pub/..data");
    assert_int_equal(cfr_generation_recover(in("pub"), false, &err), CFR_E_CONFLICT);
    assert_int_equal(cfr_generation_retire(in("pub"), &err), CFR_E_CONFLICT);
    assert_int_equal(unlink(in("pub/..data")), 0);
    put(in("pub/..data_tmp"), "foreign");
    check_refused("pub/..data_tmp");
    assert_false(exists(in("pub/token")));
}

static void planted_links_are_not_followed(void **state)
{
    (void)state;
    assert_int_equal(mkdir(in("elsewhere"), 0755), 0);
    assert_int_equal(symlink("elsewhere", in("pub")), 0);
    assert_int_equal(publish_token(1, "one"), CFR_E_PATH);
    assert_int_equal(count_entries(in("elsewhere"), ""), 0);
    assert_int_equal(unlink(in("pub")), 0);
    assert_int_equal(mkdir(in("pub"), 0755), 0);
    /* The very name that the generation's directory would get. */
    assert_int_equal(symlink(in("elsewhere"), in("pub/..2026_01_02_03_04_05.000000001")), 0);
    assert_true(publish_token(1, "one") < 0);
    assert_int_equal(count_entries(in("elsewhere"), ""), 0);
    assert_int_equal(publish_token(2, "two"), 0);
    assert_string_equal(get(in("pub/token")), "two");
}

static void make_leftovers(void)
{
    assert_int_equal(mkdir(in("pub/..2026_01_02_03_04_05.000000009"), 0700), 0);
    put(in("pub/..2026_01_02_03_04_05.000000009/token"), "unfinished");
    assert_int_equal(symlink("..2026_01_02_03_04_05.000000009", in("pub/..data_tmp")), 0);
    assert_int_equal(symlink("..data/ghost", in("pub/ghost")), 0);
    assert_int_equal(mkdir(in(".pub.credfresh-0a1b2c3d"), 0700), 0);
}

static void make_foreign(void)
{
    assert_int_equal(mkdir(in("pub/..2026_01_02_03_04_05.12"), 0755), 0); /* not written as we write it */
    assert_int_equal(mkdir(in("pub/..2026"), 0755), 0);
    assert_int_equal(symlink("nowhere", in("pub/dangling")), 0);
    assert_int_equal(symlink("..data/token", in("pub/alias")), 0);
    assert_int_equal(symlink("..data/gone", in("pub/stale-alias")), 0);
    put(in("pub/README"), "foreign");
    put(in("pub/..2026_01_02_03_04_05.000000077"), "a file of that name");
}

static void recover_removes_leftovers_only(void **state)
{
    (void)state;
    assert_int_equal(cfr_generation_recover(in("pub"), false, &err), 0);
    assert_int_equal(publish_token(3, "three"), 0);
    assert_int_equal(publish_token(4, "four"), 0);
    assert_int_equal(mkdir(in("pub/..2025_01_02_03_04_05.000000002"), 0755), 0);
    put(in("pub/..2025_01_02_03_04_05.000000002/token"), "two");
    make_leftovers();
    make_foreign();
    cfr_file_forget_clean();
    assert_int_equal(cfr_generation_recover(in("pub"), false, &err), 0);
    assert_string_equal(get(in("pub/token")), "four");
    assert_string_equal(get(in("pub/..2026_01_02_03_04_05.000000003/token")), "three");
    assert_false(exists(in("pub/..2025_01_02_03_04_05.000000002")));
    assert_false(exists(in("pub/..2026_01_02_03_04_05.000000009")));
    assert_false(exists(in("pub/..data_tmp")));
    assert_false(exists(in("pub/ghost")));
    assert_false(exists(in(".pub.credfresh-0a1b2c3d")));
    assert_true(exists(in("pub/..2026_01_02_03_04_05.12")));
    assert_true(exists(in("pub/..2026")));
    assert_true(exists(in("pub/dangling")));
    assert_true(exists(in("pub/alias")));
    assert_true(exists(in("pub/stale-alias")));
    assert_string_equal(get(in("pub/README")), "foreign");
    assert_true(exists(in("pub/..2026_01_02_03_04_05.000000077")));
}

static void generations_of_others_do_not_count(void **state)
{
    struct cfr_generation_expected expected = {.owner = OTHER};

    (void)state;
    if (geteuid() != 0)
        skip();
    assert_int_equal(publish_token(5, "one"), 0);
    assert_int_equal(chown(in("pub/..2026_01_02_03_04_05.000000005"), OTHER, OTHER), 0);
    assert_int_equal(current(), 0);
    assert_int_equal(cfr_generation_look(in("pub"), &expected, &seen, &err), 0);
    assert_int_equal(seen.number, 5);
    /* Its owner could change it at any time. */
    assert_int_equal(publish_token(6, "one"), 0);
    assert_true(changed);
    assert_int_equal(current(), 6);
    assert_int_equal(publish_token(8, "two"), 0);
    assert_int_equal(mkdir(in("pub/..2026_01_02_03_04_05.000000007"), 0755), 0);
    assert_int_equal(chown(in("pub/..2026_01_02_03_04_05.000000007"), OTHER, OTHER), 0);
    assert_int_equal(cfr_generation_recover(in("pub"), true, &err), 0);
    assert_true(exists(in("pub/..2026_01_02_03_04_05.000000006")));
    assert_false(exists(in("pub/..2026_01_02_03_04_05.000000007")));
    /* In a directory of that user they do. */
    assert_int_equal(chown(in("pub"), OTHER, OTHER), 0);
    assert_int_equal(chown(in("pub/..2026_01_02_03_04_05.000000008"), OTHER, OTHER), 0);
    assert_int_equal(current(), 8);
}

#define PLANTED   4
#define IN_EACH   600
#define SPARSE    (4 << 20)
#define BYTES_MAX (8 << 20)
#define ONCE_MAX  1024

/* As many as are left of those that another user has made where old generations would be. */
static int count_planted(void)
{
    char name[64];
    int count = 0;

    for (int i = 0; i < PLANTED; i++) {
        (void)snprintf(name, sizeof name, "pub/..2025_01_02_03_04_05.%09d", i + 100);
        count += exists(in(name)) ? count_entries(in(name), "") : 0;
    }
    return count;
}

static void what_others_plant_is_removed_bit_by_bit(void **state)
{
    char name[64];
    int fds[PLANTED * 2];
    struct stat st;
    off_t blocks = 0;
    int before;

    (void)state;
    assert_int_equal(publish_token(1, "one"), 0);
    for (int i = 0; i < PLANTED; i++) {
        (void)snprintf(name, sizeof name, "pub/..2025_01_02_03_04_05.%09d", i + 100);
        assert_int_equal(mkdir(in(name), 0755), 0);
        for (int k = 0; k < IN_EACH; k++) {
            int fd;

            (void)snprintf(name, sizeof name, "pub/..2025_01_02_03_04_05.%09d/%d", i + 100, k);
            fd = open(in(name), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
            assert_true(fd >= 0);
            assert_int_equal(ftruncate(fd, SPARSE), 0);
            if (k < 2)
                fds[2 * i + k] = fd;
            else
                (void)close(fd);
        }
    }
    before = count_planted();
    assert_int_equal(before, PLANTED * IN_EACH);
    assert_int_equal(publish_token(2, "two"), 0);
    assert_string_equal(get(in("pub/token")), "two");
    assert_in_range(before - count_planted(), ONCE_MAX / 2, ONCE_MAX);
    for (size_t i = 0; i < sizeof fds / sizeof fds[0]; i++) {
        assert_int_equal(fstat(fds[i], &st), 0);
        blocks += st.st_blocks;
        (void)close(fds[i]);
    }
    assert_true(blocks * 512 <= BYTES_MAX + PLANTED * 2 * 4096);
    assert_int_equal(cfr_generation_recover(in("pub"), true, &err), 0);
    assert_int_equal(cfr_generation_recover(in("pub"), true, &err), 0);
    assert_int_equal(count_planted(), 0);
    assert_int_equal(generations(), 2);
}

static void publish_gets_over_leftovers_by_itself(void **state)
{
    (void)state;
    assert_int_equal(publish_token(3, "three"), 0);
    make_leftovers();
    assert_int_equal(publish_token(9, "nine"), 0); /* the name of the unfinished one */
    assert_string_equal(get(in("pub/token")), "nine");
    assert_int_equal(generations(), 2);
    assert_false(exists(in("pub/..data_tmp")));
    assert_false(exists(in("pub/ghost")));
}

static void removed_directory_is_made_again(void **state)
{
    (void)state;
    assert_int_equal(publish_token(1, "one"), 0);
    assert_int_equal(rename(in("pub"), in("moved")), 0);
    assert_int_equal(publish_token(2, "two"), 0);
    assert_string_equal(get(in("pub/token")), "two");
    assert_string_equal(get(in("moved/token")), "one");
    /* And a current generation that was removed. */
    assert_int_equal(unlink(in("pub/..data/token")), 0);
    assert_int_equal(rmdir(in("pub/..2026_01_02_03_04_05.000000002")), 0);
    assert_int_equal(publish_token(3, "two"), 0);
    assert_true(changed);
    assert_string_equal(get(in("pub/token")), "two");
}

static void verify_tells_what_is_missing(void **state)
{
    static const char *const two[] = {"token", "credentials"};
    static const char *const three[] = {"token", "credentials", "more"};

    (void)state;
    assert_int_equal(look_for_full(two, 2), CFR_E_MISSING);
    assert_int_equal(publish_two(1, "keys", "jwt"), 0);
    assert_int_equal(look_for_full(two, 2), 0);
    assert_int_equal(look_for_full(three, 3), CFR_E_MISSING);
    assert_non_null(strstr(err.text, "more"));
    assert_int_equal(look_for_full(two, 1), CFR_E_MISSING);
    assert_non_null(strstr(err.text, "credentials"));
    assert_int_equal(look_for_full(NULL, 0), 0);
    assert_int_equal(unlink(in("pub/token")), 0);
    assert_int_equal(look_for_full(two, 2), CFR_E_MISSING);
    assert_int_equal(look_for_full(NULL, 0), CFR_E_MISSING);
    assert_non_null(strstr(err.text, "the link token"));
    assert_int_equal(publish_two(2, "keys", ""), 0);
    assert_int_equal(look_for_full(two, 2), CFR_E_MISSING);
    assert_non_null(strstr(err.text, "empty"));
    assert_int_equal(look_for(two, 2), 0);
    assert_int_equal(look_for(three, 3), CFR_E_MISSING);
}

/* Nobody has to look again at what has just been published. */
static void a_publish_tells_what_is_there_now(void **state)
{
    static const char *const two[] = {"token", "credentials"};

    (void)state;
    assert_int_equal(publish_two(1, "keys", "jwt"), 0);
    for (uint64_t number = 2; number < 4; number++) {
        assert_int_equal(publish_two(number, "other keys", number == 2 ? "jwt" : ""), 0);
        assert_int_equal(published.number, number);
        assert_int_equal(look_for(two, 2), 0);
        assert_memory_equal(&published, &seen, sizeof seen);
        assert_true(seen.renamed_ns != 0);
        assert_int_equal(look_for(NULL, 0), 0);
        assert_memory_equal(&published, &seen, sizeof seen);
    }
    /* Nothing was written: somebody else may have been there. */
    assert_int_equal(publish_two(4, "other keys", ""), 0);
    assert_false(changed);
    assert_int_equal(published.number, 0);
}

static void owner_and_modes_are_set(void **state)
{
    struct cfr_file file = {"token", {"jwt", 3}, 0440, 12345, 23456};
    char directory[PATH_MAX];
    struct cfr_generation g = {directory, 0750, 12345, 23456, &file, 1, 1, 0, false};
    struct stat st;

    (void)state;
    if (geteuid() != 0) {
        print_message("[   NOTE   ] skipped: only root can give files away\n");
        skip();
    }
    (void)snprintf(directory, sizeof directory, "%s", in("owned"));
    assert_int_equal(cfr_generation_publish(&g, &changed, NULL, &err), 0);
    assert_int_equal(stat(in("owned/token"), &st), 0);
    assert_true(st.st_uid == 12345 && st.st_gid == 23456 && (st.st_mode & 07777) == 0440);
    assert_int_equal(stat(in("owned/..data"), &st), 0);
    assert_true(st.st_uid == 12345 && st.st_gid == 23456 && (st.st_mode & 07777) == 0750);
    assert_int_equal(stat(in("owned"), &st), 0);
    assert_true(st.st_uid == 12345 && st.st_gid == 23456 && (st.st_mode & 07777) == 0750);
    g.number = 2;
    assert_int_equal(cfr_generation_publish(&g, &changed, NULL, &err), 0);
    assert_false(changed);
    file.gid = 1;
    assert_int_equal(cfr_generation_publish(&g, &changed, NULL, &err), 0);
    assert_true(changed);
}

#define SCRATCH_TEST(f) cmocka_unit_test_setup_teardown(f, scratch_make, scratch_remove)

int main(void)
{
    const struct CMUnitTest tests[] = {
        SCRATCH_TEST(first_set_has_the_kubelets_layout),
        SCRATCH_TEST(one_file_is_dropped_in_place),
        SCRATCH_TEST(a_volume_gives_its_group),
        SCRATCH_TEST(same_set_is_not_published_again),
        SCRATCH_TEST(mode_alone_is_a_change),
        SCRATCH_TEST(previous_stays_and_the_third_goes),
        SCRATCH_TEST(retired_content_is_overwritten),
        SCRATCH_TEST(set_may_change_its_names),
        SCRATCH_TEST(number_may_fall_and_be_long),
        SCRATCH_TEST(bad_sets_are_refused),
        SCRATCH_TEST(foreign_files_are_refused_and_left_alone),
        SCRATCH_TEST(planted_links_are_not_followed),
        SCRATCH_TEST(recover_removes_leftovers_only),
        SCRATCH_TEST(generations_of_others_do_not_count),
        SCRATCH_TEST(what_others_plant_is_removed_bit_by_bit),
        SCRATCH_TEST(publish_gets_over_leftovers_by_itself),
        SCRATCH_TEST(removed_directory_is_made_again),
        SCRATCH_TEST(verify_tells_what_is_missing),
        SCRATCH_TEST(a_publish_tells_what_is_there_now),
        SCRATCH_TEST(owner_and_modes_are_set),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
