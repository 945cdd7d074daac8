/* SPDX-License-Identifier: MIT */
/* Configuration table of the provider, which is in a file of its own. */
#ifndef CFR_STS_AZURE_AZURE_PRIVATE_H
#define CFR_STS_AZURE_AZURE_PRIVATE_H

#include "sts/azure/azure.h"

extern const struct cfr_table cfr_azure_table;

#endif
