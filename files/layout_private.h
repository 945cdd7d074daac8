/* SPDX-License-Identifier: MIT */
/* The names in a directory of generations: parses and makes them, lists generations and removes those that are not
 * needed. Blocks on disk. Errors name only the entry; the caller prefixes the directory. */
#ifndef CFR_FILES_LAYOUT_PRIVATE_H
#define CFR_FILES_LAYOUT_PRIVATE_H

#include "files/generation.h"

#include <stdbool.h>
#include <stdint.h>

#define CFR_LAYOUT_DATA_TMP "..data_tmp"
#define CFR_LAYOUT_NAME_MAX 48

/* One generation's directory: `..YYYY_MM_DD_hh_mm_ss.NNNNNNNNN`. Zeroed is none. */
struct cfr_layout {
    char name[CFR_LAYOUT_NAME_MAX];
    uint64_t number;
    uid_t uid; /* of one that exists */
};

/* The name of generation NUMBER made at NOW_S. */
void cfr_layout_name(uint64_t number, int64_t now_s, struct cfr_layout *out);
/* The generation that `..data` leads to; none if the link does not exist, or leads to a generation that does not.
 * CFR_E_CONFLICT if it is not ours (not a link, or a link to something else). */
int cfr_layout_current(int dir_fd, struct cfr_layout *out, struct cfr_err *err);
/* The generation with the greatest number below CURRENT's that belongs to CURRENT's owner, to root or to us; none if
 * there is none. */
int cfr_layout_previous(int dir_fd, const struct cfr_layout *current, struct cfr_layout *out, struct cfr_err *err);
/* Wipes the files of one generation and removes its directory. */
int cfr_layout_wipe(int dir_fd, const char *name, struct cfr_err *err);
/* Wipes every generation but these two (each may be none, but not NULL), within a budget. Continues after an error and
 * returns the first one. */
int cfr_layout_wipe_others(int dir_fd, const struct cfr_layout *keep, const struct cfr_layout *keep_too,
                           struct cfr_err *err);
/* The same, and removes our links that lead nowhere. SET: that was just published, whose links are not read again; may
 * be NULL. */
int cfr_layout_tidy(int dir_fd, const struct cfr_layout *keep, const struct cfr_layout *keep_too,
                    const struct cfr_generation *set, struct cfr_err *err);
/* True if NAME is our link: `NAME -> ..data/NAME`. */
bool cfr_layout_is_link(int dir_fd, const char *name);
/* Removes `..data_tmp` if it is a link; CFR_E_CONFLICT if it is anything else. */
int cfr_layout_remove_tmp(int dir_fd, struct cfr_err *err);

#endif
