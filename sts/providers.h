/* SPDX-License-Identifier: MIT */
/* The table of exchange providers. Pure; the rows are constant and live as long as the process. */
#ifndef CFR_STS_PROVIDERS_H
#define CFR_STS_PROVIDERS_H

#include "sts/core/provider.h"

/* The provider whose key under `exchange:` is NAME, or NULL. */
const struct cfr_sts_provider *cfr_sts_find(struct cfr_view name);
/* The INDEX-th provider as a key under `exchange:`; the registry of a ONE_OF field. */
struct cfr_variant cfr_sts_variant(size_t index);

#endif
