/* SPDX-License-Identifier: MIT */
/* Generation numbers as consumers write them: in a file, or in the header of an answer. Pure. */
#ifndef CFR_AGENT_HOOK_ACK_PRIVATE_H
#define CFR_AGENT_HOOK_ACK_PRIVATE_H

#include "agent/hook/ack.h"

/* The number that TEXT is, with blanks around it; false for anything else, and for 0. */
bool cfr_hook_ack_number(struct cfr_view text, uint64_t *out);

#endif
