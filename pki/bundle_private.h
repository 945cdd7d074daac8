/* SPDX-License-Identifier: MIT */
/* The chain of a serving certificate. Pure. */
#ifndef CFR_PKI_BUNDLE_PRIVATE_H
#define CFR_PKI_BUNDLE_PRIVATE_H

#include "pki/bundle.h"

/* Appends the bridges that lead from the newest CA to the older ones of which GENERATIONS are kept, the newest first,
 * for clients that trust only those. Without the root: a client that trusts it has it, and some refuse a chain that
 * contains it. */
int cfr_bundle_chain(const struct cfr_ca *a, size_t generations, int64_t now_s, struct cfr_str *out,
                     struct cfr_err *err);

#endif
