/* SPDX-License-Identifier: MIT */
/* One profile merged into an AWS credentials or config file that other programs also write; every other byte of it
 * stays. Writes the subset that all SDKs read alike (no quotes, no comments, lower-case keys, `key = value`). Blocks on
 * disk. */
#ifndef CFR_FILES_PROFILE_H
#define CFR_FILES_PROFILE_H

#include "files/file.h"

#define CFR_PROFILE_FILE_MAX 1048576

/* Reads PATH (may be missing), merges, and replaces it by rename under an exclusive lock on PATH.lock (open
 * file description lock; with WAIT it is waited for, at most 2 s: CFR_E_TIMEOUT). The file keeps its own mode and
 * owner; FILE's are for a new one. For a secret, WAS is not NULL: where the file's mode gives users who are neither its
 * owner nor of its group what FILE->mode does not, it is replaced by one with the bits that both have (the old inode
 * stays as it is, it may have other names), and *WAS is the mode before; else 0. FILE->content is the section's body.
 * *CHANGED is false if the file already has it. CFR_E_CONFLICT if another program keeps changing PATH without the lock.
 */
int cfr_profile_publish(const char *path, const char *section, const struct cfr_file *file, bool wait, mode_t *was,
                        bool *changed, struct cfr_err *err);
/* Removes what a crash has left next to PATH, unless the lock is held: then it may be what the holder is writing. */
int cfr_profile_recover(const char *path, struct cfr_err *err);
/* 0 if PATH has the section; CFR_E_MISSING. *MARK (may be NULL) changes with the section: its size, and a digest of it
 * in place of the time. */
int cfr_profile_verify(const char *path, const char *section, struct cfr_file_fingerprint *mark, struct cfr_err *err);

#endif
