/* SPDX-License-Identifier: MIT */
/* What the process gives up. */
#include "agent/loop/sandbox.h"

#include "agent/loop/sandbox_private.h"

#include <errno.h>
#include <linux/audit.h>
#include <linux/capability.h>
#include <linux/filter.h>
#include <linux/sched.h>
#include <linux/seccomp.h>
#include <stdbool.h>
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
#define BLOCK        16 /* calls */
#define END(action)  BPF_STMT(BPF_RET | BPF_K, (action))
#define ERROR(value) (SECCOMP_RET_ERRNO | ((value)&SECCOMP_RET_DATA))

#define NAMESPACES                                                                                                     \
    (CLONE_NEWNS | CLONE_NEWCGROUP | CLONE_NEWUTS | CLONE_NEWIPC | CLONE_NEWUSER | CLONE_NEWPID | CLONE_NEWNET)
/* The lower 32 bits of an argument. */
#define LOW_HALF (__BYTE_ORDER__ == __ORDER_BIG_ENDIAN__ ? sizeof(uint32_t) : 0)
#define ARGUMENT(n)                                                                                                    \
    BPF_STMT(BPF_LD | BPF_W | BPF_ABS,                                                                                 \
             (uint32_t)(offsetof(struct seccomp_data, args) + (n) * sizeof(uint64_t) + LOW_HALF))
#ifdef __s390x__
#define CLONE_FLAGS 1
#else
#define CLONE_FLAGS 0
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
        ARGUMENT(CLONE_FLAGS),
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
        ARGUMENT(0),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, AF_UNIX, 4, 0),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, AF_INET, 3, 0),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, AF_INET6, 2, 0),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, AF_NETLINK, 1, 0),
        END(ERROR(EAFNOSUPPORT)),
        END(SECCOMP_RET_ALLOW),
    };

    return append(to, part, sizeof part / sizeof part[0]);
}

/* CALL, whose argument MODE is that of a file: with none of the bits REFUSED. */
static size_t add_mode(struct sock_filter *to, unsigned call, uint32_t mode, uint32_t refused)
{
    const struct sock_filter part[] = {
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, call, 0, 4),
        ARGUMENT(mode),
        BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, refused, 0, 1),
        END(ERROR(EPERM)),
        END(SECCOMP_RET_ALLOW),
    };

    return append(to, part, sizeof part / sizeof part[0]);
}

static size_t add_modes(struct sock_filter *to)
{
    const uint32_t both = S_ISUID | S_ISGID;
    /* A directory in the volume of a pod with fsGroup keeps its set-group-id bit. */
    size_t n = add_mode(to, SYS_fchmod, 1, S_ISUID);

#ifdef SYS_open
    n += add_mode(to + n, SYS_open, 2, both);
#endif
#ifdef SYS_creat
    n += add_mode(to + n, SYS_creat, 1, both);
#endif
    return n + add_mode(to + n, SYS_openat, 3, both);
}

static int compare_calls(const void *a, const void *b)
{
    const int *first = a;
    const int *second = b;

    return (*first > *second) - (*first < *second);
}

/* Blocks of ascending calls, each skipped by one comparison: when the filter is loaded, the kernel runs it once for
 * every call there is. The calls of x32 have a bit in their numbers that none of these has, so that they are refused as
 * the others are. */
static size_t add_calls(struct sock_filter *to, const int *calls, size_t count)
{
    size_t n = 0;

    for (size_t i = 0; i < count; i += BLOCK) {
        size_t size = count - i < BLOCK ? count - i : BLOCK;

        to[n++] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JGT | BPF_K, (unsigned)calls[i + size - 1],
                                               (unsigned char)(size + 2), 0);
        for (size_t k = 0; k < size; k++)
            to[n++] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (unsigned)calls[i + k],
                                                   (unsigned char)(size - k), 0);
        to[n++] = (struct sock_filter)END(ERROR(ENOSYS));
        to[n++] = (struct sock_filter)END(SECCOMP_RET_ALLOW);
    }
    to[n++] = (struct sock_filter)END(ERROR(ENOSYS));
    return n;
}

struct sock_filter *cfr_sandbox_make_filter(size_t *count)
{
    struct sock_filter *f = calloc(cfr_sandbox_call_count * 4 + 64, sizeof *f);
    int *calls = malloc(cfr_sandbox_call_count * sizeof *calls);
    size_t n = 0;

    if (f == NULL || calls == NULL) {
        free(f);
        free(calls);
        return NULL;
    }
    memcpy(calls, cfr_sandbox_calls, cfr_sandbox_call_count * sizeof *calls);
    qsort(calls, cfr_sandbox_call_count, sizeof *calls, compare_calls);
    f[n++] = (struct sock_filter)LOAD(arch);
    f[n++] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, MACHINE, 1, 0);
    f[n++] = (struct sock_filter)END(ERROR(ENOSYS));
    f[n++] = (struct sock_filter)LOAD(nr);
    n += add_clone(f + n);
    n += add_families(f + n);
    n += add_modes(f + n);
    n += add_calls(f + n, calls, cfr_sandbox_call_count);
    free(calls);
    *count = n;
    return f;
}

int cfr_sandbox_seccomp(struct cfr_err *err)
{
    struct sock_fprog program;
    size_t count = 0;
    struct sock_filter *filter = cfr_sandbox_make_filter(&count);
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

struct sock_filter *cfr_sandbox_make_filter(size_t *count)
{
    *count = 0;
    return NULL;
}

int cfr_sandbox_seccomp(struct cfr_err *err)
{
    return cfr_err_set(err, CFR_E_MISSING, "this build has no filter");
}

#endif
