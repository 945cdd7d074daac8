/* SPDX-License-Identifier: MIT */
/* A scratch directory for one test, and short ways to make and look at what stands in it. */
#ifndef CFR_TEST_FILES_SCRATCH_H
#define CFR_TEST_FILES_SCRATCH_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <limits.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define UNUSED __attribute__((unused))

static char scratch[PATH_MAX / 2];

static int remove_one(const char *path, const struct stat *st, int type, struct FTW *at)
{
    (void)st;
    (void)type;
    (void)at;
    return remove(path);
}

static UNUSED int scratch_make_in(const char *base)
{
    char real[PATH_MAX];

    if (realpath(base, real) == NULL)
        return -1;
    (void)snprintf(scratch, sizeof scratch, "%.1900s/cfr-test-XXXXXX", real);
    return mkdtemp(scratch) != NULL ? 0 : -1;
}

static UNUSED int scratch_make(void **state)
{
    const char *base = getenv("TMPDIR");

    (void)state;
    return scratch_make_in(base != NULL ? base : "/tmp");
}

/* In memory where that is possible, for tests that sync thousands of times. */
static UNUSED int scratch_make_fast(void **state)
{
    return access("/dev/shm", W_OK) == 0 && scratch_make_in("/dev/shm") == 0 ? 0 : scratch_make(state);
}

static UNUSED int scratch_remove(void **state)
{
    (void)state;
    return nftw(scratch, remove_one, 16, FTW_DEPTH | FTW_PHYS);
}

/* The path of NAME in the scratch directory; the result is good for the next few calls. */
static UNUSED const char *in(const char *name)
{
    static char ring[8][PATH_MAX];
    static unsigned next;
    char *path = ring[next++ % 8];

    (void)snprintf(path, PATH_MAX, "%s/%s", scratch, name);
    return path;
}

static UNUSED void put_bytes(const char *path, const void *bytes, size_t n)
{
    FILE *f = fopen(path, "we");

    assert_non_null(f);
    assert_int_equal(fwrite(bytes, 1, n, f), n);
    assert_int_equal(fclose(f), 0);
}

static UNUSED void put(const char *path, const char *text)
{
    put_bytes(path, text, strlen(text));
}

/* The content of PATH, or "(none)"; the result is good for the next few calls. */
static UNUSED const char *get(const char *path)
{
    static char ring[4][65536];
    static unsigned next;
    char *text = ring[next++ % 4];
    FILE *f = fopen(path, "re");
    size_t n;

    if (f == NULL)
        return "(none)";
    n = fread(text, 1, sizeof ring[0] - 1, f);
    text[n] = '\0';
    (void)fclose(f);
    return text;
}

static UNUSED bool exists(const char *path)
{
    struct stat st;

    return lstat(path, &st) == 0;
}

static UNUSED unsigned mode_of(const char *path)
{
    struct stat st;

    assert_int_equal(lstat(path, &st), 0);
    return st.st_mode & 07777;
}

/* How many entries of PATH begin with PREFIX. */
static UNUSED int count_entries(const char *path, const char *prefix)
{
    DIR *dir = opendir(path);
    struct dirent *entry;
    int n = 0;

    assert_non_null(dir);
    while ((entry = readdir(dir)) != NULL) {
        if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0 &&
            strncmp(entry->d_name, prefix, strlen(prefix)) == 0)
            n++;
    }
    (void)closedir(dir);
    return n;
}

/* Runs F in a child with a mount namespace of its own, where mounting is possible; 0 if it returned. */
static UNUSED int in_mount_namespace(void (*f)(void))
{
    int status = 0;
    pid_t pid = fork();

    assert_true(pid >= 0);
    if (pid == 0) {
        if (unshare(CLONE_NEWNS) != 0 || mount("none", "/", "", MS_REC | MS_PRIVATE, NULL) != 0)
            _exit(77);
        f();
        _exit(0);
    }
    assert_int_equal(waitpid(pid, &status, 0), pid);
    if (WIFEXITED(status) && WEXITSTATUS(status) == 77) {
        print_message("[   NOTE   ] skipped: needs the right to mount (root with CAP_SYS_ADMIN)\n");
        skip();
    }
    return status;
}

/* For use in such a child, where cmocka's asserts do not reach the parent. */
#define CHILD_CHECK(what)                                                                                    \
    do {                                                                                                     \
        if (!(what)) {                                                                                       \
            (void)fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #what);                                 \
            _exit(1);                                                                                        \
        }                                                                                                    \
    } while (0)

/* From now on, in this process, system call CALL fails with ERRNUM. For use in a child. */
static UNUSED void forbid_call(unsigned call, unsigned errnum)
{
    struct sock_filter code[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, call, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | errnum),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    struct sock_fprog program = {sizeof code / sizeof code[0], code};

    CHILD_CHECK(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0);
    CHILD_CHECK(prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0);
}

#endif
