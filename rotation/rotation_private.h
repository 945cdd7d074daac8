/* SPDX-License-Identifier: MIT */
/* What the rotation's parts share: rotation.c (its steps), clock.c (its times), aside.c (keys that are put aside),
 * former.c (former owners' keys), rotation_text.c (what it says of itself). Private to them. */
#ifndef CFR_ROTATION_ROTATION_PRIVATE_H
#define CFR_ROTATION_ROTATION_PRIVATE_H

#include "rotation/rotation.h"

#define CFR_ROTATION_SKEW_S 900 /* a cloud's clock and ours: more is not tolerated by those that sign */

/* True if the key ID was there before the rotation began, and so is not of its making. */
bool cfr_rotation_is_known(const struct cfr_rotation_journal *j, const char *id);
/* True if the pending secret is that of the key that is being minted. */
bool cfr_rotation_has_pending(const struct cfr_rotation_rotation *r, const struct cfr_rotation_facts *f);
/* aside.c: where ID is among the keys that are aside; aside_count if it is not. */
size_t cfr_rotation_aside_find(const struct cfr_rotation_journal *j, const char *id);
/* The key of ours that is to be deleted next; aside_count if there is none. */
size_t cfr_rotation_aside_next(const struct cfr_rotation_journal *j);
/* When it is; INT64_MAX if there is none. */
int64_t cfr_rotation_aside_due_s(const struct cfr_rotation_rotation *r);
/* The oldest makes room: it stays as it is in the cloud. */
void cfr_rotation_aside_put(struct cfr_rotation_journal *j, const char *id, bool ours, int64_t now_s);
void cfr_rotation_aside_forget(struct cfr_rotation_journal *j, size_t at);
/* At rest, what was deleted is forgotten, and what may be another user's once that one has activated it again. True if
 * the journal has changed. */
bool cfr_rotation_aside_review(struct cfr_rotation_rotation *r, const struct cfr_rotation_keys *keys, int64_t now_s);

#endif
