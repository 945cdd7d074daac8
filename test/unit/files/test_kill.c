/* SPDX-License-Identifier: MIT */
/* A publish that is killed at each of its system calls, and one whose each system call fails: the consumer's
 * view is whole after every one, and the next start cleans up. */
#include "files_scratch.h"

#include "files/generation.h"

#include <signal.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/user.h>

#define KEEP      CFR_FILE_KEEP_ID
#define CALLS_MAX 2000

static struct cfr_err err;
static bool changed;

struct set {
    const char *letter;
    bool with_more; /* a third file, so that names change too */
};

static int publish(const struct set *set, uint64_t number)
{
    char directory[PATH_MAX];
    struct cfr_view content = cfr_view_of(set->letter);
    struct cfr_file files[] = {
        {"a", content, 0640, KEEP, KEEP}, {"b", content, 0600, KEEP, KEEP}, {"more", content, 0600, KEEP, KEEP}};
    struct cfr_generation g = {directory, 0755, KEEP, KEEP, files, set->with_more ? 3 : 2, number, 0, false};

    (void)snprintf(directory, sizeof directory, "%s/pub", scratch);
    return cfr_generation_publish(&g, &changed, NULL, &err);
}

/* Whole and of one generation: A's, or B's, or (before the first) nothing at all. */
static void check_view(const struct set *before, const struct set *after)
{
    const char *a = get(in("pub/a"));
    const char *b = get(in("pub/b"));
    const char *more = get(in("pub/more"));
    const struct set *now = after;

    assert_string_equal(a, b);
    if (before != NULL && strcmp(a, before->letter) == 0)
        now = before;
    if (before == NULL && strcmp(a, "(none)") == 0) {
        assert_string_equal(more, "(none)");
        return;
    }
    assert_string_equal(a, now->letter);
    assert_string_equal(more, now->with_more ? now->letter : "(none)");
}

/* Only our own names, and no more of them than one publish leaves. */
static void check_clean(void)
{
    assert_int_equal(count_entries(in("pub"), "..data_tmp"), 0);
    assert_true(count_entries(in("pub"), "..1") <= 2);
    assert_int_equal(count_entries(scratch, ".pub"), 0);
    assert_int_equal(count_entries(in("pub"), "more") == 1, strcmp(get(in("pub/more")), "(none)") != 0);
}

static void child(const struct set *set, uint64_t number)
{
    if (ptrace(PTRACE_TRACEME, 0, NULL, NULL) != 0)
        _exit(77);
    (void)raise(SIGSTOP);
    /* Not _exit, around which sanitizers make calls of their own. */
    (void)syscall(SYS_exit_group, publish(set, number) == 0 ? 0 : 1);
}

/* Starts a publish in a stopped child. */
static pid_t start(const struct set *set, uint64_t number)
{
    int status = 0;
    pid_t pid = fork();

    assert_true(pid >= 0);
    if (pid == 0)
        child(set, number);
    assert_int_equal(waitpid(pid, &status, 0), pid);
    if (WIFEXITED(status)) {
        print_message("[   NOTE   ] skipped: needs the right to trace its own child\n");
        skip();
    }
    assert_int_equal(ptrace(PTRACE_SETOPTIONS, pid, NULL, PTRACE_O_TRACESYSGOOD | PTRACE_O_EXITKILL), 0);
    return pid;
}

/* Lets the child run to its next stop at a system call, entry or exit. False if it ended; *STATUS tells how.
 */
static bool next_stop(pid_t pid, int *status)
{
    assert_int_equal(ptrace(PTRACE_SYSCALL, pid, NULL, NULL), 0);
    assert_int_equal(waitpid(pid, status, 0), pid);
    return WIFSTOPPED(*status);
}

/* Kills the publish at the entry of its system call number AT. False if it ended before that. */
static bool killed_at(const struct set *set, uint64_t number, int at)
{
    pid_t pid = start(set, number);
    int status = 0;

    for (int i = 1; i < at * 2; i++) {
        if (!next_stop(pid, &status)) {
            assert_int_equal(status, 0);
            return false;
        }
    }
    assert_int_equal(kill(pid, SIGKILL), 0);
    assert_int_equal(waitpid(pid, &status, 0), pid);
    return true;
}

static void reset(void)
{
    tree_remove(in("pub"));
}

/* At every call: kill; look; start again, which cleans up; look; publish for good. */
static void kill_everywhere(const struct set *first, const struct set *before, const struct set *after)
{
    int at = 1;

    for (; at < CALLS_MAX; at++) {
        bool was_killed;

        reset();
        if (first != NULL)
            assert_int_equal(publish(first, 1), 0);
        if (before != NULL)
            assert_int_equal(publish(before, 2), 0);
        was_killed = killed_at(after, 3, at);
        check_view(before, after);
        if (!was_killed)
            break;
        cfr_file_forget_clean();
        assert_int_equal(cfr_generation_recover(in("pub"), false, &err), 0);
        if (exists(in("pub"))) {
            check_view(before, after);
            check_clean();
        }
        assert_int_equal(publish(after, 4), 0);
        check_view(NULL, after);
        check_clean();
    }
    assert_true(at > 40 && at < CALLS_MAX);
}

static const struct set set_a = {"A", false};
static const struct set set_b = {"B", true};
static const struct set set_c = {"C", true};
static const struct set set_d = {"D", false};

static void first_publish_killed(void **state)
{
    (void)state;
    kill_everywhere(NULL, NULL, &set_b);
}

static void next_publish_killed(void **state)
{
    (void)state;
    kill_everywhere(&set_a, &set_b, &set_c);
}

static void publish_with_a_new_name_killed(void **state)
{
    (void)state;
    kill_everywhere(&set_b, &set_a, &set_c);
}

static void publish_without_an_old_name_killed(void **state)
{
    (void)state;
    kill_everywhere(&set_a, &set_b, &set_d);
}

#if defined __x86_64__
/* Calls that are no matter of the disk, and whose failure sanitizers do not survive. */
static bool spared(long call)
{
    static const long calls[] = {SYS_mmap,   SYS_munmap,      SYS_mprotect, SYS_madvise,        SYS_brk,
                                 SYS_getpid, SYS_gettid,      SYS_tgkill,   SYS_rt_sigprocmask, SYS_sigaltstack,
                                 SYS_close,  SYS_sched_yield, SYS_futex,    SYS_exit_group,     SYS_getrandom};

    for (size_t i = 0; i < sizeof calls / sizeof calls[0]; i++) {
        if (calls[i] == call)
            return true;
    }
    return false;
}

/* Makes the system call at whose entry the child stands fail with ERRNUM, unless it is to be spared. */
static int fail_call(pid_t pid, int errnum)
{
    struct user_regs_struct regs;
    int status = 0;

    assert_int_equal(ptrace(PTRACE_GETREGS, pid, NULL, &regs), 0);
    if (spared((long)regs.orig_rax)) {
        (void)next_stop(pid, &status);
        return status;
    }
    regs.orig_rax = (unsigned long long)-1;
    assert_int_equal(ptrace(PTRACE_SETREGS, pid, NULL, &regs), 0);
    assert_true(next_stop(pid, &status));
    assert_int_equal(ptrace(PTRACE_GETREGS, pid, NULL, &regs), 0);
    regs.rax = (unsigned long long)-(long long)errnum;
    assert_int_equal(ptrace(PTRACE_SETREGS, pid, NULL, &regs), 0);
    return status;
}

/* Runs a publish whose system call number AT fails. False if it ended before that; *FAILED tells whether the
 * publish reported an error. */
static bool failed_at(const struct set *set, int at, int errnum, bool *failed)
{
    pid_t pid = start(set, 3);
    int status = 0;
    bool reached = false;

    for (int call = 1; next_stop(pid, &status); call++) {
        reached = reached || call == at;
        if (call == at)
            status = fail_call(pid, errnum);
        else
            (void)next_stop(pid, &status);
        if (!WIFSTOPPED(status))
            break;
    }
    assert_true(WIFEXITED(status) && WEXITSTATUS(status) <= 1);
    *failed = WEXITSTATUS(status) == 1;
    return reached;
}

/* One failing call never costs the old set, and an error means that nothing has changed. */
static void fail_everywhere(const struct set *before, const struct set *after, int errnum)
{
    bool failed = false;
    int at = 1;

    for (; at < CALLS_MAX; at++) {
        bool reached;
        int entries = 0;

        reset();
        if (before != NULL) {
            assert_int_equal(publish(before, 2), 0);
            entries = count_entries(in("pub"), "");
        }
        reached = failed_at(after, at, errnum, &failed);
        check_view(before, after);
        assert_true(strcmp(get(in("pub/a")), after->letter) == 0 || failed);
        if (failed)
            assert_string_equal(get(in("pub/a")), before != NULL ? before->letter : "(none)");
        if (!reached)
            break;
        if (failed) {
            assert_int_equal(count_entries(scratch, ""), before != NULL ? 1 : 0);
            assert_int_equal(before != NULL ? count_entries(in("pub"), "") : 0, entries);
        }
        cfr_file_forget_clean();
        assert_int_equal(cfr_generation_recover(in("pub"), false, &err), 0);
        assert_int_equal(publish(after, 4), 0);
        check_view(NULL, after);
        check_clean();
    }
    assert_false(failed);
    assert_true(at > 20 && at < CALLS_MAX);
}

static void every_call_fails_once(void **state)
{
    (void)state;
    fail_everywhere(NULL, &set_b, ENOSPC);
    fail_everywhere(&set_b, &set_d, ENOSPC);
    fail_everywhere(&set_a, &set_c, EIO);
    fail_everywhere(&set_a, &set_c, EACCES);
}
#else
static void every_call_fails_once(void **state)
{
    (void)state;
    print_message("[   NOTE   ] skipped: knows the registers of x86-64 only\n");
    skip();
}
#endif

#define SCRATCH_TEST(f) cmocka_unit_test_setup_teardown(f, scratch_make_fast, scratch_remove)

int main(void)
{
    const struct CMUnitTest tests[] = {
        SCRATCH_TEST(first_publish_killed),           SCRATCH_TEST(next_publish_killed),
        SCRATCH_TEST(publish_with_a_new_name_killed), SCRATCH_TEST(publish_without_an_old_name_killed),
        SCRATCH_TEST(every_call_fails_once),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
