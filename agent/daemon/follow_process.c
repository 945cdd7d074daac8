/* SPDX-License-Identifier: MIT */
/* Watching the process that the agent ends with. */
#include "agent/daemon/follow_process_private.h"

#include "agent/loop/process.h"
#include "base/log.h"
#include "files/file.h"

#include <poll.h>
#include <string.h>
#include <unistd.h>

#define LOOK_MS      250  /* until it is seen, or comes back */
#define LATE_LOOK_MS 1000 /* and after the first minute */
#define EARLY_MS     60000
#define TEXT_MAX     64

static const char *name_of(const struct cfr_config_exit *c)
{
    return c->process != NULL ? c->process : c->pid_file;
}

/* A file that was written since we began names a process that has run, however shortly. */
static bool is_news(const struct cfr_daemon_follow *x, const char *pid_file)
{
    struct cfr_secret text = {.limit = TEXT_MAX};
    struct cfr_file_origin origin = {.size = 0};

    /* Its writer may make it a link that leads to a file system that does not answer. */
    (void)cfr_file_read_foreign(pid_file, &text, &origin, NULL);
    cfr_secret_free(&text);
    return origin.size != 0 && origin.mtime_ns / 1000000 > x->begin.wall_ms;
}

static void forget_process(struct cfr_daemon_follow *x)
{
    cfr_loop_off(&x->task);
    if (x->pidfd >= 0)
        (void)close(x->pidfd);
    x->pidfd = -1;
}

static bool find(struct cfr_daemon_follow *x)
{
    const struct cfr_config_exit *c = x->config;
    struct cfr_err err = {0};
    pid_t pid;
    int rc = c->process != NULL ? cfr_process_open_name(c->process, &pid, &x->pidfd, &err)
                                : cfr_process_open_file(c->pid_file, &x->pidfd, &err);

    if (rc != 0)
        x->pidfd = -1;
    else
        rc = cfr_loop_fd(&x->task, x->pidfd, &err);
    if (rc != 0)
        forget_process(x);
    if (rc == CFR_E_PATH && !x->reported)
        cfr_log(CFR_LOG_WARN, NULL, NULL, "exit_with: %s", err.text);
    x->reported = rc == CFR_E_PATH;
    return rc == 0;
}

static bool has_ended(const struct cfr_daemon_follow *x)
{
    struct pollfd p = {x->pidfd, POLLIN, 0};

    return poll(&p, 1, 0) == 1;
}

static void check_process(struct cfr_daemon_follow *x, struct cfr_now now)
{
    const struct cfr_config_exit *c = x->config;
    bool early = now.boot_ms - x->begin.boot_ms < EARLY_MS;

    if (find(x)) {
        if (!x->seen)
            cfr_log(CFR_LOG_INFO, NULL, NULL, "%s runs: the agent ends when it has ended", name_of(c));
        x->seen = true;
        return;
    }
    if (!x->seen && c->pid_file != NULL && is_news(x, c->pid_file)) {
        x->seen = true;
        x->gone_boot_ms = now.boot_ms;
    }
    cfr_loop_at(&x->task, now.boot_ms + (early || x->seen ? LOOK_MS : LATE_LOOK_MS));
}

static void run(struct cfr_task *task)
{
    struct cfr_daemon_follow *x = CFR_TASK_OWNER(task, struct cfr_daemon_follow, task);
    struct cfr_now now = cfr_clock_now();

    if (x->pidfd >= 0) {
        if (!has_ended(x))
            return;
        x->gone_boot_ms = now.boot_ms;
        forget_process(x);
    }
    if (!*x->ended)
        check_process(x, now);
    if (*x->ended || x->pidfd >= 0 || !x->seen || now.boot_ms - x->gone_boot_ms < x->config->linger_ms)
        return;
    cfr_log(CFR_LOG_INFO, NULL, NULL, "%s has ended, and so does the agent", name_of(x->config));
    *x->ended = true;
    forget_process(x);
}

void cfr_daemon_follow(struct cfr_daemon_follow *x, const struct cfr_config_exit *c, bool *ended)
{
    const struct cfr_config_exit *before = x->config;

    x->config = c;
    /* It may have ended just before, and must not be waited for again. */
    if (c != NULL && before != NULL && cfr_view_same(c->process, before->process) &&
        cfr_view_same(c->pid_file, before->pid_file))
        return;
    forget_process(x);
    *x =
        (struct cfr_daemon_follow){.task.run = run, .config = c, .ended = ended, .pidfd = -1, .begin = cfr_clock_now()};
    if (c != NULL)
        cfr_loop_soon(&x->task);
}
