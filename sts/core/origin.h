/* SPDX-License-Identifier: MIT */
/* Errors name keys of the configuration. Where a value came from elsewhere (a variable, a mounted Secret, a credentials
 * file), they name that instead. Pure. */
#ifndef CFR_STS_CORE_ORIGIN_H
#define CFR_STS_CORE_ORIGIN_H

#include "base/view.h"

/* Where the value of KEY comes from, or would have to be set: "AWS_REGION", "region in credentials". Written to BUF,
 * which may also be left alone; NULL = the configuration. */
#define CFR_STS_ORIGIN_MAX 160
typedef const char *cfr_sts_origin_fn(const void *ctx, struct cfr_view key, char buf[CFR_STS_ORIGIN_MAX]);

/* Replaces each key in TEXT, an error in a buffer of SIZE bytes, by what FIND has for it: the keys that TEXT begins
 * with
 * ("a.b: c: "), and in what follows `KEY`, `KEY: VALUE`, and words with an underscore. What a server said, which
 * precedes
 * "(HTTP ...): ", remains. */
void cfr_sts_name_origin(char *text, size_t size, cfr_sts_origin_fn *find, const void *ctx);

#endif
