/* SPDX-License-Identifier: MIT */
/* Watches directories with libinotifytools, working around what it does not offer. */
#include "watch.h"

#include <errno.h>
#include <fcntl.h>
#include <inotifytools/inotifytools.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/mman.h>
#include <sys/select.h>
#include <sys/stat.h>
#include <unistd.h>

#define CFW_EVENTS                                                                                                     \
    (IN_CREATE | IN_DELETE | IN_MOVED_FROM | IN_MOVED_TO | IN_MODIFY | IN_CLOSE_WRITE | IN_ATTRIB | IN_DELETE_SELF |   \
     IN_MOVE_SELF)

/* The library waits in whole seconds only and reads many events at a time into a buffer that no caller can look
 * into. So we poll its descriptor ourselves, and to know when its buffer is drained we put a mark into the
 * queue: touching `bell`, a file that only we have, queues an event behind all that came before. */
static struct {
    int queue; /* the library's inotify descriptor */
    int bell;
    int bell_watch;
} watch = {.queue = -1, .bell = -1, .bell_watch = -1};

static int fail(const char *what)
{
    (void)fprintf(stderr, "credfresh-witness: cannot watch: %s: %s\n", what, strerror(errno));
    return -1;
}

/* The library does not tell its descriptor, but the kernel always hands out the lowest free one. */
static int learn_queue(void)
{
    int lowest = open("/dev/null", O_RDONLY | O_CLOEXEC);
    if (lowest < 0)
        return fail("/dev/null");
    (void)close(lowest);
    if (lowest >= FD_SETSIZE) {
        errno = EMFILE;
        return fail("too many descriptors were inherited");
    }
    if (!inotifytools_initialize()) {
        errno = inotifytools_error();
        return fail("inotify (see fs.inotify.max_user_instances)");
    }
    char path[32];
    char target[32] = "";
    (void)snprintf(path, sizeof path, "/proc/self/fd/%d", lowest);
    if (readlink(path, target, sizeof target - 1) < 0 || !strstr(target, "inotify"))
        return fail("the inotify descriptor is not where it should be");
    (void)fcntl(lowest, F_SETFD, FD_CLOEXEC);
    watch.queue = lowest;
    return 0;
}

static int hang_bell(void)
{
    char path[32];
    watch.bell = memfd_create("bell", MFD_CLOEXEC);
    if (watch.bell < 0)
        return fail("memfd");
    (void)snprintf(path, sizeof path, "/proc/self/fd/%d", watch.bell);
    if (!inotifytools_watch_file(path, IN_ATTRIB)) {
        errno = inotifytools_error();
        return fail("inotify (see fs.inotify.max_user_watches)");
    }
    watch.bell_watch = inotifytools_wd_from_filename(path);
    return watch.bell_watch < 0 ? fail("the bell has no watch") : 0;
}

int cfw_watch_open(void)
{
    return learn_queue() || hang_bell() ? -1 : 0;
}

int cfw_watch_add(const char *dir)
{
    char path[4096];
    /* The final slash makes the library keep the name as it is, so that it can be asked for below. */
    if ((size_t)snprintf(path, sizeof path, "%s/", dir) >= sizeof path) {
        errno = ENAMETOOLONG;
        return -1;
    }
    if (!inotifytools_watch_file(path, CFW_EVENTS | IN_ONLYDIR)) {
        errno = inotifytools_error();
        return -1;
    }
    return inotifytools_wd_from_filename(path);
}

unsigned cfw_watch_wait(int pause_ms, void (*lost)(void *context, int watch), void *context)
{
    struct pollfd queue = {.fd = watch.queue, .events = POLLIN};
    if (poll(&queue, 1, pause_ms) <= 0 || fchmod(watch.bell, 0600) != 0)
        return 0;
    unsigned n = 0;
    for (;;) {
        /* One second is never waited for: the bell has rung, unless the queue was full. */
        const struct inotify_event *event = inotifytools_next_event(1);
        if (!event || event->wd == watch.bell_watch || (event->mask & IN_Q_OVERFLOW))
            return n;
        n++;
        if (event->mask & (IN_IGNORED | IN_UNMOUNT | IN_MOVE_SELF | IN_DELETE_SELF))
            lost(context, event->wd);
    }
}

void cfw_watch_close(void)
{
    inotifytools_cleanup();
    if (watch.bell >= 0)
        (void)close(watch.bell);
    watch.bell = watch.queue = -1;
}
