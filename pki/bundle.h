/* SPDX-License-Identifier: MIT */
/* The bundle of CA certificates that clients trust, and the chain that a serving certificate needs. The same authority
 * at the same time gives the same bytes. Pure. */
#ifndef CFR_PKI_BUNDLE_H
#define CFR_PKI_BUNDLE_H

#include "pki/ca.h"

/* Appends, in PEM form, the newest CA and, the newest first, the bridges of at most GENERATIONS - 1 older ones that
 * have not expired. Each bridge is signed by the newest CA's key, so no chain in it is longer than one. CFR_E_NOMEM or
 * CFR_E_LIMIT. */
int cfr_bundle_trust(const struct cfr_ca *a, size_t generations, int64_t now_s, struct cfr_str *out,
                     struct cfr_err *err);
/* How many CAs that bundle holds. */
size_t cfr_bundle_count(const struct cfr_ca *a, size_t generations, int64_t now_s);
/* A fingerprint of the bundle and the chain as of NOW_S; never 0. */
uint64_t cfr_bundle_fingerprint(const struct cfr_ca *a, size_t generations, int64_t now_s);

#endif
