/* SPDX-License-Identifier: MIT */
/* Errands: work in a child. */
#include "agent/loop/errand_private.h"

#include "agent/loop/clock.h"
#include "base/log.h"
#include "base/secret.h"
#include "files/file.h"
#include "files/path.h"

#include <errno.h>
#include <grp.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define GROUPS_MAX 256
#define LOOK_NS    500000
#define BRIEF_MS   50
#define SPAN_MS    1000
#define REFUSED    2 /* exit status of a child that may not take another user's rights */
#define NO_GROUP                                                                                                       \
    65534 /* of a user that /etc/passwd does not have: a directory's group may be one that is not theirs               \
           */

/* At the beginning of the memory that is shared. */
struct shared {
    int done;
    _Alignas(16) char result[];
};

struct cfr_errand {
    struct cfr_errand *next; /* of those that were closed before they had ended */
    pid_t pid;               /* 0: it was reaped */
    pid_t group;             /* with KILLED */
    bool killed;
    enum cfr_errand_state state; /* as of the end */
    struct shared *shared;
    size_t bytes;
};

/* Closed, and not reaped yet. */
static struct cfr_errand *closed;

/* What the parent has open must not be kept open by a child that hangs: locks, listeners, clients. */
static void leave_parent(pid_t parent, int dir_fd)
{
    (void)prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
    if (getppid() != parent || (dir_fd >= 0 && dir_fd != CFR_ERRAND_DIR_FD && dup2(dir_fd, CFR_ERRAND_DIR_FD) < 0))
        _exit(1);
    cfr_log_in_child();
    cfr_file_never_wait(NULL);
    closefrom(dir_fd >= 0 ? CFR_ERRAND_DIR_FD + 1 : STDERR_FILENO + 1);
}

int cfr_errand_start_in(int dir_fd, cfr_errand_fn *work, void *ctx, size_t result_bytes, struct cfr_errand **out,
                        struct cfr_err *err)
{
    struct cfr_errand *e = calloc(1, sizeof *e);
    pid_t parent = getpid();
    int failed;

    if (e == NULL)
        return cfr_err_nomem(err);
    e->bytes = sizeof(struct shared) + result_bytes;
    e->shared = mmap(NULL, e->bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    e->pid = e->shared != MAP_FAILED ? fork() : -1;
    if (e->pid == 0) {
        (void)setpgid(0, 0);
        leave_parent(parent, dir_fd);
        work(ctx, e->shared->result);
        e->shared->done = 1;
        _exit(0);
    }
    failed = errno;
    /* Here as well, so that it is in its group before it is killed. */
    if (e->pid > 0) {
        (void)setpgid(e->pid, e->pid);
        cfr_process_own(e->pid);
        *out = e;
        return 0;
    }
    if (e->shared != MAP_FAILED)
        (void)munmap(e->shared, e->bytes);
    free(e);
    return cfr_err_sys(err, failed, "cannot start a helper process");
}

int cfr_errand_start(cfr_errand_fn *work, void *ctx, size_t result_bytes, struct cfr_errand **out, struct cfr_err *err)
{
    return cfr_errand_start_in(-1, work, ctx, result_bytes, out, err);
}

enum cfr_errand_state cfr_errand_look(struct cfr_errand *e)
{
    if (e->pid == 0 || waitpid(e->pid, NULL, WNOHANG) == 0)
        return e->state;
    cfr_process_disown(e->pid);
    e->pid = 0;
    e->state = e->shared->done != 0 ? CFR_ERRAND_DONE : CFR_ERRAND_FAILED;
    if (e->state == CFR_ERRAND_FAILED)
        cfr_file_forget_clean();
    return e->state;
}

enum cfr_errand_state cfr_errand_wait(struct cfr_errand *e, int64_t ms)
{
    const struct timespec pause = {.tv_nsec = LOOK_NS};
    enum cfr_errand_state state = cfr_errand_look(e);

    for (int64_t i = 0; state == CFR_ERRAND_RUNNING && i < ms * 1000000 / LOOK_NS; i++) {
        (void)nanosleep(&pause, NULL);
        state = cfr_errand_look(e);
    }
    return state;
}

enum cfr_errand_state cfr_errand_wait_briefly(struct cfr_errand *e, struct cfr_errand_budget *budget)
{
    int64_t begun_ms = cfr_clock_now().boot_ms;
    enum cfr_errand_state state;

    if (begun_ms - budget->since_boot_ms >= SPAN_MS)
        *budget = (struct cfr_errand_budget){.since_boot_ms = begun_ms};
    state = cfr_errand_wait(e, BRIEF_MS - budget->spent_ms);
    budget->spent_ms += cfr_clock_now().boot_ms - begun_ms;
    if (budget->spent_ms > BRIEF_MS)
        budget->spent_ms = BRIEF_MS;
    return state;
}

void *cfr_errand_result(const struct cfr_errand *e)
{
    return e->shared->result;
}

void cfr_errand_kill(struct cfr_errand *e)
{
    if (e->pid == 0)
        return;
    e->killed = true;
    e->group = e->pid;
    (void)kill(-e->pid, SIGKILL);
    cfr_file_forget_clean();
}

void cfr_errand_close(struct cfr_errand *e)
{
    if (e == NULL)
        return;
    cfr_errand_kill(e);
    cfr_secret_wipe(e->shared, e->bytes);
    (void)munmap(e->shared, e->bytes);
    if (!e->killed) {
        free(e);
        return;
    }
    e->next = closed;
    closed = e;
    cfr_errand_reap();
}

void cfr_errand_reap(void)
{
    struct cfr_errand **at = &closed;

    while (*at != NULL) {
        struct cfr_errand *e = *at;
        pid_t pid;

        /* Of its group, because an init has become the parent of its child, too. */
        while ((pid = waitpid(-e->group, NULL, WNOHANG)) > 0)
            cfr_process_disown(pid);
        if (pid == 0) {
            at = &e->next;
            continue;
        }
        cfr_process_disown(e->group);
        *at = e->next;
        free(e);
    }
}

/* ---- with another user's rights ---- */

/* From root to another user the kernel drops the capabilities. Without the right to it, another user than root goes on
 * as itself; root would still own what is root's. */
static void become(uid_t uid, const struct cfr_errand_gids *more)
{
    gid_t groups[GROUPS_MAX];
    gid_t gid = NO_GROUP;
    size_t count = cfr_path_groups(uid, &gid, groups, GROUPS_MAX);
    sigset_t all;
    sigset_t before;

    /* The user may signal us from then on; and where fs.suid_dumpable is not 0, a change of the user allows a core
     * dump, which would hold the secrets of all others. */
    (void)sigfillset(&all);
    (void)sigprocmask(SIG_SETMASK, &all, &before);
    for (size_t i = 0; i < more->count && count < GROUPS_MAX; i++)
        groups[count++] = more->gids[i];
    if (setgroups(count, groups) != 0 || setresgid(gid, gid, gid) != 0 || setresuid(uid, uid, uid) != 0) {
        if (errno != EPERM || geteuid() == 0)
            _exit(errno == EPERM ? REFUSED : 1);
    } else {
        (void)prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
    }
    (void)prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
    (void)sigprocmask(SIG_SETMASK, &before, NULL);
}

/* ERR of the work, which was refused: the file's own owner and mode do not show why. */
static int explain(uid_t uid, int rc, struct cfr_err *err)
{
    if (err->code == CFR_E_PERM)
        (void)cfr_err_prefix(err, "the path leads through a directory of user %u, so only that user's rights are used",
                             (unsigned)uid);
    return rc;
}

int cfr_errand_as(uid_t uid, const struct cfr_errand_gids *more, cfr_errand_fn *work, void *ctx, void *result,
                  struct cfr_err *err)
{
    pid_t parent = getpid();
    pid_t pid = fork();
    int status = 0;

    if (pid == 0) {
        become(uid, more);
        /* Afterwards, because a change of the user clears it. */
        leave_parent(parent, -1);
        work(ctx, result);
        _exit(0);
    }
    if (pid > 0 && waitpid(pid, &status, 0) == pid && WIFEXITED(status) && WEXITSTATUS(status) == 0)
        return explain(uid, 0, err);
    if (pid > 0 && WIFEXITED(status) && WEXITSTATUS(status) == REFUSED)
        return explain(
            uid,
            cfr_err_set(err, CFR_E_PERM,
                        "cannot change to user %u: restart credfresh (at its start it drops the capabilities that it "
                        "does not need then), give it CAP_SETUID and CAP_SETGID, or run it as that user",
                        (unsigned)uid),
            err);
    return cfr_err_set(err, CFR_E_INTERNAL, "the helper process of user %u crashed", (unsigned)uid);
}
