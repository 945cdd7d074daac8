/* SPDX-License-Identifier: MIT */
/* Names of Kubernetes objects (RFC 1123), so that what goes into a path is a name and nothing else. */
#ifndef CFR_KUBE_NAME_H
#define CFR_KUBE_NAME_H

#include <stdbool.h>

#define CFR_K8S_LABEL_MAX 63  /* a namespace */
#define CFR_K8S_NAME_MAX  253 /* a service account, a Secret, a pod, a node */

/* One label: lower-case letters, digits and `-`, the latter not at an end. NULL is none. */
bool cfr_k8s_name_is_label(const char *text);
/* Labels of any length joined by dots. NULL is none. */
bool cfr_k8s_name_is_subdomain(const char *text);

#endif
