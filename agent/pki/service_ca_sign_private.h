/* SPDX-License-Identifier: MIT */
/* Certificates of the service CA for keys of others. */
#ifndef CFR_AGENT_PKI_SERVICE_CA_SIGN_PRIVATE_H
#define CFR_AGENT_PKI_SERVICE_CA_SIGN_PRIVATE_H

#include "agent/pki/service_ca.h"
#include "pki/serving_cert.h"

/* Issues the certificate that ORDER asks for, which has a public key, and its chain, appended to CHAIN (PEM, the leaf
 * first). It expires at *ENDS_S, not after the newest CA. The error of the store if there is no CA, and those of
 * cfr_serving_cert_issue. */
int cfr_service_ca_sign(struct cfr_service_ca *s, const struct cfr_serving_cert_order *order, struct cfr_now now,
                        struct cfr_str *chain, int64_t *ends_s, struct cfr_err *err);

#endif
