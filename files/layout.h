/* SPDX-License-Identifier: MIT */
/* What stands in a directory of generations: its names, and removing what is not wanted. Blocks on disk. */
#ifndef CFR_FILES_LAYOUT_H
#define CFR_FILES_LAYOUT_H

#include "base/err.h"

#include <stdbool.h>
#include <stdint.h>

#define CFR_LAYOUT_DATA     "..data"
#define CFR_LAYOUT_DATA_TMP "..data_tmp"
#define CFR_LAYOUT_NAME_MAX 48

/* One generation's directory: `..YYYY_MM_DD_hh_mm_ss.NNNNNNNNN`. Zeroed is none. */
struct cfr_layout {
    char name[CFR_LAYOUT_NAME_MAX];
    uint64_t number;
};

/* False if NAME is not such a name, written exactly as cfr_layout_name writes it. */
bool cfr_layout_parse(const char *name, struct cfr_layout *out);
void cfr_layout_name(uint64_t number, int64_t now_s, struct cfr_layout *out);
/* What `..data` names; none if it does not exist, or names a generation that does not. CFR_E_CONFLICT if it
 * is not ours (no link, or a link to something else). */
int cfr_layout_current(int dir_fd, struct cfr_layout *out, struct cfr_err *err);
/* The generation with the greatest number below CURRENT's; none if there is none. */
int cfr_layout_previous(int dir_fd, const struct cfr_layout *current, struct cfr_layout *out, struct cfr_err *err);
/* Wipes the files of one generation and removes its directory. */
int cfr_layout_wipe(int dir_fd, const char *name, struct cfr_err *err);
/* Wipes every generation but these two (each may be none, but not NULL). Goes on after an error, and tells
 * the first. */
int cfr_layout_wipe_others(int dir_fd, const struct cfr_layout *keep, const struct cfr_layout *keep_too,
                           struct cfr_err *err);
/* True if NAME is our link: `NAME -> ..data/NAME`. */
bool cfr_layout_is_link(int dir_fd, const char *name);
/* The same, and removes our links that lead nowhere. */
int cfr_layout_tidy(int dir_fd, const struct cfr_layout *keep, const struct cfr_layout *keep_too, struct cfr_err *err);
/* Removes `..data_tmp` if it is a link; CFR_E_CONFLICT if it is anything else. */
int cfr_layout_remove_tmp(int dir_fd, struct cfr_err *err);
/* Calls FN for each entry but `.` and `..`, until it returns other than 0. Entries may be removed meanwhile.
 */
int cfr_layout_each(int dir_fd, int (*fn)(void *ctx, int dir_fd, const char *name), void *ctx, struct cfr_err *err);

#endif
