/* SPDX-License-Identifier: MIT */
/* Opaque access tokens: each contains its own data, encrypted, so that nothing is kept and any
 * number can be given out. */
#ifndef LC_TOKEN_SEAL_H
#define LC_TOKEN_SEAL_H

#include "cloud.h"

/* prefix and the sealed content (borrowed). purpose separates kinds of tokens: one opens only as what it was
 * made. The caller frees it; NULL when out of memory. */
char *lc_token_seal(const struct lc_cloud *cloud, const char *purpose, const char *prefix, json_t *content);
/* The content, NULL when the token was not made so. The caller drops it. */
json_t *lc_token_open(const struct lc_cloud *cloud, const char *purpose, const char *prefix, const char *token);

#endif
