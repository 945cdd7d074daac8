/* SPDX-License-Identifier: MIT */
/* What the process gives up. */
#include "agent/loop/sandbox.h"

#include "agent/loop/sandbox_private.h"
#include "files/path.h"
#include "files/route.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/audit.h>
#include <linux/capability.h>
#include <linux/filter.h>
#include <linux/landlock.h>
#include <linux/sched.h>
#include <linux/seccomp.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#if defined(__x86_64__)
#define MACHINE AUDIT_ARCH_X86_64
#elif defined(__aarch64__)
#define MACHINE AUDIT_ARCH_AARCH64
#elif defined(__riscv) && __riscv_xlen == 64
#define MACHINE AUDIT_ARCH_RISCV64
#elif defined(__powerpc64__) && defined(__LITTLE_ENDIAN__)
#define MACHINE AUDIT_ARCH_PPC64LE
#elif defined(__s390x__)
#define MACHINE AUDIT_ARCH_S390X
#endif

/* The sanitizers need more calls than we do. */
#if defined(__SANITIZE_ADDRESS__)
#define SANITIZED 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define SANITIZED 1
#endif
#endif

int cfr_sandbox_no_new_privs(struct cfr_err *err)
{
    return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 ? 0 : cfr_err_sys(err, errno, "the kernel refuses it");
}

/* ---- capabilities ---- */

static int read_capabilities(struct __user_cap_data_struct data[2])
{
    struct __user_cap_header_struct header = {_LINUX_CAPABILITY_VERSION_3, 0};

    return (int)syscall(SYS_capget, &header, data);
}

uint64_t cfr_sandbox_capabilities_now(void)
{
    struct __user_cap_data_struct data[2] = {{0}};

    return read_capabilities(data) == 0 ? (uint64_t)data[1].effective << 32 | data[0].effective : 0;
}

int cfr_sandbox_capabilities(uint64_t keep, struct cfr_err *err)
{
    struct __user_cap_header_struct header = {_LINUX_CAPABILITY_VERSION_3, 0};
    struct __user_cap_data_struct data[2] = {{0}};

    if (read_capabilities(data) != 0)
        return cfr_err_sys(err, errno, "they cannot be read");
    (void)prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0);
    /* Needs CAP_SETPCAP; without it there is nothing that they could come back from but a program, which is not run. */
    for (int cap = 0; cap <= CAP_LAST_CAP; cap++) {
        if ((keep >> cap & 1) == 0)
            (void)prctl(PR_CAPBSET_DROP, cap, 0, 0, 0);
    }
    for (int i = 0; i < 2; i++) {
        uint32_t half = (uint32_t)(keep >> 32 * i);

        data[i].effective &= half;
        data[i].permitted &= half;
        data[i].inheritable = 0;
    }
    return syscall(SYS_capset, &header, data) == 0 ? 0 : cfr_err_sys(err, errno, "they cannot be given up");
}

/* ---- seccomp ---- */

#if defined(MACHINE) && !defined(SANITIZED)

#define LOAD(field)  BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, field))
#define END(action)  BPF_STMT(BPF_RET | BPF_K, (action))
#define ERROR(value) (SECCOMP_RET_ERRNO | ((value)&SECCOMP_RET_DATA))

#define NAMESPACES                                                                                                     \
    (CLONE_NEWNS | CLONE_NEWCGROUP | CLONE_NEWUTS | CLONE_NEWIPC | CLONE_NEWUSER | CLONE_NEWPID | CLONE_NEWNET)
#ifdef __s390x__
#define CLONE_FLAGS args[1]
#else
#define CLONE_FLAGS args[0]
#endif

static size_t append(struct sock_filter *to, const struct sock_filter *part, size_t n)
{
    memcpy(to, part, n * sizeof *part);
    return n;
}

/* Processes and threads, but no namespaces: a new one of users would have all capabilities. Flags of clone3 are out of
 * a filter's reach, and libraries go back to clone. */
static size_t add_clone(struct sock_filter *to)
{
    const struct sock_filter part[] = {
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_clone, 0, 4),
        LOAD(CLONE_FLAGS),
        BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, NAMESPACES, 0, 1),
        END(ERROR(EPERM)),
        END(SECCOMP_RET_ALLOW),
    };

    return append(to, part, sizeof part / sizeof part[0]);
}

static size_t add_families(struct sock_filter *to)
{
    const struct sock_filter part[] = {
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_socket, 0, 7),
        LOAD(args[0]),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, AF_UNIX, 4, 0),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, AF_INET, 3, 0),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, AF_INET6, 2, 0),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, AF_NETLINK, 1, 0),
        END(ERROR(EAFNOSUPPORT)),
        END(SECCOMP_RET_ALLOW),
    };

    return append(to, part, sizeof part / sizeof part[0]);
}

/* Each call in turn: a jump of a filter reaches only 255 steps. The calls of x32 have a bit in their numbers that none
 * of these has, so that they are refused as the others are. */
static struct sock_filter *make_filter(size_t *count)
{
    struct sock_filter *f = calloc(cfr_sandbox_call_count * 2 + 32, sizeof *f);
    size_t n = 0;

    if (f == NULL)
        return NULL;
    f[n++] = (struct sock_filter)LOAD(arch);
    f[n++] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, MACHINE, 1, 0);
    f[n++] = (struct sock_filter)END(ERROR(ENOSYS));
    f[n++] = (struct sock_filter)LOAD(nr);
    n += add_clone(f + n);
    n += add_families(f + n);
    for (size_t i = 0; i < cfr_sandbox_call_count; i++) {
        f[n++] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (unsigned)cfr_sandbox_calls[i], 0, 1);
        f[n++] = (struct sock_filter)END(SECCOMP_RET_ALLOW);
    }
    f[n++] = (struct sock_filter)END(ERROR(ENOSYS));
    *count = n;
    return f;
}

int cfr_sandbox_seccomp(struct cfr_err *err)
{
    struct sock_fprog program;
    size_t count = 0;
    struct sock_filter *filter = make_filter(&count);
    int failed;

    if (filter == NULL)
        return cfr_err_nomem(err);
    program = (struct sock_fprog){(unsigned short)count, filter};
    failed = syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &program) == 0 ? 0 : errno;
    free(filter);
    if (failed == ENOSYS || failed == EINVAL)
        return cfr_err_set(err, CFR_E_MISSING, "the kernel has no such filters");
    return failed == 0 ? 0 : cfr_err_sys(err, failed, "the kernel refuses it");
}

#else

int cfr_sandbox_seccomp(struct cfr_err *err)
{
    return cfr_err_set(err, CFR_E_MISSING, "this build has no filter");
}

#endif

/* ---- Landlock ---- */

#define CHANGES                                                                                                        \
    (LANDLOCK_ACCESS_FS_WRITE_FILE | LANDLOCK_ACCESS_FS_REMOVE_DIR | LANDLOCK_ACCESS_FS_REMOVE_FILE |                  \
     LANDLOCK_ACCESS_FS_MAKE_CHAR | LANDLOCK_ACCESS_FS_MAKE_DIR | LANDLOCK_ACCESS_FS_MAKE_REG |                        \
     LANDLOCK_ACCESS_FS_MAKE_SOCK | LANDLOCK_ACCESS_FS_MAKE_FIFO | LANDLOCK_ACCESS_FS_MAKE_BLOCK |                     \
     LANDLOCK_ACCESS_FS_MAKE_SYM)
/* Those of later versions, which older headers do not have. */
#define ACCESS_REFER    (UINT64_C(1) << 13)
#define ACCESS_TRUNCATE (UINT64_C(1) << 14)

/* A directory that could be written to when Landlock came into force, and which one it was. Numbers of removed ones are
 * given out again, so the time of its birth counts, too, where the file system has one. */
struct granted {
    char *path;
    struct statx identity;
};

static struct {
    struct granted *items;
    size_t count;
} granted;

static bool read_identity(int fd, struct statx *out)
{
    *out = (struct statx){.stx_mask = 0};
    return statx(fd, "", AT_EMPTY_PATH | AT_STATX_DONT_SYNC, STATX_INO | STATX_BTIME, out) == 0;
}

static bool is_same_directory(const struct statx *a, const struct statx *b)
{
    return a->stx_dev_major == b->stx_dev_major && a->stx_dev_minor == b->stx_dev_minor && a->stx_ino == b->stx_ino &&
           a->stx_btime.tv_sec == b->stx_btime.tv_sec && a->stx_btime.tv_nsec == b->stx_btime.tv_nsec;
}

static void remember(const char *directory, int fd)
{
    struct granted *more = realloc(granted.items, (granted.count + 1) * sizeof *more);
    struct granted one = {.path = more != NULL ? strdup(directory) : NULL};

    if (more != NULL)
        granted.items = more;
    if (one.path != NULL && read_identity(fd, &one.identity))
        granted.items[granted.count++] = one;
    else
        free(one.path);
}

/* Follows no link of another user. */
static int open_directory(const char *path, struct cfr_err *err)
{
    char inside[PATH_MAX + 2];
    const char *name;

    (void)snprintf(inside, sizeof inside, "%s/x", path[1] != '\0' ? path : "");
    return cfr_path_open_parent(inside, false, &name, err);
}

/* The same where no file system has to be asked that may not answer; else CFR_E_PATH. */
static int open_answering(const char *path)
{
    struct cfr_route route;

    cfr_route_find(path, true, false, &route);
    return route.storage != CFR_ROUTE_REMOTE ? open_directory(path, NULL) : CFR_E_PATH;
}

static int add_directory(int ruleset, const char *directory, uint64_t allowed, struct cfr_err *err)
{
    struct landlock_path_beneath_attr rule = {.allowed_access = allowed};
    int rc = 0;

    rule.parent_fd = open_directory(directory, err);
    if (rule.parent_fd < 0)
        return rule.parent_fd;
    if (syscall(SYS_landlock_add_rule, ruleset, LANDLOCK_RULE_PATH_BENEATH, &rule, 0) != 0)
        rc = cfr_err_sys(err, errno, "cannot leave %s writable", directory);
    else
        remember(directory, rule.parent_fd);
    (void)close(rule.parent_fd);
    return rc;
}

int cfr_sandbox_landlock(const char *const *directories, size_t count, struct cfr_err *err)
{
    struct landlock_ruleset_attr attr = {.handled_access_fs = CHANGES | LANDLOCK_ACCESS_FS_EXECUTE};
    uint64_t allowed = CHANGES;
    long version = syscall(SYS_landlock_create_ruleset, NULL, 0, LANDLOCK_CREATE_RULESET_VERSION);
    int ruleset;
    int rc = 0;

    if (version < 1)
        return cfr_err_set(err, CFR_E_MISSING, "the kernel has no Landlock");
    if (version >= 2)
        allowed |= ACCESS_REFER;
    if (version >= 3)
        allowed |= ACCESS_TRUNCATE;
    attr.handled_access_fs |= allowed;
    ruleset = (int)syscall(SYS_landlock_create_ruleset, &attr, sizeof attr, 0);
    if (ruleset < 0)
        return cfr_err_sys(err, errno, "the kernel refuses it");
    for (size_t i = 0; rc == 0 && i < count; i++)
        rc = add_directory(ruleset, directories[i], allowed, err);
    if (rc == 0 && syscall(SYS_landlock_restrict_self, ruleset, 0) != 0)
        rc = cfr_err_sys(err, errno, "the kernel refuses it");
    (void)close(ruleset);
    return rc;
}

/* By their texts. */
static bool is_beneath(const char *directory, const char *path)
{
    size_t n = strlen(directory);

    return strncmp(directory, path, n) == 0 && (n == 1 || path[n] == '\0' || path[n] == '/');
}

/* False also where it cannot be told. */
static bool is_lost(const struct granted *g)
{
    struct statx now;
    int fd = open_answering(g->path);
    bool lost;

    if (fd < 0)
        return fd == CFR_E_MISSING;
    lost = read_identity(fd, &now) && !is_same_directory(&now, &g->identity);
    (void)close(fd);
    return lost;
}

bool cfr_sandbox_has_lost(const char *path)
{
    bool lost = false;

    for (size_t i = 0; i < granted.count; i++) {
        if (!is_beneath(granted.items[i].path, path))
            continue;
        if (!is_lost(&granted.items[i]))
            return false;
        lost = true;
    }
    return lost;
}

void cfr_sandbox_nearest(char *path)
{
    int fd = open_answering(path);

    while (fd < 0 && path[1] != '\0') {
        char *slash = strrchr(path, '/');

        slash[slash == path ? 1 : 0] = '\0';
        fd = open_answering(path);
    }
    if (fd >= 0)
        (void)close(fd);
}

static bool is_granted(const struct statx *directory)
{
    for (size_t i = 0; i < granted.count; i++) {
        if (is_same_directory(&granted.items[i].identity, directory))
            return true;
    }
    return false;
}

bool cfr_sandbox_allows(const char *path)
{
    struct statx before = {.stx_mask = 0};
    struct statx now;
    char nearest[PATH_MAX];
    bool found = false;
    int fd;

    (void)snprintf(nearest, sizeof nearest, "%s", path);
    cfr_sandbox_nearest(nearest);
    fd = open_answering(nearest);
    /* The root is above itself. */
    while (!found && fd >= 0 && read_identity(fd, &now) &&
           (before.stx_mask == 0 || !is_same_directory(&before, &now))) {
        int above = openat(fd, "..", O_PATH | O_DIRECTORY | O_CLOEXEC);

        (void)close(fd);
        fd = above;
        before = now;
        found = is_granted(&now);
    }
    if (fd < 0)
        return true;
    (void)close(fd);
    return found;
}

void cfr_sandbox_explain(const char *path, struct cfr_err *err)
{
    const struct cfr_err why = *err;

    if (why.code == CFR_E_PERM && cfr_sandbox_has_lost(path))
        (void)cfr_err_set(err, why.code,
                          "%s; a directory above was removed or made again since the agent started, and its sandbox "
                          "(landlock) lets it write to the old one only: restart it",
                          why.text);
    else if (why.code == CFR_E_PERM && granted.count != 0 && !cfr_sandbox_allows(path))
        (void)cfr_err_set(err, why.code,
                          "%s; a link leads outside of the directories that the agent may write to since its start "
                          "(landlock): restart it",
                          why.text);
}
