/* SPDX-License-Identifier: MIT */
/* The Kubernetes API below /kube, as far as credentials need it: TokenRequest, Secrets, the issuer's
 * documents. */
#ifndef LC_KUBE_H
#define LC_KUBE_H

#include "service.h"

extern const struct lc_service lc_kube_service;

void lc_kube_free(struct lc_kube *kube);

/* A service account that exists because a volume is projected for it, with the pod NAME-0 on worker-1. */
void lc_kube_imply(struct lc_kube *kube, const char *namespace_name, const char *service_account);

/* {"kind": "ServiceAccount", "Pod", "Node" or "Secret", "namespace", "name", ...} as in the configuration is
 * made or replaced; with "delete": true it is removed. {"kind": "PodCertificateRequest", "namespace", "name", "spec"}
 * is made. */
int lc_kube_object(struct lc_kube *kube, json_t *body, struct lc_fail *fail);
/* {"rules": [...]} takes the place of the configuration's "rbac". */
int lc_kube_rules(struct lc_kube *kube, json_t *body, struct lc_fail *fail);
/* {"podcertificaterequests": ["v1beta1"]}: the versions of that resource that are served. */
int lc_kube_versions(struct lc_kube *kube, json_t *body, struct lc_fail *fail);
/* Every object; those of Secrets with their data. */
json_t *lc_kube_report(struct lc_kube *kube);

/* A kubeconfig (YAML) for the first of the configured tokens. False when there is none. */
bool lc_kube_config(struct lc_kube *kube, const char *server, const char *ca_pem, struct lc_buf *out);

#endif
