/* SPDX-License-Identifier: MIT */
/* Publishing a single file by rename. */
#include "files/single.h"

#include "files/file_private.h"
#include "files/path_private.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#define MERGE_TRIES 3

/* The name may be taken by a regular file only. */
static int check_target(int dir_fd, const char *name, struct cfr_err *err)
{
    struct stat st;

    if (fstatat(dir_fd, name, &st, AT_SYMLINK_NOFOLLOW) != 0)
        return errno == ENOENT ? 0 : cfr_err_sys(err, errno, "cannot read its status");
    if (S_ISLNK(st.st_mode))
        return cfr_err_set(err, CFR_E_PATH,
                           "it is a symbolic link, which is not followed here: remove it or name the real path");
    if (!S_ISREG(st.st_mode))
        return cfr_err_set(err, CFR_E_PATH, "it is not a regular file: remove it or publish to another path");
    return 0;
}

/* What is to be published is there, but may come from a run that was killed before it was synced. */
static void sync_found(int dir_fd, const char *name)
{
    int fd = cfr_path_openat(dir_fd, name, O_RDONLY | O_NONBLOCK | O_NOCTTY, 0, NULL);

    if (fd >= 0) {
        (void)cfr_path_sync(fd, name, NULL);
        (void)close(fd);
    }
    (void)cfr_path_sync(dir_fd, "the directory", NULL);
}

/* BEFORE (may be NULL): of the file that FILE's content was made of; *RACED if it has changed since. */
static int write_if_changed(int dir_fd, const char *path, const struct cfr_file *file, bool in_place,
                            const struct stat *before, bool *raced, bool *changed, struct cfr_err *err)
{
    int rc = 0;

    if (cfr_file_same(dir_fd, file)) {
        sync_found(dir_fd, file->name);
        return 0;
    }
    if (faccessat(dir_fd, file->name, F_OK, AT_SYMLINK_NOFOLLOW) != 0)
        cfr_path_sync_above(dir_fd);
    *raced = before != NULL && !cfr_file_is_as_before(dir_fd, file->name, before);
    if (*raced)
        return 0;
    if (in_place && cfr_file_is_mount(path))
        rc = cfr_file_overwrite(dir_fd, file, err);
    else
        rc = cfr_file_replace(dir_fd, file, err);
    *changed = rc == 0;
    return rc;
}

/* One attempt, with what other programs have in the file; *RACED if it changed under us. */
static int merge_once(int dir_fd, const char *path, const struct cfr_file *file, bool in_place,
                      cfr_single_merge_fn *merge, bool *raced, bool *changed, struct cfr_err *err)
{
    struct cfr_file merged = *file;
    struct cfr_secret before;
    struct cfr_secret content;
    struct stat st;
    int rc;

    cfr_secret_init(&before, CFR_SINGLE_MERGE_MAX);
    cfr_secret_init(&content, CFR_SINGLE_MERGE_MAX);
    rc = cfr_file_read_before(dir_fd, file->name, &before, &st, err);
    rc = rc != 0 ? rc : cfr_secret_append(&content, file->content, err);
    rc = rc != 0 ? rc : merge(cfr_secret_view(&before), &content, err);
    merged.content = cfr_secret_view(&content);
    rc = rc != 0 ? rc : write_if_changed(dir_fd, path, &merged, in_place, &st, raced, changed, err);
    cfr_secret_free(&before);
    cfr_secret_free(&content);
    return rc;
}

static int publish_at(int dir_fd, const char *path, const struct cfr_file *file, bool in_place,
                      cfr_single_merge_fn *merge, bool *changed, struct cfr_err *err)
{
    int rc = check_target(dir_fd, file->name, err);
    bool raced = merge != NULL;

    if (rc == 0 && merge == NULL)
        return write_if_changed(dir_fd, path, file, in_place, NULL, &raced, changed, err);
    for (int i = 0; rc == 0 && raced && i < MERGE_TRIES; i++) {
        raced = false;
        rc = merge_once(dir_fd, path, file, in_place, merge, &raced, changed, err);
    }
    return rc == 0 && raced ? cfr_err_set(err, CFR_E_CONFLICT, "another program keeps changing it") : rc;
}

int cfr_single_publish(const char *path, const struct cfr_file *file, bool in_place, cfr_single_merge_fn *merge,
                       bool *changed, struct cfr_err *err)
{
    struct cfr_file named = *file;
    int dir_fd = cfr_path_open_parent(path, true, &named.name, err);
    int rc;

    *changed = false;
    if (dir_fd < 0)
        return dir_fd;
    rc = publish_at(dir_fd, path, &named, in_place, merge, changed, err);
    (void)close(dir_fd);
    if (rc != 0)
        (void)cfr_err_prefix(err, "%s", path);
    return rc;
}

int cfr_single_check(const char *path, struct cfr_err *err)
{
    struct cfr_err none = {0};
    const char *name;
    int dir_fd = cfr_path_open_parent(path, false, &name, &none);
    int rc;

    if (dir_fd < 0)
        return 0; /* it is still to be made */
    rc = check_target(dir_fd, name, err);
    (void)close(dir_fd);
    if (rc != 0)
        (void)cfr_err_prefix(err, "%s", path);
    return rc;
}

int cfr_single_read(const char *path, struct cfr_secret *content, int64_t *bytes, int64_t *changed_s,
                    struct cfr_err *err)
{
    const char *name;
    int dir_fd = cfr_path_open_parent(path, false, &name, err);
    struct stat st;
    int rc;

    if (dir_fd < 0)
        return dir_fd;
    rc = cfr_file_read_before(dir_fd, name, content, &st, err);
    if (rc == 0 && st.st_nlink == 0)
        rc = cfr_err_set(err, CFR_E_MISSING, "it does not exist");
    (void)close(dir_fd);
    *bytes = st.st_size;
    *changed_s = st.st_mtim.tv_sec;
    if (rc != 0)
        (void)cfr_err_prefix(err, "%s", path);
    return rc;
}

int cfr_single_recover(const char *path, struct cfr_err *err)
{
    struct cfr_err local = {0};
    const char *name;
    int dir_fd = cfr_path_open_parent(path, false, &name, &local);
    int rc;

    if (dir_fd < 0)
        return dir_fd == CFR_E_MISSING ? 0 : cfr_err_set(err, dir_fd, "%s", local.text);
    rc = cfr_file_remove_temps(dir_fd, name, err);
    (void)close(dir_fd);
    if (rc != 0)
        (void)cfr_err_prefix(err, "%s", path);
    return rc;
}

int cfr_single_fingerprint(const char *path, struct cfr_file_fingerprint *out, struct cfr_err *err)
{
    const char *name;
    int dir_fd = cfr_path_open_parent(path, false, &name, err);
    int rc;

    if (dir_fd < 0)
        return dir_fd;
    rc = cfr_file_fingerprint(dir_fd, name, out, err);
    (void)close(dir_fd);
    if (rc != 0)
        (void)cfr_err_prefix(err, "%s", path);
    return rc;
}
