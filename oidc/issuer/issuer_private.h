/* SPDX-License-Identifier: MIT */
/* Keys of an OIDC issuer: made, imported from a running cluster, listed. */
#ifndef CFR_OIDC_ISSUER_ISSUER_PRIVATE_H
#define CFR_OIDC_ISSUER_ISSUER_PRIVATE_H

#include "oidc/issuer/issuer.h"
#include "pki/key.h"

/* Makes a key of the issuer's kind, with a certificate if its keys have one. On error OUT is empty. */
int cfr_oidc_issuer_key_make(const struct cfr_oidc_issuer *issuer, int64_t now_s, struct cfr_oidc_issuer_key *out,
                             struct cfr_err *err);
/* Reads the only key of PEM: private, or public where the cluster keeps the private ones; sets the kind of later keys.
 * CFR_E_CONFIG. On error OUT is empty. */
int cfr_oidc_issuer_key_import(struct cfr_oidc_issuer *issuer, struct cfr_view pem, int64_t now_s,
                               struct cfr_oidc_issuer_key *out, struct cfr_err *err);
void cfr_oidc_issuer_key_free(struct cfr_oidc_issuer_key *k);
/* The public keys of this phase by kid, so that a switch changes nothing in them. */
size_t cfr_oidc_issuer_public_list(const struct cfr_oidc_issuer *issuer, const struct cfr_oidc_issuer_key *out[2]);
/* True if KID is a key of this phase or of the one before it, or was uploaded last. */
bool cfr_oidc_issuer_knows(const struct cfr_oidc_issuer *issuer, struct cfr_view kid);

/* ---- JSON Web Key Sets (RFC 7517), as an API server of Kubernetes serves them. Pure ---- */

/* Appends one member of a set's `keys`: the public half of PEM (private or public; RSA, or EC on P-256 or P-384) for
 * signatures by the algorithm that Kubernetes takes for it (RS256, ES256, ES384); CERTIFICATE, in PEM form and perhaps
 * empty, as its x5c. CFR_E_CONFIG for another key. */
int cfr_jwks_key(struct cfr_view pem, struct cfr_view certificate, struct cfr_str *out, struct cfr_err *err);
/* Sets *OUT to the kind of key that is most like PEM; CFR_E_CONFIG for an RSA key that is too short to be used. */
int cfr_jwks_kind(struct cfr_view pem, enum cfr_key_kind *out, struct cfr_err *err);
/* Sets *OUT to that algorithm's name. CFR_E_CONFIG for another key. */
int cfr_jwks_algorithm(struct cfr_view pem, const char **out, struct cfr_err *err);

#endif
