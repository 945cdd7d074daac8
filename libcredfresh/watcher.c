/* SPDX-License-Identifier: MIT */
/* The watcher: connects the descriptor, the directory and the snapshots. */
#include "events.h"
#include "options.h"
#include "snapshot.h"
#include "volume.h"

#include <errno.h>
#include <poll.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define RETRY_MS 100
/* In the number of a thread that only copies the status; numbers of threads are smaller. */
#define STATUS_MARK UINT64_C(0x80000000)
#define STATUS_NS   20000

struct credfresh {
    struct cfl_core *core; /* the only member that other threads read, with user */
    _Atomic uint64_t user; /* the thread that dispatches: its process's and its own number, perhaps with STATUS_MARK; 0
                              for none */
    pid_t process;         /* whose descriptors these are */
    struct cfl_options options;
    struct cfl_events events;
    struct cfl_seen seen;
    struct cfl_error error; /* of the last check */
    uint64_t looks;
    unsigned retry_ms; /* until the next try after a failure; 0: the last check succeeded */
};

static uint64_t myself(void)
{
    return (uint64_t)(uint32_t)getpid() << 32 | (uint32_t)syscall(SYS_gettid);
}

/* One thread at a time. What another thread of the parent was doing at a fork ends there: the child takes over. The
 * copy of a status is waited for, asleep, so that a thread of lower priority can finish it; a dispatch is not. */
static int enter(struct credfresh *w, uint64_t mark)
{
    uint64_t me = myself();
    uint64_t now = 0;

    while (
        !atomic_compare_exchange_weak_explicit(&w->user, &now, me | mark, memory_order_acquire, memory_order_relaxed)) {
        if (now == 0 || now >> 32 != me >> 32)
            continue;
        if ((now & STATUS_MARK) == 0 || (now & ~STATUS_MARK) == me)
            return CREDFRESH_E_BUSY;
        (void)nanosleep(&(struct timespec){0, STATUS_NS}, NULL);
        now = 0;
    }
    return 0;
}

static void leave(struct credfresh *w)
{
    atomic_store_explicit(&w->user, 0, memory_order_release);
}

static unsigned smaller(unsigned a, unsigned b)
{
    return a < b ? a : b;
}

/* Time of the next check without an event. */
static unsigned next_look_ms(struct credfresh *w, int rc)
{
    unsigned usual_ms = w->options.check_ms;

    if (w->events.mode == CREDFRESH_MODE_POLLING || w->seen.kind == CREDFRESH_KIND_NONE || w->seen.mounted || rc != 0)
        usual_ms = smaller(usual_ms, w->options.poll_ms);
    if (rc == 0 || rc == CREDFRESH_E_MISSING)
        w->retry_ms = 0;
    else
        w->retry_ms = w->retry_ms == 0 ? RETRY_MS : smaller(w->retry_ms * 2, usual_ms);
    return w->retry_ms == 0 ? usual_ms : smaller(w->retry_ms, usual_ms);
}

/* Makes FRESH, which it owns, the current one. Returns 1 if it did, 0 if it says nothing new. */
static int adopt(struct credfresh *w, struct credfresh_snapshot *fresh)
{
    const struct credfresh_snapshot *current = cfl_core_acquire(w->core);
    int same = cfl_snapshot_same(current, fresh);
    int rc = same ? 0 : cfl_core_publish(w->core, fresh);

    credfresh_release(current);
    if (same || rc != 0)
        cfl_snapshot_drop(fresh);
    if (rc == 0)
        return !same;
    w->seen.mark = 0;
    return cfl_fail(&w->error, rc, "%d older snapshots of %s are held: the program acquires and does not release them",
                    CREDFRESH_HELD_MAX, w->options.directory);
}

static void call(struct credfresh *w)
{
    const struct credfresh_snapshot *current;

    if (w->options.on_change == NULL)
        return;
    current = cfl_core_acquire(w->core);
    w->options.on_change(w, current, w->options.context);
    credfresh_release(current);
}

static int check_directory(struct credfresh *w, bool force)
{
    struct credfresh_snapshot *fresh = NULL;
    int rc;

    w->looks++;
    w->error = (struct cfl_error){.code = 0};
    cfl_events_watch(&w->events, w->options.directory);
    rc = cfl_volume_read(&w->options.wanted, force, &w->seen, &fresh, &w->error);
    if (rc == 0 && fresh != NULL)
        rc = adopt(w, fresh);
    cfl_events_arm(&w->events, next_look_ms(w, rc < 0 ? rc : 0));
    return rc;
}

static int take_over(struct credfresh *w)
{
    struct cfl_error e = {.code = 0};
    int rc = cfl_events_reopen(&w->events, &e);

    if (rc == 0)
        w->process = getpid();
    else
        w->error = e;
    return rc;
}

static int dispatch(struct credfresh *w)
{
    unsigned what = CFL_LOOK;
    int rc = 0;

    if (w->process != getpid())
        rc = take_over(w);
    else
        what = cfl_events_drain(&w->events, w->seen.kind);
    if (rc == 0 && what != 0)
        rc = check_directory(w, (what & CFL_FORCE) != 0);
    if (rc == 1)
        call(w);
    return rc;
}

int credfresh_dispatch(struct credfresh *w)
{
    int rc = enter(w, 0);

    if (rc != 0)
        return rc;
    rc = dispatch(w);
    leave(w);
    return rc;
}

int credfresh_after_fork(struct credfresh *w)
{
    int rc = enter(w, 0);

    if (rc != 0)
        return rc;
    if (w->process != getpid())
        rc = dispatch(w);
    leave(w);
    return rc;
}

static int64_t now_ms(void)
{
    struct timespec t;

    (void)clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

int credfresh_wait(struct credfresh *w, int timeout_ms)
{
    int64_t deadline = timeout_ms < 0 ? INT64_MAX : now_ms() + timeout_ms;

    for (;;) {
        int rc = credfresh_dispatch(w);
        int64_t left = deadline == INT64_MAX ? -1 : deadline - now_ms();
        struct pollfd p = {.fd = w->events.epoll_fd, .events = POLLIN};

        if (rc == 1 || rc == CREDFRESH_E_BUSY || w->process != getpid())
            return rc;
        if (deadline != INT64_MAX && left < 0)
            return 0;
        rc = poll(&p, 1, left > 0x7fffffff ? 0x7fffffff : (int)left);
        if (rc < 0)
            return errno == EINTR ? 0 : CREDFRESH_E_IO;
    }
}

int credfresh_open(struct credfresh **w, const char *directory, const struct credfresh_options *options, char *text,
                   size_t text_size)
{
    struct cfl_error e = {.code = 0};
    struct credfresh *own;
    int rc;

    if (w == NULL)
        return CREDFRESH_E_INVALID;
    *w = NULL;
    own = calloc(1, sizeof *own);
    if (own == NULL)
        return cfl_report(&(struct cfl_error){CREDFRESH_E_NOMEM, "out of memory"}, text, text_size);
    own->events = (struct cfl_events){.epoll_fd = -1, .timer_fd = -1, .inotify_fd = -1};
    own->process = getpid();
    own->core = cfl_core_new();
    rc = own->core == NULL ? cfl_fail(&e, CREDFRESH_E_NOMEM, "out of memory")
                           : cfl_options_copy(directory, options, &own->options, &e);
    if (rc == 0)
        rc = cfl_events_open(&own->events, (own->options.flags & CREDFRESH_POLL_ONLY) != 0, &e);
    if (rc != 0) {
        credfresh_close(own);
        return cfl_report(&e, text, text_size);
    }
    (void)check_directory(own, false);
    *w = own;
    return 0;
}

void credfresh_close(struct credfresh *w)
{
    if (w == NULL)
        return;
    if (w->core != NULL)
        cfl_core_close(w->core);
    cfl_events_close(&w->events);
    cfl_options_free(&w->options);
    free(w);
}

int credfresh_fd(const struct credfresh *w)
{
    return w->events.epoll_fd;
}

uint64_t credfresh_sequence(const struct credfresh *w)
{
    return cfl_core_sequence(w->core);
}

int credfresh_changed(const struct credfresh *w, uint64_t sequence)
{
    return cfl_core_sequence(w->core) != sequence;
}

const struct credfresh_snapshot *credfresh_acquire(struct credfresh *w)
{
    return cfl_core_acquire(w->core);
}

static void describe(struct credfresh *w, struct credfresh_status *s)
{
    const struct credfresh_snapshot *current = cfl_core_acquire(w->core);

    s->mode = w->events.mode;
    s->kind = w->seen.kind;
    s->error = w->error.code;
    s->sequence = current != NULL ? credfresh_snapshot_sequence(current) : 0;
    s->generation = current != NULL ? credfresh_snapshot_generation(current) : 0;
    s->looks = w->looks;
    s->torn = w->seen.torn;
    s->overflows = w->events.overflows;
    credfresh_release(current);
    (void)snprintf(s->mode_reason, sizeof s->mode_reason, "%s", w->events.reason);
    (void)snprintf(s->error_text, sizeof s->error_text, "%s", w->error.text);
    if (w->seen.mounted && w->events.mode == CREDFRESH_MODE_EVENTS) {
        s->mode = CREDFRESH_MODE_POLLING;
        (void)snprintf(s->mode_reason, sizeof s->mode_reason,
                       "a file in it is a separate mount, whose changes cause no event of the directory");
    }
    if (w->seen.kind == CREDFRESH_KIND_FROZEN && w->error.code == 0)
        (void)snprintf(
            s->error_text, sizeof s->error_text,
            "%.250s is a subPath mount, or has one in it: it never changes while the container runs; mount the whole "
            "volume instead",
            w->options.directory);
}

int credfresh_status(struct credfresh *w, struct credfresh_status *status)
{
    struct credfresh_status s = {.struct_size = status->struct_size};
    int rc;

    if (status->struct_size < offsetof(struct credfresh_status, looks))
        return CREDFRESH_E_INVALID;
    rc = enter(w, STATUS_MARK);
    if (rc != 0 && atomic_load_explicit(&w->user, memory_order_relaxed) != myself())
        return rc;
    describe(w, &s);
    if (rc == 0)
        leave(w);
    memcpy(status, &s, s.struct_size < sizeof s ? s.struct_size : sizeof s);
    return 0;
}
