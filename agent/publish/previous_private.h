/* SPDX-License-Identifier: MIT */
/* What a directory of a long-lived key has beside its files: when the key was minted, and what each file held
 * before. Private to agent/publish*.c. */
#ifndef CFR_AGENT_PUBLISH_PREVIOUS_PRIVATE_H
#define CFR_AGENT_PUBLISH_PREVIOUS_PRIVATE_H

#include "agent/publish/render.h"
#include "base/secret.h"

/* The content of the file `minted`: "2026-01-02T03:04:05Z ID", with a line end. */
int cfr_publish_old_line(const struct cfr_publish_minted *minted, struct cfr_secret *out, struct cfr_err *err);
/* What is to stand under NAME with `.old` in DIRECTORY, once LINE is that content: what NAME holds now or,
 * where LINE stands there already, what NAME.old holds. *THERE is false where that is nothing. Blocks on
 * disk. */
int cfr_publish_old_read(const char *directory, const char *name, struct cfr_view line, struct cfr_secret *out,
                         bool *there, struct cfr_err *err);

#endif
