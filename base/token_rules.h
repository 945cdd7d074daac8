/* SPDX-License-Identifier: MIT */
/* What a token service demands of a subject token beyond its trust policy: a row of each provider, read by the report
 * on a token. Constant data. */
#ifndef CFR_BASE_TOKEN_RULES_H
#define CFR_BASE_TOKEN_RULES_H

#include <stddef.h>

struct cfr_token_rules {
    const char *const *algorithms;    /* that it accepts, NULL-terminated; NULL = any that has a public key */
    const char *only;                 /* a sentence that names them */
    const char *accepts;              /* what the service is called in "an algorithm that ... accepts" */
    size_t bytes_max;                 /* 0 = not known */
    const char *usual_audience;       /* where none is configured; NULL = there is none */
    const char *usual_audience_china; /* in a region that begins with `cn-`, too; may be NULL */
};

#endif
