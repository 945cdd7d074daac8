/* SPDX-License-Identifier: MIT */
/* Processes: finding, signalling, starting and reaping. */
#include "agent/loop/process.h"

#include "agent/loop/clock.h"
#include "agent/loop/errand_private.h"
#include "agent/loop/launcher_private.h"
#include "base/secret.h"
#include "files/file.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define START_SLACK_MS 2000
#define KILLED_MAX     64
#define COMM_MAX       15
#define NO_UID         ((uid_t)-1)
#define FILES_MAX      16384

static int pidfd_open(pid_t pid)
{
    return (int)syscall(SYS_pidfd_open, pid, 0U);
}

/* ERRNUM of pidfd_open, which refused PID. */
static int refuse_open(pid_t pid, int errnum, struct cfr_err *err)
{
    bool filtered = errnum == ENOSYS || errnum == EPERM;

    return cfr_err_sys(err, errnum, "cannot open process %d%s", (int)pid,
                       filtered ? " (the container runtime does not allow pidfd_open: update it, or allow the call in "
                                  "its seccomp profile)"
                                : "");
}

static int pidfd_signal(int fd, int signal)
{
    return (int)syscall(SYS_pidfd_send_signal, fd, signal, NULL, 0U);
}

/* Reads a /proc file into BUF, NUL-terminated. Returns the length, 0 when it cannot be read. */
static size_t read_proc(pid_t pid, const char *what, char *buf, size_t size)
{
    char path[64];
    ssize_t n = -1;
    int fd;

    (void)snprintf(path, sizeof path, "/proc/%d/%s", (int)pid, what);
    fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd >= 0) {
        n = read(fd, buf, size - 1);
        (void)close(fd);
    }
    buf[n > 0 ? n : 0] = '\0';
    return n > 0 ? (size_t)n : 0;
}

/* Parent and start (boot time) out of /proc/PID/stat (proc(5)). */
static bool read_stat(pid_t pid, pid_t *parent, int64_t *start_boot_ms)
{
    char buf[1024];
    const char *p;
    unsigned long long ticks = 0;
    int ppid = 0;

    if (read_proc(pid, "stat", buf, sizeof buf) == 0)
        return false;
    /* The name in parentheses may hold anything, so the fields are counted from its end. */
    p = strrchr(buf, ')');
    if (p == NULL ||
        sscanf(p + 1, // NOLINT(cert-err34-c): the kernel writes these numbers
               " %*c %d %*d %*d %*d %*d %*u %*u %*u %*u %*u %*u %*u %*d %*d %*d %*d %*d %*d %llu", &ppid, &ticks) != 2)
        return false;
    *parent = (pid_t)ppid;
    *start_boot_ms = (int64_t)(ticks * 1000 / (unsigned long long)sysconf(_SC_CLK_TCK));
    return true;
}

static uid_t owner_of(pid_t pid)
{
    char buf[2048];
    const char *line;
    unsigned long uid = (unsigned long)NO_UID;

    /* Not the owner of /proc/PID: that is root's for a process that hides its memory. */
    if (read_proc(pid, "status", buf, sizeof buf) != 0 && (line = strstr(buf, "\nUid:")) != NULL)
        uid = strtoul(line + 5, NULL, 10);
    return (uid_t)uid;
}

static int send_to(pid_t pid, int fd, int signal, struct cfr_err *err)
{
    if (pidfd_signal(fd, signal) == 0)
        return 0;
    if (errno == EPERM)
        return cfr_err_set(err, CFR_E_PERM,
                           "not allowed to signal process %d of uid %u from uid %u: run both as the same user, or give "
                           "credfresh the capability CAP_KILL",
                           (int)pid, (unsigned)owner_of(pid), (unsigned)geteuid());
    if (errno == ESRCH)
        return cfr_err_set(err, CFR_E_MISSING, "process %d has ended", (int)pid);
    return cfr_err_sys(err, errno, "cannot signal process %d", (int)pid);
}

static int read_pid_file(const char *path, pid_t *pid, struct cfr_file_origin *origin, struct cfr_err *err)
{
    struct cfr_secret text;
    int64_t number;
    int rc;

    cfr_secret_init(&text, 64);
    rc = cfr_file_read_foreign(path, &text, origin, err);
    if (rc == 0 && (!cfr_view_int(cfr_view_trim(cfr_secret_view(&text)), &number) || number < 2 || number > INT_MAX))
        rc = cfr_err_set(err, CFR_E_CONFIG, "%s does not hold a process id", path);
    cfr_secret_free(&text);
    if (rc == 0)
        *pid = (pid_t)number;
    return rc;
}

/* A user who can write the file could have us signal any process; its own ones it may signal itself. Those of root and
 * of our user it may not. */
static int check_owner(const char *pid_file, pid_t pid, const struct cfr_file_origin *origin, struct cfr_err *err)
{
    uid_t uid = owner_of(pid);

    if ((origin->mode & (S_IWGRP | S_IWOTH)) != 0 && (origin->owner == 0 || origin->owner == geteuid()))
        return cfr_err_set(err, CFR_E_PERM,
                           "%s belongs to user %u, but other users can write it, so the process that it names is not "
                           "signalled: chmod go-w %s",
                           pid_file, (unsigned)origin->owner, pid_file);
    /* Where fs.protected_hardlinks is 0, the file may be any service's. */
    if (origin->linked && (origin->owner == 0 || origin->owner == geteuid()))
        return cfr_err_set(err, CFR_E_PERM,
                           "%s belongs to user %u and has another name, and other users can write to its directory, so "
                           "the process that it names is not signalled: remove it, and let the process write its own",
                           pid_file, (unsigned)origin->owner);
    if (origin->trusted || uid == origin->owner)
        return 0;
    return cfr_err_set(
        err, CFR_E_PERM,
        "%s belongs to user %u, or lies where others can write, and names process %d of user %u: give the "
        "file and its directory to root or to credfresh's user, or let the process write its own",
        pid_file, (unsigned)origin->owner, (int)pid, (unsigned)uid);
}

static int open_file(const char *pid_file, pid_t *out, int *pidfd, struct cfr_err *err)
{
    struct cfr_now now = cfr_clock_now();
    struct cfr_file_origin origin;
    int64_t start_boot_ms;
    pid_t parent;
    pid_t pid;
    int rc = read_pid_file(pid_file, &pid, &origin, err);
    int fd;

    *out = 0;
    *pidfd = -1;
    if (rc != 0)
        return rc;
    fd = pidfd_open(pid);
    if (fd < 0)
        return errno == ESRCH ? cfr_err_set(err, CFR_E_MISSING,
                                            "no process %d, which %s names: it has ended, or it lives in another "
                                            "process namespace (in a pod: shareProcessNamespace: true)",
                                            (int)pid, pid_file)
                              : refuse_open(pid, errno, err);
    /* The descriptor is open: whatever /proc says from here on is about this process, or about none. */
    if (read_stat(pid, &parent, &start_boot_ms) &&
        start_boot_ms > now.boot_ms - (now.wall_ms - origin.mtime_ns / 1000000) + START_SLACK_MS)
        rc = cfr_err_set(
            err, CFR_E_CONFLICT,
            "process %d started after %s was written: the file is stale and the process another one (if only the "
            "clock was set since, touch the file)",
            (int)pid, pid_file);
    if (rc == 0)
        rc = check_owner(pid_file, pid, &origin, err);
    if (rc != 0)
        (void)close(fd);
    *pidfd = fd;
    *out = pid;
    return rc;
}

int cfr_process_signal_file(const char *pid_file, int signal, struct cfr_err *err)
{
    pid_t pid;
    int fd;
    int rc = open_file(pid_file, &pid, &fd, err);

    if (rc != 0)
        return rc;
    rc = send_to(pid, fd, signal, err);
    (void)close(fd);
    return rc;
}

int cfr_process_open_file(const char *pid_file, int *pidfd, struct cfr_err *err)
{
    pid_t pid;

    return open_file(pid_file, &pid, pidfd, err);
}

static const char *last_component(const char *path)
{
    const char *slash = strrchr(path, '/');

    return slash != NULL ? slash + 1 : path;
}

static bool runs(pid_t pid, const char *executable)
{
    char link[64];
    char target[PATH_MAX];
    char *deleted;
    ssize_t n;

    (void)snprintf(link, sizeof link, "/proc/%d/exe", (int)pid);
    n = readlink(link, target, sizeof target - 1);
    if (n > 0) {
        target[n] = '\0';
        deleted = strstr(target, " (deleted)");
        if (deleted != NULL)
            *deleted = '\0';
    } else if (read_proc(pid, "cmdline", target, sizeof target) == 0) {
        /* Another user's executable is not shown to us, but its first argument is. */
        return false;
    }
    return strcmp(executable[0] == '/' ? target : last_component(target), executable) == 0;
}

struct match {
    pid_t pid;
    pid_t parent;
};

/* No limit on their number: another user could start enough of the name to hide the ones that are meant. */
struct matches {
    struct match *items;
    size_t count;
};

static int add_match(struct matches *m, struct match one, struct cfr_err *err)
{
    struct match *items = m->items;

    /* Grows at 0, 8, 16, 32 ... */
    if (m->count == 0 || (m->count >= 8 && (m->count & (m->count - 1)) == 0))
        items = realloc(items, (m->count < 8 ? 8 : 2 * m->count) * sizeof *items);
    if (items == NULL)
        return cfr_err_nomem(err);
    m->items = items;
    items[m->count++] = one;
    return 0;
}

static int find_matches(const char *executable, struct matches *m, struct cfr_err *err)
{
    DIR *proc = opendir("/proc");
    const struct dirent *entry;
    int rc = 0;

    if (proc == NULL)
        return cfr_err_sys(err, errno, "cannot list processes in /proc");
    while (rc == 0 && (entry = readdir(proc)) != NULL) {
        struct match one = {isdigit((unsigned char)entry->d_name[0]) ? (pid_t)strtol(entry->d_name, NULL, 10) : 0, 0};
        int64_t start;

        if (one.pid > 0 && one.pid != getpid() && runs(one.pid, executable) && read_stat(one.pid, &one.parent, &start))
            rc = add_match(m, one, err);
    }
    (void)closedir(proc);
    return rc;
}

static int compare_pids(const void *a, const void *b)
{
    pid_t x = ((const struct match *)a)->pid;
    pid_t y = ((const struct match *)b)->pid;

    return (x > y) - (x < y);
}

static bool is_match(const struct matches *m, pid_t pid)
{
    struct match key = {pid, 0};

    return bsearch(&key, m->items, m->count, sizeof key, compare_pids) != NULL;
}

static int signal_match(pid_t pid, const char *executable, int signal, struct cfr_err *err)
{
    int fd = pidfd_open(pid);
    int rc = 0;

    if (fd < 0)
        return errno == ESRCH ? 0 : refuse_open(pid, errno, err);
    /* Looked at again through the same number, now that it cannot be reused unnoticed. */
    if (runs(pid, executable))
        rc = send_to(pid, fd, signal, err);
    (void)close(fd);
    return rc;
}

/* True if /proc shows this user its own processes only. The first process of a pod may be its own. */
static bool hides_others(void)
{
    struct stat st;

    return getpid() != 1 && stat("/proc/self", &st) == 0 && stat("/proc/1", &st) != 0;
}

int cfr_process_signal_executable(const char *executable, int signal, struct cfr_err *err)
{
    struct matches m = {.items = NULL};
    struct cfr_err refused = {0};
    int rc = find_matches(executable, &m, err);
    size_t sent = 0;

    if (rc == 0 && m.count == 0)
        rc = cfr_err_set(err, CFR_E_MISSING, "no process runs %s: %s", executable,
                         hides_others() ? "/proc hides the processes of other users (hidepid, or ProtectProc= of the "
                                          "unit); write ProtectProc=default below [Service], or mount /proc without it"
                                        : "it has not started, or it lives in another process namespace (in a pod: "
                                          "shareProcessNamespace: true)");
    if (m.count != 0)
        qsort(m.items, m.count, sizeof *m.items, compare_pids);
    for (size_t i = 0; rc == 0 && i < m.count; i++) {
        struct cfr_err why = {0};
        int one;

        if (is_match(&m, m.items[i].parent))
            continue;
        one = signal_match(m.items[i].pid, executable, signal, &why);
        sent += one == 0;
        /* Another user may run a program of this name: that is no reason to leave out the others. */
        if (one != 0 && one != CFR_E_MISSING)
            refused = why;
    }
    free(m.items);
    return rc != 0 || sent != 0 || refused.code == 0 ? rc : cfr_err_set(err, refused.code, "%s", refused.text);
}

/* The kernel cuts the name to 15 characters. */
static bool is_named(pid_t pid, const char *name)
{
    char comm[32];
    size_t n = read_proc(pid, "comm", comm, sizeof comm);

    if (n != 0 && comm[n - 1] == '\n')
        comm[n - 1] = '\0';
    return n != 0 && strncmp(comm, name, COMM_MAX) == 0 && (strlen(name) >= COMM_MAX || strcmp(comm, name) == 0);
}

/* *PIDFD is PID's if it is still the one that is meant and has not ended, else -1. */
static int open_named(pid_t pid, const char *name, int *pidfd, struct cfr_err *err)
{
    struct pollfd p = {pidfd_open(pid), POLLIN, 0};
    pid_t parent;
    int64_t start;

    *pidfd = -1;
    if (p.fd < 0)
        return errno == ESRCH ? 0 : refuse_open(pid, errno, err);
    if (poll(&p, 1, 0) == 0 && (is_named(pid, name) || runs(pid, name)) && read_stat(pid, &parent, &start) &&
        parent != getpid())
        *pidfd = p.fd;
    else
        (void)close(p.fd);
    return 0;
}

int cfr_process_open_name(const char *name, pid_t *pid, int *pidfd, struct cfr_err *err)
{
    DIR *proc = opendir("/proc");
    const struct dirent *entry;
    int rc = 0;

    *pidfd = -1;
    if (proc == NULL)
        return cfr_err_sys(err, errno, "cannot list processes in /proc");
    while (rc == 0 && *pidfd < 0 && (entry = readdir(proc)) != NULL) {
        *pid = isdigit((unsigned char)entry->d_name[0]) ? (pid_t)strtol(entry->d_name, NULL, 10) : 0;
        if (*pid > 0 && *pid != getpid() && (is_named(*pid, name) || runs(*pid, name)))
            rc = open_named(*pid, name, pidfd, err);
    }
    (void)closedir(proc);
    return rc != 0 || *pidfd >= 0
               ? rc
               : cfr_err_set(err, CFR_E_MISSING, "no process is named %s%s", name,
                             hides_others() ? "; /proc hides the processes of other users (hidepid)" : "");
}

/* ---- our own children ---- */

static struct {
    pid_t *pids;
    size_t count;
    size_t room;
    bool incomplete; /* memory was short: any child may be ours */
} own;

static size_t find_own(pid_t pid)
{
    size_t i = 0;

    while (i < own.count && own.pids[i] != pid)
        i++;
    return i;
}

void cfr_process_own(pid_t pid)
{
    if (own.count == own.room) {
        size_t room = own.room == 0 ? 64 : 2 * own.room;
        pid_t *pids = realloc(own.pids, room * sizeof *pids);

        if (pids == NULL) {
            own.incomplete = true;
            return;
        }
        own.pids = pids;
        own.room = room;
    }
    own.pids[own.count++] = pid;
}

void cfr_process_disown(pid_t pid)
{
    size_t i = find_own(pid);

    if (i < own.count)
        own.pids[i] = own.pids[--own.count];
}

void cfr_process_reap_orphans(void)
{
    siginfo_t info = {0};

    while (!own.incomplete && waitid(P_ALL, 0, &info, WEXITED | WNOHANG | WNOWAIT) == 0 && info.si_pid != 0 &&
           find_own(info.si_pid) == own.count) {
        (void)waitpid(info.si_pid, NULL, WNOHANG);
        info.si_pid = 0;
    }
}

/* ---- this process ---- */

void cfr_process_harden(void)
{
    struct rlimit none = {0, 0};

    (void)setrlimit(RLIMIT_CORE, &none);
    (void)prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
    /* Modes are always set by name; this only makes parents of what we make predictable. */
    (void)umask(022);
}

void cfr_process_fill_standard_fds(void)
{
    for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++) {
        if (fcntl(fd, F_GETFD) < 0)
            (void)open("/dev/null", O_RDWR | O_CLOEXEC);
    }
}

/* ---- starting ---- */

static struct rlimit files_before; /* rlim_cur is 0 while it was not changed */

void cfr_process_raise_files(void)
{
    struct rlimit now;
    struct rlimit more;

    if (files_before.rlim_cur != 0 || getrlimit(RLIMIT_NOFILE, &now) != 0)
        return;
    more = now;
    more.rlim_cur = now.rlim_max < FILES_MAX ? now.rlim_max : FILES_MAX;
    if (more.rlim_cur > now.rlim_cur && setrlimit(RLIMIT_NOFILE, &more) == 0)
        files_before = now;
}

static int prepare(posix_spawnattr_t *attr, posix_spawn_file_actions_t *actions, int out_fd)
{
    sigset_t none;
    sigset_t all;
    int rc = 0;

    (void)sigemptyset(&none);
    (void)sigfillset(&all);
    rc |= posix_spawnattr_setflags(attr, POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
    rc |= posix_spawnattr_setpgroup(attr, 0);
    rc |= posix_spawnattr_setsigmask(attr, &none);
    rc |= posix_spawnattr_setsigdefault(attr, &all);
    rc |= posix_spawn_file_actions_addopen(actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
    rc |= posix_spawn_file_actions_adddup2(actions, out_fd, STDOUT_FILENO);
    /* libcurl's sockets are not close-on-exec. */
    rc |= posix_spawn_file_actions_addclosefrom_np(actions, 3);
    return rc;
}

static int spawn_here(char *const *argv, char *const *environment, int out_fd, pid_t *pid, struct cfr_err *err)
{
    posix_spawn_file_actions_t actions;
    posix_spawnattr_t attr;
    int rc;

    if (posix_spawn_file_actions_init(&actions) != 0)
        return cfr_err_nomem(err);
    if (posix_spawnattr_init(&attr) != 0) {
        (void)posix_spawn_file_actions_destroy(&actions);
        return cfr_err_nomem(err);
    }
    rc = prepare(&attr, &actions, out_fd) != 0 ? ENOMEM : posix_spawn(pid, argv[0], &actions, &attr, argv, environment);
    (void)posix_spawnattr_destroy(&attr);
    (void)posix_spawn_file_actions_destroy(&actions);
    if (rc != 0)
        return cfr_err_sys(err, rc, "cannot start %s", argv[0]);
    if (files_before.rlim_cur != 0)
        (void)prlimit(*pid, RLIMIT_NOFILE, &files_before, NULL);
    return 0;
}

static int spawn(char *const *argv, char *const *environment, int out_fd, pid_t *pid, struct cfr_err *err)
{
    int rc = cfr_launcher_is_open() ? cfr_launcher_start(argv, environment, out_fd, pid, err)
                                    : spawn_here(argv, environment, out_fd, pid, err);

    if (rc == 0)
        cfr_process_own(*pid);
    return rc;
}

int cfr_process_start(char *const *argv, char *const *environment, pid_t *pid, struct cfr_err *err)
{
    return spawn(argv, environment, STDERR_FILENO, pid, err);
}

int cfr_process_start_piped(char *const *argv, char *const *environment, int pipe_bytes, pid_t *pid, int *out_fd,
                            struct cfr_err *err)
{
    int ends[2];
    int rc;

    if (pipe2(ends, O_CLOEXEC) != 0)
        return cfr_err_sys(err, errno, "cannot make a pipe for %s", argv[0]);
    /* Where the user has too many of them, it stays at what the kernel gave. */
    (void)fcntl(ends[0], F_SETPIPE_SZ, pipe_bytes);
    rc = fcntl(ends[0], F_SETFL, O_NONBLOCK) == 0 ? spawn(argv, environment, ends[1], pid, err)
                                                  : cfr_err_sys(err, errno, "cannot use the pipe for %s", argv[0]);
    (void)close(ends[1]);
    if (rc != 0)
        (void)close(ends[0]);
    else
        *out_fd = ends[0];
    return rc;
}

bool cfr_process_has_ended(pid_t pid)
{
    siginfo_t info = {0};

    return waitid(P_PID, (id_t)pid, &info, WEXITED | WNOHANG | WNOWAIT) != 0 ? errno == ECHILD : info.si_pid == pid;
}

int cfr_process_reap(pid_t pid, struct cfr_err *err)
{
    int status = 0;

    cfr_process_disown(pid);
    if (waitpid(pid, &status, 0) != pid)
        return cfr_err_sys(err, errno, "cannot learn how process %d ended", (int)pid);
    if (WIFSIGNALED(status))
        return cfr_err_set(err, CFR_E_REJECTED, "was killed by signal %d (%s)", WTERMSIG(status),
                           strsignal(WTERMSIG(status)));
    if (WEXITSTATUS(status) != 0)
        return cfr_err_set(err, CFR_E_REJECTED, "exited with %d", WEXITSTATUS(status));
    return 0;
}

void cfr_process_kill_group(pid_t pid, int signal)
{
    (void)kill(-pid, signal);
    /* It may have left its group; until it is reaped the number is its own. Once is enough for one that has not. */
    if (getpgid(pid) != pid)
        (void)kill(pid, signal);
}

/* Oldest first. What we may not kill (a set-user-id command), or what hangs in the kernel, must not hold up the other
 * credentials. */
static pid_t killed[KILLED_MAX];
static size_t killed_count;

void cfr_process_reap_killed(void)
{
    size_t kept = 0;

    for (size_t i = 0; i < killed_count; i++) {
        if (waitpid(killed[i], NULL, WNOHANG) == 0)
            killed[kept++] = killed[i];
        else
            cfr_process_disown(killed[i]);
    }
    killed_count = kept;
}

void cfr_process_end(pid_t pid)
{
    cfr_process_kill_group(pid, SIGKILL);
    /* The oldest is left to cfr_process_reap_orphans. */
    if (killed_count == KILLED_MAX) {
        cfr_process_disown(killed[0]);
        memmove(killed, killed + 1, --killed_count * sizeof killed[0]);
    }
    killed[killed_count++] = pid;
    cfr_process_reap_killed();
}
