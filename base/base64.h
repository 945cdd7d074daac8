/* SPDX-License-Identifier: MIT */
/* base64url without padding (RFC 4648, 5), as JSON Web Tokens use it. */
#ifndef CFR_BASE_BASE64_H
#define CFR_BASE_BASE64_H

#include "base/secret.h"

/* Appends the decoded bytes to OUT. Strict: no padding, no white space, no other alphabet, unused bits zero.
 * CFR_E_TOKEN for bad input, else as cfr_secret_append. */
int cfr_base64url_decode(struct cfr_view in, struct cfr_secret *out, struct cfr_err *err);

#endif
