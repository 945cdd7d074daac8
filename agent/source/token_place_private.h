/* SPDX-License-Identifier: MIT */
/* Token files that a Secret names: read only below the directory that the configuration names.
 * Blocks on disk, for a regular file below that directory only. The caller owns what is read. No callbacks. */
#ifndef CFR_AGENT_SOURCE_TOKEN_PLACE_PRIVATE_H
#define CFR_AGENT_SOURCE_TOKEN_PLACE_PRIVATE_H

#include "agent/loop/slow_file.h"

/* CFR_E_CONFIG unless the text of PATH lies below that of DIRECTORY, with no `..` in it; /var/run is /run. Touches no
 * file system, because a path that the Secret's author chose may lead to one that hangs. */
int cfr_source_token_place_check(const char *directory, const char *path, struct cfr_err *err);
/* Reads the file at WHAT's path into OUT, after cfr_source_token_place_check, as far as REACH goes. Links below
 * DIRECTORY are followed, if they are relative and have no `..`, as the kubelet's are; so nothing outside of it is ever
 * opened. CFR_E_CONFIG for another link, CFR_E_MISSING, CFR_E_PATH (not a regular file), CFR_E_LIMIT (OUT's),
 * CFR_E_PERM ...; CFR_FILE_ELSEWHERE. STATUS is not used. */
int cfr_source_token_place_read(const struct cfr_slow_read *what, enum cfr_file_reach reach, struct cfr_secret *out,
                                struct stat *status, struct cfr_err *err);

#endif
