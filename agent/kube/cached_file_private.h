/* SPDX-License-Identifier: MIT */
/* Cached content of a file: read again after a change, and kept when the file cannot be read any more. Blocks on
 * disk. */
#ifndef CFR_AGENT_KUBE_CACHED_FILE_PRIVATE_H
#define CFR_AGENT_KUBE_CACHED_FILE_PRIVATE_H

#include "agent/loop/clock.h"
#include "base/secret.h"

#include <sys/stat.h>

#define CFR_KUBE_CACHED_FILE_AGE_MS 60000 /* older contents are read again, whatever stat says */

/* Zero-initialised is no file. */
struct cfr_kube_cached_file {
    char *path;
    struct stat seen;
    int64_t read_boot_ms;
    struct cfr_secret content; /* not empty once it was read */
    uint64_t version;          /* counts different contents; 0 = none yet */
    bool lost;                 /* the last read failed */
};

/* Makes F the file at PATH with its present content. FORCE reads it even if it seems unchanged. If F has a content, an
 * error leaves it as it is and is only logged, once. Otherwise: CFR_E_MISSING (also for an empty file), CFR_E_PERM,
 * CFR_E_LIMIT ... */
int cfr_kube_cached_file_refresh(struct cfr_kube_cached_file *f, const char *path, size_t limit, bool force,
                                 struct cfr_now now, struct cfr_err *err);
void cfr_kube_cached_file_free(struct cfr_kube_cached_file *f);

#endif
