/* SPDX-License-Identifier: MIT */
/* Refusals of an API server: maps its Status object, or the answer of a proxy, to an error with a remedy. Pure.
 * Source: the Kubernetes API conventions (meta/v1 Status). */
#ifndef CFR_KUBE_STATUS_H
#define CFR_KUBE_STATUS_H

#include "base/err.h"
#include "base/view.h"

/* The request, for the error text. All but WHAT may be NULL. */
struct cfr_k8s_asked {
    const char *what;               /* "a token for the service account NS/NAME" */
    const char *verb;               /* RBAC: "create" */
    const char *resource;           /* RBAC: "serviceaccounts/token", "deployments.apps" */
    const char *name;               /* RBAC: the object, for `resourceNames` */
    const char *namespace_name;     /* where the Role is missing; NULL: a ClusterRole is */
    const char *signer;             /* whose bundle or certificate it writes, which needs a separate rule */
    const char *audience;           /* the requested audience: a node may need a rule for it */
    const struct cfr_view *secrets; /* texts that must not get into the error */
    size_t secret_count;
};

/* Sets ERR to what the server refused, why, and what to do, and returns the code (never 0): by HTTP status
 * and the Status object's message. The body need not be a Status, nor JSON.
 *  - 401, 403, 404, 407, and any 4xx of an admission policy or webhook: CFR_E_DENIED, an administrator has to act
 *  - 400, 405, 406, 413, 415, 422, other 4xx: CFR_E_REJECTED
 *  - 409 of a field or a uid: CFR_E_CONFLICT; of two writers at once: CFR_E_UNAVAILABLE, try again
 *  - 408, 410, 5xx: CFR_E_UNAVAILABLE
 *  - 429: CFR_E_THROTTLED
 *  - 3xx: CFR_E_REDIRECT
 *  - others: CFR_E_ANSWER; and CFR_E_NOMEM
 * *RETRY_AFTER_S is set to details.retryAfterSeconds (at most one day) if the body has it, else left alone. */
int cfr_k8s_refusal(long status, struct cfr_view body, const struct cfr_k8s_asked *asked, int64_t *retry_after_s,
                    struct cfr_err *err);

#endif
