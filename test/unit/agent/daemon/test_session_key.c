/* SPDX-License-Identifier: MIT */
/* The key that signs session tokens: it outlives a run, and one that others may know is replaced. */
#include "daemon_fixture.h"

#include "agent/daemon/session_key_private.h"

#include <unistd.h>

#define FILE_NAME "_ec2-session-key"

static struct cfr_daemon_session_key key;
static int state_fd;

static int begin(void **state)
{
    if (scratch_make_fast(state) != 0)
        return -1;
    state_fd = open(scratch, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    return state_fd >= 0 ? begin_test(state) : -1;
}

static int end(void **state)
{
    cfr_daemon_session_key_close(&key);
    (void)close(state_fd);
    return scratch_remove(state);
}

/* Opens the key, and waits until it is in its file. */
static void open_key(void)
{
    struct cfr_err err = {0};

    if (cfr_daemon_session_key_open(&key, state_fd, &err) != 0)
        fail_msg("%s", err.text);
    assert_non_null(key.signer);
    for (int i = 0; i < 500 && key.unsaved.len != 0; i++) {
        (void)usleep(10000);
        cfr_daemon_session_key_step(&key, state_fd);
    }
}

/* The bytes of the file. */
static void read_key(char out[CFR_SDK_EC2_KEY_BYTES])
{
    int fd = open(in(FILE_NAME), O_RDONLY | O_CLOEXEC);
    struct stat st;

    assert_true(fd >= 0);
    assert_int_equal(fstat(fd, &st), 0);
    assert_int_equal(st.st_size, CFR_SDK_EC2_KEY_BYTES);
    assert_int_equal(read(fd, out, CFR_SDK_EC2_KEY_BYTES), CFR_SDK_EC2_KEY_BYTES);
    (void)close(fd);
}

static void test_it_outlives_a_run(void **state)
{
    char first[CFR_SDK_EC2_KEY_BYTES];
    char second[CFR_SDK_EC2_KEY_BYTES];

    (void)state;
    open_key();
    read_key(first);
    assert_int_equal(mode_of(in(FILE_NAME)), 0600);
    assert_string_equal(test_log, "");
    cfr_daemon_session_key_close(&key);
    open_key();
    read_key(second);
    assert_memory_equal(first, second, sizeof first);
    assert_string_equal(test_log, "");
}

/* The key is replaced, which the log says, after the file was made other by BREAK_IT. */
static void is_replaced(void (*break_it)(const char *path), const char *why)
{
    char first[CFR_SDK_EC2_KEY_BYTES];
    char second[CFR_SDK_EC2_KEY_BYTES];

    open_key();
    read_key(first);
    cfr_daemon_session_key_close(&key);
    forget();
    break_it(in(FILE_NAME));
    open_key();
    read_key(second);
    assert_memory_not_equal(first, second, sizeof first);
    assert_int_equal(mode_of(in(FILE_NAME)), 0600);
    assert_contains(test_log, why);
    assert_contains(test_log, ": a new key is made, and clients of ec2_imds need new session tokens\n");
    cfr_daemon_session_key_close(&key);
}

static void open_to_others(const char *path)
{
    assert_int_equal(chmod(path, 0640), 0);
}

static void make_short(const char *path)
{
    assert_int_equal(truncate(path, CFR_SDK_EC2_KEY_BYTES - 1), 0);
}

static void make_long(const char *path)
{
    assert_int_equal(truncate(path, CFR_SDK_EC2_KEY_BYTES + 1), 0);
}

static void make_link(const char *path)
{
    char other[PATH_MAX];

    (void)snprintf(other, sizeof other, "%s.other", path);
    assert_int_equal(rename(path, other), 0);
    assert_int_equal(symlink(other, path), 0);
}

static void test_it_is_replaced(void **state)
{
    (void)state;
    is_replaced(open_to_others, "is not a file of this user with mode 0600");
    is_replaced(make_short, "does not have");
    is_replaced(make_long, "does not have");
    is_replaced(make_link, "is not a file of this user with mode 0600");
}

/* A key that cannot be written is good for this run. */
static void test_it_cannot_be_written(void **state)
{
    struct cfr_err err = {0};

    (void)state;
    assert_int_equal(mkdir(in(FILE_NAME), 0700), 0);
    assert_int_equal(cfr_daemon_session_key_open(&key, state_fd, &err), 0);
    assert_non_null(key.signer);
    for (int i = 0; i < 500 && key.unsaved.len != 0; i++) {
        (void)usleep(10000);
        cfr_daemon_session_key_step(&key, state_fd);
    }
    assert_contains(test_log, "cannot keep the key of session tokens in state_dir");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_it_outlives_a_run, begin, end),
        cmocka_unit_test_setup_teardown(test_it_is_replaced, begin, end),
        cmocka_unit_test_setup_teardown(test_it_cannot_be_written, begin, end),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
