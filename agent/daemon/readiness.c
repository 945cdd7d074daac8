/* SPDX-License-Identifier: MIT */
/* Readiness: whether everything that a supervised command needs is published and served. */
#include "agent/daemon/readiness.h"

#include "agent/daemon/daemon_private.h"

#include "agent/loop/sd_notify.h"
#include "base/log.h"
#include "base/time.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define LIST_BYTES 200 /* of names */
#define SETTLE_MS  1000
#define MAKING_MS  50 /* between two checks of files that a child writes */

static bool counts(const struct cfr_worker *w, const struct cfr_strings *wanted)
{
    if (wanted == NULL || wanted->count == 0)
        return cfr_worker_counts(w);
    for (size_t i = 0; i < wanted->count; i++) {
        if (strcmp(wanted->items[i], cfr_worker_config(w)->name) == 0)
            return true;
    }
    return false;
}

bool cfr_daemon_readiness_is_open(struct cfr_daemon *a, const struct cfr_strings *wanted)
{
    for (size_t k = 0; k < a->count; k++) {
        size_t i = (a->readiness.unready + k) % a->count;

        if (!counts(a->workers[i], wanted) || cfr_worker_is_ready(a->workers[i]))
            continue;
        a->readiness.unready = i;
        return false;
    }
    return true;
}

/* The first names of what is not ready. */
static void list_unready(const struct cfr_daemon *a, struct cfr_str *out)
{
    size_t more = 0;

    for (size_t i = 0; i < a->count; i++) {
        if (!counts(a->workers[i], NULL) || cfr_worker_is_ready(a->workers[i]))
            continue;
        if (out->len >= LIST_BYTES) {
            more++;
            continue;
        }
        cfr_str_addf(out, "%s%s", out->len != 0 ? ", " : "", cfr_worker_config(a->workers[i])->name);
    }
    if (more != 0)
        cfr_str_addf(out, " and %zu more", more);
}

/* Why the first of what is not ready is not. */
static void add_reason(const struct cfr_daemon *a, struct cfr_str *out)
{
    for (size_t i = 0; i < a->count; i++) {
        const struct cfr_worker *w = a->workers[i];
        const char *why = counts(w, NULL) && !cfr_worker_is_ready(w) ? cfr_worker_error(w) : NULL;

        if (why != NULL) {
            cfr_str_addf(out, "; %s: %s", cfr_worker_config(w)->name, why);
            return;
        }
    }
}

/* Tells the service manager, whose status shows it, what is not ready and why, if that is not what it was told. Once a
 * second at most: it takes a walk over all credentials. */
static void report_waiting(struct cfr_daemon *a, int64_t now_ms)
{
    struct cfr_str text = {.limit = 2 * LIST_BYTES + 512 + CFR_ERR_TEXT_MAX};

    cfr_loop_off(&a->readiness.tell);
    a->readiness.told_boot_ms = now_ms;
    list_unready(a, &text);
    add_reason(a, &text);
    if (text.p != NULL && (a->readiness.waiting == NULL || strcmp(text.p, a->readiness.waiting) != 0)) {
        cfr_sd_notify_status(false, "%s %s", a->announced ? "not ready:" : "waiting for", text.p);
        free(a->readiness.waiting);
        a->readiness.waiting = strdup(text.p);
    }
    cfr_str_free(&text);
}

static void on_notice(struct cfr_task *task)
{
    const struct cfr_daemon *a = CFR_TASK_OWNER(task, struct cfr_daemon, notice);
    struct cfr_str names = {.limit = 2 * LIST_BYTES + 512};
    size_t more = 0;

    cfr_loop_at(task, cfr_clock_now().boot_ms + CFR_DAEMON_TICK_MS);
    for (size_t i = 0; i < a->count; i++) {
        if (cfr_worker_outcome(a->workers[i]) != CFR_WORKER_BUSY)
            continue;
        if (names.len < LIST_BYTES)
            cfr_str_addf(&names, "%s%s (%s)", names.len != 0 ? ", " : "", cfr_worker_config(a->workers[i])->name,
                         cfr_worker_state_name(a->workers[i]));
        else
            more++;
    }
    if (more != 0)
        cfr_str_addf(&names, " and %zu more", more);
    if (names.len != 0)
        cfr_log(CFR_LOG_INFO, NULL, NULL, "waiting for %s", names.p);
    cfr_str_free(&names);
}

static void report_lost(struct cfr_daemon *a, int64_t now_ms)
{
    struct cfr_str names = {.limit = 2 * LIST_BYTES + 512};

    a->readiness.ready = false;
    a->readiness.lost_boot_ms = now_ms;
    list_unready(a, &names);
    cfr_log(CFR_LOG_WARN, NULL, NULL, "not ready any more: %s", names.p != NULL ? names.p : "");
    cfr_str_free(&names);
    if (cfr_sd_notify_is_on())
        report_waiting(a, now_ms);
}

static void report_ready(struct cfr_daemon *a, int64_t now_ms)
{
    char words[CFR_TIME_WORDS_MAX];

    a->readiness.ready = true;
    cfr_loop_off(&a->readiness.tell);
    free(a->readiness.waiting);
    a->readiness.waiting = NULL;
    cfr_sd_notify_status(!a->announced, "%zu credentials, all required ones published", a->count);
    if (a->announced)
        cfr_log(CFR_LOG_INFO, NULL, NULL, "ready again, after %s",
                cfr_time_words(now_ms - a->readiness.lost_boot_ms, words));
    else
        cfr_log(CFR_LOG_INFO, NULL, NULL, "ready: every required credential is published");
    a->announced = true;
}

static void on_tell(struct cfr_task *task)
{
    report_waiting(CFR_TASK_OWNER(task, struct cfr_daemon, readiness.tell), cfr_clock_now().boot_ms);
}

static void on_look(struct cfr_task *task)
{
    struct cfr_daemon *a = CFR_TASK_OWNER(task, struct cfr_daemon, readiness.look);
    int64_t now_ms = cfr_clock_now().boot_ms;
    /* Programs that are started then read the endpoints' files, too. */
    bool making = !a->announced && cfr_daemon_endpoints_are_making(a->endpoints);
    bool open = cfr_daemon_readiness_is_open(a, NULL) && !making;

    if (making)
        cfr_loop_at(task, now_ms + MAKING_MS);
    if (open && !a->readiness.ready)
        report_ready(a, now_ms);
    else if (!open && a->readiness.ready)
        report_lost(a, now_ms);
}

/* What is put right at once is not worth a word. */
static void on_moved(struct cfr_task *task)
{
    struct cfr_daemon *a = CFR_TASK_OWNER(task, struct cfr_daemon, host.moved);

    cfr_loop_by(&a->readiness.look, cfr_clock_now().boot_ms + (a->announced ? SETTLE_MS : 0));
    if (!a->readiness.ready && cfr_sd_notify_is_on())
        cfr_loop_by(&a->readiness.tell, a->readiness.told_boot_ms + SETTLE_MS);
}

void cfr_daemon_readiness_open(struct cfr_daemon *a)
{
    a->readiness.look.run = on_look;
    a->readiness.tell.run = on_tell;
    a->notice.run = on_notice;
    if (a->options.once)
        cfr_loop_at(&a->notice, cfr_clock_now().boot_ms + CFR_DAEMON_NOTICE_MS);
    else
        a->host.moved.run = on_moved;
}

void cfr_daemon_readiness_close(struct cfr_daemon *a)
{
    a->host.moved.run = NULL;
    cfr_loop_off(&a->host.moved);
    cfr_loop_off(&a->readiness.look);
    cfr_loop_off(&a->readiness.tell);
    free(a->readiness.waiting);
    a->readiness.waiting = NULL;
}

/* A hook that fails does not hold back the command. */
static bool is_hopeless(const struct cfr_daemon *a)
{
    for (size_t i = 0; i < a->count; i++) {
        if (counts(a->workers[i], a->options.gate) && !cfr_worker_is_ready(a->workers[i]) &&
            cfr_worker_outcome(a->workers[i]) == CFR_WORKER_BAD)
            return true;
    }
    return false;
}

void cfr_daemon_readiness_report(struct cfr_daemon *a)
{
    char word = 0;

    if (a->options.ready_fd == 0 || cfr_daemon_endpoints_are_making(a->endpoints))
        return;
    if (cfr_daemon_readiness_is_open(a, a->options.gate))
        word = CFR_DAEMON_READINESS_READY;
    else if (is_hopeless(a))
        word = CFR_DAEMON_READINESS_FAILED;
    for (size_t i = 0; word == 0 && i < a->count; i++) {
        if (counts(a->workers[i], a->options.gate) && !cfr_worker_is_ready(a->workers[i]))
            cfr_worker_want(a->workers[i]);
    }
    if (word == 0 || write(a->options.ready_fd, &word, 1) != 1)
        return;
    (void)close(a->options.ready_fd);
    a->options.ready_fd = 0;
}
