/* SPDX-License-Identifier: MIT */
/* Publishing a single file by rename. */
#include "files/single.h"

#include "files/file_private.h"
#include "files/path_private.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

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

static int write_if_changed(int dir_fd, const char *path, const struct cfr_file *file, bool in_place, bool *changed,
                            struct cfr_err *err)
{
    int rc = check_target(dir_fd, file->name, err);

    if (rc != 0)
        return rc;
    if (cfr_file_same(dir_fd, file)) {
        sync_found(dir_fd, file->name);
        return 0;
    }
    if (faccessat(dir_fd, file->name, F_OK, AT_SYMLINK_NOFOLLOW) != 0)
        cfr_path_sync_above(dir_fd);
    if (in_place && cfr_file_is_mount(path))
        rc = cfr_file_overwrite(dir_fd, file, err);
    else
        rc = cfr_file_replace(dir_fd, file, err);
    *changed = rc == 0;
    return rc;
}

int cfr_single_publish(const char *path, const struct cfr_file *file, bool in_place, bool *changed, struct cfr_err *err)
{
    struct cfr_file named = *file;
    int dir_fd = cfr_path_open_parent(path, true, &named.name, err);
    int rc;

    *changed = false;
    if (dir_fd < 0)
        return dir_fd;
    rc = write_if_changed(dir_fd, path, &named, in_place, changed, err);
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
