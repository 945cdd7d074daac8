/* SPDX-License-Identifier: MIT */
/* A directory in the kubelet's layout whose files change all at once: `..data` leads to the current generation's
 * directory, and each visible name is a link through it (kubernetes pkg/volume/util/atomic_writer.go describes
 * the layout). Beyond the kubelet: fsync at each step, visible links before the commit so that a first set
 * appears whole, the previous generation stays, and leftovers of a crash are removed. Blocks on disk.
 * Generation directories are named `..YYYY_MM_DD_hh_mm_ss.NNNNNNNNN`, the number being the generation (nine
 * digits, or more where it is greater). Only such directories, `..data`, `..data_tmp` and links `NAME ->
 * ..data/NAME` are ever replaced or removed; every other entry of DIRECTORY is left alone. Errors name the directory.
 */
#ifndef CFR_FILES_GENERATION_H
#define CFR_FILES_GENERATION_H

#include "files/file.h"

#define CFR_GENERATION_FILES_MAX 64
#define CFR_GENERATION_DATA      "..data" /* the link to the current generation */

struct cfr_generation {
    const char *directory;
    mode_t directory_mode; /* of DIRECTORY when it is made, and of each generation's directory */
    uid_t uid;             /* owner and group of these directories, CFR_FILE_KEEP_ID to leave them */
    gid_t gid;
    const struct cfr_file *files; /* 1 to CFR_GENERATION_FILES_MAX; no name begins with `..` */
    size_t file_count;
    uint64_t number; /* to publish as, whatever the current one has: others may have written to DIRECTORY */
    int64_t now_s;   /* for the directory's name */
    bool differs;    /* the caller knows that the current generation differs, so it is not read */
};

/* What is in a directory of generations. */
struct cfr_generation_state {
    /* The current generation; 0 when there is none, or one of another user than root, ours, the owner of the directory
     * and the one that is expected. */
    uint64_t number;
    /* Changes when one of the files is written to or replaced: all sizes, and a digest of names, sizes and times in
     * place of the time; it has no inode, so that a copy which keeps the times has the same. */
    struct cfr_file_fingerprint mark;
    int64_t renamed_ns; /* change time of ..data */
};

/* What is expected there. */
struct cfr_generation_expected {
    const char *const *names; /* NULL: any files, empty ones too */
    size_t count;
    bool may_be_empty;
    uid_t owner; /* or CFR_FILE_KEEP_ID */
};

/* Makes the directory alone, with its owner, group and mode, if it is not there. */
int cfr_generation_make(const struct cfr_generation *g, struct cfr_err *err);
/* Publishes the set in one step (rename of ..data). *CHANGED is false, and no generation is made, if the
 * current one already has the same files, modes and owners (visible links that were removed are made again). STATE (may
 * be NULL) is what is there now; its number is 0 if cfr_generation_look has to read it. On error
 * the published generation stays and nothing else is left. CFR_E_CONFLICT, naming the path, if a name that is needed is
 * taken by an entry that is not ours. Generations older than the previous one are wiped; a failure of this, or of
 * anything else after the swap, is not reported, and cfr_generation_recover makes up for it. CFR_E_PERM if the
 * directory is given to another user, and we are neither that user nor root. */
int cfr_generation_publish(const struct cfr_generation *g, bool *changed, struct cfr_generation_state *state,
                           struct cfr_err *err);
/* Removes what a crash left: unfinished generations, ..data_tmp, dangling visible links; and all but the
 * newest previous generation. A missing DIRECTORY is no error. If ..data is not ours nothing is removed:
 * CFR_E_CONFLICT. RECORDED: the current generation was published to its end, and is not written to; otherwise its files
 * get the times that a crash may have left out. */
int cfr_generation_recover(const char *directory, bool recorded, struct cfr_err *err);
/* 0 if NAME can be published in DIRECTORY, which need not exist; CFR_E_CONFLICT if it is taken by an entry that is not
 * ours. */
int cfr_generation_check_name(const char *directory, const char *name, struct cfr_err *err);
/* Looks at DIRECTORY. 0 if the current generation has exactly the files that are EXPECTED, none of them empty, each
 * reachable through its visible link; otherwise CFR_E_MISSING, saying what is missing. CFR_E_CONFLICT if ..data is not
 * ours. STATE is filled in as far as it could be read. */
int cfr_generation_look(const char *directory, const struct cfr_generation_expected *expected,
                        struct cfr_generation_state *state, struct cfr_err *err);
/* Reads NAME of the current generation into OUT, following no link but ..data: the owner of the files need not be
 * trusted. CFR_E_MISSING; CFR_E_PATH if it is not a regular file. */
int cfr_generation_read(const char *directory, const char *name, struct cfr_secret *out, struct cfr_err *err);
/* Wipes the file NAME of the current generation, and removes its link; the other files remain as they are. A missing
 * one is no error. */
int cfr_generation_drop(const char *directory, const char *name, struct cfr_err *err);
/* Wipes every generation but the current one. A missing DIRECTORY is no error. */
int cfr_generation_retire(const char *directory, struct cfr_err *err);

#endif
