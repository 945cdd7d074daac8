/* SPDX-License-Identifier: MIT */
/* Paths that are written to, and their owners: opens a path's parent directory, looks up users and groups. Blocks on
 * disk. Returned descriptors are close-on-exec and belong to the caller. */
#ifndef CFR_FILES_PATH_H
#define CFR_FILES_PATH_H

#include "base/err.h"

#include <stdbool.h>
#include <sys/types.h>

#define CFR_PATH_NAME_MAX 255 /* bytes of one component */

/* Opens the parent directory of PATH, following links (with CREATE, missing ones are made with mode 0755). *NAME is
 * the last component and points into PATH. Returns a descriptor. CFR_E_PATH if PATH is not absolute or ends with a
 * slash. */
int cfr_path_open_parent(const char *path, bool create, const char **name, struct cfr_err *err);
/* The id of a user or group, given as a name or a number. Names are looked up only in /etc/passwd and /etc/group,
 * because other name services may block, and a static binary cannot load them. CFR_E_CONFIG if there is no such
 * name. */
int cfr_path_uid(const char *owner, uid_t *uid, struct cfr_err *err);
int cfr_path_gid(const char *group, gid_t *gid, struct cfr_err *err);
/* Writes the groups that /etc/group has the user UID in to GROUPS, at most MOST, and returns their number. *PRIMARY
 * becomes the user's group in /etc/passwd; it stays as it is if the user is not there. */
size_t cfr_path_groups(uid_t uid, gid_t *primary, gid_t *groups, size_t most);

#endif
