/* SPDX-License-Identifier: MIT */
/* Making and comparing certificates. */
#ifndef CFR_PKI_CERT_PRIVATE_H
#define CFR_PKI_CERT_PRIVATE_H

#include "pki/cert.h"

/* Contents of a new certificate. */
struct cfr_cert_order {
    bool ca;                      /* a CA's; else a server's */
    const char *subject;          /* common name; NULL = none, then there are alternative names */
    const struct cfr_cert *named; /* the certificate whose whole subject it has; NULL = use SUBJECT */
    struct cfr_view key;          /* PEM, private or public, of the subject; or */
    const struct cfr_cert *of;    /* another certificate for the same key, whose identifier it has; NULL = use KEY */
    struct cfr_view signer;       /* PEM, private */
    const struct cfr_cert *by;    /* a certificate of SIGNER, whose subject and identifier it names; NULL = its own */
    int64_t now_s;
    int64_t begins_s;                    /* at the latest backdate_s before NOW_S; 0 = that */
    int64_t backdate_s;                  /* 0 = CFR_CERT_BACKDATE_S */
    int64_t ends_s;                      /* after NOW_S, but of a certificate with OF */
    const struct cfr_strings *dns_names; /* of a server; all three may be NULL */
    const struct cfr_strings *ip_addresses;
    const struct cfr_strings *uris;
    bool client; /* the server may also use it as a client */
};

/* Makes and signs a certificate. CFR_E_CONFIG, naming it, for a name that a certificate cannot have. */
int cfr_cert_make(const struct cfr_cert_order *order, struct cfr_cert *out, struct cfr_err *err);
int cfr_cert_copy(const struct cfr_cert *from, struct cfr_cert *to, struct cfr_err *err);
/* True if ISSUER's key signed C, by the identifiers. */
bool cfr_cert_is_by(const struct cfr_cert *c, const struct cfr_cert *issuer);
/* True if both have the same key, by the identifiers. */
bool cfr_cert_same_key(const struct cfr_cert *a, const struct cfr_cert *b);
/* The common name of the subject into OUT, as it may be shown (cfr_view_show); the whole subject if there is none. */
int cfr_cert_subject(const struct cfr_cert *c, char *out, size_t size, struct cfr_err *err);

#endif
