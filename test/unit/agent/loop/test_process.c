/* SPDX-License-Identifier: MIT */
/* Signals to every process of a program, next to another user's processes of the same name; and the end of a child. */
#include "unit.h"

#include "agent/loop/process.h"
#include "files_scratch.h"

#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define OTHER   65534
#define AGENT   65533
#define MANY    300 /* more than a list of a fixed size would hold */
#define LIMIT_S 20

static const char name[] = "cfr-signalled";

/* A copy of a program that ends by a signal, under a name of its own. */
static void make_program(char path[PATH_MAX])
{
    char command[PATH_MAX + 64];

    assert_int_equal(chmod(scratch, 0755), 0);
    (void)snprintf(path, PATH_MAX, "%s/%s", scratch, name);
    (void)snprintf(command, sizeof command, "cp /bin/sleep %s", path);
    assert_int_equal(system(command), 0); // NOLINT(cert-env33-c): a fixed command
}

static pid_t start_as(uid_t uid, const char *path)
{
    pid_t pid = fork();

    assert_true(pid >= 0);
    if (pid != 0)
        return pid;
    if (setresgid(uid, uid, uid) == 0 && setresuid(uid, uid, uid) == 0 && prctl(PR_SET_PDEATHSIG, SIGKILL) == 0)
        (void)execl(path, name, "600", (char *)NULL);
    _exit(127);
}

/* Until the child runs the program, as its /proc entry tells. */
static void await_program(pid_t pid, const char *path)
{
    char link[64];
    char target[PATH_MAX] = "";

    (void)snprintf(link, sizeof link, "/proc/%d/exe", (int)pid);
    for (int i = 0; i < LIMIT_S * 1000 && strcmp(target, path) != 0; i++) {
        ssize_t n = readlink(link, target, sizeof target - 1);

        target[n > 0 ? n : 0] = '\0';
        (void)usleep(1000);
    }
    assert_string_equal(target, path);
}

/* What cfr_process_signal_executable returns to a process of user UID. */
static int signal_as(uid_t uid)
{
    pid_t pid = fork();
    int status = 0;

    assert_true(pid >= 0);
    if (pid == 0) {
        struct cfr_err err = {0};

        if (setresgid(uid, uid, uid) != 0 || setresuid(uid, uid, uid) != 0)
            _exit(127);
        _exit(-cfr_process_signal_executable(name, SIGTERM, &err));
    }
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(WIFEXITED(status));
    return -WEXITSTATUS(status);
}

static bool ends(pid_t pid)
{
    int status = 0;

    for (int i = 0; i < LIMIT_S * 1000; i++) {
        if (waitpid(pid, &status, WNOHANG) == pid)
            return WIFSIGNALED(status) && WTERMSIG(status) == SIGTERM;
        (void)usleep(1000);
    }
    return false;
}

static void end(pid_t pid)
{
    assert_int_equal(waitpid(pid, NULL, WNOHANG), 0);
    assert_int_equal(kill(pid, SIGKILL), 0);
    assert_int_equal(waitpid(pid, NULL, 0), pid);
}

static void anothers_processes_of_the_name_hide_nothing(void **state)
{
    static pid_t others[MANY];
    char path[PATH_MAX];
    pid_t ours[2];

    (void)state;
    if (geteuid() != 0) {
        print_message("needs root, to be three users\n");
        skip();
    }
    make_program(path);
    /* Older ones have smaller numbers, and are found first. */
    for (size_t i = 0; i < MANY; i++)
        others[i] = start_as(OTHER, path);
    for (size_t i = 0; i < MANY; i++)
        await_program(others[i], path);
    assert_int_equal(signal_as(AGENT), CFR_E_PERM);
    for (size_t i = 0; i < 2; i++) {
        ours[i] = start_as(AGENT, path);
        await_program(ours[i], path);
    }
    assert_int_equal(signal_as(AGENT), 0);
    assert_true(ends(ours[0]) && ends(ours[1]));
    for (size_t i = 0; i < MANY; i++)
        end(others[i]);
    assert_int_equal(signal_as(AGENT), CFR_E_MISSING);
}

/* Nobody waits for its end. */
static void what_was_ended_is_reaped_later(void **state)
{
    char program[] = "/bin/sleep";
    char seconds[] = "600";
    char *const argv[] = {program, seconds, NULL};
    char *const environment[] = {NULL};
    struct cfr_err err;
    pid_t pid;

    (void)state;
    assert_int_equal(cfr_process_start(argv, environment, &pid, &err), 0);
    cfr_process_end(pid);
    /* Until it was reaped it can be asked for, dead or not. */
    for (int i = 0; i < LIMIT_S * 1000 && kill(pid, 0) == 0; i++) {
        cfr_process_reap_killed();
        (void)usleep(1000);
    }
    assert_int_equal(kill(pid, 0), -1);
    assert_int_equal(errno, ESRCH);
}

/* libcurl's sockets are not close-on-exec. */
static void a_command_has_none_of_our_descriptors(void **state)
{
    char *argv[] = {(char[]){"/bin/sh"}, (char[]){"-c"}, (char[]){"ls /proc/$$/fd; exec >&-"}, NULL};
    char *environment[] = {(char[]){"PATH=/usr/bin:/bin"}, NULL};
    struct cfr_err err = {0};
    char seen[4096];
    int open_fds[3];
    size_t got = 0;
    int out_fd = -1;
    pid_t pid;

    (void)state;
    for (size_t i = 0; i < COUNT(open_fds); i++) {
        int fd = open("/dev/null", O_RDONLY | O_CLOEXEC);

        open_fds[i] = dup2(fd, 50 + (int)i); /* not close-on-exec */
        assert_int_equal(close(fd), 0);
    }
    if (cfr_process_start_piped(argv, environment, 0, &pid, &out_fd, &err) != 0)
        fail_msg("%s", err.text);
    for (ssize_t n = -1; n != 0 && got<sizeof seen - 1; got += n> 0 ? (size_t)n : 0) {
        struct pollfd p = {out_fd, POLLIN, 0};

        assert_int_equal(poll(&p, 1, LIMIT_S * 1000), 1);
        n = read(out_fd, seen + got, sizeof seen - 1 - got);
    }
    seen[got] = '\0';
    assert_non_null(strstr(seen, "0\n1\n"));
    assert_null(strstr(seen, "5"));
    assert_int_equal(waitpid(pid, NULL, 0), pid);
    assert_int_equal(close(out_fd), 0);
    for (size_t i = 0; i < COUNT(open_fds); i++)
        assert_int_equal(close(open_fds[i]), 0);
}

/* An orphan ends up with us, as with process 1, next to a child that its owner reaps. */
static void orphans_are_reaped_and_own_children_are_not(void **state)
{
    char program[] = "/bin/true";
    char *const argv[] = {program, NULL};
    char *const environment[] = {NULL};
    struct cfr_err err;
    int ends[2];
    pid_t orphan = 0;
    pid_t pid;

    (void)state;
    assert_int_equal(prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0), 0);
    assert_int_equal(pipe(ends), 0);
    pid = fork();
    if (pid == 0) {
        orphan = fork();
        if (orphan != 0 && write(ends[1], &orphan, sizeof orphan) != sizeof orphan)
            _exit(1);
        _exit(0);
    }
    assert_int_equal(waitpid(pid, NULL, 0), pid);
    assert_int_equal(read(ends[0], &orphan, sizeof orphan), sizeof orphan);
    (void)close(ends[0]);
    (void)close(ends[1]);
    for (int i = 0; i < LIMIT_S * 1000 && kill(orphan, 0) == 0; i++) {
        cfr_process_reap_orphans();
        (void)usleep(1000);
    }
    assert_int_equal(kill(orphan, 0), -1);
    assert_int_equal(cfr_process_start(argv, environment, &pid, &err), 0);
    for (int i = 0; i < LIMIT_S * 1000 && !cfr_process_has_ended(pid); i++)
        (void)usleep(1000);
    cfr_process_reap_orphans();
    assert_int_equal(cfr_process_reap(pid, &err), 0);
}

#define SKIPPED 77

/* In process 2 of a separate namespace, whose first process is root's. */
static int signal_where_proc_hides(void)
{
    struct cfr_err err = {0};
    int status = 0;
    pid_t pid;

    if (mount("", "/", NULL, MS_REC | MS_PRIVATE, NULL) != 0 || mount("proc", "/proc", "proc", 0, "hidepid=2") != 0)
        return SKIPPED;
    pid = fork();
    if (pid != 0)
        return waitpid(pid, &status, 0) == pid && WIFEXITED(status) ? WEXITSTATUS(status) : 1;
    if (setgid(65534) != 0 || setuid(65534) != 0 ||
        cfr_process_signal_executable("/nowhere/demo", SIGHUP, &err) != CFR_E_MISSING)
        _exit(1);
    _exit(strstr(err.text, "/proc hides the processes of other users (hidepid") != NULL ? 0 : 2);
}

static void a_proc_that_hides_other_users_is_named(void **state)
{
    int status = 0;
    pid_t pid = fork();

    (void)state;
    if (pid == 0) {
        if (geteuid() != 0 || unshare(CLONE_NEWNS | CLONE_NEWPID) != 0)
            _exit(SKIPPED);
        pid = fork();
        if (pid == 0)
            _exit(signal_where_proc_hides());
        _exit(waitpid(pid, &status, 0) == pid && WIFEXITED(status) ? WEXITSTATUS(status) : 1);
    }
    assert_int_equal(waitpid(pid, &status, 0), pid);
    if (WIFEXITED(status) && WEXITSTATUS(status) == SKIPPED)
        skip();
    assert_int_equal(status, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_proc_that_hides_other_users_is_named),
        cmocka_unit_test(a_command_has_none_of_our_descriptors),
        cmocka_unit_test(what_was_ended_is_reaped_later),
        cmocka_unit_test(orphans_are_reaped_and_own_children_are_not),
        cmocka_unit_test_setup_teardown(anothers_processes_of_the_name_hide_nothing, scratch_make, scratch_remove),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
