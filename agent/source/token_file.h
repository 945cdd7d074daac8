/* SPDX-License-Identifier: MIT */
/* The subject token from its file: read, trimmed, decoded, and judged fit for use now. */
#ifndef CFR_AGENT_SOURCE_TOKEN_FILE_H
#define CFR_AGENT_SOURCE_TOKEN_FILE_H

#include "agent/config/config.h"

/* A token that is usable now. */
struct cfr_source_token_file {
    struct cfr_secret token; /* trimmed */
    char *subject;           /* heap; its `sub`, unverified */
    int64_t issued_s;
    int64_t expires_s;
    uint64_t mark; /* tells tokens apart: FNV-1a of header and claims */
};

/* Reads CONFIG's file. Errors say what is wrong with it: missing, empty, half-written, no JWT, expired, not yet
 * valid, for another audience. *WAIT_MS is how long until it may become usable by itself (not yet valid), or -1. */
int cfr_source_token_file_read(const struct cfr_config_token *config, int64_t now_ms, struct cfr_source_token_file *out,
                               int64_t *wait_ms, struct cfr_err *err);
void cfr_source_token_file_free(struct cfr_source_token_file *t);
/* Gives back what is remembered of the tokens that were read last. */
void cfr_source_token_file_forget(void);
/* When a token with these times should have been replaced at the latest, by the kubelet's own rule plus the time its
 * sync loop may take. Unix milliseconds; INT64_MAX for one that does not expire. */
int64_t cfr_source_token_file_overdue_ms(int64_t issued_s, int64_t expires_s);

#endif
