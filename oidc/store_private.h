/* SPDX-License-Identifier: MIT */
/* OIDC issuer on disk: its journal and keys in one directory, its documents below the web root.
 *
 * Everything blocks on disk. A struct cfr_oidc_store owns its descriptors and the issuer; the directory's name is
 * borrowed. No callbacks. Errors are those of files/ and oidc/issuer/issuer.h, with the path. One process at a time has
 * the directory, by a lock. */
#ifndef CFR_OIDC_STORE_PRIVATE_H
#define CFR_OIDC_STORE_PRIVATE_H

#include "oidc/issuer/issuer.h"

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
 * if another process has it. The caller closes in every case. */
int cfr_oidc_store_open(const char *directory, struct cfr_oidc_store *out, struct cfr_err *err);
void cfr_oidc_store_close(struct cfr_oidc_store *o);
/* Writes the journal, in one step. */
int cfr_oidc_store_save(struct cfr_oidc_store *o, struct cfr_err *err);
/* CFR_E_CONFLICT if a file that NEXT would replace (the key set below its web root, the signing key) holds a key that
 * neither NEXT nor O's journal knows, which may be in tokens: the journal is lost or was set back. Changes nothing. */
int cfr_oidc_store_check(const struct cfr_oidc_store *o, const struct cfr_oidc_issuer *next, struct cfr_err *err);
/* Writes every file of the present phase, documents before keys, and completes a pending change. If documents of
 * PUBLISHED were missing or changed, they are PUBLISHED again, since NOW_S. Repeating it after a crash is safe.
 * *CHANGED says whether a file was written. */
int cfr_oidc_store_publish(struct cfr_oidc_store *o, int64_t now_s, bool *changed, struct cfr_err *err);

#endif
