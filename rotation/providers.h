/* SPDX-License-Identifier: MIT */
/* The table of clouds whose long-lived keys can be rotated. Pure; the rows are constant and live as long as the
 * process. */
#ifndef CFR_ROTATION_PROVIDERS_H
#define CFR_ROTATION_PROVIDERS_H

#include "rotation/provider.h"

/* All providers, NULL-terminated. */
extern const struct cfr_rotation_provider *const cfr_rotation_providers[];
/* The provider whose key under `mint:` is NAME, or NULL. */
const struct cfr_rotation_provider *cfr_rotation_find(struct cfr_view name);
/* The INDEX-th provider as a key under `mint:`; the registry of a ONE_OF field. */
struct cfr_variant cfr_rotation_variant(size_t index);

#endif
