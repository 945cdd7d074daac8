/* SPDX-License-Identifier: MIT */
/* One projected volume on disk, written with the kubelet's steps: timestamped directory, ..data_tmp, rename
 * to ..data. */
#ifndef LC_VOLUME_H
#define LC_VOLUME_H

#include "text.h"

#include <sys/types.h>

/* Projects one file with these bytes into directory dir (made when missing). The same bytes and mode again
 * change nothing and cause no event; *changed says which it was. */
int lc_volume_project(const char *dir, const char *file, mode_t mode, const void *bytes, size_t len, bool *changed,
                      struct lc_fail *fail);

/* Writes a whole file at path: temporary file, mode, rename. */
int lc_volume_put_file(const char *path, mode_t mode, const void *bytes, size_t len, struct lc_fail *fail);

/* Reads a whole file of at most max bytes. -1 with the reason; errno keeps ENOENT for a missing one. */
int lc_volume_get_file(const char *path, size_t max, struct lc_buf *out, struct lc_fail *fail);

#endif
