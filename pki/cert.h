/* SPDX-License-Identifier: MIT */
/* X.509 certificates (RFC 5280) of one authority: CA certificates and serving certificates. Each has a random
 * serial number, and identifiers of its own key and of its signer's that depend on these keys alone (RFC 7093, 2,
 * method 1): they determine which certificate signed which, never the names, which are all the same. Pure but for
 * OpenSSL's random numbers. Never blocks. */
#ifndef CFR_PKI_CERT_H
#define CFR_PKI_CERT_H

#include "base/field.h"
#include "base/secret.h"
#include "base/str.h"

#define CFR_CERT_KEY_ID_BYTES   20
#define CFR_CERT_PEM_MAX        65536
#define CFR_CERT_NAMES_MAX      64
#define CFR_CERT_THUMBPRINT_MAX 41 /* with its NUL */
/* Certificates are valid at least this long before they are made, for clients whose clocks are behind. */
#define CFR_CERT_BACKDATE_S 300

/* Zero-initialised is none. */
struct cfr_cert {
    char *pem; /* heap, ends with a line feed; NULL = none */
    unsigned char subject_key[CFR_CERT_KEY_ID_BYTES];
    unsigned char authority_key[CFR_CERT_KEY_ID_BYTES];
    int64_t begins_s; /* wall clock, both included */
    int64_t ends_s;
};

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
/* Reads the first certificate of PEM, which must have both key identifiers; a self-issued one need not name its
 * signer's. OUT's text is written again from what was
 * parsed. CFR_E_CONFIG. */
int cfr_cert_read(struct cfr_view pem, struct cfr_cert *out, struct cfr_err *err);
void cfr_cert_free(struct cfr_cert *c);
/* Checks the signature, for certificates from disk: CFR_E_CONFIG if ISSUER's key did not sign C. */
int cfr_cert_verify(const struct cfr_cert *c, const struct cfr_cert *issuer, struct cfr_err *err);
/* CFR_E_CONFIG if the private KEY is not that of C, or is damaged: signs a text to try it. */
int cfr_cert_check_key(const struct cfr_cert *c, struct cfr_view key, struct cfr_err *err);
/* The subject and the issuer of the first certificate of PEM, each into SIZE bytes, as they may be shown
 * (cfr_view_show). CFR_E_CONFIG. */
int cfr_cert_names(struct cfr_view pem, char *subject, char *issuer, size_t size, struct cfr_err *err);
/* CFR_E_CONFIG if TEXT is not a DNS name, with or without a wildcard as its first label; or not an address of IPv4 or
 * IPv6. */
int cfr_cert_check_dns_name(const char *text, struct cfr_err *err);
int cfr_cert_check_ip_address(const char *text, struct cfr_err *err);
/* The thumbprint of the first certificate of PEM, as IAM wants it: SHA-1 of its DER form, in upper-case hex.
 * CFR_E_CONFIG. */
int cfr_cert_thumbprint(struct cfr_view pem, char out[CFR_CERT_THUMBPRINT_MAX], struct cfr_err *err);

#endif
