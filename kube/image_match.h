/* SPDX-License-Identifier: MIT */
/* Matching of image names against patterns, by the kubelet's rule for `matchImages`. Pure.
 * Source: kubelet.config.k8s.io/v1 CredentialProvider, and what the kubelet does. */
#ifndef CFR_KUBE_IMAGE_MATCH_H
#define CFR_KUBE_IMAGE_MATCH_H

#include "base/err.h"
#include "base/view.h"

/* True if IMAGE matches PATTERN: as many parts of the host name, in each of which an asterisk matches
 * any number of characters (`*.dkr.ecr.*.amazonaws.com`, `app*.example.net`); the same port, or none in both;
 * and a path that begins with PATTERN's. The kubelet compares paths as text: `reg.example.net/team` also
 * matches `reg.example.net/teamwork`. A pattern that cfr_k8s_image_match_check refuses matches no image. */
bool cfr_k8s_image_match(const char *pattern, struct cfr_view image);
/* True if PATTERN has a path, and its host and port are IMAGE's: it tells images of one registry apart. */
bool cfr_k8s_image_match_by_path(const char *pattern, struct cfr_view image);
/* CFR_E_CONFIG if PATTERN is malformed; the error says why. */
int cfr_k8s_image_match_check(const char *pattern, struct cfr_err *err);

#endif
