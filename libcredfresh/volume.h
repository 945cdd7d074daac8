/* SPDX-License-Identifier: MIT */
/* Reading a directory into a snapshot, whole or not at all. */
#ifndef CFL_VOLUME_H
#define CFL_VOLUME_H

#include "snapshot.h"

#include <stdbool.h>

#define CFL_NAME_MAX 4095 /* of one wanted name */

/* What is to be read. Borrowed. */
struct cfl_wanted {
    const char *directory; /* absolute */
    char *const *names;    /* sorted, no two alike; NULL, 0: all files */
    size_t name_count;
    size_t files_max;
    size_t bytes_max;
};

/* What was seen when it was last looked at. Zero-initialised is nothing. */
struct cfl_seen {
    int kind;      /* CREDFRESH_KIND_ */
    uint64_t mark; /* tells what was read from what stands there now, by identities; 0: read it in any case */
    uint64_t torn; /* how often it was swapped under our eyes */
    bool mounted;  /* a file in a plain directory is a mount of its own, which the directory's events do not tell of */
};

/* Looks at the directory. Sets *OUT to a new unpublished snapshot, or to NULL if its state is the one of SEEN->mark
 * (FORCE: even then a plain directory is read). Returns 0 or a code, in which case the mark is as before. The caller
 * drops *OUT. */
int cfl_volume_read(const struct cfl_wanted *wanted, bool force, struct cfl_seen *seen, struct credfresh_snapshot **out,
                    struct cfl_error *e);
/* What stands behind the last dot of a version's name (`..2026_01_02_03_04_05.000000007`: 7); 0 if that is no number.
 */
uint64_t cfl_volume_generation(const char *target);

#endif
