/* SPDX-License-Identifier: MIT */
/* Object stores below /objects: Amazon S3, Azure Blob Storage, Google Cloud Storage, and a cache in front of them. */
#ifndef LC_OBJECTS_H
#define LC_OBJECTS_H

#include "service.h"

extern const struct lc_service lc_objects_service;

/* For the admin interface: {"NAME": "content", ...}. */
json_t *lc_objects_report(struct lc_cloud *cloud);
/* {"name", "text"}: an object that somebody else has written. */
int lc_objects_change(struct lc_cloud *cloud, json_t *body, struct lc_fail *fail);
void lc_objects_free(struct lc_cloud *cloud);

#endif
