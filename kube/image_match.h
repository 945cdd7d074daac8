/* SPDX-License-Identifier: MIT */
/* Which images a pattern means, by the kubelet's rule for `matchImages`. Pure.
 * Source: kubelet.config.k8s.io/v1 CredentialProvider, and what the kubelet does. */
#ifndef CFR_KUBE_IMAGE_MATCH_H
#define CFR_KUBE_IMAGE_MATCH_H

#include "base/err.h"
#include "base/view.h"

/* True if IMAGE is one of PATTERN: as many parts of the host name, in each of which an asterisk stands for
 * any number of characters (`*.dkr.ecr.*.amazonaws.com`, `app*.example.net`); the same port, or none in both;
 * and a path that begins with PATTERN's. The kubelet compares paths as text: `reg.example.net/team` also
 * means `reg.example.net/teamwork`. What cfr_k8s_image_match_check refuses means no image. */
bool cfr_k8s_image_match(const char *pattern, struct cfr_view image);
/* Whether PATTERN is one; CFR_E_CONFIG says why not. */
int cfr_k8s_image_match_check(const char *pattern, struct cfr_err *err);
/* The registry of IMAGE as it stands before the first `/`, with its port; docker.io for a short name
 * (`nginx`, `library/nginx`), which the kubelet itself never sends. */
struct cfr_view cfr_k8s_image_match_registry(struct cfr_view image);

#endif
