/* SPDX-License-Identifier: MIT */
/* What an API server says when it refuses: Status objects, or whatever a proxy sent instead.
 * Source: the Kubernetes API conventions (meta/v1 Status). */
#ifndef CFR_KUBE_STATUS_H
#define CFR_KUBE_STATUS_H

#include "base/err.h"
#include "base/view.h"

/* What was asked for, for the text. */
struct cfr_kube_asked {
    const char *what;               /* "a token for the service account NS/NAME" */
    const char *verb;               /* RBAC: "create" */
    const char *resource;           /* RBAC: "serviceaccounts/token" */
    const struct cfr_view *secrets; /* what must not be echoed */
    size_t secret_count;
};

/* Sets ERR to what the server refused, why, and what to do, and returns the code (never 0): by HTTP status and Status
 * reason. *RETRY_AFTER_S is set to details.retryAfterSeconds where the body has it, else left alone. The body need not
 * be a Status, nor JSON. */
int cfr_kube_refusal(long status, struct cfr_view body, const struct cfr_kube_asked *asked, int64_t *retry_after_s,
                     struct cfr_err *err);

#endif
