/* SPDX-License-Identifier: MIT */
/* Watching the process that the agent ends with. */
#include "agent/daemon/follow_process_private.h"

#include "agent/loop/process.h"
#include "base/log.h"
#include "files/file.h"

#include <poll.h>
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

static bool find(struct cfr_daemon_follow *x, const struct cfr_config_exit *c)
{
    struct cfr_err err = {0};
    pid_t pid;
    int rc = c->process != NULL ? cfr_process_open_name(c->process, &pid, &x->pidfd, &err)
                                : cfr_process_open_file(c->pid_file, &x->pidfd, &err);

    if (rc != 0)
        x->pidfd = -1;
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

static void check_process(struct cfr_daemon_follow *x, const struct cfr_config_exit *c, struct cfr_now now)
{
    if (find(x, c)) {
        if (!x->seen)
            cfr_log(CFR_LOG_INFO, NULL, NULL, "%s runs: the agent ends when it has ended", name_of(c));
        x->seen = true;
        x->next_boot_ms = INT64_MAX;
        return;
    }
    if (!x->seen && c->pid_file != NULL && is_news(x, c->pid_file)) {
        x->seen = true;
        x->gone_boot_ms = now.boot_ms;
    }
    x->next_boot_ms = now.boot_ms + (now.boot_ms - x->begin.boot_ms < EARLY_MS || x->seen ? LOOK_MS : LATE_LOOK_MS);
}

bool cfr_daemon_follow_step(struct cfr_daemon_follow *x, const struct cfr_config_exit *c, struct cfr_now now)
{
    if (c == NULL) {
        x->next_boot_ms = INT64_MAX;
        return false;
    }
    if (!x->began)
        x->begin = now;
    x->began = true;
    if (x->pidfd >= 0) {
        if (!has_ended(x))
            return false;
        (void)close(x->pidfd);
        x->pidfd = -1;
        x->gone_boot_ms = now.boot_ms;
        x->next_boot_ms = now.boot_ms;
    }
    if (now.boot_ms < x->next_boot_ms)
        return false;
    check_process(x, c, now);
    if (x->pidfd >= 0 || !x->seen || now.boot_ms - x->gone_boot_ms < c->linger_ms)
        return false;
    cfr_log(CFR_LOG_INFO, NULL, NULL, "%s has ended, and so does the agent", name_of(c));
    return true;
}

int64_t cfr_daemon_follow_deadline(const struct cfr_daemon_follow *x)
{
    return x->pidfd >= 0 ? INT64_MAX : x->next_boot_ms;
}

void cfr_daemon_follow_reset(struct cfr_daemon_follow *x)
{
    if (x->pidfd >= 0)
        (void)close(x->pidfd);
    *x = (struct cfr_daemon_follow){.pidfd = -1};
}
