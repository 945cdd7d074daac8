/* SPDX-License-Identifier: MIT */
/* A Kubernetes Secret as a destination: may it be written, and the object that server-side apply sends. Pure.
 * Source: core/v1 Secret, and server-side apply. */
#ifndef CFR_KUBE_SECRET_APPLY_H
#define CFR_KUBE_SECRET_APPLY_H

#include "base/secret.h"

#define CFR_SECRET_MANAGER   "credfresh" /* the field manager */
#define CFR_SECRET_PATH_MAX  640
#define CFR_SECRET_TOTAL_MAX 1048576 /* of all values */

struct cfr_secret_key {
    const char *key;
    struct cfr_view value;
};

struct cfr_secret_object {
    const char *namespace_name;
    const char *name;
    const char *type; /* "Opaque", "kubernetes.io/dockerconfigjson" ... */
    const struct cfr_secret_key *keys;
    size_t key_count;
    const char *credential; /* goes into an annotation, with GENERATION and EXPIRES_S */
    uint64_t generation;
    int64_t expires_s; /* 0 = never */
};

/* The path of the object. APPLY adds the query of server-side apply. False for names that cannot be Kubernetes'. */
bool cfr_secret_apply_path(const char *namespace_name, const char *name, bool apply, char out[CFR_SECRET_PATH_MAX]);
/* Rules that the API server would refuse by, checked beforehand: names of keys, total size, keys that TYPE needs.
 * CFR_E_CONFIG, CFR_E_LIMIT. */
int cfr_secret_apply_check(const struct cfr_secret_object *o, struct cfr_err *err);
/* Reads the answer (200) to a GET of the object: CFR_E_CONFLICT if it must not be written: immutable, of another type,
 * or made by somebody else (without our managed-by label or field manager) unless ADOPT. */
int cfr_secret_apply_may(const struct cfr_secret_object *o, struct cfr_view body, bool adopt, struct cfr_err *err);
/* Appends the apply configuration as JSON: `data` in base64, label app.kubernetes.io/managed-by, annotations
 * credfresh.io/credential, /generation and /expires. */
int cfr_secret_apply_body(const struct cfr_secret_object *o, struct cfr_secret *out, struct cfr_err *err);
/* Reads a 409 of an apply: names the field managers that own the fields. Sets ERR, returns CFR_E_CONFLICT. */
int cfr_secret_apply_conflict(const struct cfr_secret_object *o, struct cfr_view body, struct cfr_err *err);

#endif
