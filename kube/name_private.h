/* SPDX-License-Identifier: MIT */
/* Names of Kubernetes namespaces (RFC 1123). Pure. */
#ifndef CFR_KUBE_NAME_PRIVATE_H
#define CFR_KUBE_NAME_PRIVATE_H

#include "kube/name.h"

/* One label: lower-case letters, digits and `-`, the latter not at an end. False for NULL. */
bool cfr_k8s_name_is_label(const char *text);

#endif
