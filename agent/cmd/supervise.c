/* SPDX-License-Identifier: MIT */
/* Supervisor: parent process of a command and its agent. */
#include "agent/cmd/commands_private.h"

#include "agent/loop/backoff.h"
#include "agent/loop/clock.h"
#include "agent/daemon/readiness.h"
#include "base/time.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define PAUSE_MAX_MS   60000 /* before an agent that failed is started again */
#define STEADY_MS      60000 /* after so long an agent that fails counts as the first that does */
#define BY_SIGNAL      128
#define NOT_EXECUTABLE 126
#define NOT_FOUND      127
#define TO_GROUP       4U /* PIDFD_SIGNAL_PROCESS_GROUP, which older headers do not have */

enum phase {
    PUBLISHING, /* the agent runs, the command does not */
    RUNNING,
    ENDING /* the command has ended, or will never start: the rest is being stopped */
};

struct run {
    const struct cfr_cmd_supervise *s;
    enum phase phase;
    sigset_t mask_before;
    struct sigaction child_before;
    int signal_fd;
    int ready_fd;   /* -1 when it has said what it has to say */
    pid_t agent;    /* 0 = none runs */
    pid_t command;  /* and its process group; 0 = never started */
    int command_fd; /* of the command, also after it has ended; -1 = none */
    bool command_runs;
    bool group_gone; /* nothing is left of the group */
    bool terminal;   /* standard input is one, and ours to give away */
    int64_t agent_start_boot_ms;
    int64_t agent_next_boot_ms; /* when it is started again */
    struct cfr_backoff backoff;
    int64_t end_boot_ms; /* of the phase: the time limit of publishing, or when the rest is killed */
    bool killed;         /* the rest was */
    int status;
};

static int64_t boot_ms(void)
{
    return cfr_clock_now().boot_ms;
}

/* ---- signals ---- */

/* Those that a fault raises stay what they are, and those of the terminal's other readers would stop us. */
static void fill_signals(sigset_t *set)
{
    static const int ours[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT, SIGTRAP, SIGSYS, SIGPIPE};

    (void)sigfillset(set);
    for (size_t i = 0; i < sizeof ours / sizeof ours[0]; i++)
        (void)sigdelset(set, ours[i]);
}

static bool open_signals(struct run *r)
{
    struct sigaction standard = {.sa_handler = SIG_DFL};
    sigset_t set;

    fill_signals(&set);
    /* Inherited as ignored it would keep children from being waited for. */
    if (sigaction(SIGCHLD, &standard, &r->child_before) != 0 || sigprocmask(SIG_BLOCK, &set, &r->mask_before) != 0)
        return false;
    r->signal_fd = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
    return r->signal_fd >= 0;
}

/* In a child: as we were started, and gone with us. False if we are gone already. */
static bool leave_parent(const struct run *r, pid_t parent)
{
    (void)prctl(PR_SET_PDEATHSIG, SIGTERM, 0, 0, 0);
    (void)sigaction(SIGCHLD, &r->child_before, NULL);
    (void)sigprocmask(SIG_SETMASK, &r->mask_before, NULL);
    return getppid() == parent;
}

/* ---- the agent ---- */

static void be_agent(const struct run *r, pid_t parent, int ready_fd)
{
    /* Out of reach of the terminal's signals, which are meant for the command. */
    (void)setpgid(0, 0);
    (void)close(r->signal_fd);
    if (r->command_fd >= 0)
        (void)close(r->command_fd);
    if (!leave_parent(r, parent))
        _exit(CFR_EXIT_FAILED);
    /* The service manager's business is the command's. */
    (void)unsetenv("NOTIFY_SOCKET");
    (void)unsetenv("WATCHDOG_USEC");
    _exit(r->s->agent(r->s->ctx, ready_fd));
}

static bool start_agent(struct run *r, bool first)
{
    int ends[2] = {-1, 0};
    pid_t parent = getpid();
    pid_t pid;

    if (first && pipe2(ends, O_CLOEXEC) != 0)
        return false;
    pid = fork();
    if (pid == 0) {
        if (first)
            (void)close(ends[0]);
        be_agent(r, parent, ends[1]);
    }
    if (first)
        (void)close(ends[1]);
    r->ready_fd = first ? ends[0] : r->ready_fd;
    r->agent = pid > 0 ? pid : 0;
    r->agent_start_boot_ms = boot_ms();
    r->agent_next_boot_ms = INT64_MAX;
    return pid > 0;
}

static void try_again(struct run *r)
{
    if (!start_agent(r, false)) {
        cfr_cli_complain("cannot start the agent again: %s",
                         strerror(errno)); // NOLINT(concurrency-mt-unsafe): one thread
        r->agent_next_boot_ms = boot_ms() + PAUSE_MAX_MS;
    }
}

/* ---- the command ---- */

static void be_command(const struct run *r, pid_t parent)
{
    int status;

    (void)setpgid(0, 0);
    if (r->terminal)
        (void)tcsetpgrp(STDIN_FILENO, getpid());
    if (!leave_parent(r, parent))
        _exit(CFR_EXIT_FAILED);
    (void)close_range(3, ~0U, CLOSE_RANGE_CLOEXEC);
    (void)execvpe(r->s->argv[0], r->s->argv, r->s->environment);
    status = errno == ENOENT || errno == ENOTDIR ? NOT_FOUND : NOT_EXECUTABLE;
    cfr_cli_complain("cannot run %s: %s", r->s->argv[0],
                     strerror(errno)); // NOLINT(concurrency-mt-unsafe): one thread
    _exit(status);
}

static void end_with(struct run *r, int status);

static void start_command(struct run *r)
{
    pid_t parent = getpid();
    pid_t pid;

    r->terminal = isatty(STDIN_FILENO) && tcgetpgrp(STDIN_FILENO) == getpgrp();
    pid = fork();
    if (pid == 0)
        be_command(r, parent);
    if (pid < 0) {
        cfr_cli_complain("cannot run %s: %s", r->s->argv[0],
                         strerror(errno)); // NOLINT(concurrency-mt-unsafe): one thread
        end_with(r, CFR_EXIT_FAILED);
        return;
    }
    /* Both set it, because either may run first. */
    (void)setpgid(pid, pid);
    r->command = pid;
    r->command_fd = (int)syscall(SYS_pidfd_open, pid, 0U);
    r->command_runs = true;
    r->phase = RUNNING;
    r->end_boot_ms = INT64_MAX;
}

/* False if nothing is left of the command's process group: another group may have its number then, so the kernel is
 * given the descriptor. Before Linux 6.9 it takes the number only, which is free once the last member was waited for:
 * this is called right after each such wait. */
static bool signal_group(struct run *r, int signal)
{
    bool sent;

    if (r->command == 0 || r->group_gone)
        return false;
    sent = r->command_fd >= 0 && syscall(SYS_pidfd_send_signal, r->command_fd, signal, NULL, TO_GROUP) == 0;
    if (!sent && (r->command_fd < 0 || errno == EINVAL))
        sent = kill(-r->command, signal) == 0;
    r->group_gone = !sent && errno == ESRCH;
    return sent;
}

/* The end begins: STATUS is what it will be. */
static void end_with(struct run *r, int status)
{
    r->status = status;
    r->phase = ENDING;
    r->end_boot_ms = boot_ms() + r->s->grace_ms;
    r->agent_next_boot_ms = INT64_MAX;
    if (r->terminal)
        (void)tcsetpgrp(STDIN_FILENO, getpgrp());
    if (signal_group(r, SIGTERM))
        (void)signal_group(r, SIGCONT);
    if (r->agent != 0)
        (void)kill(r->agent, SIGTERM);
}

static void kill_rest(struct run *r)
{
    r->killed = true;
    r->end_boot_ms = INT64_MAX;
    (void)signal_group(r, SIGKILL);
    if (r->agent != 0)
        (void)kill(r->agent, SIGKILL);
}

/* ---- what ends ---- */

static int status_of(int wait_status)
{
    return WIFSIGNALED(wait_status) ? BY_SIGNAL + WTERMSIG(wait_status) : WEXITSTATUS(wait_status);
}

/* The command continues with the published files, and the next agent takes them over. */
static void agent_failed(struct run *r, int wait_status)
{
    struct cfr_backoff_cause cause = {.class = CFR_CLASS_RETRY, .max_ms = PAUSE_MAX_MS};
    char words[CFR_TIME_WORDS_MAX];
    int64_t pause_ms;

    if (boot_ms() - r->agent_start_boot_ms >= STEADY_MS)
        r->backoff = (struct cfr_backoff){0};
    pause_ms = cfr_backoff_failed(&r->backoff, &cause, cfr_clock_chance());
    r->agent_next_boot_ms = boot_ms() + pause_ms;
    cfr_cli_complain(
        "the agent ended by %s %d; the command continues with the published credentials, and a new agent starts in %s",
        WIFSIGNALED(wait_status) ? "signal" : "itself with status",
        WIFSIGNALED(wait_status) ? WTERMSIG(wait_status) : WEXITSTATUS(wait_status), cfr_time_words(pause_ms, words));
}

static void agent_ended(struct run *r, int wait_status)
{
    int status = status_of(wait_status);

    r->agent = 0;
    if (r->phase == PUBLISHING)
        end_with(r, status != CFR_EXIT_OK ? status : CFR_EXIT_FAILED);
    else if (r->phase == RUNNING && status == CFR_EXIT_OK)
        (void)kill(r->command, SIGTERM); /* it was asked to end: `quit`, exit_with */
    else if (r->phase == RUNNING)
        agent_failed(r, wait_status);
}

/* Like any program of the shell that started us. */
static void command_stopped(const struct run *r)
{
    if (r->terminal)
        (void)kill(getpid(), SIGSTOP);
}

static void on_children(struct run *r)
{
    int wait_status;
    pid_t pid;

    while ((pid = waitpid(-1, &wait_status, WNOHANG | WUNTRACED)) > 0) {
        if (WIFSTOPPED(wait_status)) {
            if (pid == r->command)
                command_stopped(r);
        } else if (pid == r->agent) {
            agent_ended(r, wait_status);
        } else if (pid == r->command && r->command_runs) {
            r->command_runs = false;
            end_with(r, status_of(wait_status));
        } else {
            (void)signal_group(r, 0);
        }
    }
}

/* ---- signals that are passed on ---- */

static void go_on(const struct run *r)
{
    if (r->terminal && tcgetpgrp(STDIN_FILENO) == getpgrp())
        (void)tcsetpgrp(STDIN_FILENO, r->command);
    (void)kill(-r->command, SIGCONT);
}

static bool ends(int signal)
{
    return signal == SIGTERM || signal == SIGINT || signal == SIGQUIT || signal == SIGHUP;
}

static void on_signal(struct run *r, int signal)
{
    if (signal == SIGTTIN || signal == SIGTTOU)
        return;
    if (r->phase == RUNNING && signal == SIGCONT)
        go_on(r);
    else if (r->phase == RUNNING)
        (void)kill(r->command, signal);
    else if (r->phase == PUBLISHING && ends(signal))
        end_with(r, BY_SIGNAL + signal);
    else if (r->phase == ENDING && ends(signal))
        kill_rest(r);
}

static void on_signals(struct run *r)
{
    struct signalfd_siginfo info;

    while (read(r->signal_fd, &info, sizeof info) == (ssize_t)sizeof info) {
        if (info.ssi_signo != SIGCHLD)
            on_signal(r, (int)info.ssi_signo);
    }
    /* On every pass: one SIGCHLD may mean several children. */
    on_children(r);
}

static void on_ready(struct run *r)
{
    char word = 0;
    ssize_t n = read(r->ready_fd, &word, 1);

    if (n < 0)
        return;
    (void)close(r->ready_fd);
    r->ready_fd = -1;
    /* SIGCHLD means that a child has ended, nothing else. */
    if (r->phase == PUBLISHING && n == 1 && word == CFR_DAEMON_READINESS_READY)
        start_command(r);
    else if (r->phase == PUBLISHING && n == 1)
        end_with(r, CFR_EXIT_FAILED);
}

/* ---- the loop ---- */

static void on_time(struct run *r)
{
    int64_t now = boot_ms();

    if (r->agent_next_boot_ms <= now)
        try_again(r);
    if (r->end_boot_ms > now)
        return;
    if (r->phase == PUBLISHING) {
        cfr_cli_complain(
            "time is up: what %s needs is not published, or not in memory for its endpoint, so it is not started",
            r->s->argv[0]);
        end_with(r, CFR_EXIT_TIMEOUT);
    } else {
        kill_rest(r);
    }
}

static int timeout_ms(const struct run *r)
{
    int64_t at = r->end_boot_ms < r->agent_next_boot_ms ? r->end_boot_ms : r->agent_next_boot_ms;
    int64_t left = at - boot_ms();

    if (at == INT64_MAX)
        return -1;
    return left < 0 ? 0 : left > 60000 ? 60000 : (int)left;
}

static void turn(struct run *r)
{
    struct pollfd fds[2] = {{r->signal_fd, POLLIN, 0}, {r->ready_fd, POLLIN, 0}};

    (void)poll(fds, 2, timeout_ms(r));
    /* Before the signals: an agent that reports readiness and then fails was ready. */
    if (fds[1].revents != 0)
        on_ready(r);
    if (fds[0].revents != 0)
        on_signals(r);
    on_time(r);
}

static bool is_over(struct run *r)
{
    return r->phase == ENDING && r->agent == 0 && !r->command_runs && (r->killed || !signal_group(r, 0));
}

int cfr_cmd_supervise_run(const struct cfr_cmd_supervise *s)
{
    struct run r = {
        .s = s,
        .phase = PUBLISHING,
        .signal_fd = -1,
        .ready_fd = -1,
        .command_fd = -1,
        .agent_next_boot_ms = INT64_MAX,
        .end_boot_ms = boot_ms() + s->timeout_ms,
        .status = CFR_EXIT_FAILED,
    };

    /* Orphans below this process become its children, and not those of a process that does not reap them. */
    (void)prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0);
    if (!open_signals(&r) || !start_agent(&r, true)) {
        cfr_cli_complain("cannot start the agent: %s",
                         strerror(errno)); // NOLINT(concurrency-mt-unsafe): one thread
        return CFR_EXIT_FAILED;
    }
    while (!is_over(&r))
        turn(&r);
    if (r.ready_fd >= 0)
        (void)close(r.ready_fd);
    if (r.command_fd >= 0)
        (void)close(r.command_fd);
    (void)close(r.signal_fd);
    return r.status;
}
