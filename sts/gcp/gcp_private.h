/* SPDX-License-Identifier: MIT */
/* Configuration table of the provider, which is in a file of its own. */
#ifndef CFR_STS_GCP_GCP_PRIVATE_H
#define CFR_STS_GCP_GCP_PRIVATE_H

#include "sts/gcp/gcp.h"

extern const struct cfr_table cfr_gcp_table;

#endif
