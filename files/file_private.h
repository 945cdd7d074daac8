/* SPDX-License-Identifier: MIT */
/* The steps that all writers of files share. */
#ifndef CFR_FILES_FILE_PRIVATE_H
#define CFR_FILES_FILE_PRIVATE_H

#include "files/file.h"

/* What is wiped at a time, by however many calls: others may have filled the directory, and the loop waits. More than a
 * crash leaves; the rest goes the next time. */
struct cfr_file_budget {
    unsigned entries; /* to remove; with none left, nothing is done */
    uint64_t bytes;   /* to overwrite; files beyond it are unlinked only */
};

#define CFR_FILE_BUDGET                                                                                                \
    {                                                                                                                  \
        .entries = 1024, .bytes = 8 << 20                                                                              \
    }

/* As cfr_file_wipe, within BUDGET. */
int cfr_file_wipe_within(int dir_fd, const char *name, struct cfr_file_budget *budget, struct cfr_err *err);
/* Creates FILE->name below DIR_FD, writes it, sets owner and mode on the descriptor, fsyncs and closes.
 * CFR_E_CONFLICT if the name exists. On error nothing is left behind. */
int cfr_file_create(int dir_fd, const struct cfr_file *file, struct cfr_err *err);
/* Sets the mtime of NAME to CLOCK_REALTIME now; call it once NAME's content is visible. A file is written before it is
 * visible, and some readers (AWS SDK for Java v2) read it again only if its mtime is after their last load. Not
 * UTIME_NOW, whose clock is up to a tick late. An error is ignored: what is published is good. */
void cfr_file_stamp(int dir_fd, const char *name);
/* Overwrites FILE->name in place, for a mount point, which cannot be replaced. A reader may see a partial file. */
int cfr_file_overwrite(int dir_fd, const struct cfr_file *file, struct cfr_err *err);
/* Reads NAME, which other programs write too, and its status; of a missing file nothing, with 0 links. */
int cfr_file_read_before(int dir_fd, const char *name, struct cfr_secret *content, struct stat *st,
                         struct cfr_err *err);
/* True if NAME has not been written since. Callers check it shortly before a rename, because not every program takes a
 * lock. */
bool cfr_file_is_as_before(int dir_fd, const char *name, const struct stat *before);
/* True if the file below DIR_FD has FILE's content, mode and (unless CFR_FILE_KEEP_ID) owner. */
bool cfr_file_same(int dir_fd, const struct cfr_file *file);
/* Opens the directory of the first N bytes of PATH for passing through, as far as REACH goes; a link that is not
 * followed is CFR_E_PATH. FOREIGN: it leads through a directory of a user who is neither root nor ours. */
int cfr_file_open_above(const char *path, size_t n, enum cfr_file_reach reach, bool *foreign, int *out,
                        struct cfr_err *err);
/* As cfr_file_open, for NAME in DIR_FD, which is no link (CFR_E_PATH). */
int cfr_file_open_at(int dir_fd, const char *name, int flags, enum cfr_file_reach reach, int *out, struct cfr_err *err);
/* Removes the temporary files and directories of NAME (of any name if NULL) that a crash left below DIR_FD. A directory
 * that had none at all is not looked through again before cfr_file_forget_clean. */
int cfr_file_remove_temps(int dir_fd, const char *name, struct cfr_err *err);

#endif
