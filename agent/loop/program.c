/* SPDX-License-Identifier: MIT */
/* Programs whose standard output is wanted. */
#include "agent/loop/program.h"

#include "agent/loop/process.h"
#include "base/str.h"
#include "base/time.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define PIPE_BYTES 4096 /* what a pipe takes at least: a program within its limit never waits for a reader */

struct cfr_program {
    struct cfr_program *next;
    pid_t pid;
    int out_fd;
    char *name; /* heap; argv[0] */
    size_t output_max;
    int64_t limit_ms;
    int64_t deadline_boot_ms;
    cfr_program_fn *done;
    void *ctx;
};

static struct cfr_program *running;

static void destroy(struct cfr_program *p)
{
    if (p->out_fd >= 0)
        (void)close(p->out_fd);
    free(p->name);
    free(p);
}

static void unlink_program(struct cfr_program *p)
{
    struct cfr_program **at = &running;

    while (*at != p)
        at = &(*at)->next;
    *at = p->next;
}

static int add_variable(struct cfr_str *to, const char *name, const char *otherwise)
{
    const char *value = getenv(name);

    cfr_str_addf(to, "%s=%s", name, value != NULL ? value : otherwise);
    return to->failed ? CFR_E_NOMEM : 0;
}

static int start_process(struct cfr_program *p, char *const *argv, size_t count, struct cfr_err *err)
{
    struct cfr_str path = {.limit = 65536};
    struct cfr_str home = {.limit = 65536};
    char **all = calloc(count + 1, sizeof *all);
    int rc;

    if (all == NULL || add_variable(&path, "PATH", "/usr/sbin:/usr/bin:/sbin:/bin") != 0 ||
        add_variable(&home, "HOME", "/") != 0) {
        rc = cfr_err_nomem(err);
    } else {
        char *environment[] = {path.p, home.p, NULL};

        memcpy(all, argv, count * sizeof *all);
        rc = cfr_process_start_piped(all, environment, PIPE_BYTES, &p->pid, &p->out_fd, err);
    }
    free(all);
    cfr_str_free(&path);
    cfr_str_free(&home);
    return rc;
}

int cfr_program_start(char *const *argv, size_t count, size_t output_max, int64_t limit_ms, cfr_program_fn *done,
                      void *ctx, struct cfr_program **out, struct cfr_err *err)
{
    struct cfr_program *p = calloc(1, sizeof *p);
    int rc;

    *out = NULL;
    if (p == NULL)
        return cfr_err_nomem(err);
    *p = (struct cfr_program){.out_fd = -1,
                              .name = strdup(argv[0]),
                              .output_max = output_max,
                              .limit_ms = limit_ms,
                              .deadline_boot_ms = cfr_clock_now().boot_ms + limit_ms,
                              .done = done,
                              .ctx = ctx};
    rc = p->name != NULL ? start_process(p, argv, count, err) : cfr_err_nomem(err);
    if (rc != 0) {
        destroy(p);
        return rc;
    }
    p->next = running;
    running = p;
    *out = p;
    return 0;
}

void cfr_program_cancel(struct cfr_program *p)
{
    unlink_program(p);
    cfr_process_end(p->pid);
    destroy(p);
}

/* Reads what the pipe holds, without waiting for a child of the program that still has it. One byte more than is
 * allowed tells that there was too much. */
static int read_output(struct cfr_program *p, struct cfr_secret *out, struct cfr_err *err)
{
    for (;;) {
        size_t room = p->output_max + 1 - out->len;
        char *to = room != 0 ? cfr_secret_reserve(out, room, err) : NULL;
        ssize_t n;

        if (room == 0)
            return cfr_err_set(err, CFR_E_LIMIT, "the program %s printed more than %zu bytes", p->name, p->output_max);
        if (to == NULL)
            return err->code;
        n = read(p->out_fd, to, room);
        if (n > 0)
            cfr_secret_grown(out, (size_t)n);
        else if (n == 0 || errno == EAGAIN)
            return 0;
        else if (errno != EINTR)
            return cfr_err_sys(err, errno, "cannot read what the program %s printed", p->name);
    }
}

/* P is not in the list any more, and its process was reaped. */
static void report(struct cfr_program *p, int rc, struct cfr_err *err)
{
    struct cfr_secret output;

    cfr_secret_init(&output, p->output_max + 2);
    if (rc == 0)
        rc = read_output(p, &output, err);
    p->done(p->ctx, rc, &output, err);
    cfr_secret_free(&output);
    destroy(p);
}

static void report_end(struct cfr_program *p)
{
    struct cfr_err how = {0};
    struct cfr_err err = {0};
    int rc = cfr_process_reap(p->pid, &how);

    if (rc != 0)
        rc = cfr_err_set(&err, rc, "the program %s %s; its messages are on credfresh's standard error", p->name,
                         how.text);
    report(p, rc, &err);
}

static void report_overdue(struct cfr_program *p)
{
    char words[CFR_TIME_WORDS_MAX];
    struct cfr_err err = {0};

    cfr_process_end(p->pid);
    report(p,
           cfr_err_set(&err, CFR_E_TIMEOUT, "the program %s took longer than %s, or printed too much, and was ended",
                       p->name, cfr_time_words(p->limit_ms, words)),
           &err);
}

/* The first that has ended, or is overdue at NOW (NULL: ended only), taken out of the list. */
static struct cfr_program *take(const struct cfr_now *now)
{
    for (struct cfr_program *p = running; p != NULL; p = p->next) {
        if (now != NULL ? p->deadline_boot_ms > now->boot_ms : !cfr_process_has_ended(p->pid))
            continue;
        unlink_program(p);
        return p;
    }
    return NULL;
}

/* From the beginning after each, because a callback may change the list. */
void cfr_program_on_child(void)
{
    struct cfr_program *p;

    while ((p = take(NULL)) != NULL)
        report_end(p);
}

int64_t cfr_program_deadline(void)
{
    int64_t next = INT64_MAX;

    for (const struct cfr_program *p = running; p != NULL; p = p->next)
        next = p->deadline_boot_ms < next ? p->deadline_boot_ms : next;
    return next;
}

void cfr_program_step(struct cfr_now now)
{
    struct cfr_program *p;

    while ((p = take(&now)) != NULL)
        report_overdue(p);
}
