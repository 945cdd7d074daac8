/* SPDX-License-Identifier: MIT */
/* Single files below an open directory: reads, replaces and wipes one file, with its mode and owner. Blocks on disk.
 * Names, contents and descriptors are borrowed. Errors of functions that take a directory's descriptor name only the
 * file; the caller prefixes the directory. */
#ifndef CFR_FILES_FILE_H
#define CFR_FILES_FILE_H

#include "base/secret.h"

#include <stdbool.h>
#include <stdint.h>
#include <sys/stat.h>
#include <sys/types.h>

#define CFR_FILE_KEEP_ID ((uid_t)-1) /* leave owner or group as the kernel sets it */

struct cfr_file {
    const char *name; /* of one path component, borrowed */
    struct cfr_view content;
    mode_t mode;
    uid_t uid; /* CFR_FILE_KEEP_ID or an id */
    gid_t gid;
};

/* Identity of a file that was published; the agent stores it in its state to recognise its own work. */
struct cfr_file_fingerprint {
    uint64_t inode;
    uint64_t size;
    int64_t mtime_ns;
};

/* What cfr_file_read_foreign has read. */
struct cfr_file_origin {
    uid_t owner;
    bool trusted; /* only root and our user could have written it, and the directory is theirs */
    bool linked;  /* it has another name, and others could have given it this one */
    mode_t mode;  /* its permission bits */
    gid_t group;
    int64_t mtime_ns; /* before it was read */
    uint64_t size;
};

/* How far a reader goes along a path that another user may have a hand in. What is judged is what is opened: nothing
 * can be put in its place in between. */
enum cfr_file_reach {
    CFR_FILE_ANSWERING, /* asks no file system that may not answer, and follows no link that another user could have
                         * made: CFR_FILE_ELSEWHERE. Never blocks on a network or FUSE; on a disk not after
                         * cfr_file_never_wait */
    CFR_FILE_WAITING,   /* waits; such a link is CFR_E_PATH */
    CFR_FILE_ANYWHERE,  /* waits, and follows every link: with no more rights than that user's */
};

/* Not read. errno is EAGAIN if the reason is a disk that has not answered: it may do so the next time. */
#define CFR_FILE_ELSEWHERE 1

/* Until this is called, a disk is waited for where it has to be read. ASK then has NAME in DIR_FD, or the file or
 * directory DIR_FD itself if NAME is "", read by another process (cfr_file_warm), and is waited for a moment only: true
 * if that has ended. NULL: wait again. */
typedef bool cfr_file_ask_fn(int dir_fd, const char *name);
void cfr_file_never_wait(cfr_file_ask_fn *ask);
/* Opens it, and reads a file, so that it is in memory. Blocks on disk, but asks nothing that is mounted there. */
void cfr_file_warm(int dir_fd, const char *name);

/* Puts FILE at its name in one step: a temporary file, fsync, rename, fsync of the directory. An existing file or link
 * of that name is replaced. On error it stays as it was and nothing else is left behind. CFR_E_PATH if the name is a
 * mount point. */
int cfr_file_replace(int dir_fd, const struct cfr_file *file, struct cfr_err *err);
/* Reads a whole regular file below DIR_FD into OUT (whose old content is wiped) without following links.
 * CFR_E_LIMIT above out->limit, CFR_E_MISSING. */
int cfr_file_read_at(int dir_fd, const char *name, struct cfr_secret *out, struct cfr_err *err);
/* The same for a file that this program wrote: CFR_E_PERM, in words, if it belongs to another user than this one, root
 * and the directory's owner, or other users can write it. Both are checked on the descriptor that is read. */
int cfr_file_read_own_at(int dir_fd, const char *name, struct cfr_secret *out, struct cfr_err *err);
/* That check, of a file of status ST in the directory DIR_FD. */
int cfr_file_check_own(int dir_fd, const struct stat *st, struct cfr_err *err);
/* Reads a regular file by path, following links (the kubelet's volumes consist of them); for tokens and the like.
 * CFR_E_PATH for anything that is not a regular file; never blocks on a FIFO. */
int cfr_file_read(const char *path, struct cfr_secret *out, struct cfr_err *err);
/* Reads a regular file that another user may write to: no link is followed that another user could have made.
 * CFR_E_PATH also for a file system that may not answer, which is not asked; CFR_E_TIMEOUT for a disk that has not
 * answered. */
int cfr_file_read_foreign(const char *path, struct cfr_secret *out, struct cfr_file_origin *origin,
                          struct cfr_err *err);
/* The same, and a link at PATH that only root and our user could have made is followed, too: the kubelet's volumes
 * consist of them. */
int cfr_file_read_linked(const char *path, struct cfr_secret *out, struct cfr_err *err);
/* As cfr_file_read, as far as REACH goes; also CFR_FILE_ELSEWHERE. STATUS (may be NULL) is of the file that is read,
 * before it is. */
int cfr_file_read_reach(const char *path, enum cfr_file_reach reach, struct cfr_secret *out, struct stat *status,
                        struct cfr_err *err);
/* As cfr_file_read_at, as far as REACH goes; also CFR_FILE_ELSEWHERE. */
int cfr_file_read_below(int dir_fd, const char *name, enum cfr_file_reach reach, struct cfr_secret *out,
                        struct cfr_err *err);
/* As stat(2), with CFR_FILE_ANSWERING; also CFR_FILE_ELSEWHERE. Never blocks. */
int cfr_file_status(const char *path, struct stat *out, struct cfr_err *err);
/* True if PATH is without links and leads to the file of status SEEN, unchanged. Also false if that takes a file system
 * that may not answer, or an older kernel than 5.12. Never blocks. */
bool cfr_file_is_still(const char *path, const struct stat *seen);
/* Opens PATH (absolute; a relative one is opened as it is) with FLAGS of open(2), as far as REACH goes: 0 with *OUT, an
 * error, or CFR_FILE_ELSEWHERE. */
int cfr_file_open(const char *path, int flags, enum cfr_file_reach reach, int *out, struct cfr_err *err);
/* Where PATH (absolute) leads by its links, as far as REACH goes, to OUT (PATH_MAX bytes). False if there is nothing
 * with a path, or not so far. Never blocks with CFR_FILE_ANSWERING. */
bool cfr_file_leads_to(const char *path, enum cfr_file_reach reach, char *out);
/* CFR_E_MISSING; CFR_E_PATH if it is not a regular file. */
int cfr_file_fingerprint(int dir_fd, const char *name, struct cfr_file_fingerprint *out, struct cfr_err *err);
/* Overwrites with zeros, fsyncs and unlinks. A missing file is no error. A file with another hard link, one that is
 * larger than anything that is published, and anything that is not a regular file, is unlinked only. A file that cannot
 * be overwritten is unlinked as well, and the error reports it. */
int cfr_file_wipe(int dir_fd, const char *name, struct cfr_err *err);
/* After a process that writes files was killed, so that what it left is found. */
void cfr_file_forget_clean(void);
/* True if PATH itself is a mount point (a subPath or a bind-mounted file). */
bool cfr_file_is_mount(const char *path);
/* True if the file that PATH leads to, with CFR_FILE_ANSWERING, is one; false for CFR_FILE_ELSEWHERE. Never blocks. */
bool cfr_file_leads_to_mount(const char *path);

#endif
