/* SPDX-License-Identifier: MIT */
/* Which of the tokens that an azure exchange granted is for a resource. Pure. */
#ifndef CFR_SERVE_SDK_AZURE_RESOURCE_PRIVATE_H
#define CFR_SERVE_SDK_AZURE_RESOURCE_PRIVATE_H

#include "base/grant.h"
#include "base/str.h"

/* The token for RESOURCE as a client writes it: with or without `/.default`, with or without a slash at its end, the
 * host in upper or lower case. Where two would do the one to the letter counts. False if there is none. */
bool cfr_sdk_azure_resource_token(const struct cfr_grant *g, struct cfr_view resource, struct cfr_view *token);
/* Appends BEFORE and the resources that G has tokens for, with commas; nothing if there are none. */
void cfr_sdk_azure_resource_list(const struct cfr_grant *g, const char *before, struct cfr_str *out);

#endif
