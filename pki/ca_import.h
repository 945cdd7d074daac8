/* SPDX-License-Identifier: MIT */
/* Takes over a CA that another program made. Pure. */
#ifndef CFR_PKI_CA_IMPORT_H
#define CFR_PKI_CA_IMPORT_H

#include "pki/ca.h"

/* Makes the empty A an authority whose first CA is CERTIFICATE (PEM), whose private KEY (PEM) signs from then on. Both
 * are checked as strictly as what this program makes: one self-signed CA certificate of version 3 that is valid at
 * NOW_S and may sign certificates; an identifier of its key of 20 bytes; no constraints that its successors could not
 * have, no path too short for the bridges of GENERATIONS CAs; a key of a kind in cfr_key_kinds, and the certificate's.
 * CFR_E_CONFIG, which says what is wrong. On error A is empty. */
int cfr_ca_import(struct cfr_ca *a, struct cfr_view certificate, struct cfr_view key, size_t generations, int64_t now_s,
                  struct cfr_err *err);

#endif
