/* SPDX-License-Identifier: MIT */
/* OpenStack Keystone v3 below /identity: users and their application credentials, tokens, a federation door.
 */
#ifndef LC_KEYSTONE_H
#define LC_KEYSTONE_H

#include "service.h"

struct lc_keystone;

extern const struct lc_service lc_keystone_service;

void lc_keystone_free(struct lc_keystone *keystone);

/* For the admin interface: users and credentials without their secrets. */
json_t *lc_keystone_report(struct lc_keystone *keystone);
/* {"id", "enabled", "roles", "projects", "password"} changes a user, {"id", "delete": true} removes it with
 * its credentials. */
int lc_keystone_user(struct lc_keystone *keystone, json_t *body, struct lc_fail *fail);
/* An application credential as in the configuration is added, {"id", "delete": true} removes it. */
int lc_keystone_credential(struct lc_keystone *keystone, json_t *body, struct lc_fail *fail);

#endif
