/* SPDX-License-Identifier: MIT */
/* Reads what a directory, a file or a Secret holds: the fields of a key that credfresh did not create, for its
 * adoption. Pure.
 * Memory: OUT is the caller's, who frees it also after an error. Errors: CFR_E_CONFLICT, CFR_E_ANSWER, those of
 * cfr_grant_set. */
#ifndef CFR_ROTATION_FOUND_H
#define CFR_ROTATION_FOUND_H

#include "base/grant.h"

#define CFR_ROTATION_FOUND_ID   "minted" /* field: the id that credfresh wrote next to the key */
#define CFR_ROTATION_FOUND_FILE "minted" /* the file or key of a Secret that says so */

struct cfr_rotation_found {
    struct cfr_grant values; /* each file, or key of a Secret, by its name */
    int64_t since_s;         /* when they were put there; 0 = not known */
};

/* Reads the fields of all values into OUT, which is empty, named as those of a grant: from values named as a field,
 * from lines `KEY = VALUE`, `export KEY='VALUE'` and `KEY: VALUE` (INI, sh, YAML) and from JSON. Names with `.old` at
 * their end are left out. FOUND's since_s is brought up to date by the file CFR_ROTATION_FOUND_FILE. CFR_E_CONFLICT: a
 * field has two different values. */
int cfr_rotation_found_fields(struct cfr_rotation_found *found, struct cfr_grant *out, struct cfr_err *err);

#endif
