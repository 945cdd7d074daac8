/* SPDX-License-Identifier: MIT */
/* Issue of serving certificates. A new one is due when cfr_bundle_fingerprint has changed, which it does at each
 * rotation, and well before it expires, by the agent's refresh rule (token/refresh.h). Pure but for OpenSSL's random
 * numbers. */
#ifndef CFR_PKI_SERVING_CERT_H
#define CFR_PKI_SERVING_CERT_H

#include "pki/ca.h"

/* Names, key and lifetime of a server's certificate. */
struct cfr_serving_cert_order {
    const struct cfr_strings *dns_names; /* all three together have at least one; the latter two may be NULL */
    const struct cfr_strings *ip_addresses;
    const struct cfr_strings *uris;
    bool client;        /* it is also a client's */
    int64_t backdate_s; /* valid so long before NOW_S, within validity_s; 0 = CFR_CERT_BACKDATE_S, on top of it */
    enum cfr_key_kind key;
    int64_t validity_s;
    struct cfr_secret *made;    /* a new key of KEY, moved out of; NULL = one is made here */
    struct cfr_view public_key; /* PEM: the certificate is for this key of another's, and none is made; empty = none */
};

/* Appends to CERTIFICATE (PEM) a new certificate and the bridges of its chain, and to KEY (PEM, limit at least
 * CFR_KEY_PEM_MAX) its new key, unless the order has a public one. It expires at *ENDS_S, not after the newest CA. The
 * common name is the first DNS name if it is short enough, else there is none. CFR_E_CONFIG for a malformed name;
 * CFR_E_MISSING while A has no CA, or one that is not valid yet or has expired. */
int cfr_serving_cert_issue(const struct cfr_ca *a, size_t generations, const struct cfr_serving_cert_order *order,
                           int64_t now_s, struct cfr_str *certificate, struct cfr_secret *key, int64_t *ends_s,
                           struct cfr_err *err);

#endif
