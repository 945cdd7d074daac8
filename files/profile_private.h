/* SPDX-License-Identifier: MIT */
/* The merge of a profile into the text of a file. Pure. */
#ifndef CFR_FILES_PROFILE_PRIVATE_H
#define CFR_FILES_PROFILE_PRIVATE_H

#include "files/profile.h"

/* Replaces the section whose header line is `[SECTION]` in OLD by BODY (complete lines of `key = value`), or appends
 * it, and puts the result into OUT, whose old content is wiped. The section's keys are BODY's afterwards; everything
 * from its first key to its last is removed. The header line stays, and so do comments (that begin in the first column)
 * and blank lines before the first key or after the last one, and line endings elsewhere. CFR_E_CONFLICT, naming the
 * line: a section that occurs more than once (some SDKs refuse the whole file), or also in another spelling
 * that some SDKs take for the same (`[ SECTION ]`, `[profile default]` next to `[default]`, an indented header), a
 * byte order mark, NUL bytes and lone carriage returns. CFR_E_LIMIT if the result is longer than out->limit. */
int cfr_profile_merge(struct cfr_view old, const char *section, struct cfr_view body, struct cfr_secret *out,
                      struct cfr_err *err);

#endif
