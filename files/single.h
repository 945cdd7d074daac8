/* SPDX-License-Identifier: MIT */
/* One file replaced by rename. Blocks on disk. */
#ifndef CFR_FILES_SINGLE_H
#define CFR_FILES_SINGLE_H

#include "files/file.h"

/* Replaces PATH by FILE's content, mode and owner (FILE->name is not used); missing parents are made 0755.
 * Same content, mode and owner: *CHANGED is false and nothing is written. A PATH that is a link is refused
 * (CFR_E_PATH). A PATH that is a mount point cannot be renamed onto: CFR_E_PATH says so and names `in_place`,
 * unless IN_PLACE is set; then, and only on a mount point, the content is overwritten where it stands (a
 * reader may then see it torn). */
int cfr_single_publish(const char *path, const struct cfr_file *file, bool in_place, bool *changed,
                       struct cfr_err *err);
/* Removes temporary files that a crash left beside PATH. */
int cfr_single_recover(const char *path, struct cfr_err *err);
/* Which file stands at PATH now. CFR_E_MISSING. */
int cfr_single_mark(const char *path, struct cfr_file_mark *out, struct cfr_err *err);

#endif
