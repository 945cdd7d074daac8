/* SPDX-License-Identifier: MIT */
/* The registry of an image name. Pure. */
#ifndef CFR_KUBE_IMAGE_MATCH_PRIVATE_H
#define CFR_KUBE_IMAGE_MATCH_PRIVATE_H

#include "kube/image_match.h"

/* The part of IMAGE before the first `/`, with its port; docker.io for a short name (`nginx`, `library/nginx`), which
 * the kubelet itself never sends. Points into IMAGE, or is a literal. */
struct cfr_view cfr_k8s_image_match_registry(struct cfr_view image);

#endif
