/* SPDX-License-Identifier: MIT */
/* Helpers of the Kubernetes API's operations: authentication, authorization, Status objects. */
#ifndef LC_KUBE_CALL_H
#define LC_KUBE_CALL_H

#include "kube_data.h"

struct lc_kube_user {
    char *name;
    json_t *groups;
};

void lc_kube_user_free(struct lc_kube_user *user);

/* The caller: a configured token, a token of the issuer for the API, a client certificate, or nobody
 * (system:anonymous). A bad token is answered with 401 and -1. */
int lc_kube_authenticate(struct lc_visit *visit, struct lc_kube_user *out);

/* A requested action; subresource and name may be NULL. */
struct lc_kube_act {
    const char *verb;
    const char *resource;
    const char *subresource;
    const char *namespace_name;
    const char *name;
};

bool lc_kube_allowed(struct lc_kube *kube, const struct lc_kube_user *user, const struct lc_kube_act *act);
/* ... and otherwise answered with 403 and -1. */
int lc_kube_authorize(struct lc_visit *visit, const struct lc_kube_user *user, const struct lc_kube_act *act);

/* Answers with a Status that is a failure, and returns -1. details (its reference is taken) may be NULL. */
int lc_kube_refuse(struct lc_visit *visit, unsigned status, const char *reason, json_t *details, const char *format,
                   ...) __attribute__((format(printf, 5, 6)));
int lc_kube_not_found(struct lc_visit *visit, const char *resource, const char *name);
/* 403 "RESOURCE "NAME" is forbidden: WHY". */
int lc_kube_forbidden(struct lc_visit *visit, const char *resource, const char *name, const char *why);

/* Field errors that become one 422. Reasons are those of causes: FieldValueInvalid, FieldValueRequired, ...
 */
struct lc_kube_faults {
    json_t *causes;
};

/* text is "Invalid value: ...: ..." as a cause has it. */
void lc_kube_fault(struct lc_kube_faults *faults, const char *reason, const char *field, const char *format, ...)
    __attribute__((format(printf, 4, 5)));
/* 0 when there are none; otherwise answers with 422 (kind "Secret", group "" for core) and -1. Frees them. */
int lc_kube_faultless(struct lc_visit *visit, struct lc_kube_faults *faults, const char *group, const char *kind,
                      const char *name);

/* The body as a JSON object, or NULL with the answer written. */
json_t *lc_kube_body(struct lc_visit *visit);

/* Answers with a document, taking the reference. */
void lc_kube_answer(struct lc_visit *visit, unsigned status, json_t *document);

/* The operations that have files of their own. */
void lc_kube_token(struct lc_visit *visit);
void lc_kube_secrets(struct lc_visit *visit);
void lc_kube_collection(struct lc_visit *visit);
void lc_kube_workloads(struct lc_visit *visit);
void lc_kube_events(struct lc_visit *visit);
void lc_kube_pod_certificate(struct lc_visit *visit);

/* Names out of /kube/api/v1/namespaces/NS/KIND/NAME[/SUB]; empty where the path ends. */
struct lc_kube_path {
    char namespace_name[260];
    char kind[64];
    char name[260];
    char subresource[64];
};

bool lc_kube_path(const char *path, struct lc_kube_path *out);
/* The same of /kube/apis/events.k8s.io/v1/namespaces/NS/events. */
bool lc_kube_event_path(const char *path, struct lc_kube_path *out);
/* The same of /kube/apis/apps/v1/namespaces/NS/KIND[/NAME[/SUB]], for the kinds of workloads. */
bool lc_kube_workload_path(const char *path, struct lc_kube_path *out);
/* The same of /kube/apis/certificates.k8s.io/VERSION/[namespaces/NS/]podcertificaterequests[/NAME[/status]]; *version
 * is "v1" or "v1beta1". */
bool lc_kube_pod_certificate_path(const char *path, struct lc_kube_path *out, const char **version);

#endif
