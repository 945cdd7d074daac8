/* SPDX-License-Identifier: MIT */
/* The admin interface: JSON over plain HTTP on its own loopback port. */
#ifndef LC_ADMIN_H
#define LC_ADMIN_H

#include "cloud.h"

/* owner is the struct lc_cloud. */
void lc_admin_handle(void *owner, const struct lc_request *request, struct lc_reply *reply);

#endif
