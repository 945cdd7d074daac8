/* SPDX-License-Identifier: MIT */
/* The service CA as a module of the agent: the CA, the injector of its bundle, and the signer of pod certificates. */
#ifndef CFR_AGENT_PKI_SERVICE_CA_MODULE_H
#define CFR_AGENT_PKI_SERVICE_CA_MODULE_H

#include "agent/kube/module.h"
#include "agent/pki/service_ca.h"

extern const struct cfr_module cfr_service_ca_module;

/* The CA of the module's STATE; NULL if that is NULL. */
struct cfr_service_ca *cfr_service_ca_of(void *state);

#endif
