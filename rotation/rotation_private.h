/* SPDX-License-Identifier: MIT */
/* What the rotation's parts share: rotation.c (its steps), clock.c (its times), former.c (former owners' keys),
 * rotation_text.c (what it says of itself). Private to them. */
#ifndef CFR_ROTATION_ROTATION_PRIVATE_H
#define CFR_ROTATION_ROTATION_PRIVATE_H

#include "rotation/rotation.h"

#define CFR_ROTATION_SKEW_S 900 /* a cloud's clock and ours: more is not tolerated by those that sign */

/* True if the key ID was there before the rotation began, and so is not of its making. */
bool cfr_rotation_is_known(const struct cfr_rotation_journal *j, const char *id);
/* True if the pending secret is that of the key that is being minted. */
bool cfr_rotation_has_pending(const struct cfr_rotation_rotation *r, const struct cfr_rotation_facts *f);
/* When the next of our own keys that are aside is retired; INT64_MAX if there is none. */
int64_t cfr_rotation_aside_due_s(const struct cfr_rotation_rotation *r);

#endif
