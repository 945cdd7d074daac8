/* SPDX-License-Identifier: MIT */
/* Certificate authorities of the local cloud and the certificates they sign. */
#ifndef LC_TLS_H
#define LC_TLS_H

#include "json.h"

/* A certificate and its private key, both PEM. */
struct lc_cert {
    char *cert_pem;
    char *key_pem;
};

/* Self-signed CA (P-256), valid from yesterday for ten years. */
int lc_tls_ca(const char *name, struct lc_cert *out, struct lc_fail *fail);

/* Server certificate signed by ca for the subjectAltName text (OpenSSL's form: "IP:127.0.0.1,DNS:localhost"),
 * valid from..to, both seconds relative to now. */
int lc_tls_server(const struct lc_cert *ca, const char *alt_names, long from_s, long to_s, struct lc_cert *out,
                  struct lc_fail *fail);

/* Client certificate of a person, in groups (an array of strings), as Kubernetes reads them; valid like the
 * one above. */
int lc_tls_client(const struct lc_cert *ca, const char *person, json_t *groups, long from_s, long to_s,
                  struct lc_cert *out, struct lc_fail *fail);

/* CN (for free()) and every O (a new reference) of a certificate in DER. False when it has no CN. */
bool lc_tls_subject(const void *der, size_t len, char **person, json_t **groups);

/* True when key_pem is the key of cert_pem. */
bool lc_tls_matches(const char *cert_pem, const char *key_pem);

void lc_tls_free(struct lc_cert *cert);

#endif
