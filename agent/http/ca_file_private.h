/* SPDX-License-Identifier: MIT */
/* The files of trusted CA certificates: finds the system's, reads them, and notices changes. Blocks on disk, for a
 * regular file only.
 * Why the copy has a path: libcurl parses certificates that it is given as bytes (CURLOPT_CAINFO_BLOB) for every
 * connection again, which takes 15 ms and 0.8 MiB for a distribution's bundle; what has a path it parses once. The path
 * is below /proc; where that is not mounted, the bytes have to do. */
#ifndef CFR_AGENT_HTTP_CA_FILE_PRIVATE_H
#define CFR_AGENT_HTTP_CA_FILE_PRIVATE_H

#include "base/err.h"
#include "base/view.h"

#include <stdbool.h>
#include <stddef.h>

/* What was read of a file: bytes that no file system and no other process can change. One of both is empty. */
struct cfr_http_trust_copy {
    char path[32];
    struct cfr_view bytes;
};

struct cfr_http_trust_file;

/* Copies of the files in use, each with a descriptor. Zero-initialised is none. */
struct cfr_http_trust {
    struct cfr_http_trust_file *files;
    size_t count;
};

/* Reads the regular file at PATH (links followed) into memory of this process, unless that was done and the file is the
 * same, and fills COPY. *CHANGED is true if the file is another than in the last call, or was written since: what was
 * verified with its former bytes must be forgotten. The former copy stays until cfr_http_trust_close_retired.
 * CFR_E_MISSING, CFR_E_PERM, CFR_E_PATH (not a regular file), CFR_E_LIMIT (CFR_HTTP_CA_FILE_MAX), CFR_E_NOMEM ... */
int cfr_http_trust_load(struct cfr_http_trust *t, const char *path, struct cfr_http_trust_copy *copy, bool *changed,
                        struct cfr_err *err);
/* To be called when nothing uses a copy from before a change: no transfer, no kept connection, no cache. */
void cfr_http_trust_close_retired(struct cfr_http_trust *t);
void cfr_http_trust_free(struct cfr_http_trust *t);

#endif
