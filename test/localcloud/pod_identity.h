/* SPDX-License-Identifier: MIT */
/* The agent of EKS Pod Identity: AWS credentials for a service-account token, on the node's own address. */
#ifndef LC_POD_IDENTITY_H
#define LC_POD_IDENTITY_H

#include "service.h"

extern const struct lc_service lc_pod_identity_service;

#endif
