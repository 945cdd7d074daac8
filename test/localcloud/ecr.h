/* SPDX-License-Identifier: MIT */
/* Amazon ECR and ECR Public below /ecr: authorization tokens, and whether a docker login is good. */
#ifndef LC_ECR_H
#define LC_ECR_H

#include "service.h"

extern const struct lc_service lc_ecr_service;

#endif
