/* SPDX-License-Identifier: MIT */
/* Opening what we write: directories first, then everything below them without following links. Blocks on
 * disk. */
#ifndef CFR_FILES_PATH_H
#define CFR_FILES_PATH_H

#include "base/err.h"

#include <stdbool.h>
#include <sys/types.h>

#define CFR_PATH_NAME_MAX 255 /* bytes of one component */
#define CFR_PATH_TEMP_MAX (CFR_PATH_NAME_MAX + 1)

/* Opens directory PATH (absolute). Its parents may be links that the administrator made (/var/run); the last
 * component must be a real directory. With CREATE, missing parents are made with mode 0755 and PATH itself
 * with MODE, whatever the umask. Returns a close-on-exec descriptor or an error (CFR_E_PATH for a planted
 * link). */
int cfr_path_open_dir(const char *path, bool create, mode_t mode, struct cfr_err *err);
/* openat2(2) below DIR_FD with RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS, close-on-exec.
 * Where the kernel has no openat2, NAME must be a single component. CFR_E_PATH for a link, CFR_E_CONFLICT for
 * O_EXCL on what exists, CFR_E_MISSING. The error text names NAME only; the caller puts the directory before
 * it. */
int cfr_path_openat(int dir_fd, const char *name, int flags, mode_t mode, struct cfr_err *err);
/* Splits PATH into an opened parent directory (made with mode 0755 where CREATE is set) and its last
 * component, which points into PATH. PATH must not end with a slash. */
int cfr_path_open_parent(const char *path, bool create, const char **name, struct cfr_err *err);
/* Makes directory NAME below DIR_FD so that it has its mode and owner ((uid_t)-1 leaves it) from the moment
 * it can be seen. That it exists already is no error. */
int cfr_path_make_dir(int dir_fd, const char *name, mode_t mode, uid_t uid, gid_t gid, struct cfr_err *err);
/* fsync(2); what cannot be synced by its nature (directories of some file systems, or one that we may
 * pass through but not list) counts as synced. */
int cfr_path_sync(int fd, const char *what, struct cfr_err *err);
/* True if NAME is one component of at most CFR_PATH_NAME_MAX bytes, neither `.` nor `..`. */
bool cfr_path_is_name(const char *name);
/* A random name for something that is to become NAME: `.NAME.credfresh-XXXXXXXX` (a long NAME is cut). */
void cfr_path_temp_name(const char *name, char out[CFR_PATH_TEMP_MAX]);
/* True if ENTRY is a name that cfr_path_temp_name could have made for NAME, or for any name if NAME is NULL.
 */
bool cfr_path_is_temp(const char *entry, const char *name);
/* Name or number of a user or group, as configured. Names are looked up in /etc/passwd and /etc/group alone,
 * because name services of other kinds may block, and a static binary cannot load them. CFR_E_CONFIG if there
 * is none such. */
int cfr_path_uid(const char *owner, uid_t *uid, struct cfr_err *err);
int cfr_path_gid(const char *group, gid_t *gid, struct cfr_err *err);

#endif
