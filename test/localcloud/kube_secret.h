/* SPDX-License-Identifier: MIT */
/* Secrets and ConfigMaps of the simulated cluster: rules and storage. */
#ifndef LC_KUBE_SECRET_H
#define LC_KUBE_SECRET_H

#include "kube_call.h"

/* Secrets and ConfigMaps differ in this. */
struct lc_kube_kind {
    const char *name;     /* "Secret" */
    const char *resource; /* "secrets" */
    bool is_public;       /* data is text, and there is no type */
};

extern const struct lc_kube_kind lc_kube_kind_secret;
extern const struct lc_kube_kind lc_kube_kind_configmap;

/* A Secret as it is kept, out of one as the API takes it; the lock is held. NULL with the reason. */
json_t *lc_kube_secret_entry(struct lc_kube *kube, json_t *secret, const char *manager, struct lc_fail *fail);

/* As the API shows what is kept. */
json_t *lc_kube_secret_shown(json_t *entry);

/* Reads a Secret of a request into its flat form: types and base64 are checked, stringData becomes data. NULL
 * with the reason (a 400). */
json_t *lc_kube_secret_decode(const struct lc_kube_kind *kind, json_t *secret, struct lc_fail *fail);

/* The rules of Secrets, and those of changing one; before is NULL for a new one. */
void lc_kube_secret_validate(const struct lc_kube_kind *kind, json_t *flat, json_t *before, const char *name,
                             struct lc_kube_faults *faults);

#endif
