/* SPDX-License-Identifier: MIT */
/* The child that copies log lines from a pipe to a file. */
#include "agent/loop/log_file.h"

#include "base/log.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define PIPE_BYTES (1 << 20) /* the most that a user may have: the lines of a start with a thousand credentials */
#define CLOSE_MS   2000
#define PAUSE_MS   5

static struct {
    int lines_fd;
    pid_t pid;
} copier = {.lines_fd = -1};

/* A disk that is full loses lines, as it does without us. */
static void write_all(const char *p, size_t n)
{
    while (n != 0) {
        ssize_t k = write(STDERR_FILENO, p, n);

        if (k < 0 && errno == EINTR)
            continue;
        if (k <= 0)
            return;
        p += k;
        n -= (size_t)k;
    }
}

/* The child. Ends when the last writer has closed the pipe, so it also writes the last lines of an agent that crashed.
 */
static void copy(int lines_fd, int done_fd)
{
    static char buf[65536];
    sigset_t all;
    ssize_t n;

    /* The terminal's and the service manager's signals are for the agent. */
    (void)sigfillset(&all);
    (void)sigprocmask(SIG_BLOCK, &all, NULL);
    (void)prctl(PR_SET_NAME, "credfresh-log", 0, 0, 0);
    if (dup2(lines_fd, STDIN_FILENO) < 0 || dup2(done_fd, STDOUT_FILENO) < 0)
        return;
    closefrom(STDERR_FILENO + 1);
    /* From here on it may read, write and exit. */
    (void)prctl(PR_SET_SECCOMP, SECCOMP_MODE_STRICT, 0, 0, 0);
    while ((n = read(STDIN_FILENO, buf, sizeof buf)) > 0 || (n < 0 && errno == EINTR)) {
        if (n > 0)
            write_all(buf, (size_t)n);
        (void)!write(STDOUT_FILENO, "", 1);
    }
}

static int start(const int lines[2], const int done[2], struct cfr_err *err)
{
    (void)fcntl(lines[1], F_SETPIPE_SZ, PIPE_BYTES);
    if (fcntl(lines[1], F_SETFL, O_NONBLOCK) != 0 || fcntl(done[1], F_SETFL, O_NONBLOCK) != 0 ||
        fcntl(done[0], F_SETFL, O_NONBLOCK) != 0)
        return cfr_err_sys(err, errno, "cannot use a pipe for the log");
    copier.pid = fork();
    if (copier.pid == 0) {
        copy(lines[0], done[1]);
        /* The only exit that seccomp's strict mode knows. */
        (void)syscall(SYS_exit, 0);
    }
    return copier.pid > 0 ? 0 : cfr_err_sys(err, errno, "cannot start the process that writes the log");
}

int cfr_log_file_open(struct cfr_err *err)
{
    struct stat st;
    int lines[2];
    int done[2];
    int rc;

    cfr_log_never_wait();
    if (fstat(STDERR_FILENO, &st) != 0 || !S_ISREG(st.st_mode))
        return 0;
    if (pipe2(lines, O_CLOEXEC) != 0)
        return cfr_err_sys(err, errno, "cannot make a pipe for the log");
    if (pipe2(done, O_CLOEXEC) != 0) {
        rc = cfr_err_sys(err, errno, "cannot make a pipe for the log");
        (void)close(lines[0]);
        (void)close(lines[1]);
        return rc;
    }
    rc = start(lines, done, err);
    (void)close(lines[0]);
    (void)close(done[1]);
    if (rc != 0) {
        (void)close(lines[1]);
        (void)close(done[0]);
        return rc;
    }
    copier.lines_fd = lines[1];
    cfr_log_through(lines[1], done[0]);
    return 0;
}

void cfr_log_file_close(void)
{
    const struct timespec pause = {.tv_nsec = PAUSE_MS * 1000000L};

    if (copier.lines_fd < 0)
        return;
    cfr_log_through(-1, -1);
    (void)close(copier.lines_fd);
    copier.lines_fd = -1;
    for (int waited_ms = 0; waited_ms < CLOSE_MS && waitpid(copier.pid, NULL, WNOHANG) == 0; waited_ms += PAUSE_MS)
        (void)nanosleep(&pause, NULL);
}
