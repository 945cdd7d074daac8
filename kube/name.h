/* SPDX-License-Identifier: MIT */
/* Names of Kubernetes objects (RFC 1123): the check before a name goes into a URL's path. Pure. */
#ifndef CFR_KUBE_NAME_H
#define CFR_KUBE_NAME_H

#include <stdbool.h>

#define CFR_K8S_LABEL_MAX 63  /* a namespace */
#define CFR_K8S_NAME_MAX  253 /* a service account, a Secret, a pod, a node */

/* Labels of any length joined by dots. False for NULL. */
bool cfr_k8s_name_is_subdomain(const char *text);

#endif
