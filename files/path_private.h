/* SPDX-License-Identifier: MIT */
/* Opening and making directories, and opening files below them without following links. Blocks on disk. */
#ifndef CFR_FILES_PATH_PRIVATE_H
#define CFR_FILES_PATH_PRIVATE_H

#include "files/path.h"

#include <limits.h>

#define CFR_PATH_TEMP_MAX (CFR_PATH_NAME_MAX + 1)
/* For the end of a message: chown(2) knows no other reason for EINVAL. */
#define CFR_PATH_UNMAPPED                                                                                              \
    "; its owner or group has no id in credfresh's user namespace (/proc/self/uid_map, gid_map): choose one that has"
#define CFR_PATH_ENTRIES_MAX 4096 /* of a directory that are looked at: others may have filled it */

/* Opens directory PATH (absolute). Its parents may be links that the administrator made (/var/run); the last
 * component must be a real directory. With CREATE, missing parents are made with mode 0755 and PATH itself
 * with MODE, whatever the umask. Returns a descriptor or an error (CFR_E_PATH for a planted link). */
int cfr_path_open_dir(const char *path, bool create, mode_t mode, struct cfr_err *err);
/* openat2(2) below DIR_FD with RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS, close-on-exec.
 * Where the kernel has no openat2, NAME must be a single component. CFR_E_PATH for a link, CFR_E_CONFLICT for
 * O_EXCL on an existing name, CFR_E_MISSING. The error names NAME only; the caller prefixes the directory. */
int cfr_path_openat(int dir_fd, const char *name, int flags, mode_t mode, struct cfr_err *err);
/* Makes directory NAME below DIR_FD, with its mode and owner ((uid_t)-1 leaves it) set before the name appears. An
 * existing directory is no error. */
int cfr_path_make_dir(int dir_fd, const char *name, mode_t mode, uid_t uid, gid_t gid, struct cfr_err *err);
/* Calls FN for each entry but `.` and `..`, until it returns other than 0; of more than CFR_PATH_ENTRIES_MAX for some.
 * FN may remove entries. */
int cfr_path_each(int dir_fd, int (*fn)(void *ctx, int dir_fd, const char *name), void *ctx, struct cfr_err *err);
/* Sets OUT to the path of FD, which may be of O_PATH. False where /proc is missing, or FD has no path. Never blocks. */
bool cfr_path_of_fd(int fd, char out[PATH_MAX]);
/* fsync(2). A descriptor that cannot be synced (directories of some file systems, or one that may be entered but not
 * listed) counts as synced. */
int cfr_path_sync(int fd, const char *what, struct cfr_err *err);
/* Syncs every directory above DIR_FD on its file system, as far as they can be opened. For a directory that nothing was
 * published in yet: a run that was killed may have made it, and those above it, and not have come to this. */
void cfr_path_sync_above(int dir_fd);
/* True if NAME is one component of at most CFR_PATH_NAME_MAX bytes, neither `.` nor `..`. */
bool cfr_path_is_name(const char *name);
/* A random temporary name for NAME: `.NAME.credfresh-XXXXXXXX` (a long NAME is cut). */
void cfr_path_temp_name(const char *name, char out[CFR_PATH_TEMP_MAX]);
/* True if ENTRY is a name that cfr_path_temp_name could have made for NAME, or for any name if NAME is NULL. */
bool cfr_path_is_temp(const char *entry, const char *name);

#endif
