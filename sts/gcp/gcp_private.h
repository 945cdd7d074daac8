/* SPDX-License-Identifier: MIT */
/* Configuration table of the provider, which is in a file of its own. */
#ifndef CFR_STS_GCP_GCP_PRIVATE_H
#define CFR_STS_GCP_GCP_PRIVATE_H

#include "sts/gcp/gcp.h"

extern const struct cfr_table cfr_gcp_table;

/* sts/gcp/trust.c: as in struct cfr_sts_provider. */
struct cfr_sts_trust;
void cfr_gcp_trust_needed(const void *config, const struct cfr_sts_trust *t);
void cfr_gcp_trust_refused(const char *text, const struct cfr_sts_trust *t);

#endif
