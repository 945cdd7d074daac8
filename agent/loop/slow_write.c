/* SPDX-License-Identifier: MIT */
/* Writes that may take their time, by children. */
#include "agent/loop/slow_write.h"

#include "agent/loop/clock.h"
#include "agent/loop/errand_private.h"
#include "files/route.h"

#include <stdlib.h>
#include <string.h>

#define SILENT_MS 10000

/* What a child does, and what it leaves. */
struct job {
    cfr_slow_write_fn *work;
    const char *name;
    struct cfr_view content;
};

/* Those with a child. */
static struct cfr_slow_write *under_way;
static struct cfr_errand_budget budget;

static void forget(struct cfr_slow_write *s)
{
    struct cfr_slow_write **at = &under_way;

    while (*at != s)
        at = &(*at)->next;
    *at = s->next;
    cfr_errand_close(s->errand);
    s->errand = NULL;
    free(s->name);
    s->name = NULL;
    cfr_secret_free(&s->content);
}

/* Those whose owners are gone are freed once they have ended. */
void cfr_slow_write_reap(void)
{
    struct cfr_slow_write *next;

    for (struct cfr_slow_write *s = under_way; s != NULL; s = next) {
        next = s->next;
        if (!s->left || cfr_errand_look(s->errand) == CFR_ERRAND_RUNNING)
            continue;
        forget(s);
        free(s);
    }
}

/* The list holds it in another place from now on. False without memory for that. */
static bool leave(struct cfr_slow_write *s)
{
    struct cfr_slow_write *copy = malloc(sizeof *copy);
    struct cfr_slow_write **at = &under_way;

    if (copy == NULL)
        return false;
    while (*at != s)
        at = &(*at)->next;
    *copy = *s;
    copy->left = true;
    *at = copy;
    return true;
}

void cfr_slow_write_close(struct cfr_slow_write *s)
{
    if (s->errand != NULL && (cfr_errand_look(s->errand) != CFR_ERRAND_RUNNING || !leave(s)))
        forget(s);
    *s = (struct cfr_slow_write){.next = NULL};
}

static void work_in_child(void *ctx, void *result)
{
    const struct job *job = ctx;
    struct cfr_err *err = result;

    err->code = job->work(CFR_ERRAND_DIR_FD, job->name, job->content, err);
}

static int report_under_way(const struct cfr_slow_write *s, struct cfr_err *err)
{
    if (cfr_clock_now().boot_ms - s->since_boot_ms < SILENT_MS)
        return CFR_SLOW_WRITE_UNDER_WAY;
    return cfr_err_set(err, CFR_E_TIMEOUT,
                       "the file system has not answered for %d s: look at the mount (frozen, or its server gone)",
                       SILENT_MS / 1000);
}

/* Takes the result of the child, which has ended. */
static int take(struct cfr_slow_write *s, enum cfr_errand_state state, struct cfr_err *err)
{
    const struct cfr_err *found = cfr_errand_result(s->errand);
    int rc = 0;

    if (state != CFR_ERRAND_DONE)
        rc = cfr_err_set(err, CFR_E_INTERNAL, "the process that writes %s was killed", s->name);
    else if (found->code != 0)
        rc = cfr_err_set(err, found->code, "%s", found->text);
    forget(s);
    return rc;
}

static bool is_busy(unsigned mount)
{
    for (const struct cfr_slow_write *s = under_way; s != NULL; s = s->next) {
        if (s->mount == mount && cfr_errand_look(s->errand) == CFR_ERRAND_RUNNING)
            return true;
    }
    return false;
}

static int start(struct cfr_slow_write *s, int dir_fd, const struct job *job, struct cfr_err *err)
{
    int rc;

    cfr_secret_init(&s->content, job->content.n);
    s->name = strdup(job->name);
    rc = s->name != NULL ? cfr_secret_append(&s->content, job->content, err) : cfr_err_nomem(err);
    if (rc == 0)
        rc =
            cfr_errand_start_in(dir_fd, work_in_child, (void *)(uintptr_t)job, sizeof(struct cfr_err), &s->errand, err);
    if (rc != 0) {
        free(s->name);
        s->name = NULL;
        cfr_secret_free(&s->content);
        return rc;
    }
    s->work = job->work;
    s->next = under_way;
    under_way = s;
    return 0;
}

/* An open directory stays on its file system. */
static bool is_in_memory(struct cfr_slow_write *s, int dir_fd)
{
    if (!s->asked || s->dir_fd != dir_fd)
        s->in_memory = cfr_route_storage_of(dir_fd, &s->mount) == CFR_ROUTE_MEMORY;
    s->asked = true;
    s->dir_fd = dir_fd;
    return s->in_memory;
}

int cfr_slow_write(struct cfr_slow_write *s, int dir_fd, cfr_slow_write_fn *work, const char *name,
                   struct cfr_view content, struct cfr_err *err)
{
    const struct job job = {work, name, content};
    enum cfr_errand_state state = CFR_ERRAND_DONE;
    int rc;

    if (s->errand != NULL) {
        bool same = s->work == work && strcmp(s->name, name) == 0 && cfr_view_eq(cfr_secret_view(&s->content), content);

        state = cfr_errand_look(s->errand);
        if (state == CFR_ERRAND_RUNNING)
            return report_under_way(s, err);
        rc = take(s, state, same ? err : NULL);
        if (same) {
            s->since_boot_ms = 0;
            return rc;
        }
    }
    if (!cfr_slow_file_guarded() || is_in_memory(s, dir_fd)) {
        s->since_boot_ms = 0;
        return work(dir_fd, name, content, err);
    }
    if (s->since_boot_ms == 0)
        s->since_boot_ms = cfr_clock_now().boot_ms;
    if (is_busy(s->mount))
        return report_under_way(s, err);
    rc = start(s, dir_fd, &job, err);
    if (rc != 0) {
        s->since_boot_ms = 0;
        return rc;
    }
    state = cfr_errand_wait_briefly(s->errand, &budget);
    if (state == CFR_ERRAND_RUNNING)
        return report_under_way(s, err);
    s->since_boot_ms = 0;
    return take(s, state, err);
}
