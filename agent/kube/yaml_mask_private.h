/* SPDX-License-Identifier: MIT */
/* Keeps the secrets of a YAML text out of the YAML library, which frees what it held without wiping it: in
 * the text that goes there, every long word is replaced by a mark that says where in the original it stands.
 * Pure. */
#ifndef CFR_AGENT_KUBE_YAML_MASK_PRIVATE_H
#define CFR_AGENT_KUBE_YAML_MASK_PRIVATE_H

#include "base/secret.h"

/* Appends TEXT to OUT with marks in it. *ORIGINAL is what cfr_kube_yaml_mask_next wants to be given: TEXT, or
 * nothing if TEXT itself holds what looks like a mark and therefore went as it is. A mark is put only where
 * YAML reads it as it would have read the word. CFR_E_LIMIT, CFR_E_NOMEM. */
int cfr_kube_yaml_mask(struct cfr_view text, struct cfr_secret *out, struct cfr_view *original, struct cfr_err *err);
/* Cuts the next piece off *REST, a scalar of the veiled text, into *PIECE; all pieces in a row are the scalar
 * as it was meant. False when *REST is empty. */
bool cfr_kube_yaml_mask_next(struct cfr_view *rest, struct cfr_view original, struct cfr_view *piece);

#endif
