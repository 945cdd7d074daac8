/* SPDX-License-Identifier: MIT */
/* In the launcher: the lists of commands, and the child that reads the configuration for a new one. A file that breaks
 * a parser, or a disk that hangs, stops the child only. */
#include "agent/loop/launcher_private.h"

#include "agent/loop/clock.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#define WAIT_MS   1000  /* our end waits meanwhile, with everything else */
#define READ_MS   30000 /* one that takes longer hangs, and is ended for the next one */
#define READ_MAX  65536
#define TOO_LARGE "the list of its commands is too large"
#define PARTIAL   2 /* exit status of a child whose list is incomplete */

/* ---- the child ---- */

static bool write_whole(int fd, struct cfr_view bytes)
{
    while (bytes.n != 0) {
        ssize_t n = write(fd, bytes.p, bytes.n);

        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return false;
        bytes.p += n;
        bytes.n -= (size_t)n;
    }
    return true;
}

static int child_fd = -1;
static bool partial;

void cfr_launcher_list_send(struct cfr_secret *list)
{
    if (child_fd >= 0 && write_whole(child_fd, cfr_secret_view(list)))
        cfr_secret_clear(list);
}

void cfr_launcher_list_is_partial(void)
{
    partial = true;
}

/* Writes the list and exits with 0 or PARTIAL, or writes an error's text and exits with 1. */
static void run(const struct cfr_launcher_reader *r, int fd)
{
    struct cfr_secret list;
    struct cfr_err err = {0};
    int rc;

    (void)prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
    (void)prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
    child_fd = fd;
    cfr_secret_init(&list, CFR_LAUNCHER_LIST_MAX);
    rc = r->read(r->ctx, &list, &err);
    if (!write_whole(fd, rc == 0 ? cfr_secret_view(&list) : cfr_view_of(err.text)))
        rc = CFR_E_IO;
    cfr_secret_free(&list);
    _exit(rc != 0 ? 1 : partial ? PARTIAL : 0);
}

/* ---- the launcher ---- */

static void start(struct cfr_launcher_reader *r, bool reloads)
{
    int ends[2];
    pid_t pid = -1;

    r->why[0] = '\0';
    if (pipe2(ends, O_CLOEXEC) == 0) {
        pid = fork();
        if (pid == 0) {
            (void)close(ends[0]);
            run(r, ends[1]);
        }
        (void)close(ends[1]);
        if (pid < 0)
            (void)close(ends[0]);
    }
    if (pid < 0) {
        (void)snprintf(r->why, sizeof r->why, "cannot start a process for it: %s", strerror(errno));
        return;
    }
    (void)fcntl(ends[0], F_SETFL, O_NONBLOCK);
    r->pid = pid;
    r->fd = ends[0];
    r->started_boot_ms = cfr_clock_now().boot_ms;
    r->reloads = reloads;
    r->late = false;
    cfr_secret_free(&r->got);
    cfr_secret_init(&r->got, CFR_LAUNCHER_LIST_MAX);
}

static void forget(struct cfr_launcher_reader *r)
{
    (void)close(r->fd);
    r->pid = 0;
    r->fd = -1;
    cfr_secret_free(&r->got);
}

/* One that hangs in the kernel is reaped later. */
static void end(struct cfr_launcher_reader *r)
{
    (void)kill(r->pid, SIGKILL);
    forget(r);
}

/* Adds to a partial list what the list that it replaces has. False without room. */
static bool add_known(struct cfr_launcher_reader *r)
{
    return (!r->reloads || cfr_launcher_list_merge(&r->got, cfr_secret_view(&r->loaded))) &&
           cfr_launcher_list_merge(&r->got, cfr_secret_view(&r->newer));
}

/* The child has closed its end. */
static void finish(struct cfr_launcher_reader *r)
{
    int status = 0;
    int exited = waitpid(r->pid, &status, 0) == r->pid && WIFEXITED(status) ? WEXITSTATUS(status) : -1;
    bool done = exited == 0 || exited == PARTIAL;
    bool fits = exited != PARTIAL || add_known(r);

    if (done && fits && r->reloads)
        cfr_secret_free(&r->newer);
    if (!fits)
        (void)snprintf(r->why, sizeof r->why, TOO_LARGE);
    else if (done)
        cfr_secret_move(r->reloads ? &r->loaded : &r->newer, &r->got);
    else if (WIFSIGNALED(status))
        (void)snprintf(r->why, sizeof r->why, "the process that reads it was ended by signal %d", WTERMSIG(status));
    else
        (void)snprintf(r->why, sizeof r->why, "%.*s",
                       (int)(r->got.len < sizeof r->why ? r->got.len : sizeof r->why - 1),
                       r->got.len != 0 ? r->got.p : "unknown error");
    forget(r);
}

void cfr_launcher_reader_collect(struct cfr_launcher_reader *r)
{
    char *to = cfr_secret_reserve(&r->got, READ_MAX, NULL);
    ssize_t n = to != NULL ? read(r->fd, to, READ_MAX) : -1;

    if (to == NULL) {
        (void)snprintf(r->why, sizeof r->why, TOO_LARGE);
        end(r);
    } else if (n > 0) {
        cfr_secret_grown(&r->got, (size_t)n);
    } else if (n == 0 || (errno != EAGAIN && errno != EINTR)) {
        finish(r);
    }
}

static bool is_known(const struct cfr_launcher_reader *r, const struct cfr_launcher_command *head, const char *words)
{
    return cfr_launcher_list_has(cfr_secret_view(&r->loaded), head, words) ||
           cfr_launcher_list_has(cfr_secret_view(&r->newer), head, words) ||
           cfr_launcher_list_has(cfr_secret_view(&r->got), head, words);
}

/* True once the command is known, or no child is reading. */
static bool wait_for(struct cfr_launcher_reader *r, const struct cfr_launcher_command *head, const char *words)
{
    int64_t end_ms = cfr_clock_now().boot_ms + (r->late ? 0 : WAIT_MS);

    while (r->pid != 0 && !is_known(r, head, words)) {
        struct pollfd p = {.fd = r->fd, .events = POLLIN};
        int64_t left_ms = end_ms - cfr_clock_now().boot_ms;

        if (poll(&p, 1, left_ms > 0 ? (int)left_ms : 0) > 0) {
            cfr_launcher_reader_collect(r);
        } else if (left_ms <= 0) {
            r->late = true;
            return false;
        }
    }
    return true;
}

static void end_hung(struct cfr_launcher_reader *r)
{
    if (r->pid != 0 && cfr_clock_now().boot_ms - r->started_boot_ms > READ_MS)
        end(r);
    while (r->pid == 0 && waitpid(-1, NULL, WNOHANG) > 0)
        continue;
}

void cfr_launcher_reader_reload(struct cfr_launcher_reader *r)
{
    /* What it has read may be from before the change. */
    if (r->pid != 0)
        end(r);
    end_hung(r);
    start(r, true);
}

enum cfr_launcher_verdict cfr_launcher_reader_judge(struct cfr_launcher_reader *r,
                                                    const struct cfr_launcher_command *head, const char *words)
{
    bool fresh = false;

    end_hung(r);
    while (!is_known(r, head, words)) {
        if (fresh)
            return r->why[0] != '\0' ? CFR_LAUNCHER_UNREADABLE : CFR_LAUNCHER_UNKNOWN;
        /* One that is reading already may have read what has changed since. */
        fresh = r->pid == 0;
        if (fresh)
            start(r, false);
        if (!wait_for(r, head, words))
            return CFR_LAUNCHER_BUSY;
    }
    return CFR_LAUNCHER_ALLOWED;
}
