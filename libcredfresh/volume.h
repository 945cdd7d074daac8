/* SPDX-License-Identifier: MIT */
/* Reads a directory into a snapshot, completely or not at all. */
#ifndef CFL_VOLUME_H
#define CFL_VOLUME_H

#include "snapshot.h"

#include <stdbool.h>

#define CFL_NAME_MAX 4095 /* of one wanted name */

/* The directory and files to read. Borrowed. */
struct cfl_wanted {
    const char *directory; /* absolute */
    char *const *names;    /* sorted, no two alike; NULL, 0: all files */
    size_t name_count;
    size_t files_max;
    size_t bytes_max;
};

/* Result of the last check. Zero-initialised is none. */
struct cfl_seen {
    int kind;      /* CREDFRESH_KIND_ */
    uint64_t mark; /* fingerprint of the files' identities; 0: read them in any case */
    uint64_t torn; /* how often it was swapped during a read */
    bool mounted; /* a file in a plain directory is a mount of its own, whose changes cause no event of the directory */
};

/* Checks the directory. Sets *OUT to a new unpublished snapshot, or to NULL if SEEN->mark still matches (with FORCE, a
 * plain directory is read even then). Returns 0, or a code with the mark unchanged. The caller drops *OUT. */
int cfl_volume_read(const struct cfl_wanted *wanted, bool force, struct cfl_seen *seen, struct credfresh_snapshot **out,
                    struct cfl_error *e);
/* The number after the last dot of a version's name (`..2026_01_02_03_04_05.000000007`: 7); 0 if there is none. */
uint64_t cfl_volume_generation(const char *target);

#endif
