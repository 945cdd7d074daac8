/* SPDX-License-Identifier: MIT */
/* Flaws of a view of the credentials. */
#ifndef CFW_JUDGE_H
#define CFW_JUDGE_H

#include "look.h"

enum cfw_flaw { CFW_TORN, CFW_EMPTY, CFW_MIXED, CFW_MISSING, CFW_EXPIRED, CFW_WORSE, CFW_MODE, CFW_FLAWS };

struct cfw_finding {
    enum cfw_flaw flaw;
    char name[256]; /* the file, or empty for the whole target */
    char why[160];
};

#define CFW_FINDINGS_MAX 64

struct cfw_verdict {
    size_t n;
    struct cfw_finding findings[CFW_FINDINGS_MAX];
    uint64_t signature; /* equal for two views that show the same state; never 0 */
};

/* Judges a view against what the same reader remembers of the same target, then updates that memory.
 * now_s: wall clock, seconds since 1970. */
void cfw_judge_view(const struct cfw_view *view, const struct cfw_options *o, int64_t now_s, struct cfw_memory *memory,
                    struct cfw_verdict *verdict);

const char *cfw_judge_flaw_name(enum cfw_flaw flaw);

#endif
