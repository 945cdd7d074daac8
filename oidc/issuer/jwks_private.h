/* SPDX-License-Identifier: MIT */
/* JSON Web Key Sets (RFC 7517), as an API server of Kubernetes serves them. Pure. */
#ifndef CFR_OIDC_ISSUER_JWKS_PRIVATE_H
#define CFR_OIDC_ISSUER_JWKS_PRIVATE_H

#include "pki/key.h"

/* Appends one member of a set's `keys`: the public half of PEM (private or public; RSA, or EC on P-256 or P-384) for
 * signatures by the algorithm that Kubernetes takes for it (RS256, ES256, ES384); CERTIFICATE, in PEM form and perhaps
 * empty, as its x5c. CFR_E_CONFIG for another key. */
int cfr_jwks_key(struct cfr_view pem, struct cfr_view certificate, struct cfr_str *out, struct cfr_err *err);
/* Sets *OUT to the kind of key that is most like PEM; CFR_E_CONFIG for an RSA key that is too short to be used. */
int cfr_jwks_kind(struct cfr_view pem, enum cfr_key_kind *out, struct cfr_err *err);
/* Sets *OUT to that algorithm's name. CFR_E_CONFIG for another key. */
int cfr_jwks_algorithm(struct cfr_view pem, const char **out, struct cfr_err *err);

#endif
