/* SPDX-License-Identifier: MIT */
/* The watcher's events. The directory is watched, never a file or `..data`, whose watches would end at the first swap.
 * Each watch is added again before each check of the directory: this shows at once whether the path leads to another
 * directory by now, and no change can be missed in between. */
#include "events.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/inotify.h>
#include <sys/timerfd.h>
#include <sys/vfs.h>
#include <time.h>
#include <unistd.h>

#define GONE          (IN_DELETE_SELF | IN_MOVE_SELF | IN_IGNORED | IN_UNMOUNT)
#define PARENT_EVENTS (IN_CREATE | IN_MOVED_TO | IN_DELETE_SELF | IN_MOVE_SELF | IN_ONLYDIR)
#define OWN_EVENTS    (PARENT_EVENTS | IN_DELETE | IN_MOVED_FROM | IN_CLOSE_WRITE)
#define READS_MAX     64
#define CLIMB_TRIES   16

static int poll_for(int epoll_fd, int fd)
{
    struct epoll_event ev = {.events = EPOLLIN};

    return epoll_ctl(epoll_fd, EPOLL_CTL_ADD, fd, &ev);
}

static int timer_new(void)
{
    /* It goes on while the machine sleeps, since so do the credentials. */
    int fd = timerfd_create(CLOCK_BOOTTIME, TFD_NONBLOCK | TFD_CLOEXEC);

    return fd >= 0 || errno != EINVAL ? fd : timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK | TFD_CLOEXEC);
}

int cfl_events_open(struct cfl_events *ev, bool poll_only, struct cfl_error *e)
{
    *ev = (struct cfl_events){.inotify_fd = -1, .directory_wd = -1, .parent_wd = -1, .poll_only = poll_only};
    ev->mode = CREDFRESH_MODE_POLLING;
    ev->timer_fd = timer_new();
    ev->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
    if (ev->timer_fd >= 0 && ev->epoll_fd >= 0 && poll_for(ev->epoll_fd, ev->timer_fd) == 0)
        return 0;
    (void)cfl_fail_errno(e, errno, "no descriptor for the timer or for epoll");
    cfl_events_close(ev);
    return e->code;
}

static void close_one(int *fd)
{
    if (*fd >= 0)
        (void)close(*fd);
    *fd = -1;
}

void cfl_events_close(struct cfl_events *ev)
{
    close_one(&ev->inotify_fd);
    close_one(&ev->timer_fd);
    close_one(&ev->epoll_fd);
}

int cfl_events_reopen(struct cfl_events *ev, struct cfl_error *e)
{
    struct cfl_events own;
    int rc = cfl_events_open(&own, ev->poll_only, e);

    if (rc != 0)
        return rc;
    if (dup3(own.epoll_fd, ev->epoll_fd, O_CLOEXEC) < 0) {
        rc = cfl_fail_errno(e, errno, "no separate descriptor for the child");
        cfl_events_close(&own);
        return rc;
    }
    (void)close(own.epoll_fd);
    own.epoll_fd = ev->epoll_fd;
    own.overflows = ev->overflows;
    close_one(&ev->timer_fd);
    close_one(&ev->inotify_fd);
    *ev = own;
    return 0;
}

static void polls(struct cfl_events *ev, const char *reason)
{
    ev->mode = CREDFRESH_MODE_POLLING;
    (void)snprintf(ev->reason, sizeof ev->reason, "%s", reason);
}

static void forget(struct cfl_events *ev, int *wd)
{
    if (*wd >= 0)
        (void)inotify_rm_watch(ev->inotify_fd, *wd);
    *wd = -1;
}

static bool start(struct cfl_events *ev)
{
    if (ev->poll_only) {
        polls(ev, "it was asked to");
        return false;
    }
    if (ev->inotify_fd >= 0)
        return true;
    ev->inotify_fd = inotify_init1(IN_NONBLOCK | IN_CLOEXEC);
    if (ev->inotify_fd >= 0 && poll_for(ev->epoll_fd, ev->inotify_fd) == 0)
        return true;
    if (errno == EMFILE)
        polls(ev, "this user's inotify instances are used up: raise the sysctl fs.inotify.max_user_instances (or the "
                  "limit of "
                  "open files)");
    else
        (void)snprintf(ev->reason, sizeof ev->reason, "inotify does not start (errno %d)", errno);
    ev->mode = CREDFRESH_MODE_POLLING;
    close_one(&ev->inotify_fd);
    return false;
}

/* File systems whose changes may be made by others than this kernel, which then says nothing. */
static bool is_remote(const char *path)
{
    static const unsigned long types[] = {
        0x6969 /* NFS */,      0xFF534D42 /* CIFS */, 0xFE534D42 /* SMB2 */, 0x01021997 /* 9P */,
        0x65735546 /* FUSE */, 0x00C36400 /* Ceph */, 0x5346414F /* AFS */,  0x0BD00BD0 /* Lustre */};
    struct statfs fs;

    if (statfs(path, &fs) != 0)
        return false;
    for (size_t i = 0; i < sizeof types / sizeof *types; i++)
        if (((unsigned long)fs.f_type & 0xFFFFFFFFUL) == types[i])
            return true;
    return false;
}

/* Watches the longest prefix of PATH that exists. Returns false if something appeared meanwhile. */
static bool watch_parent(struct cfl_events *ev, const char *path)
{
    char prefix[PATH_MAX];
    size_t end = strlen(path);
    int wd = -1;

    (void)snprintf(prefix, sizeof prefix, "%s", path);
    while (wd < 0 && end > 1) {
        size_t after = end;

        while (end > 0 && prefix[end - 1] != '/')
            end--;
        (void)snprintf(ev->awaited, sizeof ev->awaited, "%.*s", (int)(after - end), path + end);
        while (end > 1 && prefix[end - 1] == '/')
            end--;
        prefix[end] = '\0';
        wd = inotify_add_watch(ev->inotify_fd, prefix, PARENT_EVENTS);
    }
    if (wd != ev->parent_wd)
        forget(ev, &ev->parent_wd);
    ev->parent_wd = wd;
    if (wd < 0) {
        polls(ev, "there is no such directory, and its parent cannot be watched");
        return true;
    }
    ev->mode = CREDFRESH_MODE_EVENTS;
    ev->reason[0] = '\0';
    (void)snprintf(prefix + end, sizeof prefix - end, "%s%s", prefix[end - 1] == '/' ? "" : "/", ev->awaited);
    return access(prefix, F_OK) != 0;
}

static void watched(struct cfl_events *ev, const char *path, int wd)
{
    if (wd != ev->directory_wd)
        forget(ev, &ev->directory_wd);
    ev->directory_wd = wd;
    forget(ev, &ev->parent_wd);
    if (is_remote(path)) {
        polls(ev, "it is on a file system that does not report every change (NFS, SMB, 9P, FUSE ...)");
        return;
    }
    ev->mode = CREDFRESH_MODE_EVENTS;
    ev->reason[0] = '\0';
}

void cfl_events_watch(struct cfl_events *ev, const char *path)
{
    if (!start(ev))
        return;
    for (int i = 0; i < CLIMB_TRIES; i++) {
        int wd = inotify_add_watch(ev->inotify_fd, path, OWN_EVENTS);
        int error = errno;

        if (wd >= 0) {
            watched(ev, path, wd);
            return;
        }
        forget(ev, &ev->directory_wd);
        if (error == ENOSPC) {
            polls(ev, "this user's inotify watches are used up: raise the sysctl fs.inotify.max_user_watches");
            return;
        }
        if (error != ENOENT && error != ENOTDIR) {
            polls(ev, error == EACCES ? "the directory may not be read, which inotify needs"
                                      : "inotify refuses the directory");
            return;
        }
        if (watch_parent(ev, path))
            return;
    }
}

/* Only the link `..data` matters where there is one; elsewhere all but what is on its way to become it. */
static unsigned check_name(const char *name, int kind)
{
    if (strcmp(name, "..data") == 0)
        return CFL_LOOK;
    return kind == CREDFRESH_KIND_SWAPPED || strncmp(name, "..", 2) == 0 ? 0 : CFL_LOOK | CFL_FORCE;
}

static unsigned classify_event(struct cfl_events *ev, const struct inotify_event *event, int kind)
{
    if ((event->mask & IN_Q_OVERFLOW) != 0) {
        ev->overflows++;
        return CFL_LOOK | CFL_FORCE;
    }
    if (event->wd != ev->directory_wd && event->wd != ev->parent_wd)
        return 0; /* one that was given up */
    if ((event->mask & IN_IGNORED) != 0) {
        if (event->wd == ev->directory_wd)
            ev->directory_wd = -1;
        else
            ev->parent_wd = -1;
    }
    if ((event->mask & GONE) != 0)
        return CFL_LOOK;
    if (event->len == 0)
        return 0;
    if (event->wd == ev->parent_wd)
        return strcmp(event->name, ev->awaited) == 0 ? CFL_LOOK : 0;
    return check_name(event->name, kind);
}

unsigned cfl_events_drain(struct cfl_events *ev, int kind)
{
    _Alignas(struct inotify_event) char buffer[4096];
    uint64_t expirations;
    unsigned what = read(ev->timer_fd, &expirations, sizeof expirations) > 0 ? CFL_LOOK : 0;

    for (int i = 0; ev->inotify_fd >= 0 && i < READS_MAX; i++) {
        ssize_t n = read(ev->inotify_fd, buffer, sizeof buffer);

        if (n <= 0)
            break;
        for (ssize_t at = 0; at < n;) {
            const struct inotify_event *event = (const struct inotify_event *)(const void *)(buffer + at);

            what |= classify_event(ev, event, kind);
            at += (ssize_t)(sizeof *event + event->len);
        }
    }
    return what;
}

void cfl_events_arm(const struct cfl_events *ev, unsigned ms)
{
    struct itimerspec when = {.it_value = {.tv_sec = (time_t)(ms / 1000), .tv_nsec = (long)(ms % 1000) * 1000000}};

    (void)timerfd_settime(ev->timer_fd, 0, &when, NULL);
}
