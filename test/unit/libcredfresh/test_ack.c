/* SPDX-License-Identifier: MIT */
/* Acknowledging a generation, and the arguments that are refused. */
#include "reload_volume.h"

static int rename_error;
static int sync_error; /* what the next fsync fails with */
static ino_t synced;   /* the file that was synced last, and the size that it had */
static off_t synced_size;
int __real_fsync(int fd);
int __wrap_fsync(int fd);
int __real_rename(const char *from, const char *to);
int __wrap_rename(const char *from, const char *to);

int __wrap_fsync(int fd)
{
    struct stat st;

    errno = sync_error;
    sync_error = 0;
    if (errno != 0)
        return -1;
    assert_int_equal(fstat(fd, &st), 0);
    synced = st.st_ino;
    synced_size = st.st_size;
    return __real_fsync(fd);
}

/* True if all that the file at PATH holds was synced. */
static bool is_synced(const char *path)
{
    struct stat st;

    assert_int_equal(stat(path, &st), 0);
    return st.st_size != 0 && st.st_ino == synced && st.st_size == synced_size;
}

int __wrap_rename(const char *from, const char *to)
{
    /* An empty file after a loss of power would acknowledge what is current then. */
    assert_true(is_synced(from));
    errno = rename_error;
    return rename_error != 0 ? -1 : __real_rename(from, to);
}

static int entries(void)
{
    DIR *d = opendir(scratch);
    int n = 0;

    assert_non_null(d);
    while (readdir(d) != NULL)
        n++;
    (void)closedir(d);
    return n - 2;
}

static void test_replaces_the_file(void **state)
{
    struct stat before;
    struct stat after;

    (void)state;
    rename_error = 0;
    assert_int_equal(credfresh_ack(7, in("ack"), NULL, 0), 0);
    assert_string_equal(get(in("ack")), "7\n");
    assert_int_equal(stat(in("ack"), &before), 0);
    assert_int_equal(before.st_mode & 07777, 0644);
    assert_int_equal(link(in("ack"), in("old")), 0);
    assert_int_equal(credfresh_ack(UINT64_MAX, in("ack"), NULL, 0), 0);
    assert_string_equal(get(in("ack")), "18446744073709551615\n");
    assert_int_equal(stat(in("ack"), &after), 0);
    assert_true(after.st_ino != before.st_ino);
    assert_int_equal(entries(), 2);
}

static void test_writes_in_place(void **state)
{
    struct stat before;
    struct stat after;

    (void)state;
    put(in("ack"), "1000\n");
    assert_int_equal(stat(in("ack"), &before), 0);
    rename_error = EBUSY; /* as for a file that is a mount */
    assert_int_equal(credfresh_ack(9, in("ack"), NULL, 0), 0);
    rename_error = 0;
    assert_string_equal(get(in("ack")), "9\n");
    assert_true(is_synced(in("ack")));
    assert_int_equal(stat(in("ack"), &after), 0);
    assert_true(after.st_ino == before.st_ino);
    assert_int_equal(entries(), 1);
}

static void test_a_sync_that_fails(void **state)
{
    (void)state;
    rename_error = 0;
    put(in("ack"), "1\n");
    sync_error = EIO;
    assert_int_equal(credfresh_ack(2, in("ack"), NULL, 0), CREDFRESH_E_IO);
    assert_string_equal(get(in("ack")), "1\n");
    sync_error = ENOSPC; /* a full disk is not one of the library's limits */
    assert_int_equal(credfresh_ack(2, in("ack"), NULL, 0), CREDFRESH_E_IO);
    assert_string_equal(get(in("ack")), "1\n");
    sync_error = EINTR;
    assert_int_equal(credfresh_ack(3, in("ack"), NULL, 0), 0);
    assert_string_equal(get(in("ack")), "3\n");
    assert_int_equal(entries(), 1);
}

static void test_refusals(void **state)
{
    char text[200] = "";
    char small[8] = "";

    (void)state;
    assert_int_equal(credfresh_ack(0, in("ack"), text, sizeof text), CREDFRESH_E_INVALID);
    assert_string_equal(text, "there is no generation 0");
    assert_int_equal(credfresh_ack(1, NULL, text, sizeof text), CREDFRESH_E_INVALID);
    assert_int_equal(credfresh_ack(1, in("none/ack"), text, sizeof text), CREDFRESH_E_MISSING);
    assert_non_null(strstr(text, "none/ack: No such file or directory"));
    assert_int_equal(credfresh_ack(1, in("none/ack"), small, sizeof small), CREDFRESH_E_MISSING);
    assert_string_equal(small, "cannot ");
    assert_int_equal(mkdir(in("d"), 0755), 0);
    assert_int_equal(credfresh_ack(1, in("d"), text, sizeof text), CREDFRESH_E_IO);
    assert_int_equal(symlink("victim", in("link")), 0);
    put(in("victim"), "mine");
    rename_error = EBUSY; /* in place, but never through a link */
    assert_int_equal(credfresh_ack(1, in("link"), text, sizeof text), CREDFRESH_E_IO);
    rename_error = 0;
    assert_string_equal(get(in("victim")), "mine");
}

static int refused(const char *directory, const struct credfresh_options *o, const char *why)
{
    struct credfresh *w = (struct credfresh *)&w;
    char text[400] = "";
    int rc = credfresh_open(&w, directory, o, text, sizeof text);

    assert_null(w);
    if (strstr(text, why) == NULL)
        fail_msg("\"%s\" is not in \"%s\"", why, text);
    return rc;
}

static void test_options(void **state)
{
    struct {
        struct credfresh_options known;
        uint64_t later;
    } newer = {CREDFRESH_OPTIONS_INIT, 0};
    struct credfresh_options o;
    const char *names[2] = {"a", "a"};

    (void)state;
    assert_int_equal(credfresh_open(NULL, "/", NULL, NULL, 0), CREDFRESH_E_INVALID);
    assert_int_equal(refused(NULL, NULL, "the directory is NULL"), CREDFRESH_E_INVALID);
    assert_int_equal(refused("", NULL, "the directory is empty"), CREDFRESH_E_INVALID);
    assert_int_equal(refused("/x/..data", NULL, "the directory that holds ..data"), CREDFRESH_E_INVALID);
#define REFUSE(member, value, why)                                                                                     \
    do {                                                                                                               \
        o = (struct credfresh_options)CREDFRESH_OPTIONS_INIT;                                                          \
        o.member = (value);                                                                                            \
        assert_int_equal(refused("/", &o, why), CREDFRESH_E_INVALID);                                                  \
    } while (0)
    REFUSE(struct_size, 8, "struct_size");
    REFUSE(flags, 0x80, "unknown bits: 0x80");
    REFUSE(check_ms, 99, "at least 100");
    REFUSE(poll_ms, 9, "at least 10");
    REFUSE(bytes_max, (size_t)1 << 40, "bytes_max");
    REFUSE(files_max, CREDFRESH_FILES_MAX + 1, "files_max");
    REFUSE(name_count, 1, "names is NULL");
    o.names = names;
    o.name_count = 2;
    assert_int_equal(refused("/", &o, "holds a twice"), CREDFRESH_E_INVALID);
    static const char *const bad[] = {"", "/a", "..", "../a", "a/../b", "a//b", "a/", ".", "./a", "..data/a"};

    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        names[1] = bad[i];
        assert_int_equal(refused("/", &o, "names[1]"), CREDFRESH_E_INVALID);
    }
    newer.known.struct_size = sizeof newer;
    newer.later = 1;
    assert_int_equal(refused("/", &newer.known, "use a newer one"), CREDFRESH_E_INVALID);
    newer.later = 0;
    credfresh_close(follow(scratch, &newer.known));
}

static void test_texts(void **state)
{
    struct {
        struct credfresh_status known;
        uint64_t later;
    } newer = {{.struct_size = sizeof newer}, 42};
    struct credfresh_status s = {.struct_size = 8};
    struct credfresh *w = follow(scratch, NULL);

    (void)state;
    assert_string_equal(credfresh_version(), CFR_VERSION);
    for (int code = CREDFRESH_E_NO_EXPIRY; code < 0; code++)
        assert_string_not_equal(credfresh_strerror(code), "unknown error");
    assert_string_equal(credfresh_strerror(0), "no error");
    assert_string_equal(credfresh_strerror(CREDFRESH_E_NO_EXPIRY - 1), "unknown error");
    assert_int_equal(credfresh_status(w, &s), CREDFRESH_E_INVALID);
    assert_int_equal(credfresh_status(w, &newer.known), 0);
    assert_int_equal(newer.later, 42);
    s.struct_size = offsetof(struct credfresh_status, mode_reason);
    memset(s.mode_reason, 'x', sizeof s.mode_reason);
    assert_int_equal(credfresh_status(w, &s), 0);
    assert_int_equal(s.mode_reason[0], 'x');
    credfresh_close(w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
#define T(name) cmocka_unit_test_setup_teardown(name, scratch_make, scratch_remove)
        T(test_replaces_the_file), T(test_writes_in_place), T(test_a_sync_that_fails),
        T(test_refusals),          T(test_options),         T(test_texts),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
