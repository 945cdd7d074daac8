/* SPDX-License-Identifier: MIT */
/* All files of a mounted Secret (or any volume of the kubelet), read as one version. Blocks on disk. */
#ifndef CFR_FILES_VOLUME_H
#define CFR_FILES_VOLUME_H

#include "base/secret.h"
#include "files/file.h"

#include <stdint.h>

#define CFR_VOLUME_FILES_MAX 64
#define CFR_VOLUME_BYTES_MAX 1048576 /* of all files: the limit of a Secret */

/* Zero-initialised is empty. Sorted by name. */
struct cfr_volume {
    char *names[CFR_VOLUME_FILES_MAX];
    struct cfr_secret values[CFR_VOLUME_FILES_MAX];
    size_t count;
    uint64_t mark; /* distinguishes versions by names and file identities, not by content */
};

/* Reads every regular file of DIRECTORY (absolute, may be a link as far as REACH goes), through `..data` where it
 * exists, so that a swap in between mixes nothing; names that begin with `..` are ignored. `..data` is a link to a
 * directory next to it: the volume's author decides what is in it, not what else is read. CFR_E_MISSING if there is no
 * directory or no file in it; CFR_E_LIMIT for too many entries, or too many or too large files; CFR_E_UNAVAILABLE if
 * the volume keeps changing; CFR_E_PATH, CFR_E_PERM, CFR_E_IO ...; CFR_FILE_ELSEWHERE. The caller frees OUT also after
 * an error. */
int cfr_volume_read(const char *directory, enum cfr_file_reach reach, struct cfr_volume *out, struct cfr_err *err);
void cfr_volume_free(struct cfr_volume *v);

#endif
