/* SPDX-License-Identifier: MIT */
/* What the rotation's parts share: rotation.c (its steps), outcome.c (what came of them), lookup.c (the published key's
 * state), clock.c (its times), aside.c (keys that are put aside), former.c (former owners' keys), rotation_text.c (what
 * it says of itself). Private to them. */
#ifndef CFR_ROTATION_ROTATION_PRIVATE_H
#define CFR_ROTATION_ROTATION_PRIVATE_H

#include "rotation/rotation.h"

#define CFR_ROTATION_SKEW_S       900 /* a cloud's clock and ours: more is not tolerated by those that sign */
#define CFR_ROTATION_LOOK_AGAIN_S 10  /* for a key that may still turn up */
#define CFR_ROTATION_FULL_S       300 /* for room among a cloud's keys, which another user has to make */

/* rotation.c */
/* TO, of SIZE bytes, is FROM, cut if that is longer. */
void cfr_rotation_copy(char *to, size_t size, const char *from);
/* Begins STEP: everything that belongs to the step before is forgotten. True: the journal has changed. */
bool cfr_rotation_enter(struct cfr_rotation_rotation *r, enum cfr_rotation_step step, int64_t now_s);
/* Back to where the rotation began: an old key that is kept waits there for another one to be made. True. */
bool cfr_rotation_give_up(struct cfr_rotation_rotation *r, int64_t now_s);
/* True if the key ID was there before the rotation began, and so is not of its making. */
bool cfr_rotation_is_known(const struct cfr_rotation_journal *j, const char *id);
/* True if the pending secret is that of the key that is being minted. */
bool cfr_rotation_has_pending(const struct cfr_rotation_rotation *r, const struct cfr_rotation_facts *f);
/* lookup.c: takes what a list says of the published key. One may be that of a server that lags behind: only two in a
 * row, with a pause between them, are certain. */
void cfr_rotation_note_lookup(struct cfr_rotation_rotation *r, const struct cfr_rotation_keys *keys, int64_t now_s);
/* Seconds until the next lookup: less while keys are aside, so that what an operator does with them is noticed soon. */
int64_t cfr_rotation_lookup_pause_s(const struct cfr_rotation_rotation *r);
/* aside.c: ONE is deleted once its time has come. */
bool cfr_rotation_aside_ends(const struct cfr_rotation_rotation *r, const struct cfr_rotation_aside *one);
/* Where ID is among the keys that are aside; aside_count if it is not. */
size_t cfr_rotation_aside_find(const struct cfr_rotation_journal *j, const char *id);
/* The one that is to be deleted next; aside_count if there is none. */
size_t cfr_rotation_aside_next(const struct cfr_rotation_rotation *r);
/* When it is; INT64_MAX if there is none. */
int64_t cfr_rotation_aside_due_s(const struct cfr_rotation_rotation *r);
/* The oldest makes room: it stays as it is in the cloud. */
void cfr_rotation_aside_put(struct cfr_rotation_journal *j, const char *id, bool ours, int64_t now_s);
void cfr_rotation_aside_forget(struct cfr_rotation_journal *j, size_t at);
/* At rest, what was deleted is forgotten, and what may be another user's once that one has activated it again. True if
 * the journal has changed. */
bool cfr_rotation_aside_review(struct cfr_rotation_rotation *r, const struct cfr_rotation_keys *keys, int64_t now_s);

#endif
