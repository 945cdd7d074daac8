/* SPDX-License-Identifier: MIT */
/* One request about a Secret or ConfigMap under way, and helpers of its operations. */
#ifndef LC_KUBE_WORK_H
#define LC_KUBE_WORK_H

#include "kube_secret.h"

enum { LC_KUBE_MANAGER_BYTES = 128 };

/* While an operation runs, the lock of the cluster is held. */
struct lc_kube_work {
    struct lc_visit *visit;
    struct lc_kube *kube;
    const struct lc_kube_kind *kind;
    json_t *list; /* of the kind */
    struct lc_kube_path path;
    struct lc_kube_user user;
    struct lc_params params;
    const char *name; /* of the object */
    char *key;
    char manager[LC_KUBE_MANAGER_BYTES + 1];
    bool force;
    bool dry;
    bool may_create;
    json_t *body;
    json_t *entry;    /* that is there now; NULL: none */
    json_t *before;   /* its flat form, empty when there is none */
    json_t *managers; /* a copy of its managers, to be changed */
};

/* Each answers and returns -1. */
int lc_kube_bad_request(struct lc_kube_work *work, const char *text);
int lc_kube_conflict(struct lc_kube_work *work, const char *why);

/* What the body says of the object's identity must be true; so must the namespace. */
int lc_kube_check_identity(struct lc_kube_work *work, json_t *object);
int lc_kube_check_namespace(struct lc_kube_work *work);

/* RFC 7386: TARGET (a new reference, not shared) with the patch in it. */
json_t *lc_kube_merge(json_t *target, json_t *patch);

/* The flat form of what a request says, or NULL with the answer written. */
json_t *lc_kube_decode(struct lc_kube_work *work, json_t *object);

/* Checks the outcome, keeps it and answers; flat is borrowed. */
int lc_kube_finish(struct lc_kube_work *work, json_t *flat);

/* Server-side apply. */
int lc_kube_secret_apply(struct lc_kube_work *work);

#endif
