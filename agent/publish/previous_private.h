/* SPDX-License-Identifier: MIT */
/* Files that a long-lived key's directory has beyond the configured ones: when the key was made, and what each file
 * held before.
 *
 * Blocks on disk where it reads; keeps nothing. Errors are those of files/generation.h. */
#ifndef CFR_AGENT_PUBLISH_PREVIOUS_PRIVATE_H
#define CFR_AGENT_PUBLISH_PREVIOUS_PRIVATE_H

#include "agent/publish/publisher.h"
#include "base/secret.h"

/* The content of the file CFR_ROTATION_FILE: "2026-01-02T03:04:05Z ID", with a line end. */
int cfr_publish_minted_line(const struct cfr_publish_minted *minted, struct cfr_secret *out, struct cfr_err *err);
/* The id of the key that this file in DIRECTORY names; "" for none. */
void cfr_publish_minted_id(const char *directory, char id[CFR_PUBLISH_KEY_MAX]);
/* Reads what NAME.old in DIRECTORY is to hold once LINE is the content of CFR_ROTATION_FILE: what NAME holds now or,
 * where LINE is there already, what NAME.old holds. *THERE is false where that is nothing. */
int cfr_publish_previous_read(const char *directory, const char *name, struct cfr_view line, struct cfr_secret *out,
                              bool *there, struct cfr_err *err);

#endif
