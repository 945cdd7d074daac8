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

#include <poll.h>
#include <signal.h>
#include <sys/signalfd.h>
#include <unistd.h>

#define STEP_MS   1000 /* a difference of the clocks that is no rounding */
#define CHANGE_MS 1000 /* between two reads of a file whose writer may change it all the time */

/* True while the agent ends with another process. */
static bool follows_process(const struct cfr_daemon *a)
{
    return !a->options.once && !a->stopping;
}

/* Readiness is over when the agent ends, and then nothing announces it any more. */
static int64_t readiness_deadline(const struct cfr_daemon *a)
{
    int64_t at =
        a->readiness.look_boot_ms < a->readiness.tell_boot_ms ? a->readiness.look_boot_ms : a->readiness.tell_boot_ms;

    return a->stopping ? INT64_MAX : at;
}

static int64_t next_alarm(const struct cfr_daemon *a)
{
    int64_t at = cfr_timer_heap_next(&a->host.timers);

    if (a->tick_boot_ms < at)
        at = a->tick_boot_ms;
    if (a->changes_boot_ms < at)
        at = a->changes_boot_ms;
    if (a->notice_boot_ms < at)
        at = a->notice_boot_ms;
    if (a->watchdog_boot_ms < at)
        at = a->watchdog_boot_ms;
    if (readiness_deadline(a) < at)
        at = readiness_deadline(a);
    if (cfr_kube_deadline(a->host.kube) < at)
        at = cfr_kube_deadline(a->host.kube);
    if (cfr_daemon_modules_deadline(a) < at)
        at = cfr_daemon_modules_deadline(a);
    if (follows_process(a) && cfr_daemon_follow_deadline(&a->exit_with) < at)
        at = cfr_daemon_follow_deadline(&a->exit_with);
    return a->end_boot_ms < at ? a->end_boot_ms : at;
}

/* The first change is reported immediately, those of the following second together at its end: another user may be able
 * to write the file, and would otherwise choose how often it is read. */
static bool on_changed_file(void *ctx, void *owner)
{
    struct cfr_daemon *a = ctx;
    struct cfr_watcher *watcher = owner;
    int64_t now_boot_ms = cfr_clock_now().boot_ms;

    if (now_boot_ms < watcher->next_boot_ms) {
        if (watcher->next_boot_ms < a->changes_boot_ms)
            a->changes_boot_ms = watcher->next_boot_ms;
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

static void on_signals(struct cfr_daemon *a)
{
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
        cfr_kube_child(a->host.kube);
        cfr_daemon_modules_on_child(a);
        cfr_errand_reap();
        cfr_slow_write_reap();
        cfr_process_reap_killed();
        cfr_daemon_endpoints_save(a->endpoints);
        cfr_process_reap_orphans();
    }
    if (reload)
        (void)cfr_daemon_reload(a, &err);
    if (reload || (child && a->control_lost))
        cfr_daemon_keep_control(a);
}

/* Once a minute: everything that an event may have missed. */
static void on_tick(struct cfr_daemon *a)
{
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
    /* Nothing is left to look at a second later, which would be one more wake-up each minute. */
    a->host.moved = cfr_daemon_readiness_is_open(a, NULL) != a->readiness.ready;
}

static void on_files(struct cfr_daemon *a)
{
    struct cfr_err err = {0};
    bool overflowed = false;

    if (cfr_watch_dispatch(a->host.watch, on_changed_file, a, &overflowed, &err) != 0)
        cfr_log(CFR_LOG_WARN, NULL, NULL, "%s", err.text);
    if (overflowed)
        cfr_log(CFR_LOG_WARN, NULL, NULL, "the kernel's queue of file events overflowed: checked everything");
}

static void on_alarm(struct cfr_daemon *a)
{
    struct cfr_now now = cfr_clock_now();

    cfr_clock_drain_alarm(a->alarm_fd);
    /* It rings once. Where it goes by another clock, the same deadline may still be ahead. */
    a->armed_boot_ms = INT64_MIN;
    cfr_worker_run_timers(&a->host, a->count);
    cfr_kube_step(a->host.kube, now);
    cfr_daemon_modules_step(a);
    if (a->changes_boot_ms <= now.boot_ms) {
        a->changes_boot_ms = INT64_MAX;
        on_files(a);
    }
    if (a->watchdog_boot_ms <= now.boot_ms) {
        a->watchdog_boot_ms = now.boot_ms + cfr_sd_notify_watchdog_ms();
        cfr_sd_notify("WATCHDOG=1");
    }
    if (a->tick_boot_ms <= now.boot_ms) {
        a->tick_boot_ms = now.boot_ms + CFR_DAEMON_TICK_MS;
        on_tick(a);
    }
}

/* The nearer of two times, of which -1 is none. */
static int64_t sooner(int64_t a_ms, int64_t b_ms)
{
    return a_ms < 0 || (b_ms >= 0 && b_ms < a_ms) ? b_ms : a_ms;
}

static int64_t server_timeout(const struct cfr_daemon *a)
{
    int64_t at_ms = a->control != NULL ? cfr_httpd_timeout_ms(a->control) : -1;

    if (a->health != NULL)
        at_ms = sooner(at_ms, cfr_httpd_timeout_ms(a->health));
    return a->endpoints != NULL ? sooner(at_ms, cfr_daemon_endpoints_timeout_ms(a->endpoints)) : at_ms;
}

/* By the clock itself, for what is due already needs no alarm. */
static bool is_due(const struct cfr_daemon *a)
{
    return next_alarm(a) <= cfr_clock_now().boot_ms;
}

/* An end that was set comes by whatever clock there is: the alarm may go by another (under faketime it does). */
static int64_t wait_ms(const struct cfr_daemon *a)
{
    int64_t left_ms = a->end_boot_ms != INT64_MAX ? a->end_boot_ms - cfr_clock_now().boot_ms : -1;

    return cfr_worker_queue_ready(&a->host) || is_due(a) ? 0 : sooner(server_timeout(a), left_ms);
}

/* Most turns leave the nearest deadline as it is. */
static void arm(struct cfr_daemon *a)
{
    int64_t at = next_alarm(a);

    if (at != a->armed_boot_ms)
        cfr_clock_arm(a->alarm_fd, at);
    a->armed_boot_ms = at;
}

/* ---- descriptors ---- */

static int get_step_fd(const struct cfr_daemon *a)
{
    return a->step_fd;
}

static void handle_step(struct cfr_daemon *a, bool ready)
{
    if (ready)
        cfr_clock_drain_step(a->step_fd);
    check_clock(a);
}

static int get_watch_fd(const struct cfr_daemon *a)
{
    return a->host.watch != NULL ? cfr_watch_fd(a->host.watch) : -1;
}

static void handle_watch(struct cfr_daemon *a, bool ready)
{
    if (ready)
        on_files(a);
}

static int get_alarm_fd(const struct cfr_daemon *a)
{
    return a->alarm_fd;
}

static void handle_alarm(struct cfr_daemon *a, bool ready)
{
    if (ready || is_due(a))
        on_alarm(a);
}

static int get_endpoints_fd(const struct cfr_daemon *a)
{
    return a->endpoints != NULL ? cfr_daemon_endpoints_fd(a->endpoints) : -1;
}

static void handle_endpoints(struct cfr_daemon *a, bool ready)
{
    if (a->endpoints != NULL && (ready || cfr_daemon_endpoints_timeout_ms(a->endpoints) == 0))
        cfr_daemon_endpoints_step(a->endpoints);
}

static int get_control_fd(const struct cfr_daemon *a)
{
    return a->control != NULL ? cfr_httpd_fd(a->control) : -1;
}

static void handle_control(struct cfr_daemon *a, bool ready)
{
    if (a->control != NULL && (ready || cfr_httpd_timeout_ms(a->control) == 0))
        cfr_httpd_step(a->control);
}

static int get_health_fd(const struct cfr_daemon *a)
{
    return a->health != NULL ? cfr_httpd_fd(a->health) : -1;
}

/* A reload through the control socket may have replaced the server, which is then stepped in vain. */
static void handle_health(struct cfr_daemon *a, bool ready)
{
    if (a->health != NULL && (ready || cfr_httpd_timeout_ms(a->health) == 0))
        cfr_httpd_step(a->health);
}

static int get_signal_fd(const struct cfr_daemon *a)
{
    return a->signal_fd;
}

static void handle_signals(struct cfr_daemon *a, bool ready)
{
    if (ready)
        on_signals(a);
}

static int get_followed_fd(const struct cfr_daemon *a)
{
    return follows_process(a) ? a->exit_with.pidfd : -1;
}

static void handle_followed(struct cfr_daemon *a, bool ready)
{
    (void)ready;
    if (follows_process(a) && cfr_daemon_follow_step(&a->exit_with, a->config->exit_with, cfr_clock_now()))
        a->stopping = true;
}

static int get_launcher_fd(const struct cfr_daemon *a)
{
    return a->stopping ? -1 : cfr_launcher_fd();
}

/* Without it no hook, program or plugin would ever run again. */
static void handle_launcher(struct cfr_daemon *a, bool ready)
{
    if (!ready)
        return;
    cfr_log(CFR_LOG_ERROR, NULL, NULL,
            "the process that starts commands (credfresh-start) has ended: stopping with status 1, so that the service "
            "manager starts the agent again");
    a->broken = a->stopping = true;
}

/* Everything that the loop waits for besides libcurl's sockets, in the order in which it is handled: what has ended
 * (signals) before what is due. */
static const struct {
    int (*fd)(const struct cfr_daemon *a); /* -1: none now */
    void (*handle)(struct cfr_daemon *a, bool ready);
} descriptors[] = {
    {get_step_fd, handle_step},     {get_watch_fd, handle_watch},         {get_signal_fd, handle_signals},
    {get_alarm_fd, handle_alarm},   {get_endpoints_fd, handle_endpoints}, {get_control_fd, handle_control},
    {get_health_fd, handle_health}, {get_followed_fd, handle_followed},   {get_launcher_fd, handle_launcher},
};
#define DESCRIPTORS (sizeof descriptors / sizeof descriptors[0])

int cfr_daemon_turn(struct cfr_daemon *a, struct cfr_err *err)
{
    struct pollfd fds[DESCRIPTORS];
    int rc;

    for (size_t i = 0; i < DESCRIPTORS; i++)
        fds[i] = (struct pollfd){descriptors[i].fd(a), POLLIN, 0};
    arm(a);
    rc = cfr_http_step(a->host.http, fds, DESCRIPTORS, wait_ms(a), err);
    if (rc != 0)
        return rc;
    cfr_worker_serve_queue(&a->host);
    for (size_t i = 0; i < DESCRIPTORS; i++)
        descriptors[i].handle(a, fds[i].revents != 0);
    return 0;
}
