/* SPDX-License-Identifier: MIT */
/* List of the files of one directory, with their identities. */
#ifndef CFL_LISTING_H
#define CFL_LISTING_H

#include "volume.h"

#include <sys/stat.h>

/* Differs for different files, and for one file before and after a write. */
struct cfl_identity {
    uint64_t device;
    uint64_t inode;
    uint64_t size;
    int64_t modified_ns;
    int64_t changed_ns;
};

struct cfl_entry {
    char *name; /* below the directory */
    struct cfl_identity id;
};

/* Zero-initialised is empty. Sorted by name. */
struct cfl_listing {
    struct cfl_entry *entries;
    size_t count;
    size_t cap;
    size_t names_bytes; /* with their zeros */
    size_t bytes;       /* of all files */
};

struct cfl_identity cfl_identity_of(const struct stat *st);
bool cfl_identity_same(const struct cfl_identity *a, const struct cfl_identity *b);
/* Lists the files of the directory FD (which may be O_PATH): the wanted ones, or all of it, for KIND_SWAPPED with those
 * of its sub-directories. CREDFRESH_E_MISSING for no file or a missing wanted one. The caller frees OUT also after an
 * error. */
int cfl_listing_read(int fd, int kind, const struct cfl_wanted *wanted, struct cfl_listing *out, struct cfl_error *e);
void cfl_listing_free(struct cfl_listing *l);

#endif
