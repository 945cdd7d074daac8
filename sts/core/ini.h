/* SPDX-License-Identifier: MIT */
/* Reader of ini files as the AWS SDKs write and read them: sections, and settings with `=` or `:`.
 * Pure; views into the text, which outlives the reader. A comment is a line that begins with `#` or `;`, or what
 * follows one of these after a blank. Nothing is refused: the caller decides what a line that is no setting means. */
#ifndef CFR_STS_CORE_INI_H
#define CFR_STS_CORE_INI_H

#include "base/view.h"

/* Set REST to the whole text, the others to nothing. */
struct cfr_sts_ini {
    struct cfr_view rest;
    struct cfr_view section; /* that the line is in, without brackets and blanks; p == NULL before the first */
    struct cfr_view key;     /* n == 0: the line is the head of SECTION, or no setting */
    struct cfr_view value;
    bool head; /* the line is the head of SECTION */
};

/* Goes to the next line that is neither empty nor a comment. False at the end. */
bool cfr_sts_ini_next(struct cfr_sts_ini *ini);

#endif
