/* SPDX-License-Identifier: MIT */
/* Reads the subject token from its file: trimmed, decoded, and checked for use now.
 * Blocks on disk. The caller frees. No callbacks. Remembers the claims of the last tokens, without signatures. */
#ifndef CFR_AGENT_SOURCE_TOKEN_FILE_H
#define CFR_AGENT_SOURCE_TOKEN_FILE_H

#include "agent/config/config.h"

/* A token that is usable now. */
struct cfr_source_token_file {
    struct cfr_secret token; /* trimmed */
    char *subject;           /* heap; its `sub`, unverified */
    int64_t issued_s;
    int64_t expires_s;
    uint64_t mark; /* fingerprint of the token: FNV-1a of all its bytes */
};

void cfr_source_token_file_free(struct cfr_source_token_file *t);
/* Frees the claims that are remembered. */
void cfr_source_token_file_forget(void);
/* When a token with these times should have been replaced at the latest, by the kubelet's own rule plus the time its
 * sync loop may take. Unix milliseconds; INT64_MAX for one that does not expire. */
int64_t cfr_source_token_file_overdue_ms(int64_t issued_s, int64_t expires_s);
/* When a token that is overdue is used for the last time, in ms since the epoch: a twentieth of its lifetime before it
 * expires, at most a minute. */
int64_t cfr_source_token_file_last_use_ms(int64_t issued_s, int64_t expires_s);

#endif
