/* SPDX-License-Identifier: MIT */
/* One turn of the agent's loop: what it waits for, and what handles each event. */
#include "agent/daemon/daemon_private.h"
#include "agent/daemon/modules_private.h"
#include "agent/loop/errand.h"
#include "agent/loop/file_watcher.h"
#include "agent/loop/launcher.h"
#include "agent/loop/process.h"
#include "agent/loop/sd_notify.h"
#include "base/log.h"
#include "base/time.h"

#include <errno.h>
#include <signal.h>
#include <sys/signalfd.h>
#include <unistd.h>

#define STEP_MS   1000 /* a difference of the clocks that is no rounding */
#define CHANGE_MS 1000 /* between two reads of a file whose writer may change it all the time */

/* The first change is reported immediately, those of the following second together at its end: another user may be able
 * to write the file, and would otherwise choose how often it is read. */
static bool on_changed_file(void *ctx, void *owner)
{
    struct cfr_daemon *a = ctx;
    struct cfr_watcher *watcher = owner;
    int64_t now_boot_ms = cfr_clock_now().boot_ms;

    if (now_boot_ms < watcher->next_boot_ms) {
        cfr_loop_by(&a->files, watcher->next_boot_ms);
        return false;
    }
    watcher->next_boot_ms = now_boot_ms + CHANGE_MS;
    watcher->changed(watcher->ctx);
    return true;
}

static void on_clock_step(struct cfr_daemon *a, int64_t by_ms)
{
    char words[CFR_TIME_WORDS_MAX];

    cfr_log(CFR_LOG_WARN, NULL, NULL, "the clock was set %s by %s: checking every deadline again",
            by_ms < 0 ? "back" : "forward", cfr_time_words(by_ms < 0 ? -by_ms : by_ms, words));
    cfr_http_forget(a->host.http);
    cfr_daemon_modules_on_clock(a);
    for (size_t i = 0; i < a->count; i++)
        cfr_worker_on_clock(a->workers[i]);
}

static void check_clock(struct cfr_daemon *a)
{
    struct cfr_now now = cfr_clock_now();
    int64_t moved_ms = now.wall_ms - now.boot_ms - a->clock_offset_ms;

    if (moved_ms > STEP_MS || moved_ms < -STEP_MS) {
        a->clock_offset_ms += moved_ms;
        on_clock_step(a, moved_ms);
    }
}

static void on_signals(struct cfr_task *task)
{
    struct cfr_daemon *a = CFR_TASK_OWNER(task, struct cfr_daemon, signals);
    struct signalfd_siginfo info;
    bool reload = false;
    bool child = false;
    struct cfr_err err = {0};

    while (read(a->signal_fd, &info, sizeof info) == (ssize_t)sizeof info) {
        bool end = info.ssi_signo == SIGTERM || info.ssi_signo == SIGINT || info.ssi_signo == SIGQUIT;

        if (info.ssi_signo == SIGUSR1 || info.ssi_signo == SIGUSR2)
            cfr_log(CFR_LOG_WARN, NULL, NULL, "ignoring %s; SIGHUP reloads the configuration, SIGTERM stops the agent",
                    info.ssi_signo == SIGUSR1 ? "SIGUSR1" : "SIGUSR2");

        a->hurry = a->hurry || (end && a->stopping);
        a->stopping = a->stopping || end;
        reload = reload || info.ssi_signo == SIGHUP;
        child = child || info.ssi_signo == SIGCHLD;
    }
    for (size_t i = 0; child && i < a->count; i++)
        cfr_worker_on_child(a->workers[i]);
    if (child) {
        cfr_loop_children();
        cfr_daemon_modules_on_child(a);
        cfr_errand_reap();
        cfr_slow_write_reap();
        cfr_process_reap_killed();
        cfr_daemon_endpoints_save(a->endpoints);
        /* After the tasks of the children that have ended. */
        cfr_loop_soon(&a->orphans);
    }
    if (reload)
        (void)cfr_daemon_reload(a, &err);
    if (reload || (child && a->control_lost))
        cfr_daemon_keep_control(a);
}

static void on_orphans(struct cfr_task *task)
{
    (void)task;
    cfr_process_reap_orphans();
}

/* Once a minute: everything that an event may have missed. */
static void on_tick(struct cfr_task *task)
{
    struct cfr_daemon *a = CFR_TASK_OWNER(task, struct cfr_daemon, tick);

    cfr_loop_at(&a->tick, cfr_clock_now().boot_ms + CFR_DAEMON_TICK_MS);
    cfr_daemon_look_forgotten(a);
    cfr_daemon_endpoints_save(a->endpoints);
    cfr_process_reap_orphans();
    for (size_t i = 0; i < a->count; i++) {
        cfr_worker_on_tick(a->workers[i]);
        if (a->host.watch == NULL)
            cfr_worker_on_source(a->workers[i]);
    }
    if (a->host.watch != NULL)
        cfr_watch_rescan(a->host.watch, on_changed_file, a);
    /* Where nothing has changed, a check a second later would be one more wake-up each minute. */
    cfr_loop_at(&a->host.moved, cfr_daemon_readiness_is_open(a, NULL) == a->readiness.ready ? INT64_MAX : 0);
}

static void on_files(struct cfr_task *task)
{
    struct cfr_daemon *a = CFR_TASK_OWNER(task, struct cfr_daemon, files);
    struct cfr_err err = {0};
    bool overflowed = false;

    if (cfr_watch_dispatch(a->host.watch, on_changed_file, a, &overflowed, &err) != 0)
        cfr_log(CFR_LOG_WARN, NULL, NULL, "%s", err.text);
    if (overflowed)
        cfr_log(CFR_LOG_WARN, NULL, NULL, "the kernel's queue of file events overflowed: checked everything");
}

static void on_modules(struct cfr_task *task)
{
    struct cfr_daemon *a = CFR_TASK_OWNER(task, struct cfr_daemon, rest);

    cfr_daemon_modules_step(a);
}

static void on_watchdog(struct cfr_task *task)
{
    cfr_loop_at(task, cfr_clock_now().boot_ms + cfr_sd_notify_watchdog_ms());
    cfr_sd_notify("WATCHDOG=1");
}

static void on_end(struct cfr_task *task)
{
    CFR_TASK_OWNER(task, struct cfr_daemon, end)->timed_out = true;
}

static void on_step(struct cfr_task *task)
{
    cfr_clock_drain_step(CFR_TASK_OWNER(task, struct cfr_daemon, step)->step_fd);
}

/* Without it no hook, program or plugin would ever run again. */
static void on_launcher(struct cfr_task *task)
{
    struct cfr_daemon *a = CFR_TASK_OWNER(task, struct cfr_daemon, launcher);

    cfr_loop_off(task);
    if (a->stopping)
        return;
    cfr_log(CFR_LOG_ERROR, NULL, NULL,
            "the process that starts commands (credfresh-start) has ended: stopping with status 1, so that the service "
            "manager starts the agent again");
    a->broken = a->stopping = true;
}

static int open_signals(struct cfr_err *err)
{
    const struct sigaction standard = {.sa_handler = SIG_DFL};
    sigset_t set;
    int fd;

    /* Inherited as ignored, it would never come: no end of a hook would be noticed. */
    if (sigaction(SIGCHLD, &standard, NULL) != 0)
        return cfr_err_sys(err, errno, "cannot set what SIGCHLD does");
    (void)sigemptyset(&set);
    (void)sigaddset(&set, SIGTERM);
    (void)sigaddset(&set, SIGINT);
    (void)sigaddset(&set, SIGHUP);
    (void)sigaddset(&set, SIGCHLD);
    (void)sigaddset(&set, SIGPIPE);
    (void)sigaddset(&set, SIGQUIT);
    (void)sigaddset(&set, SIGUSR1);
    (void)sigaddset(&set, SIGUSR2);
    if (sigprocmask(SIG_BLOCK, &set, NULL) != 0)
        return cfr_err_sys(err, errno, "cannot block signals");
    fd = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
    return fd >= 0 ? fd : cfr_err_sys(err, errno, "cannot make a signal descriptor");
}

int cfr_daemon_watch_files(struct cfr_daemon *a, struct cfr_err *err)
{
    int rc = cfr_watch_open(&a->host.watch, err);

    a->files.run = on_files;
    return rc != 0 ? rc : cfr_loop_fd(&a->files, cfr_watch_fd(a->host.watch), err);
}

int cfr_daemon_open_loop(struct cfr_daemon *a, struct cfr_err *err)
{
    int64_t now_ms = cfr_clock_now().boot_ms;
    int rc;

    a->step.run = on_step;
    a->signals.run = on_signals;
    a->launcher.run = on_launcher;
    a->orphans.run = on_orphans;
    a->rest.run = on_modules;
    a->tick.run = on_tick;
    a->watchdog.run = on_watchdog;
    a->end.run = on_end;
    a->step_fd = cfr_clock_open_step(err);
    a->signal_fd = open_signals(err);
    if (a->step_fd < 0 || a->signal_fd < 0)
        return err->code;
    rc = cfr_loop_fd(&a->step, a->step_fd, err);
    if (rc == 0)
        rc = cfr_loop_fd(&a->signals, a->signal_fd, err);
    if (rc == 0)
        rc = cfr_loop_fd(&a->launcher, cfr_launcher_fd(), err);
    if (rc == 0)
        rc = cfr_loop_open_alarm(err);
    if (a->options.once)
        cfr_loop_at(&a->end, now_ms + a->options.timeout_ms);
    else
        cfr_loop_at(&a->tick, now_ms + CFR_DAEMON_TICK_MS);
    if (cfr_sd_notify_watchdog_ms() != 0)
        cfr_loop_at(&a->watchdog, now_ms + cfr_sd_notify_watchdog_ms());
    return rc;
}

void cfr_daemon_close_loop(struct cfr_daemon *a)
{
    struct cfr_task *const tasks[] = {&a->step, &a->files,    &a->signals, &a->orphans, &a->launcher,  &a->rest,
                                      &a->tick, &a->watchdog, &a->end,     &a->notice,  &a->host.moved};

    for (size_t i = 0; i < sizeof tasks / sizeof tasks[0]; i++)
        cfr_loop_off(tasks[i]);
    cfr_loop_close_alarm();
    if (a->signal_fd >= 0)
        (void)close(a->signal_fd);
    if (a->step_fd >= 0)
        (void)close(a->step_fd);
}

/* The end comes by whatever clock there is: the alarm may go by another (under faketime it does). */
static int64_t wait_ms(const struct cfr_daemon *a)
{
    int64_t now_ms = cfr_clock_now().boot_ms;
    int64_t end_ms = cfr_loop_time(&a->end);

    if (cfr_worker_queue_ready(&a->host) || cfr_loop_next() <= now_ms)
        return 0;
    return end_ms != INT64_MAX ? end_ms - now_ms : -1;
}

int cfr_daemon_turn(struct cfr_daemon *a, struct cfr_err *err)
{
    struct pollfd *fds;
    size_t count;
    int rc;

    cfr_loop_at(&a->rest, cfr_daemon_modules_deadline(a));
    count = cfr_loop_prepare(&fds);
    rc = cfr_http_step(a->host.http, fds, count, wait_ms(a), err);
    if (rc != 0)
        return rc;
    cfr_worker_serve_queue(&a->host);
    check_clock(a);
    cfr_loop_run(cfr_clock_now().boot_ms);
    return 0;
}
