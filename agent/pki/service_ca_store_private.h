/* SPDX-License-Identifier: MIT */
/* The service CA's directory: one document, with the key. It is followed while the agent runs: one that somebody put in
 * its place, such as from a backup, counts as it would after a restart, and one that somebody removed is written again.
 * Blocks on disk. */
#ifndef CFR_AGENT_PKI_SERVICE_CA_STORE_PRIVATE_H
#define CFR_AGENT_PKI_SERVICE_CA_STORE_PRIVATE_H

#include "pki/ca.h"
#include "files/file.h"

struct cfr_service_ca_store {
    int fd; /* -1 = not open */
    int lock_fd;
    struct cfr_file_mark file; /* of what was read or written last */
};

#define CFR_SERVICE_CA_STORE_NONE                                                                                      \
    {                                                                                                                  \
        .fd = -1, .lock_fd = -1                                                                                        \
    }

/* Has *A be what DIRECTORY holds, which is made (mode 0700), opened and locked where it is not. On error A is as it
 * was. CFR_E_MISSING if neither holds anything. */
int cfr_service_ca_store_follow(struct cfr_service_ca_store *s, const char *directory, struct cfr_ca *a,
                                struct cfr_err *err);
/* Writes A, in one step, to the DIRECTORY that was followed last. */
int cfr_service_ca_store_write(struct cfr_service_ca_store *s, const char *directory, const struct cfr_ca *a,
                               struct cfr_err *err);
void cfr_service_ca_store_close(struct cfr_service_ca_store *s);

#endif
