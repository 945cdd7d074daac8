/* SPDX-License-Identifier: MIT */
/* A verified set of a certificate with its chain, its private key and a CA bundle: made from bytes, immutable. */
#ifndef CREDFRESH_TLS_SET_H
#define CREDFRESH_TLS_SET_H

#include "credfresh-tls.h"
#include "tls_ossl.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A file of a snapshot. A NULL name: it is not followed; NULL bytes: it is missing. */
struct cfl_tls_file {
    const char *name;
    const void *p;
    size_t n;
};

/* The input of a set. */
struct cfl_tls_input {
    struct cfl_tls_file cert;
    struct cfl_tls_file key;
    struct cfl_tls_file ca;
    SSL_CTX *trial;     /* the set must suit a connection made from it (security level, key type) */
    unsigned int flags; /* CREDFRESH_TLS_... */
    int64_t now_s;      /* for the check of validity */
};

/* Shared by reference, immutable after cfl_tls_set_make. */
struct cfl_tls_set {
    atomic_uint refs;
    X509 *cert; /* NULL: no key pair is followed */
    EVP_PKEY *key;
    STACK_OF(X509) * chain;                      /* the certificates after it in its file */
    STACK_OF(X509) * roots;                      /* NULL: no CA bundle is followed */
    int64_t not_before_s;                        /* of the certificate; INT64_MIN without one */
    int64_t not_after_s;                         /* of the certificate; INT64_MAX without one */
    unsigned char trust[SSL_MAX_SID_CTX_LENGTH]; /* names the CA bundle: sessions are resumed under the same one only */
};

/* Parses and verifies. 0 with *SET owning one reference, or a code, with the file and the error in WHY (never a
 * secret). A certificate that is not valid yet is not refused: see not_before_s. Leaves the
 * thread's OpenSSL error queue as it was. Does not block. */
int cfl_tls_set_make(struct cfl_tls_set **set, const struct cfl_tls_input *in, char *why, size_t why_size);
/* The key pair of PAIR and the CA bundle of TRUST in a set of its own; NULL without memory. */
struct cfl_tls_set *cfl_tls_set_join(const struct cfl_tls_set *pair, const struct cfl_tls_set *trust);
struct cfl_tls_set *cfl_tls_set_ref(struct cfl_tls_set *set);
/* SET may be NULL. The last one frees it, and OpenSSL wipes the key. */
void cfl_tls_set_unref(struct cfl_tls_set *set);

#endif
