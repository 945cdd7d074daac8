/* SPDX-License-Identifier: MIT */
/* Keys of an OIDC issuer: made, imported from a running cluster, listed. */
#ifndef CFR_PKI_OIDC_ISSUER_PRIVATE_H
#define CFR_PKI_OIDC_ISSUER_PRIVATE_H

#include "pki/oidc_issuer.h"

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

/* The documents go to STORE from now on: to be stored before the first upload. CFR_E_NOMEM. */
int cfr_oidc_issuer_set_store(struct cfr_oidc_issuer *issuer, const char *store, struct cfr_err *err);
/* The store has the documents of this phase since NOW_S, or, unless CHANGED, since it was last said so. CFR_E_NOMEM. */
int cfr_oidc_issuer_set_uploaded(struct cfr_oidc_issuer *issuer, bool changed, int64_t now_s, struct cfr_err *err);
/* True if KID is a key of this phase, or was uploaded last. */
bool cfr_oidc_issuer_knows(const struct cfr_oidc_issuer *issuer, struct cfr_view kid);

#endif
