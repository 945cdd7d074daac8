/* SPDX-License-Identifier: MIT */
/* Small JSON documents in a directory of our own, replaced atomically. Blocks on disk. The state directory holds
 * metadata, and while a key is being rotated the pending secret; the service CA and the issuer keep their private keys
 * the same way, each in a directory for that alone. All files have mode 0600. */
#ifndef CFR_FILES_STATE_H
#define CFR_FILES_STATE_H

#include "base/secret.h"

#include <sys/stat.h>

#define CFR_STATE_MAX 65536

/* Whether a state directory, whose status is ST, is safe from other users: CFR_E_PERM if it belongs to another user
 * than OWNER and root, or users other than its owner can write it. A volume of a pod is let through, which the kubelet
 * makes so (root's, mode 0777 or 2777, from 1.36 on with the sticky bit): MOUNTED, DIRECTORY is a mount point, and not
 * one that everybody uses, such as /tmp. */
int cfr_state_check(const struct stat *st, bool mounted, uid_t owner, const char *directory, struct cfr_err *err);
/* The same for the directory of a socket, which users may enter. With the sticky bit others may write in it, too, as
 * they cannot replace what is there. */
int cfr_state_check_shared(const struct stat *st, bool mounted, uid_t owner, const char *directory,
                           struct cfr_err *err);
/* Whether the directory DIR_FD is a mount point. */
bool cfr_state_is_mounted(int dir_fd, const struct stat *st);
/* Makes the directory (mode 0700), opens it, checks that it is safe, as above, for this user, and takes an exclusive
 * lock on `lock` in it, so that two agents never share one: CFR_E_CONFLICT. Where the agent that had the lock has
 * ended, waits up to 5 s for a child that it has left. Returns the directory's descriptor; *LOCK_FD is a socket that
 * holds the lock until it is closed: no process has a descriptor of `lock`, whose close could hang. The caller closes
 * both. */
int cfr_state_open(const char *directory, int *lock_fd, struct cfr_err *err);
/* Reads NAME.json into OUT, whose limit the caller sets (CFR_STATE_MAX is enough). CFR_E_MISSING if there is none,
 * CFR_E_PERM as of cfr_file_read_own_at. */
int cfr_state_load(int dir_fd, const char *name, struct cfr_secret *out, struct cfr_err *err);
/* Replaces NAME.json (mode 0600) in one step. CFR_E_LIMIT above CFR_STATE_MAX. */
int cfr_state_save(int dir_fd, const char *name, struct cfr_view content, struct cfr_err *err);

#endif
