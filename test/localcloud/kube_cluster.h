/* SPDX-License-Identifier: MIT */
/* Objects of the cluster that have a caBundle: APIServices, CustomResourceDefinitions and webhook configurations. */
#ifndef LC_KUBE_CLUSTER_H
#define LC_KUBE_CLUSTER_H

#include "visit.h"

/* True if the path below /kube is one of theirs. */
bool lc_kube_is_cluster(const char *path);
/* GET (also lists, in pages, and as PartialObjectMetadata), POST, PUT, PATCH (apply and merge), DELETE. */
void lc_kube_cluster(struct lc_visit *visit);

#endif
