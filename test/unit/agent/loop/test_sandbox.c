/* SPDX-License-Identifier: MIT */
/* What a process can no longer do once it is in the sandbox: each part in a child of its own. */
#include "unit.h"

#include "agent/loop/sandbox.h"
#include "agent/loop/sandbox_private.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <linux/capability.h>
#include <linux/filter.h>
#include <linux/landlock.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdlib.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#define NOT_HERE 77
#define X32_BIT  0x40000000L

/* Newer architectures have neither. */
#ifdef SYS_open
#define IS_FORMER_OPEN(call) ((call) == SYS_open || (call) == SYS_creat)
#else
#define IS_FORMER_OPEN(call) false
#endif

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

/* The error of a new process with FLAGS; 0 = none. */
static int clone_with(unsigned long flags)
{
    long pid = syscall(SYS_clone, (long)(flags | SIGCHLD), 0L, 0L, 0L, 0L);

    if (pid == 0)
        _exit(0);
    if (pid < 0)
        return errno;
    (void)waitpid((pid_t)pid, NULL, 0);
    return 0;
}

/* Of those that give away the kernel, other processes or the machine. The arguments are no good for any. */
static int refused_calls(void)
{
    static const long numbers[] = {
        SYS_userfaultfd,
        SYS_bpf,
        SYS_perf_event_open,
        SYS_io_uring_setup,
        SYS_keyctl,
        SYS_add_key,
        SYS_request_key,
        SYS_process_vm_readv,
        SYS_process_vm_writev,
        SYS_setns,
        SYS_pivot_root,
        SYS_chroot,
        SYS_open_by_handle_at,
        SYS_finit_module,
        SYS_execveat,
        SYS_pidfd_getfd,
        SYS_mknodat,
        SYS_acct,
        SYS_quotactl,
        SYS_clone3,
    };

    for (size_t i = 0; i < sizeof numbers / sizeof numbers[0]; i++) {
        if (syscall(numbers[i], -1L, -1L, -1L, -1L, -1L, -1L) != -1 || errno != ENOSYS) {
            print_message("call %ld is let through\n", numbers[i]);
            return 1;
        }
    }
    return 0;
}

#ifdef __x86_64__

/* getpid by the calls of 32-bit programs, which have other numbers; its error is negative. */
static int getpid_32(void)
{
    int rc = 20;

    __asm__ volatile("int $0x80" : "+a"(rc) : : "memory", "r8", "r9", "r10", "r11");
    return rc;
}

/* A kernel without them kills the caller. */
static int has_32(void)
{
    pid_t pid = fork();
    int status = 0;

    if (pid == 0)
        _exit(getpid_32() == getpid() ? 0 : 1);
    return waitpid(pid, &status, 0) == pid && WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

static int other_numbers(void)
{
    struct cfr_err err = {0};
    bool has = has_32();

    if (!has)
        print_message("this kernel has no calls of 32-bit programs: not tried\n");
    if (syscall(X32_BIT | SYS_getpid) != getpid())
        print_message("this kernel has no calls of x32: not tried\n");
    CHECK(cfr_sandbox_no_new_privs(&err) == 0);
    if (cfr_sandbox_seccomp(&err) == CFR_E_MISSING)
        return NOT_HERE;
    CHECK(!has || getpid_32() == -ENOSYS);
    CHECK(syscall(X32_BIT | SYS_getpid) == -1 && errno == ENOSYS);
    return 0;
}

#else

static int other_numbers(void)
{
    return NOT_HERE;
}

#endif

/* What FILTER returns for CALL without arguments, as the kernel runs it. */
static uint32_t run_filter(const struct sock_filter *filter, uint32_t machine, uint32_t call)
{
    uint32_t loaded = 0;

    for (const struct sock_filter *at = filter;; at++) {
        switch (at->code) {
        case BPF_LD | BPF_W | BPF_ABS:
            loaded = at->k == offsetof(struct seccomp_data, arch) ? machine
                     : at->k == offsetof(struct seccomp_data, nr) ? call
                                                                  : 0;
            break;
        case BPF_JMP | BPF_JEQ | BPF_K:
            at += loaded == at->k ? at->jt : at->jf;
            break;
        case BPF_JMP | BPF_JGT | BPF_K:
            at += loaded > at->k ? at->jt : at->jf;
            break;
        case BPF_JMP | BPF_JSET | BPF_K:
            at += (loaded & at->k) != 0 ? at->jt : at->jf;
            break;
        default:
            assert_int_equal(at->code, BPF_RET | BPF_K);
            return at->k;
        }
    }
}

static bool is_listed(uint32_t call)
{
    for (size_t i = 0; i < cfr_sandbox_call_count; i++) {
        if ((uint32_t)cfr_sandbox_calls[i] == call)
            return true;
    }
    return false;
}

/* But for those whose arguments are checked, exactly the calls of the list. */
static void lets_the_listed_calls_through(void **state)
{
    size_t count;
    struct sock_filter *filter = cfr_sandbox_make_filter(&count);

    (void)state;
    if (filter == NULL)
        skip();
    for (uint32_t call = 0; call < 2048; call++) {
        uint32_t verdict = run_filter(filter, filter[1].k, call);

        if (is_listed(call))
            assert_int_equal(verdict, SECCOMP_RET_ALLOW);
        else if (verdict != (SECCOMP_RET_ERRNO | ENOSYS))
            assert_true(call == SYS_clone || call == SYS_socket || call == SYS_fchmod || call == SYS_openat ||
                        IS_FORMER_OPEN(call));
        assert_int_equal(run_filter(filter, filter[1].k ^ 1, call), SECCOMP_RET_ERRNO | ENOSYS);
    }
    free(filter);
}

static int calls(void)
{
    static const unsigned long namespaces[] = {CLONE_NEWNS,  CLONE_NEWCGROUP, CLONE_NEWUTS, CLONE_NEWIPC,
                                               CLONE_NEWPID, CLONE_NEWNET,    CLONE_NEWUSER};
    struct cfr_err err = {0};

    CHECK(runs_a_program());
    /* Without root's rights a namespace of users has them; where neither is allowed, the kernel refuses these anyway.
     */
    if (geteuid() != 0)
        (void)unshare(CLONE_NEWUSER);
    if (clone_with(CLONE_NEWNET) != 0)
        print_message("this process may not make namespaces: whether the sandbox refuses them is not tried\n");
    CHECK(cfr_sandbox_no_new_privs(&err) == 0);
    if (cfr_sandbox_seccomp(&err) == CFR_E_MISSING)
        return NOT_HERE;
    CHECK(!runs_a_program());
    CHECK(ptrace(PTRACE_TRACEME, 0, NULL, NULL) == -1 && errno == ENOSYS);
    CHECK(mount("none", "/tmp", "tmpfs", 0, NULL) == -1 && errno == ENOSYS);
    CHECK(unshare(CLONE_NEWNET) == -1 && errno == ENOSYS);
    CHECK(clone_with(0) == 0);
    for (size_t i = 0; i < sizeof namespaces / sizeof namespaces[0]; i++)
        CHECK(clone_with(namespaces[i]) == EPERM);
    CHECK(refused_calls() == 0);
    CHECK(socket(AF_PACKET, SOCK_RAW, 0) == -1 && errno == EAFNOSUPPORT);
    CHECK(socket(AF_INET, SOCK_STREAM, 0) >= 0 && socket(AF_UNIX, SOCK_STREAM, 0) >= 0);
    CHECK(fsync(STDERR_FILENO) == 0 || errno == EINVAL || errno == EROFS);
    return 0;
}

/* ---- modes ---- */

static int modes(void)
{
    struct cfr_err err = {0};
    char path[] = "/tmp/cfr-sandbox-XXXXXX";
    char more[sizeof path + 2];
    int fd = mkstemp(path);

    (void)snprintf(more, sizeof more, "%s.x", path);
    CHECK(fd >= 0 && unlink(path) == 0);
    CHECK(cfr_sandbox_no_new_privs(&err) == 0);
    if (cfr_sandbox_seccomp(&err) == CFR_E_MISSING)
        return NOT_HERE;
    CHECK(fchmod(fd, 0640) == 0);
    CHECK(fchmod(fd, S_ISUID | 0755) == -1 && errno == EPERM);
    /* As a directory in the volume of a pod with fsGroup has it. */
    CHECK(fchmod(fd, S_ISGID | 0755) == 0);
    CHECK(open(more, O_WRONLY | O_CREAT | O_CLOEXEC, S_ISUID | 0755) == -1 && errno == EPERM);
    CHECK(openat(AT_FDCWD, more, O_WRONLY | O_CREAT | O_CLOEXEC, S_ISGID | 0755) == -1 && errno == EPERM);
    fd = open(more, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
    CHECK(fd >= 0 && fchown(fd, geteuid(), getegid()) == 0);
    CHECK(chmod(more, 0666) == -1 && errno == ENOSYS);
    CHECK(fchmodat(AT_FDCWD, more, 0666, 0) == -1 && errno == ENOSYS);
    CHECK(chown(more, geteuid(), getegid()) == -1 && errno == ENOSYS);
    CHECK(lchown(more, geteuid(), getegid()) == -1 && errno == ENOSYS);
    CHECK(fchownat(AT_FDCWD, more, geteuid(), getegid(), 0) == -1 && errno == ENOSYS);
    return unlink(more) == 0 ? 0 : __LINE__ % 256;
}

/* ---- scopes ---- */

static int connect_abstract(const struct sockaddr_un *to)
{
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

    return connect(fd, (const struct sockaddr *)(const void *)to, sizeof *to) == 0 ? close(fd) : -1;
}

static int scopes(void)
{
    struct sockaddr_un at = {.sun_family = AF_UNIX};
    struct cfr_err err = {0};
    pid_t outside = fork();
    pid_t inside;
    int fd;

    if (outside == 0) {
        (void)pause();
        _exit(0);
    }
    (void)snprintf(at.sun_path + 1, sizeof at.sun_path - 1, "cfr-sandbox-%d", (int)getpid());
    fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    CHECK(bind(fd, (const struct sockaddr *)(const void *)&at, sizeof at) == 0 && listen(fd, 8) == 0);
    CHECK(connect_abstract(&at) == 0 && kill(outside, 0) == 0);
    CHECK(cfr_sandbox_no_new_privs(&err) == 0);
    if (syscall(SYS_landlock_create_ruleset, NULL, 0, LANDLOCK_CREATE_RULESET_VERSION) < 6) {
        CHECK(kill(outside, SIGKILL) == 0);
        return NOT_HERE;
    }
    CHECK(cfr_sandbox_scope(true, false, &err) == 0);
    CHECK(connect_abstract(&at) == -1 && errno == EPERM);
    CHECK(kill(outside, SIGKILL) == 0 && waitpid(outside, NULL, 0) == outside);
    CHECK(cfr_sandbox_scope(false, true, &err) == 0);
    CHECK(kill(getppid(), 0) == -1 && errno == EPERM);
    inside = fork();
    if (inside == 0) {
        (void)pause();
        _exit(0);
    }
    CHECK(kill(inside, SIGKILL) == 0 && waitpid(inside, NULL, 0) == inside);
    return 0;
}

/* ---- Landlock ---- */

#define TEMPORARY "/tmp/cfr-sandbox-XXXXXX"

static char dir[sizeof TEMPORARY];
static char other[sizeof TEMPORARY];

static int make_file(const char *path)
{
    int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);

    return fd >= 0 ? close(fd) : -1;
}

static int make_directory(const char *path)
{
    return mkdir(path, 0700);
}

static int make_link(const char *path)
{
    return symlink("x", path);
}

static int make_fifo(const char *path)
{
    return mkfifo(path, 0600);
}

static int make_device(const char *path)
{
    return mknod(path, S_IFCHR | 0600, makedev(1, 3));
}

static int make_block_device(const char *path)
{
    return mknod(path, S_IFBLK | 0600, makedev(7, 0));
}

static int make_socket(const char *path)
{
    struct sockaddr_un a = {.sun_family = AF_UNIX};
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    int rc;

    (void)snprintf(a.sun_path, sizeof a.sun_path, "%s", path);
    rc = bind(fd, (const struct sockaddr *)(const void *)&a, sizeof a);
    return rc == 0 ? close(fd) : -1;
}

static int write_file(const char *path)
{
    int fd = open(path, O_WRONLY | O_CLOEXEC);

    return fd >= 0 ? close(fd) : -1;
}

static int truncate_file(const char *path)
{
    return truncate(path, 0);
}

/* In this order in one directory. */
static const struct change {
    const char *what;
    int (*fn)(const char *path);
    const char *name; /* one that is there, or NULL: a new one, removed again */
    long since;       /* the version of Landlock */
    bool privileged;  /* refused by the kernel in some containers, even where Landlock allows it */
} changes[] = {
    {"a file", make_file, NULL, 1, false},
    {"a directory", make_directory, NULL, 1, false},
    {"a symbolic link", make_link, NULL, 1, false},
    {"a FIFO", make_fifo, NULL, 1, false},
    {"a socket", make_socket, NULL, 1, false},
    {"a character device", make_device, NULL, 1, true},
    {"a block device", make_block_device, NULL, 1, true},
    {"writing", write_file, "file", 1, false},
    {"truncating", truncate_file, "file", 3, false},
    {"removing a file", unlink, "file", 1, false},
    {"removing a directory", rmdir, "directory", 1, false},
};

static void fill(const char *at)
{
    char path[64];

    (void)snprintf(path, sizeof path, "%s/file", at);
    assert_int_equal(make_file(path), 0);
    (void)snprintf(path, sizeof path, "%s/directory", at);
    assert_int_equal(mkdir(path, 0700), 0);
}

static void clear(const char *at)
{
    static const char *const names[] = {"file", "directory", "new"};
    char path[64];

    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        (void)snprintf(path, sizeof path, "%s/%s", at, names[i]);
        (void)remove(path);
    }
    assert_int_equal(rmdir(at), 0);
}

/* The error of one change below AT; 0 = none. */
static int try_change(const struct change *c, const char *at)
{
    char path[64];

    (void)snprintf(path, sizeof path, "%s/%s", at, c->name != NULL ? c->name : "new");
    if (c->fn(path) != 0)
        return errno;
    if (c->name == NULL)
        (void)remove(path);
    return 0;
}

static int writes(void)
{
    const char *const allowed[] = {dir};
    long version = syscall(SYS_landlock_create_ruleset, NULL, 0, LANDLOCK_CREATE_RULESET_VERSION);
    struct cfr_err err = {0};
    int rc;

    CHECK(cfr_sandbox_no_new_privs(&err) == 0);
    rc = cfr_sandbox_landlock(CFR_SANDBOX_WRITE, allowed, 1, &err);
    if (rc == CFR_E_MISSING)
        return NOT_HERE;
    CHECK(rc == 0);
    for (size_t i = 0; i < sizeof changes / sizeof changes[0]; i++) {
        const struct change *c = &changes[i];
        int here = try_change(c, dir);

        if (here != 0 && !(c->privileged && here == EPERM)) {
            print_message("%s is refused where it is allowed\n", c->what);
            return 1;
        }
        if (version < c->since) {
            print_message("this kernel cannot refuse %s: not tried\n", c->what);
        } else if (try_change(c, other) != EACCES) {
            print_message("%s is allowed elsewhere\n", c->what);
            return 1;
        }
    }
    CHECK(open("/etc/passwd", O_RDONLY | O_CLOEXEC) >= 0);
    CHECK(open("/etc/passwd", O_WRONLY | O_CLOEXEC) == -1 && errno == EACCES);
    CHECK(!runs_a_program());
    return 0;
}

static int reads(void)
{
    const char *const allowed[] = {dir};
    char here[64];
    char there[64];
    char link[64];
    struct cfr_err err = {0};
    int rc;

    (void)snprintf(here, sizeof here, "%s/file", dir);
    (void)snprintf(there, sizeof there, "%s/file", other);
    (void)snprintf(link, sizeof link, "%s/new", dir);
    CHECK(symlink(there, link) == 0);
    CHECK(cfr_sandbox_no_new_privs(&err) == 0);
    rc = cfr_sandbox_landlock(CFR_SANDBOX_READ, allowed, 1, &err);
    if (rc == CFR_E_MISSING)
        return NOT_HERE;
    CHECK(rc == 0);
    CHECK(open(here, O_RDONLY | O_CLOEXEC) >= 0);
    CHECK(open(there, O_RDONLY | O_CLOEXEC) == -1 && errno == EACCES);
    CHECK(open(there, O_RDWR | O_CLOEXEC) == -1 && errno == EACCES);
    CHECK(open(link, O_RDONLY | O_CLOEXEC) == -1 && errno == EACCES);
    CHECK(cfr_sandbox_allows(CFR_SANDBOX_READ, here) && !cfr_sandbox_allows(CFR_SANDBOX_READ, there));
    CHECK(!cfr_sandbox_allows(CFR_SANDBOX_READ, link));
    /* Names, and all that is not reading, are as they were: files move between directories, too. */
    CHECK(open(other, O_RDONLY | O_DIRECTORY | O_CLOEXEC) >= 0);
    CHECK(open(there, O_WRONLY | O_CLOEXEC) >= 0);
    CHECK(unlink(link) == 0 && snprintf(link, sizeof link, "%s/directory/file", dir) > 0);
    CHECK(rename(here, link) == 0 && rename(link, here) == 0);
    /* But not so that more could be read of them. */
    CHECK(rename(there, link) == -1);
    return 0;
}

/* ---- capabilities ---- */

static int capabilities(void)
{
    struct __user_cap_header_struct header = {_LINUX_CAPABILITY_VERSION_3, 0};
    struct __user_cap_data_struct data[2] = {{0}};
    struct cfr_err err = {0};
    uint64_t before = cfr_sandbox_capabilities_now();
    uint64_t keep = UINT64_C(1) << CAP_CHOWN;
    bool some = (before & keep) != 0;

    if (!some)
        print_message("this process has no capabilities: few are given up\n");
    CHECK(syscall(SYS_capget, &header, data) == 0);
    for (int i = 0; i < 2; i++)
        data[i].inheritable = data[i].permitted;
    CHECK(syscall(SYS_capset, &header, data) == 0);
    CHECK(!some || prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_RAISE, CAP_CHOWN, 0, 0) == 0);
    CHECK(cfr_sandbox_capabilities(keep, &err) == 0);
    CHECK(cfr_sandbox_capabilities_now() == (before & keep));
    CHECK(syscall(SYS_capget, &header, data) == 0);
    CHECK(data[0].permitted == (uint32_t)(before & keep) && data[1].permitted == 0);
    CHECK(data[0].inheritable == 0 && data[1].inheritable == 0);
    CHECK(prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_IS_SET, CAP_CHOWN, 0, 0) == 0);
    CHECK((before >> CAP_SETPCAP & 1) == 0 || prctl(PR_CAPBSET_READ, CAP_SYS_ADMIN, 0, 0, 0) == 0);
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

static void takes_no_other_numbers(void **state)
{
    int rc = in_child(other_numbers);

    (void)state;
    if (rc == NOT_HERE)
        skip();
    assert_int_equal(rc, 0);
}

static void gives_no_file_rights_that_it_must_not(void **state)
{
    int rc = in_child(modes);

    (void)state;
    if (rc == NOT_HERE)
        skip();
    assert_int_equal(rc, 0);
}

static void reaches_and_signals_only_its_own(void **state)
{
    int rc = in_child(scopes);

    (void)state;
    if (rc == NOT_HERE)
        skip();
    assert_int_equal(rc, 0);
}

static void with_directories(int (*fn)(void))
{
    int rc;

    (void)snprintf(dir, sizeof dir, TEMPORARY);
    (void)snprintf(other, sizeof other, TEMPORARY);
    assert_non_null(mkdtemp(dir));
    assert_non_null(mkdtemp(other));
    fill(dir);
    fill(other);
    rc = in_child(fn);
    clear(dir);
    clear(other);
    if (rc == NOT_HERE)
        skip();
    assert_int_equal(rc, 0);
}

static void writes_only_where_it_may(void **state)
{
    (void)state;
    with_directories(writes);
}

static void reads_only_where_it_may(void **state)
{
    (void)state;
    with_directories(reads);
}

static void has_only_the_capabilities_that_it_keeps(void **state)
{
    (void)state;
    assert_int_equal(in_child(capabilities), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lets_the_listed_calls_through),    cmocka_unit_test(has_only_the_calls_that_it_needs),
        cmocka_unit_test(takes_no_other_numbers),           cmocka_unit_test(gives_no_file_rights_that_it_must_not),
        cmocka_unit_test(reaches_and_signals_only_its_own), cmocka_unit_test(writes_only_where_it_may),
        cmocka_unit_test(reads_only_where_it_may),          cmocka_unit_test(has_only_the_capabilities_that_it_keeps),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
