/* SPDX-License-Identifier: MIT */
/* Certificate requests (PKCS#10, RFC 2986) of others: the public key, whose owner proves that it has the private half.
 * Nothing else of a request counts. Pure. */
#ifndef CFR_PKI_CSR_H
#define CFR_PKI_CSR_H

#include "base/err.h"
#include "base/str.h"
#include "base/view.h"

#define CFR_CSR_PEM_MAX 16384

/* Appends to PUBLIC_KEY (PEM) the key of the one request in PEM. It is written again from what was parsed. CFR_E_CONFIG
 * for anything that is not one well-formed request, signed by its own key, of a kind in cfr_key_kinds. CFR_E_NOMEM. */
int cfr_cert_request_key(struct cfr_view pem, struct cfr_str *public_key, struct cfr_err *err);

#endif
