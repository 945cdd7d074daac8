/* SPDX-License-Identifier: MIT */
/* Access to Kubernetes API servers: where they are and who we are there, from the pod's own service account
 * or a kubeconfig, kept up to date; and requests to them. */
#ifndef CFR_AGENT_KUBE_CLIENT_H
#define CFR_AGENT_KUBE_CLIENT_H

#include "agent/loop/clock.h"
#include "agent/http/client.h"

struct cfr_kube;      /* all API servers that are known, one connection context per kubeconfig and context */
struct cfr_kube_call; /* a request under way */

/* Which API server. All NULL: the pod's own (in-cluster). Copied. */
struct cfr_kube_where {
    const char *kubeconfig; /* absolute path; or NULL */
    const char *context;    /* NULL = the current one */
};

/* Copied, but for the body. */
struct cfr_kube_request {
    const char *method;
    const char *path;              /* begins with a slash; with its query */
    const char *content_type;      /* NULL without a body */
    const struct cfr_secret *body; /* borrowed until done; NULL = none */
};

struct cfr_kube_answer {
    int error; /* 0 if an HTTP answer came, whatever its status */
    struct cfr_err err;
    long status;
    struct cfr_view body;
    int64_t retry_after_s; /* -1 = none */
    int64_t date_s;
    struct cfr_view audit_id;
    const struct cfr_view *secrets; /* the bearer token, or the password in its two forms, for scrubbing */
    size_t secret_count;
    double duration_s;
};

typedef void cfr_kube_fn(void *ctx, const struct cfr_kube_answer *answer);

int cfr_kube_open(struct cfr_http *http, struct cfr_kube **out, struct cfr_err *err);
/* Ends what is under way without calling DONE. NULL is allowed. */
void cfr_kube_close(struct cfr_kube *k);
/* Starts a request. DONE is called once, never before this returns. The kubeconfig, the token file and the CA
 * are read again when they changed; an exec plugin is run when its credential is missing or has expired (its
 * time limit is 30 s; its standard error is ours). A 401 makes everything be read (and the plugin be run)
 * anew, and the request be sent once more. CFR_E_CONFIG, CFR_E_MISSING ...: nothing was started. Blocks on
 * disk only. */
int cfr_kube_start(struct cfr_kube *k, const struct cfr_kube_where *where, const struct cfr_kube_request *request,
                   cfr_kube_fn *done, void *ctx, struct cfr_kube_call **out, struct cfr_err *err);
/* Ends it without calling DONE. NULL is allowed; from within its own DONE it does nothing. A plugin that it
 * waits for goes on, for those that come after it. */
void cfr_kube_cancel(struct cfr_kube_call *c);
/* SIGCHLD came: plugins that have ended are reaped and their calls go on. */
void cfr_kube_child(struct cfr_kube *k);
/* Boot time of the next thing to do by itself, INT64_MAX if none; then call cfr_kube_step. */
int64_t cfr_kube_deadline(const struct cfr_kube *k);
/* Ends plugins that have taken too long; their calls fail with CFR_E_TIMEOUT. */
void cfr_kube_step(struct cfr_kube *k, struct cfr_now now);
/* The namespace of WHERE (the pod's own, or the context's), or NULL if it names none. Borrowed until the next
 * call. */
const char *cfr_kube_namespace(struct cfr_kube *k, const struct cfr_kube_where *where, struct cfr_err *err);
/* Looks at what WHERE names without sending anything: for `credfresh check`. Blocks on disk. */
int cfr_kube_check(const struct cfr_kube_where *where, struct cfr_err *err);

#endif
