/* SPDX-License-Identifier: MIT */
/* The state directory: its lock and its documents. */
#include "files_scratch.h"

#include "files/state.h"

#include <sys/wait.h>
#include <time.h>

static struct cfr_err err;

/* An agent that has ended at once, with a child that has the lock a little longer. */
static void waits_for_what_an_ended_agent_left(void **state)
{
    const struct timespec a_little = {0, 100000000};
    int lock_fd = -1;
    int ends[2];
    char byte;
    pid_t agent;
    int fd;

    (void)state;
    assert_int_equal(pipe(ends), 0);
    agent = fork();
    if (agent == 0) {
        if (cfr_state_open(in("s/state"), &lock_fd, &err) < 0)
            _exit(1);
        if (fork() == 0) {
            (void)close(ends[0]);
            (void)nanosleep(&a_little, NULL);
            _exit(0);
        }
        _exit(0);
    }
    assert_int_equal(waitpid(agent, NULL, 0), agent);
    (void)close(ends[1]);
    fd = cfr_state_open(in("s/state"), &lock_fd, &err);
    assert_true(fd >= 0 && lock_fd >= 0);
    /* It had the lock until it ended. */
    assert_int_equal(read(ends[0], &byte, 1), 0);
    (void)close(ends[0]);
    (void)close(lock_fd);
    (void)close(fd);
}

static void one_agent_at_a_time(void **state)
{
    char pid[32];
    int lock_fd = -1;
    int second = -1;
    int fd = cfr_state_open(in("s/state"), &lock_fd, &err);

    (void)state;
    assert_true(fd >= 0 && lock_fd >= 0);
    assert_int_equal(mode_of(in("s/state")), 0700);
    assert_int_equal(mode_of(in("s/state/lock")), 0600);
    assert_int_equal(cfr_state_open(in("s/state"), &second, &err), CFR_E_CONFLICT);
    assert_int_equal(second, -1);
    (void)snprintf(pid, sizeof pid, "process id %ld", (long)getpid());
    assert_non_null(strstr(err.text, pid));
    assert_non_null(strstr(err.text, "state_dir"));
    (void)close(lock_fd);
    (void)close(fd);
    fd = cfr_state_open(in("s/state"), &lock_fd, &err);
    assert_true(fd >= 0);
    (void)close(lock_fd);
    (void)close(fd);
}

/* A child would close it, and hang there if the file system does (FUSE). */
static void nothing_has_the_locked_file_open(void **state)
{
    char link[64];
    char target[PATH_MAX];
    int lock_fd = -1;
    int second = -1;
    int fd = cfr_state_open(in("state"), &lock_fd, &err);

    (void)state;
    assert_true(fd >= 0 && lock_fd >= 0);
    for (int i = 0; i < 64; i++) {
        ssize_t n;

        (void)snprintf(link, sizeof link, "/proc/self/fd/%d", i);
        n = readlink(link, target, sizeof target - 1);
        target[n > 0 ? n : 0] = '\0';
        assert_null(strstr(target, "state/lock"));
    }
    assert_int_equal(cfr_state_open(in("state"), &second, &err), CFR_E_CONFLICT);
    (void)close(lock_fd);
    (void)close(fd);
}

static void documents_are_saved_loaded_and_removed(void **state)
{
    static char big[CFR_STATE_MAX + 1];
    struct cfr_secret out;
    int lock_fd;
    int fd = cfr_state_open(in("state"), &lock_fd, &err);

    (void)state;
    cfr_secret_init(&out, CFR_STATE_MAX);
    assert_true(fd >= 0);
    assert_int_equal(cfr_state_load(fd, "reg", &out, &err), CFR_E_MISSING);
    assert_int_equal(cfr_state_save(fd, "reg", cfr_view_of("{\"a\":1}"), &err), 0);
    assert_int_equal(cfr_state_save(fd, "reg", cfr_view_of("{\"a\":2}"), &err), 0);
    assert_int_equal(mode_of(in("state/reg.json")), 0600);
    assert_int_equal(cfr_state_load(fd, "reg", &out, &err), 0);
    assert_true(cfr_view_is(cfr_secret_view(&out), "{\"a\":2}"));
    assert_int_equal(cfr_state_save(fd, "reg", (struct cfr_view){big, sizeof big}, &err), CFR_E_LIMIT);
    assert_int_equal(cfr_state_save(fd, "../reg", cfr_view_of("x"), &err), CFR_E_CONFIG);
    assert_int_equal(cfr_state_load(fd, "a/b", &out, &err), CFR_E_CONFIG);
    assert_int_equal(count_entries(in("state"), ""), 2);
    cfr_secret_free(&out);
    (void)close(lock_fd);
    (void)close(fd);
}

static void planted_links_are_refused_and_leftovers_removed(void **state)
{
    int lock_fd;
    int fd;

    (void)state;
    put(in("victim"), "victim");
    assert_int_equal(mkdir(in("state"), 0700), 0);
    assert_int_equal(symlink("../victim", in("state/lock")), 0);
    assert_int_equal(cfr_state_open(in("state"), &lock_fd, &err), CFR_E_PATH);
    assert_non_null(strstr(err.text, in("state")));
    assert_string_equal(get(in("victim")), "victim");
    assert_int_equal(unlink(in("state/lock")), 0);
    put(in("state/.reg.json.credfresh-01234567"), "half");
    put(in("state/reg.json"), "whole");
    fd = cfr_state_open(in("state"), &lock_fd, &err);
    assert_true(fd >= 0);
    assert_false(exists(in("state/.reg.json.credfresh-01234567")));
    assert_string_equal(get(in("state/reg.json")), "whole");
    (void)close(lock_fd);
    (void)close(fd);
}

/* Who can write there decides what the agent does. */
static void a_directory_that_others_can_write_is_refused(void **state)
{
    static const mode_t modes[] = {0770, 0707, 0777, 01777, 02770};
    int lock_fd = -1;
    int fd;

    (void)state;
    assert_int_equal(mkdir(in("state"), 0700), 0);
    for (size_t i = 0; i < sizeof modes / sizeof modes[0]; i++) {
        assert_int_equal(chmod(in("state"), modes[i]), 0);
        assert_int_equal(cfr_state_open(in("state"), &lock_fd, &err), CFR_E_PERM);
        assert_int_equal(lock_fd, -1);
        assert_non_null(strstr(err.text, in("state")));
        assert_non_null(strstr(err.text, "can be written by"));
        assert_false(exists(in("state/lock")));
    }
    assert_int_equal(chmod(in("state"), 0755), 0);
    fd = cfr_state_open(in("state"), &lock_fd, &err);
    assert_true(fd >= 0);
    (void)close(lock_fd);
    (void)close(fd);
    if (geteuid() != 0)
        return;
    assert_int_equal(chown(in("state"), 12345, 0), 0);
    assert_int_equal(cfr_state_open(in("state"), &lock_fd, &err), CFR_E_PERM);
    assert_non_null(strstr(err.text, "belongs to uid 12345"));
}

static void a_directory_that_cannot_be_written_is_named(void **state)
{
    int lock_fd = -1;

    (void)state;
    assert_int_equal(cfr_state_open("/sys/credfresh", &lock_fd, &err), CFR_E_PERM);
    assert_non_null(strstr(err.text, "/sys/credfresh: "));
    assert_non_null(strstr(err.text, "; name a directory in which credfresh may write"));
}

/* The kubelet makes volumes of root's, which all who mount them can write. */
static void a_volume_of_a_pod_is_let_through(void **state)
{
    struct stat st = {.st_uid = 0, .st_mode = S_IFDIR | 02777};

    (void)state;
    assert_int_equal(cfr_state_check(&st, true, 65532, "/state", &err), 0);
    assert_int_equal(cfr_state_check(&st, false, 65532, "/state", &err), CFR_E_PERM);
    st.st_mode = S_IFDIR | 03777;
    assert_int_equal(cfr_state_check(&st, true, 65532, "/state", &err), 0);
    assert_int_equal(cfr_state_check(&st, true, 65532, "/tmp", &err), CFR_E_PERM);
    assert_int_equal(cfr_state_check(&st, true, 65532, "/dev/shm", &err), CFR_E_PERM);
    st = (struct stat){.st_uid = 65532, .st_mode = S_IFDIR | 0777};
    assert_int_equal(cfr_state_check(&st, true, 65532, "/state", &err), CFR_E_PERM);
    st = (struct stat){.st_uid = 1000, .st_mode = S_IFDIR | 0755};
    assert_int_equal(cfr_state_check(&st, true, 65532, "/state", &err), CFR_E_PERM);
}

static void documents_of_others_are_refused(void **state)
{
    struct cfr_secret out;
    int lock_fd = -1;
    int fd = cfr_state_open(in("state"), &lock_fd, &err);

    (void)state;
    cfr_secret_init(&out, CFR_STATE_MAX);
    assert_int_equal(cfr_state_save(fd, "reg", cfr_view_of("{}"), &err), 0);
    assert_int_equal(chmod(in("state/reg.json"), 0660), 0);
    assert_int_equal(cfr_state_load(fd, "reg", &out, &err), CFR_E_PERM);
    assert_non_null(strstr(err.text, "reg.json: other users can write it (mode 0660)"));
    assert_int_equal(chmod(in("state/reg.json"), 0644), 0);
    assert_int_equal(cfr_state_load(fd, "reg", &out, &err), 0);
    if (geteuid() == 0) {
        assert_int_equal(chown(in("state/reg.json"), 12345, 0), 0);
        assert_int_equal(cfr_state_load(fd, "reg", &out, &err), CFR_E_PERM);
        assert_non_null(strstr(err.text, "belongs to uid 12345"));
        assert_int_equal(out.len, 0);
    }
    cfr_secret_free(&out);
    (void)close(lock_fd);
    (void)close(fd);
}

#define SCRATCH_TEST(f) cmocka_unit_test_setup_teardown(f, scratch_make, scratch_remove)

int main(void)
{
    const struct CMUnitTest tests[] = {
        SCRATCH_TEST(one_agent_at_a_time),
        SCRATCH_TEST(nothing_has_the_locked_file_open),
        SCRATCH_TEST(waits_for_what_an_ended_agent_left),
        SCRATCH_TEST(documents_are_saved_loaded_and_removed),
        SCRATCH_TEST(a_directory_that_others_can_write_is_refused),
        SCRATCH_TEST(a_directory_that_cannot_be_written_is_named),
        SCRATCH_TEST(a_volume_of_a_pod_is_let_through),
        SCRATCH_TEST(documents_of_others_are_refused),
        SCRATCH_TEST(planted_links_are_refused_and_leftovers_removed),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
