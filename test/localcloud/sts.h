/* SPDX-License-Identifier: MIT */
/* AWS STS: AssumeRoleWithWebIdentity, AssumeRole, GetCallerIdentity. */
#ifndef LC_STS_H
#define LC_STS_H

#include "cloud.h"

/* Answers a request to "/" completely, faults, outage and statistics included. */
void lc_sts_handle(struct lc_cloud *cloud, const struct lc_request *request, struct lc_reply *reply);

#endif
