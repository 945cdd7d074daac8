/* SPDX-License-Identifier: MIT */
/* A Kubernetes Secret or ConfigMap as a target: whether it may be written, and the body of its server-side apply. Pure.
 * Source: core/v1 Secret and ConfigMap, and server-side apply. */
#ifndef CFR_KUBE_SECRET_APPLY_H
#define CFR_KUBE_SECRET_APPLY_H

#include "base/secret.h"

#define CFR_K8S_SECRET_MANAGER     "credfresh" /* the field manager */
#define CFR_K8S_SECRET_LABEL       "app.kubernetes.io/managed-by"
#define CFR_K8S_SECRET_PUBLISHER   "credfresh.io/publisher" /* START/RUN, the run in 16 hexadecimal digits */
#define CFR_K8S_SECRET_PATH_MAX    640
#define CFR_K8S_SECRET_ANSWER_MAX  2097152 /* of the API server: base64, annotations and fields of managers on top */
#define CFR_K8S_SECRET_TOTAL_MAX   1048576 /* of all values */
#define CFR_K8S_SECRET_KEY_MAX     253     /* characters of a key */
#define CFR_K8S_SECRET_KEYS_MAX    64
#define CFR_K8S_SECRET_VERSION_MAX 64

/* The content type of an apply, for which JSON is YAML. */
#define CFR_K8S_SECRET_APPLY_TYPE "application/apply-patch+yaml"
/* Of a body; and of the answer to a GET, which has fields that others added. */
#define CFR_K8S_SECRET_BODY_MAX 2097152

/* A kind of object that is written. */
struct cfr_k8s_kind {
    const char *name;     /* "Secret" */
    const char *resource; /* "secrets", as in paths and rules */
    const char *key;      /* "publish.secret", in the configuration */
    bool is_public;       /* everyone may read it: it has no type, and `data` is UTF-8 text instead of base64 */
};

extern const struct cfr_k8s_kind cfr_k8s_kind_secret;
extern const struct cfr_k8s_kind cfr_k8s_kind_configmap;

struct cfr_k8s_secret_key {
    const char *key;
    struct cfr_view value;
};

struct cfr_k8s_secret_object {
    const struct cfr_k8s_kind *kind;
    const char *namespace_name;
    const char *name;
    const char *type; /* "Opaque", "kubernetes.io/dockerconfigjson" ...; of a kind with a type */
    const struct cfr_k8s_secret_key *keys;
    size_t key_count;
    const char *credential; /* goes into an annotation, with GENERATION and EXPIRES_S */
    uint64_t generation;
    int64_t expires_s; /* 0 = never */
    const char
        *rotation; /* other agents of this rotation write it, too, with the same GENERATION for the same values: of
                      the same ROTATION, which goes into an annotation, a higher one is newer; NULL = none do */
    uint64_t run;  /* of the agent: goes into an annotation with START_S, and what a later run of another agent
                      wrote is left as it is while that agent renews it; 0 = no annotation, and no check */
    uint64_t former_run; /* of the same agent; 0 = not known */
    int64_t start_s;     /* when RUN began */
    int64_t now_s;
    const char *ca_keys; /* the key ids of the CA that issued it, the newest first, with commas: one of another CA is
                            left as it is; NULL or empty: no CA did */
    const char *version; /* the body: the resourceVersion that it must have when it is written; NULL or empty = any */
};

enum cfr_k8s_secret_path {
    CFR_K8S_SECRET_READ = 0,  /* GET of the object */
    CFR_K8S_SECRET_APPLY = 1, /* PATCH; fields that others own are a conflict */
    CFR_K8S_SECRET_TAKE = 2,  /* PATCH that takes such fields from their owners: for a Secret that is adopted */
};

/* The path of the object with the query for its purpose. False for names that are not valid in Kubernetes. */
bool cfr_k8s_secret_apply_path(const struct cfr_k8s_kind *kind, const char *namespace_name, const char *name,
                               enum cfr_k8s_secret_path purpose, char out[CFR_K8S_SECRET_PATH_MAX]);
/* Checks the API server's rules beforehand: names, keys, total size, the keys and values that TYPE needs,
 * text in a public kind. CFR_E_CONFIG, CFR_E_LIMIT, CFR_E_NOMEM. */
int cfr_k8s_secret_apply_check(const struct cfr_k8s_secret_object *o, struct cfr_err *err);
/* Reads the answer (200) to a GET of the object: CFR_E_CONFLICT if it must not be written: immutable, of
 * another type, or, unless ADOPT, not made by credfresh (without its managed-by label or field manager) or made for
 * another credential; or of another CA; or published by an agent that started later.
 * CFR_E_UNAVAILABLE: it is being deleted, try again. CFR_E_WORSE: what is there is newer. CFR_E_ANSWER: it is not of
 * the kind, or another one. */
int cfr_k8s_secret_apply_may(const struct cfr_k8s_secret_object *o, struct cfr_view body, bool adopt,
                             struct cfr_err *err);
/* Reads the answer (200) to a GET of the object that was applied earlier; its values are not looked at. CFR_E_MISSING
 * if it is not as it was: not of this credential and generation, without the label, or one of the keys is not the field
 * manager's any more (of no KEYS: all of them), or it is being deleted; ERR names the manager. CFR_E_WORSE: what is
 * there is newer. CFR_E_CONFLICT: an agent that started later publishes it. CFR_E_ANSWER: it is not of the kind, or
 * another. */
int cfr_k8s_secret_apply_held(const struct cfr_k8s_secret_object *o, struct cfr_view body, struct cfr_err *err);
/* Reads from the answer (200) to a GET of the Secret the values of COUNT KEYS into VALUES, which it initialises and the
 * caller frees also after an error; THERE says which of the keys exist. CFR_E_ANSWER, CFR_E_NOMEM. */
int cfr_k8s_secret_apply_values(struct cfr_view body, const char *const *keys, size_t count, struct cfr_secret *values,
                                bool *there, struct cfr_err *err);
/* The key id of the CA that issued what the Secret or ConfigMap of the answer holds; empty: none did. */
void cfr_k8s_secret_apply_ca_key(struct cfr_view body, char key_id[CFR_K8S_SECRET_VERSION_MAX]);
/* The uid in the same answer. */
void cfr_k8s_secret_apply_uid(struct cfr_view body, char uid[CFR_K8S_SECRET_VERSION_MAX]);
/* The resourceVersion in the answer (200 or 201) to a GET or an apply; empty if there is none that fits. */
void cfr_k8s_secret_apply_version(struct cfr_view body, char version[CFR_K8S_SECRET_VERSION_MAX]);
/* Appends the apply configuration as JSON: `data` as the kind needs it, label app.kubernetes.io/managed-by, annotations
 * credfresh.io/credential, /generation, (unless it never expires) /expires and (of a RUN) /publisher. */
int cfr_k8s_secret_apply_body(const struct cfr_k8s_secret_object *o, struct cfr_secret *out, struct cfr_err *err);
/* Reads a 409 of an apply: names the field managers that own the fields. Sets ERR, returns CFR_E_CONFLICT; a
 * 409 without such owners (two writers at once) is CFR_E_UNAVAILABLE, unless its text is a refusal that
 * cfr_k8s_refusal knows. CFR_E_NOMEM. */
int cfr_k8s_secret_apply_conflict(const struct cfr_k8s_secret_object *o, struct cfr_view body, struct cfr_err *err);

#endif
