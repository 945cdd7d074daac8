/* SPDX-License-Identifier: MIT */
/* An issuer on disk: its journal, its key and its documents, all below one directory but for the documents. */
#ifndef CFR_AGENT_PKI_OIDC_STORE_H
#define CFR_AGENT_PKI_OIDC_STORE_H

#include "pki/oidc_issuer.h"

/* Zero-initialised but for the descriptors, which are -1, is none. */
struct cfr_oidc_store {
    const char *directory; /* borrowed */
    int fd;
    int lock_fd;
    struct cfr_oidc_issuer issuer;
};

/* True if DIRECTORY holds a journal; changes nothing. */
bool cfr_oidc_store_is_there(const char *directory);
/* Makes (mode 0700), opens and locks DIRECTORY, and reads the journal. CFR_E_MISSING if there is none, CFR_E_CONFLICT
 * if another process has it. The caller closes in every case. Blocks on disk, as all that follows. */
int cfr_oidc_store_open(const char *directory, struct cfr_oidc_store *out, struct cfr_err *err);
void cfr_oidc_store_close(struct cfr_oidc_store *o);
/* Writes the journal, in one step. */
int cfr_oidc_store_save(struct cfr_oidc_store *o, struct cfr_err *err);
/* Has every file hold what it is to hold in this phase, and ends an intention; for whatever a crash left, too. *CHANGED
 * tells whether a file was written. */
int cfr_oidc_store_settle(struct cfr_oidc_store *o, int64_t now_s, bool *changed, struct cfr_err *err);

#endif
