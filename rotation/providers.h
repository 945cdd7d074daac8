/* SPDX-License-Identifier: MIT */
/* The table of clouds whose long-lived keys can be rotated. Pure; the rows are constant and live as long as the
 * process. */
#ifndef CFR_ROTATION_PROVIDERS_H
#define CFR_ROTATION_PROVIDERS_H

#include "rotation/provider.h"

/* The INDEX-th provider as a key under `mint:`; the registry of a ONE_OF field. */
struct cfr_variant cfr_rotation_variant(size_t index);

#endif
