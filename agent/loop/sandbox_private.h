/* SPDX-License-Identifier: MIT */
/* The system calls that the main process and its errands need. */
#ifndef CFR_AGENT_LOOP_SANDBOX_PRIVATE_H
#define CFR_AGENT_LOOP_SANDBOX_PRIVATE_H

#include <stddef.h>

/* Their numbers on the machine that this is built for. */
extern const int cfr_sandbox_calls[];
extern const size_t cfr_sandbox_call_count;

#endif
