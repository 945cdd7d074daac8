/* SPDX-License-Identifier: MIT */
/* Compares the CA that was to be taken over with what is in use. */
#ifndef CFR_AGENT_PKI_SERVICE_CA_IMPORT_PRIVATE_H
#define CFR_AGENT_PKI_SERVICE_CA_IMPORT_PRIVATE_H

#include "agent/pki/service_ca_import.h"

/* False if the certificate of CONFIG->import can be read and is none of A's CAs. */
bool cfr_service_ca_import_is_known(const struct cfr_config_service_ca *config, const struct cfr_ca *a);

#endif
