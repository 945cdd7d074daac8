/* SPDX-License-Identifier: MIT */
/* Restart of a workload as `kubectl rollout restart` does it: an annotation of the pod template, and whether the pods
 * are replaced. Pure. Source: apps/v1, and kubectl's rollout status. */
#ifndef CFR_KUBE_ROLLOUT_H
#define CFR_KUBE_ROLLOUT_H

#include "base/secret.h"

#define CFR_K8S_ROLLOUT_PATH_MAX 640
#define CFR_K8S_ROLLOUT_TYPE     "application/strategic-merge-patch+json"
#define CFR_K8S_ROLLOUT_BODY_MAX 4096
#define CFR_K8S_ROLLOUT_MAX      2097152 /* of an answer */

/* Kinds of workloads, NULL-terminated: the kind, and RBAC's name of its resource ("deployments.apps"). */
extern const char *const cfr_k8s_workloads[];
const char *cfr_k8s_workload_resource(int kind);

/* A credential's mark in the pod template, by which a restart is not repeated. */
struct cfr_k8s_restart {
    int kind; /* index into cfr_k8s_workloads */
    const char *namespace_name;
    const char *name;
    const char *credential;
    uint64_t generation;
    int64_t issued_ms; /* when its lifetime began: generations begin at 1 again where the state was lost */
    bool shared;       /* other agents count the generations, too: a mark with a later one is as good */
};

/* What a workload says of itself. */
struct cfr_k8s_rollout {
    bool restarted; /* for this generation */
    bool paused;
    bool on_delete; /* its pods are replaced only when they are deleted: a restart is never complete by itself */
    bool complete;  /* all pods are those of the template, and available */
    char text[160]; /* how far it is, for people */
};

/* The object's path, with the query of a patch or without. False for names that are not valid in Kubernetes. */
bool cfr_k8s_rollout_path(const struct cfr_k8s_restart *r, bool patch, char out[CFR_K8S_ROLLOUT_PATH_MAX]);
/* Appends the patch. */
int cfr_k8s_rollout_body(const struct cfr_k8s_restart *r, int64_t now_s, struct cfr_secret *out, struct cfr_err *err);
/* Reads the answer (200) to a GET or the patch. CFR_E_ANSWER, CFR_E_NOMEM; CFR_E_REJECTED: the rollout has failed (its
 * progress deadline is exceeded). */
int cfr_k8s_rollout_read(const struct cfr_k8s_restart *r, struct cfr_view body, struct cfr_k8s_rollout *out,
                         struct cfr_err *err);

#endif
