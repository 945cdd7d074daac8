/* SPDX-License-Identifier: MIT */
/* Comparing certificates. */
#ifndef CFR_PKI_CERT_PRIVATE_H
#define CFR_PKI_CERT_PRIVATE_H

#include "pki/cert.h"
#include "pki/key.h"

/* Moves the key MADE into the empty PEM; without one, makes it. Blocks then as cfr_key_make does. */
int cfr_key_get(struct cfr_secret *made, enum cfr_key_kind kind, struct cfr_secret *pem, struct cfr_err *err);
int cfr_cert_copy(const struct cfr_cert *from, struct cfr_cert *to, struct cfr_err *err);
/* True if ISSUER's key signed C, by the identifiers. */
bool cfr_cert_is_by(const struct cfr_cert *c, const struct cfr_cert *issuer);
/* True if both have the same key, by the identifiers. */
bool cfr_cert_same_key(const struct cfr_cert *a, const struct cfr_cert *b);
/* The common name of the subject into OUT, as it may be shown (cfr_view_show); the whole subject if there is none. */
int cfr_cert_subject(const struct cfr_cert *c, char *out, size_t size, struct cfr_err *err);

#endif
