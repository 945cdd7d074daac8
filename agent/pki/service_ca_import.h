/* SPDX-License-Identifier: MIT */
/* Reads the CA that service_ca.import names. Blocks on disk. Errors are those of files/ and pki/ca_import.h, with the
 * path. */
#ifndef CFR_AGENT_PKI_SERVICE_CA_IMPORT_H
#define CFR_AGENT_PKI_SERVICE_CA_IMPORT_H

#include "agent/config/config.h"
#include "pki/ca.h"

/* Makes the empty A an authority with the CA in the files of CONFIG->import, which is not NULL. On error A is empty. */
int cfr_service_ca_import(const struct cfr_config_service_ca *config, int64_t now_s, struct cfr_ca *a,
                          struct cfr_err *err);
#endif
