/* SPDX-License-Identifier: MIT */
/* The field `caBundle` of objects that tell the API server by which CA it verifies a server, and whole
 * ClusterTrustBundles: paths, answers, and the body of a server-side apply of that one field. Pure. Sources:
 * admissionregistration.k8s.io/v1, apiregistration.k8s.io/v1, apiextensions.k8s.io/v1, certificates.k8s.io/v1 and
 * v1beta1 (KEP-3257), meta/v1 PartialObjectMetadata, and server-side apply. */
#ifndef CFR_KUBE_CA_BUNDLE_H
#define CFR_KUBE_CA_BUNDLE_H

#include "base/field.h"
#include "base/secret.h"
#include "base/str.h"
#include "kube/name.h"

#define CFR_K8S_CA_ANNOTATION   "credfresh.io/inject-ca" /* "true": the object wants the bundle */
#define CFR_K8S_CA_OWNER        "credfresh.io/ca-key-id" /* annotation: the CA whose bundle it has */
#define CFR_K8S_CA_PATH_MAX     2048
#define CFR_K8S_CA_ANSWER_MAX   2097152
#define CFR_K8S_CA_PAGE         20 /* objects of a list; their metadata may have tens of KiB each */
#define CFR_K8S_CA_BODY_MAX     1048576
#define CFR_K8S_CA_PAGE_MANY    250              /* ... of ConfigMaps, of which each namespace has some */
#define CFR_K8S_CA_OBJECTS_MAX  4096             /* with the annotation, of one kind */
#define CFR_K8S_CA_SPACE_MAX    16               /* ... in one namespace, whose users must not use up the others' */
#define CFR_K8S_CA_KEY          "service-ca.crt" /* of a ConfigMap, as OpenShift's */
#define CFR_K8S_CA_WEBHOOKS_MAX 128              /* of one object */
#define CFR_K8S_CA_TEXT_MAX     256              /* a uid, a version, with its NUL */

enum cfr_k8s_ca_kind {
    CFR_K8S_CA_API_SERVICE,
    CFR_K8S_CA_CRD, /* its conversion webhook */
    CFR_K8S_CA_MUTATING,
    CFR_K8S_CA_VALIDATING,
    CFR_K8S_CA_TRUST_BUNDLE, /* the object itself is the bundle, and is made if it is missing */
    CFR_K8S_CA_CONFIG_MAP    /* its key CFR_K8S_CA_KEY; of all namespaces, so that a name is "NAMESPACE/NAME" */
};

/* Their names, in this order, NULL-terminated: "APIService" ... */
extern const char *const cfr_k8s_ca_kinds[];

/* What is known of one object. The caller frees it with cfr_k8s_ca_object_free. */
struct cfr_k8s_ca_object {
    char uid[CFR_K8S_CA_TEXT_MAX];     /* empty = it does not exist */
    char version[CFR_K8S_CA_TEXT_MAX]; /* resourceVersion */
    char owner[CFR_K8S_CA_TEXT_MAX];   /* CFR_K8S_CA_OWNER; empty = it has none */
    bool owned;                        /* by the CA whose bundle is applied; set by the caller */
    struct cfr_strings webhooks;       /* their names, of the kinds that are lists of them */
    struct cfr_strings applied;        /* for each of these its caBundle if an apply of credfresh set it, or "" */
};

/* True for the kinds whose objects have a list of webhooks. */
bool cfr_k8s_ca_has_webhooks(enum cfr_k8s_ca_kind kind);
/* RBAC's name of the resource: "apiservices.apiregistration.k8s.io". */
const char *cfr_k8s_ca_resource(enum cfr_k8s_ca_kind kind);
/* The Accept header for KIND: without the rest of the object where its metadata is enough, because it may be large. */
const char *cfr_k8s_ca_accept(enum cfr_k8s_ca_kind kind, bool list);
/* True if NAME can be that of an object of KIND. A ClusterTrustBundle's begins with its signer, with a colon in place
 * of the slash, and ends with a colon and a part of its own: "example.com:service:ca". */
bool cfr_k8s_ca_is_name(enum cfr_k8s_ca_kind kind, const char *name);
/* The signer of the ClusterTrustBundle NAME: "example.com/service". */
void cfr_k8s_ca_signer(const char *name, char out[CFR_K8S_NAME_MAX + 1]);
/* The path of the object NAME, or to APPLY it. BETA: of the API's version before, for a ClusterTrustBundle. False for a
 * name that is not valid in Kubernetes. */
bool cfr_k8s_ca_path(enum cfr_k8s_ca_kind kind, bool beta, const char *name, bool apply, char out[CFR_K8S_CA_PATH_MAX]);
/* The path of the page NEXT of the list (NULL = the first), COUNT objects. False if NEXT is too long. */
bool cfr_k8s_ca_list_path(enum cfr_k8s_ca_kind kind, unsigned count, const char *next, char out[CFR_K8S_CA_PATH_MAX]);
/* True if the answer (404) to a GET says that the API server does not know KIND, and not just no such object. */
bool cfr_k8s_ca_is_unknown(const char *name, struct cfr_view body);
/* Adds to NAMES those of the page's objects that have the annotation, and to VERSIONS their resourceVersions, and sets
 * *NEXT (heap; NULL = it was the last page). CFR_E_ANSWER: it is not such a list. CFR_E_LIMIT above
 * CFR_K8S_CA_OBJECTS_MAX names, and for too many values. CFR_E_NOMEM. */
int cfr_k8s_ca_read_list(struct cfr_view body, struct cfr_strings *names, struct cfr_strings *versions, char **next,
                         struct cfr_err *err);
/* Reads the answer to a GET, or a PATCH, of NAME. CFR_E_ANSWER: it is not that object; CFR_E_UNAVAILABLE: it is being
 * deleted. */
int cfr_k8s_ca_read(enum cfr_k8s_ca_kind kind, const char *name, struct cfr_view body, struct cfr_k8s_ca_object *out,
                    struct cfr_err *err);
void cfr_k8s_ca_object_free(struct cfr_k8s_ca_object *o);
/* A bundle, and the CA that it is of. */
struct cfr_k8s_ca_content {
    struct cfr_view bundle; /* PEM */
    const char *key_id;     /* of the newest CA, in hexadecimal; goes into CFR_K8S_CA_OWNER */
};

/* Appends the body of an apply that sets CONTENT in the object NAME as it was read, of webhooks in those that ONLY
 * names (none: all). Others that an earlier apply set keep what they have: an apply that left them out would remove it.
 * The uid in it keeps an object from being made that was deleted meanwhile; the version in it keeps one that is not
 * owned yet from being taken from another agent that does the same. CFR_E_CONFIG: the object has no such webhook. */
int cfr_k8s_ca_body(enum cfr_k8s_ca_kind kind, bool beta, const char *name, const struct cfr_k8s_ca_object *o,
                    const struct cfr_strings *only, const struct cfr_k8s_ca_content *content, struct cfr_secret *out,
                    struct cfr_err *err);

void cfr_k8s_ca_free_names(struct cfr_strings *names);

#endif
