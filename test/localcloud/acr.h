/* SPDX-License-Identifier: MIT */
/* Azure Container Registry: exchanges an Entra token for a refresh token, which is the password of a docker
 * login. */
#ifndef LC_ACR_H
#define LC_ACR_H

#include "service.h"

extern const struct lc_service lc_acr_service;

#endif
