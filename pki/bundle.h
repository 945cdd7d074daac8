/* SPDX-License-Identifier: MIT */
/* What clients are to trust, and what goes with serving certificates. The same authority at the same time gives the
 * same bytes. Pure. */
#ifndef CFR_PKI_BUNDLE_H
#define CFR_PKI_BUNDLE_H

#include "pki/ca.h"

/* Appends, in PEM form, the newest CA and, the newest first, the bridges of at most GENERATIONS - 1 older ones that
 * have not expired. Each bridge is signed by the newest CA's key, so no chain in it is longer than one. CFR_E_NOMEM or
 * CFR_E_LIMIT. */
int cfr_bundle_trust(const struct cfr_ca *a, size_t generations, int64_t now_s, struct cfr_str *out,
                     struct cfr_err *err);
/* Appends the bridges that lead from the newest CA to the older ones of which GENERATIONS are kept, the newest first,
 * for clients that trust only those. No root: a client either has it or would not believe it, and some give up when
 * they meet it. */
int cfr_bundle_chain(const struct cfr_ca *a, size_t generations, int64_t now_s, struct cfr_str *out,
                     struct cfr_err *err);
/* A number that changes when either of the two above, as of NOW_S, is no longer what it was; never 0. */
uint64_t cfr_bundle_mark(const struct cfr_ca *a, size_t generations, int64_t now_s);

#endif
