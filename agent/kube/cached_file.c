/* SPDX-License-Identifier: MIT */
/* Cached file contents. */
#include "agent/kube/cached_file_private.h"

#include "agent/loop/slow_file.h"
#include "base/log.h"
#include "base/str.h"

#include <stdlib.h>
#include <string.h>

void cfr_kube_cached_file_free(struct cfr_kube_cached_file *f)
{
    free(f->path);
    cfr_secret_free(&f->content);
    *f = (struct cfr_kube_cached_file){.path = NULL};
}

static bool is_same_file(const struct stat *a, const struct stat *b)
{
    return a->st_dev == b->st_dev && a->st_ino == b->st_ino && a->st_size == b->st_size &&
           a->st_mtim.tv_sec == b->st_mtim.tv_sec && a->st_mtim.tv_nsec == b->st_mtim.tv_nsec;
}

static int read_content(struct cfr_kube_cached_file *f, size_t limit, struct stat *status, struct cfr_err *err)
{
    struct cfr_secret now;
    int rc;

    cfr_secret_init(&now, limit);
    rc = cfr_slow_file_read(f->path, &now, status, err);
    if (rc == 0 && cfr_view_trim(cfr_secret_view(&now)).n == 0)
        rc = cfr_err_set(err, CFR_E_MISSING, "%s is empty", f->path);
    if (rc == 0 && (f->version == 0 || !cfr_secret_equal(cfr_secret_view(&now), cfr_secret_view(&f->content)))) {
        cfr_secret_move(&f->content, &now);
        f->version++;
    }
    cfr_secret_free(&now);
    return rc;
}

static int read_if_changed(struct cfr_kube_cached_file *f, size_t limit, bool force, struct cfr_now now,
                           struct cfr_err *err)
{
    struct stat st;
    int rc;

    /* One that may not answer is read each time. */
    if (!force && !f->lost && f->version != 0 && now.boot_ms - f->read_boot_ms < CFR_KUBE_CACHED_FILE_AGE_MS &&
        cfr_slow_file_status(f->path, &st, NULL) == 0 && is_same_file(&st, &f->seen))
        return 0;
    rc = read_content(f, limit, &st, err);
    if (rc == 0) {
        /* The status is from before the read, so that a change in between is noticed the next time. */
        f->seen = st;
        f->read_boot_ms = now.boot_ms;
    }
    return rc;
}

int cfr_kube_cached_file_refresh(struct cfr_kube_cached_file *f, const char *path, size_t limit, bool force,
                                 struct cfr_now now, struct cfr_err *err)
{
    struct cfr_err why = {0};
    bool was_lost = f->lost;
    int rc;

    if (f->path == NULL || strcmp(f->path, path) != 0) {
        cfr_kube_cached_file_free(f);
        f->path = cfr_str_dup(cfr_view_of(path));
        if (f->path == NULL)
            return cfr_err_nomem(err);
        was_lost = false;
    }
    rc = read_if_changed(f, limit, force, now, &why);
    f->lost = rc != 0;
    if (rc == 0)
        return 0;
    if (f->version == 0)
        return cfr_err_set(err, rc, "%s", why.text);
    if (!was_lost)
        cfr_log(CFR_LOG_WARN, NULL, NULL, "%s; its last content is still used", why.text);
    return 0;
}
