/* SPDX-License-Identifier: MIT */
/* Files that may not answer, or that others may lead us to, read by children. */
#include "agent/loop/slow_file.h"

#include "agent/loop/clock.h"
#include "agent/loop/errand_private.h"
#include "agent/loop/sandbox.h"
#include "agent/loop/sandbox_private.h"
#include "files/route.h"

#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define WAIT_MS     50
#define PATIENT_MS  600000 /* of a program that is to wait */
#define SILENT_MS   1000   /* several that hang are not waited for one after the other */
#define HANGING_MAX 32
#define DISKS_MAX   8      /* that hang at the same time */
#define UNASKED_MS  600000 /* what nobody has asked for since then is of a former configuration */
#define VOLUME_MAX  (CFR_VOLUME_BYTES_MAX + CFR_VOLUME_FILES_MAX * 300 + 16)

/* What a child leaves. */
struct found {
    struct cfr_err err;
    struct stat status;
    size_t n;
    char bytes[];
};

struct reading {
    struct cfr_slow_read what;
    size_t limit;
    enum cfr_file_reach reach;
};

/* Children that have not answered in time. */
struct hanging {
    char *path; /* NULL: a free place */
    char *directory;
    cfr_slow_read_fn *read;
    size_t limit;
    struct cfr_errand *errand;
    int64_t asked_boot_ms; /* when its reader came last */
};

static struct hanging hanging[HANGING_MAX];
static int64_t waited_boot_ms; /* when one of them was waited for in vain; 0 = it was not */
static struct cfr_errand_budget trials;
static bool guards;

/* ---- what of a disk is not in memory ---- */

/* Disks that have not answered, and who waits for them. */
static struct {
    dev_t device;
    struct cfr_errand *errand; /* NULL: a free place */
} silent[DISKS_MAX];
static struct cfr_errand_budget disk_waits;

static void warm(void *ctx, void *result)
{
    (void)result;
    cfr_file_warm(CFR_ERRAND_DIR_FD, ctx);
}

/* Where DEVICE has a place, or may have one; DISKS_MAX: there is none. *HANGS: it is still waited for. */
static size_t find_disk(dev_t device, bool *hangs)
{
    size_t place = DISKS_MAX;

    *hangs = false;
    for (size_t i = 0; i < DISKS_MAX; i++) {
        if (silent[i].errand != NULL && cfr_errand_look(silent[i].errand) != CFR_ERRAND_RUNNING) {
            cfr_errand_close(silent[i].errand);
            silent[i].errand = NULL;
        }
        if (silent[i].errand == NULL)
            place = i;
        else if (silent[i].device == device)
            *hangs = true;
    }
    return place;
}

static bool ask(int dir_fd, const char *name)
{
    struct cfr_errand *e;
    struct stat st;
    bool hangs = true;
    size_t place = fstat(dir_fd, &st) == 0 ? find_disk(st.st_dev, &hangs) : DISKS_MAX;

    /* One child waits for each disk. */
    if (hangs || place == DISKS_MAX || cfr_errand_start_in(dir_fd, warm, (void *)(uintptr_t)name, 0, &e, NULL) != 0)
        return false;
    if (cfr_errand_wait_briefly(e, &disk_waits) == CFR_ERRAND_RUNNING) {
        silent[place].device = st.st_dev;
        silent[place].errand = e;
        return false;
    }
    cfr_errand_close(e);
    return true;
}

/* ---- files that hang ---- */

static void forget(struct hanging *h)
{
    free(h->path);
    free(h->directory);
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

void cfr_slow_file_guard_disks(void)
{
    cfr_file_never_wait(ask);
}

bool cfr_slow_file_guarded(void)
{
    return guards;
}

/* These always answer, nobody else makes links there, and a child has other descriptors than we. */
static bool is_of_kernel(const char *path)
{
    return strncmp(path, "/proc/", 6) == 0 || (strncmp(path, "/dev/", 5) == 0 && strncmp(path, "/dev/shm/", 9) != 0);
}

enum cfr_file_reach cfr_slow_file_reach(const char *path)
{
    return is_of_kernel(path) ? CFR_FILE_ANYWHERE : CFR_FILE_ANSWERING;
}

int cfr_slow_file_status(const char *path, struct stat *out, struct cfr_err *err)
{
    if (!is_of_kernel(path))
        return cfr_file_status(path, out, err);
    return stat(path, out) == 0 ? 0 : cfr_err_sys(err, errno, "cannot read the status of %s", path);
}

bool cfr_slow_file_is(const char *path)
{
    struct stat st;

    return guards && cfr_slow_file_status(path, &st, NULL) == CFR_FILE_ELSEWHERE;
}

/* ---- in a child ---- */

static void read_it(void *ctx, void *result)
{
    const struct reading *r = ctx;
    struct found *found = result;
    struct cfr_secret bytes;

    cfr_secret_init(&bytes, r->limit);
    found->err.code = r->what.read(&r->what, r->reach, &bytes, &found->status, &found->err);
    if (found->err.code == 0 && bytes.len != 0)
        memcpy(found->bytes, bytes.p, bytes.len);
    found->n = found->err.code == 0 ? bytes.len : 0;
    cfr_secret_free(&bytes);
}

static void read_as_other(void *ctx, void *result)
{
    struct found *found = result;

    read_it(ctx, result);
    cfr_sandbox_explain_links(&found->err);
}

/* What another user has a hand in is read with that user's rights, so that the kernel decides where a link may lead. */
static void read_elsewhere(void *ctx, void *result)
{
    static const struct cfr_errand_gids none = {.count = 0};
    struct reading *r = ctx;
    struct found *found = result;
    struct cfr_route route;

    r->reach = CFR_FILE_WAITING;
    cfr_route_find(r->what.path, false, true, &route);
    if (!route.foreign || geteuid() != 0) {
        read_it(ctx, result);
        return;
    }
    r->reach = CFR_FILE_ANYWHERE;
    (void)cfr_errand_as(route.uid, &none, read_as_other, ctx, result, &found->err);
}

/* ---- */

static int fail_hanging(const char *path, struct cfr_err *err)
{
    return cfr_err_set(err, CFR_E_TIMEOUT,
                       "%s: its file system has not answered: look at the mount (frozen, or its server gone)", path);
}

static bool is_same(const struct hanging *h, const struct cfr_slow_read *what, size_t limit)
{
    return strcmp(h->path, what->path) == 0 && h->read == what->read && h->limit == limit &&
           strcmp(h->directory, what->directory != NULL ? what->directory : "") == 0;
}

static struct hanging *find(const struct cfr_slow_read *what, size_t limit)
{
    struct hanging *unused = NULL;

    for (size_t i = 0; i < HANGING_MAX; i++) {
        struct hanging *h = &hanging[i];

        if (h->path == NULL)
            unused = h;
        else if (is_same(h, what, limit))
            return h;
    }
    return unused;
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

/* Waits for E: once, not for each of those that begin to hang at the same time. */
static enum cfr_errand_state wait_for(struct cfr_errand *e, int64_t now_ms)
{
    enum cfr_errand_state state;

    if (!guards)
        return cfr_errand_wait(e, PATIENT_MS);
    if (waited_boot_ms != 0 && now_ms - waited_boot_ms < SILENT_MS)
        return cfr_errand_look(e);
    state = cfr_errand_wait(e, WAIT_MS);
    if (state == CFR_ERRAND_RUNNING)
        waited_boot_ms = cfr_clock_now().boot_ms;
    return state;
}

static void keep(struct hanging *h, const struct cfr_slow_read *what, size_t limit, struct cfr_errand *e,
                 int64_t now_ms)
{
    char *path = strdup(what->path);
    char *directory = strdup(what->directory != NULL ? what->directory : "");

    if (path == NULL || directory == NULL) {
        free(path);
        free(directory);
        cfr_errand_close(e);
        return;
    }
    *h = (struct hanging){
        .path = path, .directory = directory, .read = what->read, .limit = limit, .errand = e, .asked_boot_ms = now_ms};
}

static int read_by_child(const struct cfr_slow_read *what, struct cfr_secret *out, struct stat *status,
                         struct cfr_err *err)
{
    struct reading r = {.what = *what, .limit = out->limit};
    int64_t now_ms = cfr_clock_now().boot_ms;
    struct hanging *h = find(what, out->limit);
    enum cfr_errand_state state;
    struct cfr_errand *e;
    int rc;

    if (h == NULL)
        return cfr_err_set(err, CFR_E_TIMEOUT, "%s is not read: %d other files have not answered", what->path,
                           HANGING_MAX);
    if (h->path != NULL) {
        h->asked_boot_ms = now_ms;
        state = cfr_errand_look(h->errand);
        if (state == CFR_ERRAND_RUNNING)
            return fail_hanging(what->path, err);
        e = h->errand;
        forget(h);
        return take(e, state, what->path, out, status, err);
    }
    rc = cfr_errand_start(read_elsewhere, &r, sizeof(struct found) + out->limit, &e, err);
    if (rc != 0)
        return cfr_err_prefix(err, "%s", what->path);
    state = wait_for(e, now_ms);
    if (state != CFR_ERRAND_RUNNING)
        return take(e, state, what->path, out, status, err);
    keep(h, what, out->limit, e, now_ms);
    return fail_hanging(what->path, err);
}

int cfr_slow_file_read_by(const struct cfr_slow_read *what, struct cfr_secret *out, struct stat *status,
                          struct cfr_err *err)
{
    int rc;

    forget_unasked();
    cfr_secret_clear(out);
    rc = what->read(what, cfr_slow_file_reach(what->path), out, status, err);
    if (rc == CFR_FILE_ELSEWHERE) {
        cfr_secret_clear(out);
        rc = read_by_child(what, out, status, err);
    }
    if (rc != 0 && err != NULL)
        cfr_sandbox_explain(CFR_SANDBOX_READ, what->path, err);
    return rc;
}

int cfr_slow_file_try(const struct cfr_slow_read *what, int64_t ms, struct cfr_err *err)
{
    struct reading r = {.what = *what, .reach = CFR_FILE_WAITING};
    int64_t now_ms = cfr_clock_now().boot_ms;
    struct cfr_route route;
    struct cfr_errand *e;
    struct hanging *h;
    int rc;

    if (!guards)
        return 0;
    cfr_route_find(what->path, true, false, &route);
    if (route.storage == CFR_ROUTE_MEMORY && !route.blocked)
        return 0;
    forget_unasked();
    h = find(what, 0);
    if (h == NULL)
        return fail_hanging(what->path, err);
    /* What an earlier one found says nothing about now. */
    if (h->path != NULL) {
        h->asked_boot_ms = now_ms;
        if (cfr_errand_wait(h->errand, ms) == CFR_ERRAND_RUNNING)
            return fail_hanging(what->path, err);
        cfr_errand_close(h->errand);
        forget(h);
    }
    rc = cfr_errand_start(read_it, &r, sizeof(struct found), &e, err);
    if (rc != 0)
        return cfr_err_prefix(err, "%s", what->path);
    if ((ms != 0 ? cfr_errand_wait(e, ms) : cfr_errand_wait_briefly(e, &trials)) == CFR_ERRAND_RUNNING) {
        keep(h, what, 0, e, now_ms);
        return fail_hanging(what->path, err);
    }
    cfr_errand_close(e);
    return 0;
}

/* ---- a file ---- */

static int read_file(const struct cfr_slow_read *what, enum cfr_file_reach reach, struct cfr_secret *out,
                     struct stat *status, struct cfr_err *err)
{
    return cfr_file_read_reach(what->path, reach, out, status, err);
}

int cfr_slow_file_read(const char *path, struct cfr_secret *out, struct stat *status, struct cfr_err *err)
{
    const struct cfr_slow_read what = {.read = read_file, .path = path};

    return cfr_slow_file_read_by(&what, out, status, err);
}

/* ---- a volume ---- */

static int put(struct cfr_secret *out, const void *bytes, size_t n, struct cfr_err *err)
{
    return cfr_secret_append(out, (struct cfr_view){bytes, n}, err);
}

/* As one text: its mark, and of each file the name, with its NUL, the size and the bytes. */
static int read_volume(const struct cfr_slow_read *what, enum cfr_file_reach reach, struct cfr_secret *out,
                       struct stat *status, struct cfr_err *err)
{
    struct cfr_volume v;
    int rc = cfr_volume_read(what->path, reach, &v, err);

    (void)status;
    if (rc == 0)
        rc = put(out, &v.mark, sizeof v.mark, err);
    for (size_t i = 0; rc == 0 && i < v.count; i++) {
        rc = put(out, v.names[i], strlen(v.names[i]) + 1, err);
        if (rc == 0)
            rc = put(out, &v.values[i].len, sizeof v.values[i].len, err);
        if (rc == 0)
            rc = put(out, v.values[i].p, v.values[i].len, err);
    }
    cfr_volume_free(&v);
    return rc;
}

/* TEXT is what read_volume of this program wrote. */
static int unpack(struct cfr_view text, struct cfr_volume *out, struct cfr_err *err)
{
    const char *at = text.p + sizeof out->mark;
    const char *end = text.p + text.n;
    int rc = 0;

    memcpy(&out->mark, text.p, sizeof out->mark);
    while (rc == 0 && at < end) {
        char *name = strdup(at);
        size_t n;

        if (name == NULL)
            return cfr_err_nomem(err);
        at += strlen(at) + 1;
        memcpy(&n, at, sizeof n);
        at += sizeof n;
        out->names[out->count] = name;
        cfr_secret_init(&out->values[out->count], n);
        rc = put(&out->values[out->count++], at, n, err);
        at += n;
    }
    return rc;
}

int cfr_slow_file_read_volume(const char *directory, struct cfr_volume *out, struct cfr_err *err)
{
    const struct cfr_slow_read what = {.read = read_volume, .path = directory};
    struct cfr_secret text;
    int rc;

    forget_unasked();
    rc = cfr_volume_read(directory, cfr_slow_file_reach(directory), out, err);
    if (rc == CFR_FILE_ELSEWHERE) {
        cfr_volume_free(out);
        cfr_secret_init(&text, VOLUME_MAX);
        rc = read_by_child(&what, &text, NULL, err);
        if (rc == 0)
            rc = unpack(cfr_secret_view(&text), out, err);
        cfr_secret_free(&text);
    }
    if (rc != 0 && err != NULL)
        cfr_sandbox_explain(CFR_SANDBOX_READ, directory, err);
    return rc;
}
