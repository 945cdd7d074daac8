/* SPDX-License-Identifier: MIT */
/* Small documents in a directory of our own, replaced atomically. In the state directory they hold metadata, never
 * secrets; the service CA and the issuer keep their keys so, each in a directory for that alone. Blocks on disk. */
#ifndef CFR_FILES_STATE_H
#define CFR_FILES_STATE_H

#include "base/secret.h"

#define CFR_STATE_MAX 65536

/* Makes (mode 0700) and opens the directory, and takes an exclusive lock on `lock` in it, so that two agents
 * never share one: CFR_E_CONFLICT. Returns a descriptor; *LOCK_FD is another one, held for as long as the
 * lock is wanted. */
int cfr_state_open(const char *directory, int *lock_fd, struct cfr_err *err);
/* Reads NAME.json into OUT, whose limit the caller sets (CFR_STATE_MAX is enough). CFR_E_MISSING if there is
 * none. */
int cfr_state_load(int dir_fd, const char *name, struct cfr_secret *out, struct cfr_err *err);
/* Replaces NAME.json (mode 0600) in one step. CFR_E_LIMIT above CFR_STATE_MAX. */
int cfr_state_save(int dir_fd, const char *name, struct cfr_view content, struct cfr_err *err);
/* That there is none is no error. */
int cfr_state_remove(int dir_fd, const char *name, struct cfr_err *err);

#endif
