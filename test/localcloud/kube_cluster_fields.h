/* SPDX-License-Identifier: MIT */
/* Fields of objects of the cluster, as server-side apply owns them: a flat object of paths and values, in which the
 * parts of a path are separated by U+001F, and webhooks are members of their list by name. */
#ifndef LC_KUBE_CLUSTER_FIELDS_H
#define LC_KUBE_CLUSTER_FIELDS_H

#include "kube_call.h"

/* The flat form of an object (a new reference), and the object of a flat form. */
json_t *lc_kube_cluster_flatten(json_t *object);
json_t *lc_kube_cluster_unflatten(json_t *flat, const char *group, const char *version, const char *kind);
/* managedFields as the API shows them. */
json_t *lc_kube_cluster_managed(json_t *managers, const char *version);
/* The API server's rules for such an object. */
void lc_kube_cluster_check(json_t *object, struct lc_kube_faults *faults);
/* The first field of OBJECT that its kind does not have, or NULL. */
const char *lc_kube_cluster_unknown(json_t *object);

#endif
