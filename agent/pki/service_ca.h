/* SPDX-License-Identifier: MIT */
/* Service CA: keeps the CA in its store, rotates it when that is due or forced, and issues certificates and the bundle.
 *
 * Blocks on disk, and while an RSA key is made. The store is always written before anything that depends on it can be
 * published. A struct cfr_service_ca owns a copy of its configuration; NULL is a service CA that is not configured. No
 * callbacks. Errors of the store are logged once, kept, and returned by what needs the CA. */
#ifndef CFR_AGENT_PKI_SERVICE_CA_H
#define CFR_AGENT_PKI_SERVICE_CA_H

#include "agent/loop/clock.h"
#include "agent/config/config.h"
#include "base/grant.h"

struct cfr_service_ca; /* NULL = there is none */

/* A certificate that a credential is issued. */
struct cfr_service_ca_certificate {
    struct cfr_node node;
    struct cfr_strings dns_names;
    struct cfr_strings ip_addresses;
    int key; /* enum cfr_key_kind */
    int64_t validity_ms;
    char *csr;       /* path of the consumer's certificate request, whose key it is for; NULL = a key is made */
    char *csr_owner; /* user that the request has to belong to; NULL: the directory tells */
};

/* What a credential has of the service CA, by its own keys. */
struct cfr_service_ca_issued {
    struct cfr_node node;
    struct cfr_service_ca_certificate *certificate; /* NULL: none */
    bool ca_bundle;                                 /* the bundle alone */
};

extern const struct cfr_table cfr_service_ca_issued_table;
/* What C has of the service CA; NULL if it begins with something else. */
const struct cfr_service_ca_issued *cfr_service_ca_issued(const struct cfr_config_credential *c);

/* *MARK changes when what was issued has to be issued again: after each change of the bundle. The error of the store if
 * there is no CA. */
int cfr_service_ca_fingerprint(const struct cfr_service_ca *s, struct cfr_now now, uint64_t *mark, struct cfr_err *err);
/* Issues what C asks for: a new certificate with its key and the bundle, or the bundle alone. CFR_SERVICE_CA_LATER
 * while a child makes an RSA key: ask again after the next SIGCHLD. */
#define CFR_SERVICE_CA_LATER 1
int cfr_service_ca_grant(struct cfr_service_ca *s, const struct cfr_service_ca_issued *c, struct cfr_now now,
                         struct cfr_grant *out, struct cfr_err *err);

#endif
