/* SPDX-License-Identifier: MIT */
/* Used assertions: each may be presented once (RFC 7523, 3, `jti`). */
#ifndef LC_TOKEN_REPLAY_H
#define LC_TOKEN_REPLAY_H

#include "text.h"

/* True the first time that this pair is seen until expires_at_s. Locks for the look-up only; any thread. */
bool lc_token_first_use(const char *client, const char *jti, int64_t expires_at_s);

#endif
