/* SPDX-License-Identifier: MIT */
/* What the rotation's parts share: rotation.c (its steps), rotation_text.c (what it says of itself). Private to them.
 */
#ifndef CFR_ROTATION_ROTATION_PRIVATE_H
#define CFR_ROTATION_ROTATION_PRIVATE_H

#include "rotation/rotation.h"

/* True if the pending secret is that of the key that is being minted. */
bool cfr_rotation_has_pending(const struct cfr_rotation_rotation *r, const struct cfr_rotation_facts *f);
/* When the next of our own keys that are aside is retired; INT64_MAX if there is none. */
int64_t cfr_rotation_aside_due_s(const struct cfr_rotation_rotation *r);

#endif
