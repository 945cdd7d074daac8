/* SPDX-License-Identifier: MIT */
/* The loop: a pairing heap of the tasks that have a time, a list of those that are due, and a table of descriptors. */
#include "agent/loop/loop.h"

#include "agent/loop/clock.h"
#include "agent/loop/process.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/timerfd.h>
#include <time.h>
#include <unistd.h>

#define DUE (-1) /* the time of a task in a list; 0 is an idle one */

static struct {
    struct cfr_task *heap; /* the earliest; each task lists those that are not earlier as its children */
    struct cfr_task due;   /* head of the list, in the order in which they run */
    struct pollfd *fds;
    struct cfr_task **owners; /* of FDS; NULL: that place is free from the next turn on */
    size_t count;
    size_t room; /* both are freed when there are no more descriptors */
    struct cfr_child *children;
    struct cfr_task alarm; /* without RUN while there is none */
    int alarm_fd;
    int64_t armed_boot_ms;
} loop = {.due = {.next = &loop.due, .previous = &loop.due}};

/* ---- the heap ---- */

/* Either may be NULL; the earlier one becomes the parent. */
static struct cfr_task *merge(struct cfr_task *a, struct cfr_task *b)
{
    if (a == NULL || (b != NULL && b->at_boot_ms < a->at_boot_ms)) {
        struct cfr_task *later = a;

        a = b;
        b = later;
    }
    if (b == NULL)
        return a;
    b->previous = a;
    b->next = a->child;
    if (b->next != NULL)
        b->next->previous = b;
    a->child = b;
    return a;
}

/* Merges siblings, of which FIRST is the first, in pairs, and then the pairs. */
static struct cfr_task *merge_siblings(struct cfr_task *first)
{
    struct cfr_task *pairs = NULL;
    struct cfr_task *all = NULL;

    while (first != NULL) {
        struct cfr_task *a = first;
        struct cfr_task *b = a->next;
        struct cfr_task *pair;

        first = b != NULL ? b->next : NULL;
        a->next = a->previous = NULL;
        if (b != NULL)
            b->next = b->previous = NULL;
        pair = merge(a, b);
        pair->next = pairs;
        pairs = pair;
    }
    while (pairs != NULL) {
        struct cfr_task *pair = pairs;

        pairs = pair->next;
        pair->next = NULL;
        all = merge(all, pair);
    }
    return all;
}

static void leave_heap(struct cfr_task *t)
{
    struct cfr_task *below = merge_siblings(t->child);

    t->child = NULL;
    if (t == loop.heap) {
        loop.heap = below;
    } else {
        if (t->previous->child == t)
            t->previous->child = t->next;
        else
            t->previous->next = t->next;
        if (t->next != NULL)
            t->next->previous = t->previous;
        loop.heap = merge(loop.heap, below);
    }
}

/* ---- the list ---- */

static void append(struct cfr_task *head, struct cfr_task *t)
{
    t->at_boot_ms = DUE;
    t->previous = head->previous;
    t->next = head;
    t->previous->next = t;
    head->previous = t;
}

static void leave_list(struct cfr_task *t)
{
    t->previous->next = t->next;
    t->next->previous = t->previous;
}

/* Moves what FROM lists to the front of TO. */
static void splice(struct cfr_task *from, struct cfr_task *to)
{
    if (from->next == from)
        return;
    from->previous->next = to->next;
    to->next->previous = from->previous;
    from->next->previous = to;
    to->next = from->next;
    from->next = from->previous = from;
}

/* ---- tasks ---- */

static void unset(struct cfr_task *t)
{
    if (t->at_boot_ms == DUE)
        leave_list(t);
    else if (t->at_boot_ms != 0)
        leave_heap(t);
    t->at_boot_ms = 0;
    t->next = t->previous = NULL;
}

void cfr_loop_at(struct cfr_task *t, int64_t at_boot_ms)
{
    unset(t);
    if (at_boot_ms == INT64_MAX || t->run == NULL)
        return;
    if (at_boot_ms <= 0) {
        append(&loop.due, t);
        return;
    }
    t->at_boot_ms = at_boot_ms;
    loop.heap = merge(loop.heap, t);
}

void cfr_loop_by(struct cfr_task *t, int64_t at_boot_ms)
{
    if (at_boot_ms < cfr_loop_time(t))
        cfr_loop_at(t, at_boot_ms);
}

void cfr_loop_soon(struct cfr_task *t)
{
    cfr_loop_by(t, 0);
}

void cfr_loop_off(struct cfr_task *t)
{
    unset(t);
    (void)cfr_loop_fd(t, -1, NULL);
}

int64_t cfr_loop_time(const struct cfr_task *t)
{
    return t->at_boot_ms == 0 ? INT64_MAX : t->at_boot_ms == DUE ? 0 : t->at_boot_ms;
}

int64_t cfr_loop_next(void)
{
    if (loop.due.next != &loop.due)
        return 0;
    return loop.heap != NULL ? loop.heap->at_boot_ms : INT64_MAX;
}

/* ---- descriptors ---- */

static bool make_room(void)
{
    size_t room = loop.room == 0 ? 16 : loop.room * 2;
    struct pollfd *fds;
    struct cfr_task **owners;

    if (loop.count < loop.room)
        return true;
    fds = realloc(loop.fds, room * sizeof *fds);
    if (fds != NULL)
        loop.fds = fds;
    owners = realloc(loop.owners, room * sizeof(struct cfr_task *));
    if (owners != NULL)
        loop.owners = owners;
    if (fds == NULL || owners == NULL)
        return false;
    loop.room = room;
    return true;
}

int cfr_loop_fd(struct cfr_task *t, int fd, struct cfr_err *err)
{
    for (size_t i = 0; i < loop.count; i++) {
        if (loop.owners[i] == t)
            loop.owners[i] = NULL;
    }
    while (loop.count != 0 && loop.owners[loop.count - 1] == NULL)
        loop.count--;
    if (fd >= 0) {
        if (!make_room())
            return cfr_err_nomem(err);
        loop.fds[loop.count] = (struct pollfd){fd, POLLIN, 0};
        loop.owners[loop.count++] = t;
    } else if (loop.count == 0) {
        free(loop.fds);
        free(loop.owners);
        loop.fds = NULL;
        loop.owners = NULL;
        loop.room = 0;
    }
    return 0;
}

/* ---- children ---- */

void cfr_loop_child(struct cfr_child *c, pid_t pid, struct cfr_task *task)
{
    cfr_loop_child_off(c);
    *c = (struct cfr_child){pid, task, loop.children};
    loop.children = c;
}

void cfr_loop_child_off(struct cfr_child *c)
{
    struct cfr_child **at = &loop.children;

    while (*at != NULL && *at != c)
        at = &(*at)->next;
    if (*at != NULL)
        *at = c->next;
    *c = (struct cfr_child){0};
}

void cfr_loop_children(void)
{
    struct cfr_child **at = &loop.children;

    while (*at != NULL) {
        struct cfr_child *c = *at;

        if (!cfr_process_has_ended(c->pid)) {
            at = &c->next;
            continue;
        }
        cfr_loop_soon(c->task);
        *at = c->next;
        *c = (struct cfr_child){0};
    }
}

/* ---- turns ---- */

/* At loop.armed_boot_ms; INT64_MAX disarms it. */
static void arm(void)
{
    struct itimerspec spec = {0};

    if (loop.armed_boot_ms != INT64_MAX) {
        /* An all-zero time would disarm. */
        int64_t at = loop.armed_boot_ms < 1 ? 1 : loop.armed_boot_ms;

        spec.it_value.tv_sec = (time_t)(at / 1000);
        spec.it_value.tv_nsec = (long)(at % 1000) * 1000000;
    }
    (void)timerfd_settime(loop.alarm_fd, TFD_TIMER_ABSTIME, &spec, NULL);
}

/* It rings once; by another clock the time that it was set to may still be ahead. */
static void on_alarm(struct cfr_task *t)
{
    uint64_t count;
    ssize_t ignored = read(loop.alarm_fd, &count, sizeof count);

    (void)t;
    (void)ignored;
    loop.armed_boot_ms = INT64_MIN;
}

int cfr_loop_open_alarm(struct cfr_err *err)
{
    int rc;

    loop.alarm_fd = timerfd_create(CLOCK_BOOTTIME, TFD_CLOEXEC | TFD_NONBLOCK);
    if (loop.alarm_fd < 0)
        return cfr_err_sys(err, errno, "cannot make a timer");
    loop.armed_boot_ms = INT64_MIN;
    loop.alarm.run = on_alarm;
    rc = cfr_loop_fd(&loop.alarm, loop.alarm_fd, err);
    if (rc != 0)
        cfr_loop_close_alarm();
    return rc;
}

void cfr_loop_close_alarm(void)
{
    if (loop.alarm.run != NULL)
        (void)close(loop.alarm_fd);
    cfr_loop_off(&loop.alarm);
    loop.alarm.run = NULL;
}

size_t cfr_loop_prepare(struct pollfd **fds)
{
    size_t count = 0;

    for (size_t i = 0; i < loop.count; i++) {
        if (loop.owners[i] == NULL)
            continue;
        loop.owners[count] = loop.owners[i];
        loop.fds[count++] = loop.fds[i];
    }
    loop.count = count;
    *fds = loop.fds;
    /* Most turns leave the time of the next task as it is. */
    if (loop.alarm.run != NULL && cfr_loop_next() != loop.armed_boot_ms) {
        loop.armed_boot_ms = cfr_loop_next();
        arm();
    }
    return count;
}

void cfr_loop_run(int64_t now_boot_ms)
{
    struct cfr_task batch = {.next = &batch, .previous = &batch};
    int64_t began_boot_ms;

    while (loop.heap != NULL && loop.heap->at_boot_ms <= now_boot_ms) {
        struct cfr_task *t = loop.heap;

        leave_heap(t);
        append(&loop.due, t);
    }
    splice(&loop.due, &batch);
    for (size_t i = 0; i < loop.count; i++) {
        if (loop.owners[i] != NULL && loop.fds[i].revents != 0)
            loop.owners[i]->run(loop.owners[i]);
    }
    /* Only from now on: descriptors that are busy in each turn must not take the time of what is due. */
    began_boot_ms = cfr_clock_now().boot_ms;
    while (batch.next != &batch && cfr_clock_now().boot_ms - began_boot_ms <= CFR_LOOP_TURN_MS) {
        struct cfr_task *t = batch.next;

        unset(t);
        t->run(t);
    }
    splice(&batch, &loop.due);
}
