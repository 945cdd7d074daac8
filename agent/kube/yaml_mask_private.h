/* SPDX-License-Identifier: MIT */
/* Mask for the secrets of a YAML text: replaces every long word by a mark with its offset and length in the original,
 * because the YAML library does not wipe its memory before freeing it. Pure. */
#ifndef CFR_AGENT_KUBE_YAML_MASK_PRIVATE_H
#define CFR_AGENT_KUBE_YAML_MASK_PRIVATE_H

#include "base/secret.h"

/* Appends TEXT to OUT with marks in it. *ORIGINAL is for cfr_kube_yaml_mask_next: TEXT, or empty if TEXT itself
 * contains a mark and was therefore not changed. A mark is only put where YAML reads it like the word. CFR_E_LIMIT,
 * CFR_E_NOMEM. */
int cfr_kube_yaml_mask(struct cfr_view text, struct cfr_secret *out, struct cfr_view *original, struct cfr_err *err);
/* Cuts the next piece off *REST, a scalar of the masked text, into *PIECE; all pieces together are the
 * original scalar. False when *REST is empty. */
bool cfr_kube_yaml_mask_next(struct cfr_view *rest, struct cfr_view original, struct cfr_view *piece);

#endif
