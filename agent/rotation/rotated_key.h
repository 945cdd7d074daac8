/* SPDX-License-Identifier: MIT */
/* Source: a long-lived key that a rotator creates, rotates and deletes (agent/rotation/rotator_private.h). */
#ifndef CFR_AGENT_ROTATION_ROTATED_KEY_H
#define CFR_AGENT_ROTATION_ROTATED_KEY_H

#include "agent/source/source.h"

/* For cfr_source_add. */
extern const struct cfr_source_ops cfr_rotator_source;

#endif
