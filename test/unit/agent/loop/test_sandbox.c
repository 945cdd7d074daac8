/* SPDX-License-Identifier: MIT */
/* What a process can no longer do once it is in the sandbox: each part in a child of its own. */
#include "unit.h"

#include "agent/loop/sandbox.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <linux/capability.h>
#include <sys/mount.h>
#include <sys/ptrace.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define NOT_HERE 77

/* The line in a child at which something was not as it should be; 0 if all was. */
static int in_child(int (*fn)(void))
{
    pid_t pid = fork();
    int status = 0;

    if (pid == 0)
        _exit(fn());
    assert_true(pid > 0);
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(WIFEXITED(status));
    return WEXITSTATUS(status);
}

#define CHECK(condition)                                                                                               \
    do {                                                                                                               \
        if (!(condition))                                                                                              \
            return __LINE__ % 256 != 0 ? __LINE__ % 256 : 1;                                                           \
    } while (0)

static bool runs_a_program(void)
{
    char *const argv[] = {(char *)(uintptr_t) "/bin/true", NULL};
    pid_t pid = fork();
    int status = 0;

    if (pid == 0) {
        (void)execv(argv[0], argv);
        _exit(1);
    }
    return waitpid(pid, &status, 0) == pid && WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

static int calls(void)
{
    struct cfr_err err = {0};

    CHECK(runs_a_program());
    CHECK(cfr_sandbox_no_new_privs(&err) == 0);
    if (cfr_sandbox_seccomp(&err) == CFR_E_MISSING)
        return NOT_HERE;
    CHECK(!runs_a_program());
    CHECK(ptrace(PTRACE_TRACEME, 0, NULL, NULL) == -1 && errno == ENOSYS);
    CHECK(mount("none", "/tmp", "tmpfs", 0, NULL) == -1 && errno == ENOSYS);
    CHECK(unshare(CLONE_NEWNET) == -1 && errno == ENOSYS);
    CHECK(syscall(SYS_clone, (long)(CLONE_NEWUSER | SIGCHLD), 0L, 0L, 0L, 0L) == -1 && errno == EPERM);
    CHECK(socket(AF_PACKET, SOCK_RAW, 0) == -1 && errno == EAFNOSUPPORT);
    CHECK(socket(AF_INET, SOCK_STREAM, 0) >= 0 && socket(AF_UNIX, SOCK_STREAM, 0) >= 0);
    CHECK(fsync(STDERR_FILENO) == 0 || errno == EINVAL || errno == EROFS);
    return 0;
}

static char dir[] = "/tmp/cfr-sandbox-XXXXXX";

static int writes(void)
{
    const char *const allowed[] = {dir};
    char path[64];
    struct cfr_err err = {0};
    int rc;

    CHECK(cfr_sandbox_no_new_privs(&err) == 0);
    rc = cfr_sandbox_landlock(allowed, 1, &err);
    if (rc == 0) {
        (void)snprintf(path, sizeof path, "%s/file", dir);
        CHECK(open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600) >= 0 && unlink(path) == 0);
        CHECK(open("/tmp/cfr-sandbox-elsewhere", O_WRONLY | O_CREAT | O_CLOEXEC, 0600) == -1 && errno == EACCES);
        CHECK(open("/etc/passwd", O_RDONLY | O_CLOEXEC) >= 0);
        CHECK(open("/etc/passwd", O_WRONLY | O_CLOEXEC) == -1 && errno == EACCES);
        CHECK(!runs_a_program());
    }
    return rc == CFR_E_MISSING ? NOT_HERE : rc != 0 ? __LINE__ % 256 : 0;
}

static int capabilities(void)
{
    struct cfr_err err = {0};
    uint64_t before = cfr_sandbox_capabilities_now();
    uint64_t keep = UINT64_C(1) << CAP_CHOWN;

    CHECK(cfr_sandbox_capabilities(keep, &err) == 0);
    CHECK(cfr_sandbox_capabilities_now() == (before & keep));
    return 0;
}

static void has_only_the_calls_that_it_needs(void **state)
{
    int rc = in_child(calls);

    (void)state;
    if (rc == NOT_HERE)
        skip();
    assert_int_equal(rc, 0);
}

static void writes_only_where_it_may(void **state)
{
    int rc;

    (void)state;
    assert_non_null(mkdtemp(dir));
    rc = in_child(writes);
    assert_int_equal(rmdir(dir), 0);
    if (rc == NOT_HERE)
        skip();
    assert_int_equal(rc, 0);
}

static void has_only_the_capabilities_that_it_keeps(void **state)
{
    (void)state;
    assert_int_equal(in_child(capabilities), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(has_only_the_calls_that_it_needs),
        cmocka_unit_test(writes_only_where_it_may),
        cmocka_unit_test(has_only_the_capabilities_that_it_keeps),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
