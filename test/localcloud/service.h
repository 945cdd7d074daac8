/* SPDX-License-Identifier: MIT */
/* What answers on the service listeners: the issuer's documents below /issuer, STS on /. */
#ifndef LC_SERVICE_H
#define LC_SERVICE_H

#include "cloud.h"

/* owner is the struct lc_cloud. */
void lc_service_handle(void *owner, const struct lc_request *request, struct lc_reply *reply);

#endif
