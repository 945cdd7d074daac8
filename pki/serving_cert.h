/* SPDX-License-Identifier: MIT */
/* Serving certificates. A new one is due when cfr_bundle_mark has changed, which it does at each rotation, and well
 * before it ends: with the agent that is the rule of everything else that it renews (token/refresh.h). Pure but for
 * OpenSSL's random numbers. */
#ifndef CFR_PKI_SERVING_CERT_H
#define CFR_PKI_SERVING_CERT_H

#include "pki/ca.h"

/* What a server is to be called. */
struct cfr_serving_cert_order {
    const struct cfr_strings *dns_names; /* both together have at least one */
    const struct cfr_strings *ip_addresses;
    enum cfr_key_kind key;
    int64_t validity_s;
};

/* Appends to CERTIFICATE (PEM) a new certificate and the bridges that go with it, and to KEY (PEM, limit at least
 * CFR_KEY_PEM_MAX) its new key. It lives no longer than the newest CA, *ENDS_S is until when. The common name is the
 * first DNS name where that is short enough, else there is none. CFR_E_CONFIG for a name that cannot be one;
 * CFR_E_MISSING while A has no CA, or one that has not begun or has ended. */
int cfr_serving_cert_issue(const struct cfr_ca *a, size_t generations, const struct cfr_serving_cert_order *order,
                           int64_t now_s, struct cfr_str *certificate, struct cfr_secret *key, int64_t *ends_s,
                           struct cfr_err *err);

#endif
