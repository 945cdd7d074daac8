/* SPDX-License-Identifier: MIT */
/* What the rotation's parts share: rotation.c (its steps), rotation_text.c (what it says of itself). Private to them.
 */
#ifndef CFR_ROTATION_ROTATION_PRIVATE_H
#define CFR_ROTATION_ROTATION_PRIVATE_H

#include "rotation/rotation.h"

/* By the last list the cloud has no room for another key. */
bool cfr_rotation_is_full(const struct cfr_rotation_rotation *r);
/* True if the pending secret is that of the key that is being minted. */
bool cfr_rotation_has_pending(const struct cfr_rotation_rotation *r, const struct cfr_rotation_facts *f);
/* When the oldest of the keys that are aside may be removed: not before lists tell whether it is active again.
 * INT64_MAX if there is none. */
int64_t cfr_rotation_aside_due_s(const struct cfr_rotation_rotation *r);

#endif
