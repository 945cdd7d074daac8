/* SPDX-License-Identifier: MIT */
/* ExecCredential: the input of a kubeconfig's exec plugin and its output, for both sides. Pure.
 * Source: client.authentication.k8s.io/v1 and v1beta1. */
#ifndef CFR_KUBE_EXEC_CREDENTIAL_H
#define CFR_KUBE_EXEC_CREDENTIAL_H

#include "base/secret.h"

#define CFR_K8S_EXEC_CREDENTIAL_MAX 262144 /* of each of the three */

struct cfr_k8s_exec_credential {
    struct cfr_secret token;
    struct cfr_secret cert; /* PEM */
    struct cfr_secret key;  /* PEM */
    int64_t expires_s;      /* 0 = unknown */
};

/* True if this version of the protocol is supported. */
bool cfr_k8s_exec_credential_version_ok(const char *api_version);
/* Appends the value of KUBERNETES_EXEC_INFO. CLUSTER_JSON is the `cluster` member, a JSON object, or empty to
 * leave it out. CFR_E_CONFIG: another API_VERSION. */
int cfr_k8s_exec_credential_info(const char *api_version, struct cfr_view cluster_json, struct cfr_secret *out,
                                 struct cfr_err *err);
/* Reads what the plugin printed. CFR_E_ANSWER: another apiVersion or kind, no status, neither a token nor a
 * certificate with its key, an expiry that is not a time. The caller frees OUT in every case. */
int cfr_k8s_exec_credential_read(const char *api_version, struct cfr_view text, struct cfr_k8s_exec_credential *out,
                                 struct cfr_err *err);
void cfr_k8s_exec_credential_free(struct cfr_k8s_exec_credential *c);

/* The plugin's side. Reads INFO, the value of KUBERNETES_EXEC_INFO: *VERSION (a literal) is the apiVersion of the
 * answer that the client expects; the first one if INFO is empty, as in a run by hand. CFR_E_CONFIG: not an
 * ExecCredential, or of another version. */
int cfr_k8s_exec_credential_version_of(struct cfr_view info, const char **version, struct cfr_err *err);
/* Appends what the plugin prints for C, which has a token, or a certificate with its key. */
int cfr_k8s_exec_credential_write(const char *version, const struct cfr_k8s_exec_credential *c, struct cfr_secret *out,
                                  struct cfr_err *err);

#endif
