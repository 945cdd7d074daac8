/* SPDX-License-Identifier: MIT */
/* One file's content with its mode and owner, and the steps every writer shares. Blocks on disk. Functions
 * that take a directory's descriptor name only the file in their error texts; the caller puts the directory
 * before it. */
#ifndef CFR_FILES_FILE_H
#define CFR_FILES_FILE_H

#include "base/secret.h"

#include <stdint.h>
#include <sys/types.h>

#define CFR_FILE_KEEP_ID ((uid_t)-1) /* leave owner or group as the kernel sets it */

struct cfr_file {
    const char *name; /* of one path component, borrowed */
    struct cfr_view content;
    mode_t mode;
    uid_t uid; /* CFR_FILE_KEEP_ID or an id */
    gid_t gid;
};

/* Which file stood there when we published it; the agent keeps it in its state to recognise its own work. */
struct cfr_file_mark {
    uint64_t inode;
    uint64_t size;
    int64_t mtime_ns;
};

/* Creates FILE->name below DIR_FD, writes, sets owner and mode on the descriptor, fsyncs and closes.
 * CFR_E_CONFLICT if something of that name exists. On error nothing is left behind. */
int cfr_file_create(int dir_fd, const struct cfr_file *file, struct cfr_err *err);
/* Puts FILE at its name in one step: a temporary file, fsync, rename, fsync of the directory. What stood
 * there, a link included, is replaced. On error nothing is left behind and what stood there stands. */
int cfr_file_replace(int dir_fd, const struct cfr_file *file, struct cfr_err *err);
/* Overwrites FILE->name where it stands, for what cannot be replaced. A reader may see it torn. */
int cfr_file_overwrite(int dir_fd, const struct cfr_file *file, struct cfr_err *err);
/* Reads a whole regular file below DIR_FD into OUT (whose old content goes) without following links.
 * CFR_E_LIMIT above out->limit, CFR_E_MISSING. */
int cfr_file_read_at(int dir_fd, const char *name, struct cfr_secret *out, struct cfr_err *err);
/* Reads a file by path, following links (the kubelet's volumes are made of them); for tokens and the like.
 * Refuses what is no regular file; never blocks on a FIFO. */
int cfr_file_read(const char *path, struct cfr_secret *out, struct cfr_err *err);
/* True if the file below DIR_FD has FILE's content, mode and (where asked for) owner. */
bool cfr_file_same(int dir_fd, const struct cfr_file *file);
/* CFR_E_MISSING; CFR_E_PATH if it is no regular file. */
int cfr_file_mark(int dir_fd, const char *name, struct cfr_file_mark *out, struct cfr_err *err);
/* Overwrites with zeros, fsyncs and unlinks. A missing file is no error. What has another hard link, and what
 * is no regular file, is unlinked only. A file that cannot be overwritten is unlinked nevertheless, then the
 * error tells. */
int cfr_file_wipe(int dir_fd, const char *name, struct cfr_err *err);
/* Removes the temporary files and directories that a crash left below DIR_FD beside NAME (beside any if
 * NULL). */
int cfr_file_remove_temps(int dir_fd, const char *name, struct cfr_err *err);
/* True if PATH itself is a mount point (a subPath or a bind-mounted file). */
bool cfr_file_is_mount(const char *path);

#endif
