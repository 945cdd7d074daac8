/* SPDX-License-Identifier: MIT */
/* Files that may not answer, read by children. */
#include "agent/loop/slow_file.h"

#include "agent/loop/clock.h"
#include "agent/loop/errand_private.h"
#include "files/file.h"
#include "files/route.h"

#include <stdlib.h>
#include <string.h>

#define WAIT_MS     50
#define SILENT_MS   1000 /* several files of a mount that hangs are not waited for one after the other */
#define HANGING_MAX 32
#define UNASKED_MS  600000 /* what nobody has asked for since then is of a former configuration */

/* What a child leaves. */
struct found {
    struct cfr_err err;
    struct stat status;
    size_t n;
    char bytes[];
};

struct reading {
    const char *path;
    size_t limit;
};

/* Children that have not answered in time. */
struct hanging {
    char *path; /* NULL: a free place */
    size_t limit;
    unsigned mount;
    struct cfr_errand *errand;
    int64_t asked_boot_ms;  /* when its reader came last */
    int64_t waited_boot_ms; /* when it was waited for in vain; 0 = it was not waited for */
};

static struct hanging hanging[HANGING_MAX];
static bool guards;

static void forget(struct hanging *h)
{
    free(h->path);
    *h = (struct hanging){.path = NULL};
}

static void forget_unasked(void)
{
    int64_t now_ms = cfr_clock_now().boot_ms;

    for (size_t i = 0; i < HANGING_MAX; i++) {
        if (hanging[i].path == NULL || now_ms - hanging[i].asked_boot_ms < UNASKED_MS)
            continue;
        cfr_errand_close(hanging[i].errand);
        forget(&hanging[i]);
    }
}

void cfr_slow_file_guard(void)
{
    guards = true;
}

bool cfr_slow_file_guarded(void)
{
    return guards;
}

/* The mount of PATH is stored in MOUNT. */
static bool is_slow(const char *path, unsigned *mount)
{
    struct cfr_route route;
    bool slow;

    *mount = 0;
    /* These always answer, and a child has other descriptors than we. */
    if (!guards || strncmp(path, "/proc/", 6) == 0 || strncmp(path, "/dev/", 5) == 0)
        return false;
    /* The directory that it is in, and the one that a link at its end leads to. */
    cfr_route_find(path, false, false, &route);
    slow = route.storage == CFR_ROUTE_REMOTE || route.blocked;
    if (!slow) {
        cfr_route_find(path, true, false, &route);
        slow = route.storage == CFR_ROUTE_REMOTE;
    }
    *mount = route.mount;
    return slow;
}

bool cfr_slow_file_is(const char *path)
{
    unsigned mount;

    return is_slow(path, &mount);
}

static int read_here(const char *path, struct cfr_secret *out, struct stat *status, struct cfr_err *err)
{
    /* In this order, so that a file which is replaced in between counts as changed once more, not as the same. */
    if (status != NULL && stat(path, status) != 0)
        *status = (struct stat){.st_size = 0};
    return cfr_file_read(path, out, err);
}

/* In a child. */
static void read_file(void *ctx, void *result)
{
    const struct reading *r = ctx;
    struct found *found = result;
    struct cfr_secret bytes;

    cfr_secret_init(&bytes, r->limit);
    found->err.code = read_here(r->path, &bytes, &found->status, &found->err);
    if (found->err.code == 0 && bytes.len != 0)
        memcpy(found->bytes, bytes.p, bytes.len);
    found->n = found->err.code == 0 ? bytes.len : 0;
    cfr_secret_free(&bytes);
}

static int fail_hanging(const char *path, struct cfr_err *err)
{
    return cfr_err_set(err, CFR_E_TIMEOUT,
                       "%s: its file system has not answered: look at the mount (frozen, or its server gone)", path);
}

static struct hanging *find(const char *path, size_t limit)
{
    struct hanging *unused = NULL;

    for (size_t i = 0; i < HANGING_MAX; i++) {
        struct hanging *h = &hanging[i];

        if (h->path == NULL)
            unused = h;
        else if (strcmp(h->path, path) == 0 && h->limit == limit)
            return h;
    }
    return unused;
}

/* A file of MOUNT was waited for in vain just now. */
static bool is_silent(unsigned mount, int64_t now_ms)
{
    for (size_t i = 0; i < HANGING_MAX; i++) {
        const struct hanging *h = &hanging[i];

        if (h->path != NULL && h->mount == mount && h->waited_boot_ms != 0 && now_ms - h->waited_boot_ms < SILENT_MS)
            return true;
    }
    return false;
}

/* Consumes E, which has ended. */
static int take(struct cfr_errand *e, enum cfr_errand_state state, const char *path, struct cfr_secret *out,
                struct stat *status, struct cfr_err *err)
{
    struct found *found = cfr_errand_result(e);
    int rc;

    if (state != CFR_ERRAND_DONE)
        rc = cfr_err_set(err, CFR_E_INTERNAL, "%s: the process that reads it was killed", path);
    else if (found->err.code != 0)
        rc = cfr_err_set(err, found->err.code, "%s", found->err.text);
    else
        rc = cfr_secret_append(out, (struct cfr_view){found->bytes, found->n}, err);
    if (status != NULL)
        *status = found->status;
    cfr_errand_close(e);
    return rc;
}

int cfr_slow_file_read(const char *path, struct cfr_secret *out, struct stat *status, struct cfr_err *err)
{
    struct reading r = {path, out->limit};
    struct hanging *h;
    struct cfr_errand *e;
    enum cfr_errand_state state;
    int64_t now_ms = cfr_clock_now().boot_ms;
    unsigned mount;
    bool silent;
    int rc;

    forget_unasked();
    cfr_secret_clear(out);
    if (!is_slow(path, &mount))
        return read_here(path, out, status, err);
    h = find(path, out->limit);
    if (h == NULL)
        return cfr_err_set(err, CFR_E_TIMEOUT, "%s is not read: %d other files have not answered", path, HANGING_MAX);
    if (h->path != NULL) {
        h->asked_boot_ms = now_ms;
        state = cfr_errand_look(h->errand);
        if (state == CFR_ERRAND_RUNNING)
            return fail_hanging(path, err);
        e = h->errand;
        forget(h);
        return take(e, state, path, out, status, err);
    }
    rc = cfr_errand_start(read_file, &r, sizeof(struct found) + out->limit, &e, err);
    if (rc != 0)
        return cfr_err_prefix(err, "%s", path);
    silent = is_silent(mount, now_ms);
    state = silent ? cfr_errand_look(e) : cfr_errand_wait(e, WAIT_MS);
    if (state != CFR_ERRAND_RUNNING)
        return take(e, state, path, out, status, err);
    *h = (struct hanging){.path = strdup(path),
                          .limit = out->limit,
                          .mount = mount,
                          .errand = e,
                          .asked_boot_ms = now_ms,
                          .waited_boot_ms = silent ? 0 : cfr_clock_now().boot_ms};
    if (h->path == NULL)
        cfr_errand_close(e);
    return fail_hanging(path, err);
}
