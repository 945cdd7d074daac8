/* SPDX-License-Identifier: MIT */
/* One file, given by its path, replaced by rename. Blocks on disk. Errors name the path. */
#ifndef CFR_FILES_SINGLE_H
#define CFR_FILES_SINGLE_H

#include "files/file.h"

/* Replaces CONTENT by what a file that holds THERE is to hold; an error leaves the file as it is. */
typedef int cfr_single_merge_fn(struct cfr_view there, struct cfr_secret *content, struct cfr_err *err);

#define CFR_SINGLE_MERGE_MAX 1048576

/* Replaces PATH by FILE's content, mode and owner (FILE->name is not used); missing parents are made 0755.
 * Same content, mode and owner: *CHANGED is false and nothing is written. CFR_E_PATH if PATH is a link. A PATH that is
 * a mount point cannot be renamed onto: CFR_E_PATH says so and names `in_place`, unless IN_PLACE is set; then, and only
 * on a mount point, the content is overwritten in place (a reader may then see a partial file). With MERGE (may be
 * NULL) the content is what that makes of it and of the file of before, of at most CFR_SINGLE_MERGE_MAX bytes each.
 * CFR_E_CONFLICT if another program keeps changing PATH meanwhile. */
int cfr_single_publish(const char *path, const struct cfr_file *file, bool in_place, cfr_single_merge_fn *merge,
                       bool *changed, struct cfr_err *err);
/* Reads the file at PATH into CONTENT, with its size and the time of its last change; a link is not followed.
 * CFR_E_MISSING; CFR_E_LIMIT, with both. */
int cfr_single_read(const char *path, struct cfr_secret *content, int64_t *bytes, int64_t *changed_s,
                    struct cfr_err *err);
/* 0 if PATH can be published: it is a regular file, or nothing. Otherwise CFR_E_PATH. */
int cfr_single_check(const char *path, struct cfr_err *err);
/* Removes the temporary files of PATH that a crash left in its directory. */
int cfr_single_recover(const char *path, struct cfr_err *err);
/* The identity of the file at PATH. CFR_E_MISSING. */
int cfr_single_fingerprint(const char *path, struct cfr_file_fingerprint *out, struct cfr_err *err);

#endif
