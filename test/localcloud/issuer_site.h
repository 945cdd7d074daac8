/* SPDX-License-Identifier: MIT */
/* The issuer's documents: discovery and JWKS below /issuer. */
#ifndef LC_ISSUER_SITE_H
#define LC_ISSUER_SITE_H

#include "cloud.h"

void lc_issuer_handle(struct lc_cloud *cloud, const struct lc_request *request, struct lc_reply *reply);

#endif
