/* SPDX-License-Identifier: MIT */
/* base64url without padding (RFC 4648, 5), as JSON Web Tokens use it, and plain base64 with padding (RFC 4648, 4).
 * Pure.
 * Memory: appends to a secret that the caller owns; after an error it may hold a part. Errors: CFR_E_TOKEN or
 * CFR_E_ANSWER for bad input, else those of cfr_secret_append. Limits: the secret's. */
#ifndef CFR_BASE_BASE64_H
#define CFR_BASE_BASE64_H

#include "base/secret.h"

/* Appends the decoded bytes to OUT. Strict: no padding, no white space, no other alphabet, unused bits zero.
 * CFR_E_TOKEN for bad input, else as cfr_secret_append. */
int cfr_base64url_decode(struct cfr_view in, struct cfr_secret *out, struct cfr_err *err);
/* Appends IN encoded, without padding. As cfr_secret_append. */
int cfr_base64url_encode(struct cfr_view in, struct cfr_secret *out, struct cfr_err *err);
/* The same for plain base64, with its padding, which the decoder demands. CFR_E_ANSWER for bad input. */
int cfr_base64_encode(struct cfr_view in, struct cfr_secret *out, struct cfr_err *err);
int cfr_base64_decode(struct cfr_view in, struct cfr_secret *out, struct cfr_err *err);

#endif
