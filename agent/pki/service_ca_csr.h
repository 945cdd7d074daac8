/* SPDX-License-Identifier: MIT */
/* Certificate requests that consumers write, read as hostile files. Blocks on disk, never on a network file system. */
#ifndef CFR_AGENT_PKI_SERVICE_CA_CSR_H
#define CFR_AGENT_PKI_SERVICE_CA_CSR_H

#include "agent/pki/service_ca.h"
#include "base/str.h"

/* Appends to PUBLIC_KEY (PEM) the key of the request that C->csr names. CFR_E_MISSING while there is none; CFR_E_PERM:
 * it is not its owner's alone; and the errors of cfr_file_read_foreign and cfr_cert_request_key. */
int cfr_service_ca_csr_read(const struct cfr_service_ca_certificate *c, struct cfr_str *public_key,
                            struct cfr_err *err);

#endif
