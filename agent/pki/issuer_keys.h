/* SPDX-License-Identifier: MIT */
/* Reads the key set that an issuer of tokens publishes, as a cloud does (OpenID Connect Discovery 1.0, 4): the
 * discovery document below its URL, and the document that this names as `jwks_uri`. Blocks; only outside a running
 * agent. HTTPS is verified. Plain http goes to loopback only, and to the key set only if the issuer's own URL is http.
 */
#ifndef CFR_AGENT_PKI_ISSUER_KEYS_H
#define CFR_AGENT_PKI_ISSUER_KEYS_H

#include "base/secret.h"

struct cfr_issuer_keys_request {
    const char *issuer;
    const char *ca_file; /* NULL = the system's certificates */
    int64_t timeout_ms;  /* of both requests together */
};

/* Appends the key set to OUT, whose limit is CFR_JWKS_MAX. CFR_E_CONFIG: ISSUER is no URL that may be read;
 * CFR_E_MISSING: an answer other than 200; CFR_E_ANSWER: the document is not a discovery document; CFR_E_CONFLICT: it
 * is another issuer's; else as struct cfr_http_answer. ERR names the URL. */
int cfr_issuer_keys_read(const struct cfr_issuer_keys_request *request, struct cfr_secret *out, struct cfr_err *err);

#endif
