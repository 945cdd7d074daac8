/* SPDX-License-Identifier: MIT */
/* Service CA on disk: a directory with one document, which holds the key.
 *
 * The document is followed while the agent runs: one that replaces it, such as from a backup, is loaded, and one that
 * was removed is written again. A directory that does not answer is CFR_E_TIMEOUT after 10 s. A struct
 * cfr_service_ca_store owns its descriptors. */
#ifndef CFR_AGENT_PKI_SERVICE_CA_STORE_PRIVATE_H
#define CFR_AGENT_PKI_SERVICE_CA_STORE_PRIVATE_H

#include "agent/loop/slow_write.h"
#include "pki/ca.h"
#include "files/file.h"

struct cfr_service_ca_store {
    int fd; /* -1 = not open */
    int lock_fd;
    struct cfr_file_fingerprint file; /* of what was read or written last */
    struct cfr_slow_write writing;
    int64_t silent_boot_ms; /* since then the directory has not answered; 0 = it has */
    int64_t patience_ms;    /* how long it is waited for; 0 = as in a loop */
};

#define CFR_SERVICE_CA_STORE_NONE                                                                                      \
    {                                                                                                                  \
        .fd = -1, .lock_fd = -1                                                                                        \
    }

/* Loads the CA stored in DIRECTORY into *A, if it has changed; makes (mode 0700), opens and locks DIRECTORY first. On
 * error A is unchanged. CFR_E_MISSING if neither holds a CA. CFR_SERVICE_CA_LATER: see below, and while DIRECTORY has
 * not answered. */
int cfr_service_ca_store_follow(struct cfr_service_ca_store *s, const char *directory, struct cfr_ca *a,
                                struct cfr_err *err);
/* Writes A, in one step, to the DIRECTORY that was followed last. CFR_SERVICE_CA_LATER while a child does it: call it
 * again after the next SIGCHLD. */
int cfr_service_ca_store_write(struct cfr_service_ca_store *s, const char *directory, const struct cfr_ca *a,
                               struct cfr_err *err);
/* A write is under way, or the directory has not answered: a SIGCHLD may have brought news. */
bool cfr_service_ca_store_is_waiting(const struct cfr_service_ca_store *s);
void cfr_service_ca_store_close(struct cfr_service_ca_store *s);

#endif
