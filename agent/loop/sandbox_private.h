/* SPDX-License-Identifier: MIT */
/* The system calls that the main process and its errands need, and the errors of the latter. */
#ifndef CFR_AGENT_LOOP_SANDBOX_PRIVATE_H
#define CFR_AGENT_LOOP_SANDBOX_PRIVATE_H

#include "base/err.h"

#include <stddef.h>

/* Their numbers on the machine that this is built for. */
extern const int cfr_sandbox_calls[];
extern const size_t cfr_sandbox_call_count;

struct sock_filter;

/* The filter of cfr_sandbox_seccomp, of COUNT instructions, for the caller to free. NULL without memory, and in builds
 * that have none. */
struct sock_filter *cfr_sandbox_make_filter(size_t *count);

/* Adds to ERR, if that is CFR_E_PERM of what is read with another user's rights, that such links open nothing. */
void cfr_sandbox_explain_links(struct cfr_err *err);

#endif
