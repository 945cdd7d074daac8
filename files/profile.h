/* SPDX-License-Identifier: MIT */
/* One profile merged into an AWS credentials or config file that other people also write: every other byte
 * stays. The subset that all SDKs read alike is written (no quotes, no comments, lower-case keys, `key =
 * value`). */
#ifndef CFR_FILES_PROFILE_H
#define CFR_FILES_PROFILE_H

#include "files/file.h"

#define CFR_PROFILE_FILE_MAX 1048576

/* Pure. Replaces the section whose header line is `[SECTION]` in OLD by BODY (complete lines of `key =
 * value`), or appends it. The section's keys are BODY's afterwards; what stands from its first key to its
 * last goes. The header line stays, and so do comments (that begin in the first column) and blank lines
 * before the first key or after the last one, and line endings elsewhere. Refused with CFR_E_CONFLICT and the
 * line: a section that occurs more than once (some SDKs refuse the file whole), or also in another spelling
 * that some SDKs take for the same (`[ SECTION ]`,
 * `[profile default]` beside `[default]`, an indented header), a byte order mark, NUL bytes and lone carriage
 * returns. CFR_E_LIMIT if the result is longer than out->limit. OUT gets the new content. */
int cfr_profile_merge(struct cfr_view old, const char *section, struct cfr_view body, struct cfr_secret *out,
                      struct cfr_err *err);
/* Reads PATH (may be missing), merges, and replaces it by rename under an exclusive lock on PATH.lock (open
 * file description lock, waited for at most 2 s: CFR_E_TIMEOUT). The file keeps its own mode and owner;
 * FILE's are for a new one. FILE->content is the section's body. CFR_E_CONFLICT if somebody keeps changing
 * PATH without the lock. */
int cfr_profile_publish(const char *path, const char *section, const struct cfr_file *file, bool *changed,
                        struct cfr_err *err);
/* 0 if PATH has the section; CFR_E_MISSING. */
int cfr_profile_verify(const char *path, const char *section, struct cfr_err *err);

#endif
