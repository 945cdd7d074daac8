/* SPDX-License-Identifier: MIT */
/* Keys of an OIDC issuer: made, imported from a running cluster, listed. */
#ifndef CFR_OIDC_ISSUER_ISSUER_PRIVATE_H
#define CFR_OIDC_ISSUER_ISSUER_PRIVATE_H

#include "oidc/issuer/issuer.h"

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

#endif
