/* SPDX-License-Identifier: MIT */
/* Keys that credfresh created for credentials which are not in the configuration any more: nobody rotates or removes
 * them, and they work until an operator deletes them. What is known of them is their journal in the state directory.
 * Blocks on disk. */
#ifndef CFR_AGENT_ROTATION_LEFTOVER_H
#define CFR_AGENT_ROTATION_LEFTOVER_H

#include "agent/config/config.h"
#include "base/str.h"
#include "rotation/rotation.h"

/* Of cfr_rotator_leftover_keys. */
#define CFR_ROTATOR_LEFTOVER_MAX                                                                                       \
    ((size_t)CFR_ROTATION_ID_MAX * (CFR_ROTATION_ASIDE_MAX + 4) +                                                      \
     (size_t)(CFR_ROTATION_ID_MAX + CFR_ROTATION_SUBJECT_MAX + 8) * CFR_ROTATION_FORMER_MAX)

/* One former credential; J is NULL if its journal cannot be read, and ERR says why. Borrowed for the call. */
typedef void cfr_rotator_leftover_fn(void *ctx, const char *name, const struct cfr_rotation_journal *j,
                                     const struct cfr_err *err);

/* Calls FN for each journal in STATE_FD of which CONFIG has no credential with `mint`, and which names a key or one
 * that may exist; in no order. An error of the directory. */
int cfr_rotator_each_leftover(int state_fd, const struct cfr_config *config, cfr_rotator_leftover_fn *fn, void *ctx,
                              struct cfr_err *err);
/* How many keys J knows, former owners' among them; one that may exist does not count. */
size_t cfr_rotator_leftover_count(const struct cfr_rotation_journal *j);
/* Which they are, in words: "A, B, C of the former owner SUBJECT; one more that may have been created". */
void cfr_rotator_leftover_keys(const struct cfr_rotation_journal *j, struct cfr_str *out);
/* Removes what is known of the former credential NAME, and wipes a secret that was not published. CFR_E_MISSING if
 * there is nothing. */
int cfr_rotator_forget_leftover(int state_fd, const char *name, struct cfr_err *err);

#endif
