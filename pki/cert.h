/* SPDX-License-Identifier: MIT */
/* X.509 certificates (RFC 5280) of one authority: CA certificates and serving certificates. Every one has a random
 * serial number, and identifiers of its own key and of its signer's that depend on these keys alone (RFC 7093, 2,
 * method 1): which certificate signed which is told by them, never by the names, which are all the same. Pure but for
 * OpenSSL's random numbers. */
#ifndef CFR_PKI_CERT_H
#define CFR_PKI_CERT_H

#include "base/field.h"
#include "base/secret.h"
#include "base/str.h"

#define CFR_CERT_KEY_ID_BYTES 20
#define CFR_CERT_PEM_MAX      65536
#define CFR_CERT_NAMES_MAX    64
/* Certificates begin this long before they are made at the latest, for clients whose clocks are behind. */
#define CFR_CERT_BACKDATE_S 300

/* Zero-initialised is none. */
struct cfr_cert {
    char *pem; /* heap, ends with a line feed; NULL = none */
    unsigned char subject_key[CFR_CERT_KEY_ID_BYTES];
    unsigned char authority_key[CFR_CERT_KEY_ID_BYTES];
    int64_t begins_s; /* wall clock, both included */
    int64_t ends_s;
};

/* What a certificate is to be. */
struct cfr_cert_order {
    bool ca;                   /* may sign; else it is a server's */
    const char *subject;       /* common name; NULL = none, then there are alternative names */
    const char *issuer;        /* common name */
    struct cfr_view key;       /* PEM, private or public, whose certificate it is; or */
    const struct cfr_cert *of; /* another certificate for the same key; NULL = KEY counts */
    struct cfr_view signer;    /* PEM, private */
    int64_t now_s;
    int64_t begins_s; /* at the latest CFR_CERT_BACKDATE_S before NOW_S, which 0 means */
    int64_t ends_s;
    const struct cfr_strings *dns_names; /* of a server; both may be NULL */
    const struct cfr_strings *ip_addresses;
};

/* Makes and signs. CFR_E_CONFIG for a name that cannot stand in a certificate, naming it. */
int cfr_cert_make(const struct cfr_cert_order *order, struct cfr_cert *out, struct cfr_err *err);
/* Reads the first certificate of PEM, which must have both key identifiers. CFR_E_CONFIG. */
int cfr_cert_read(struct cfr_view pem, struct cfr_cert *out, struct cfr_err *err);
int cfr_cert_copy(const struct cfr_cert *from, struct cfr_cert *to, struct cfr_err *err);
void cfr_cert_free(struct cfr_cert *c);
/* True if ISSUER's key signed C, by the identifiers. */
bool cfr_cert_is_by(const struct cfr_cert *c, const struct cfr_cert *issuer);
/* True if both are for the same key, by the identifiers. */
bool cfr_cert_same_key(const struct cfr_cert *a, const struct cfr_cert *b);
/* The same by the signature itself, for what was read from disk: CFR_E_CONFIG if ISSUER's key did not sign C. */
int cfr_cert_verify(const struct cfr_cert *c, const struct cfr_cert *issuer, struct cfr_err *err);
/* CFR_E_CONFIG if the private KEY is not that of C. */
int cfr_cert_check_key(const struct cfr_cert *c, struct cfr_view key, struct cfr_err *err);
/* The common name of the subject into OUT (cut); empty if there is none. */
int cfr_cert_subject(const struct cfr_cert *c, char *out, size_t size, struct cfr_err *err);
/* CFR_E_CONFIG if TEXT cannot be a DNS name, with a wildcard as its first label or without, or is an address; an
 * address of IPv4 or IPv6. */
int cfr_cert_check_dns_name(const char *text, struct cfr_err *err);
int cfr_cert_check_ip_address(const char *text, struct cfr_err *err);

#endif
