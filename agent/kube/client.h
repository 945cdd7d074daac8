/* SPDX-License-Identifier: MIT */
/* The Kubernetes API client: finds API servers and the agent's identity there, from the pod's own service account or a
 * kubeconfig, keeps both up to date, and sends requests. Blocks on disk only; network and exec plugins run on the loop.
 * Callbacks are called from cfr_http_step and cfr_loop_run, once for each request, and may start and
 * cancel requests; the answer and everything in it belongs to the client and is wiped after they return. Answers are at
 * most 4 MiB; a request takes at most 30 s, an exec plugin 30 s more.
 * agent/kube/watch.h watches objects. */
#ifndef CFR_AGENT_KUBE_CLIENT_H
#define CFR_AGENT_KUBE_CLIENT_H

#include "agent/http/client.h"
#include "agent/loop/clock.h"

struct cfr_kube;      /* all known API servers, one context for each kubeconfig and context name */
struct cfr_kube_call; /* a request under way */

/* An API server. All NULL: the pod's own (in-cluster). Copied. */
struct cfr_kube_where {
    const char *kubeconfig; /* absolute path; or NULL */
    const char *context;    /* NULL = the current one */
};

/* The longest pause after a failure of what pods wait for. */
#define CFR_KUBE_PAUSE_MAX_MS 30000

/* Copied, but for the body. */
struct cfr_kube_request {
    const char *method;
    const char *path;              /* begins with a slash; with its query */
    const char *content_type;      /* NULL without a body */
    const struct cfr_secret *body; /* borrowed until done or cancelled; NULL = none */
    size_t answer_max;             /* larger answers are refused; 0 = 256 KiB */
    const char *accept;            /* literal; NULL = application/json */
    cfr_http_part_fn *part;        /* as in agent/http/client.h; NULL = the body is collected */
    int64_t timeout_ms;            /* 0 = 30 s */
};

struct cfr_kube_answer {
    int error; /* 0 after an HTTP answer of any status */
    struct cfr_err err;
    long status;
    struct cfr_view body;
    int64_t retry_after_s; /* -1 = none */
    int64_t date_s;
    struct cfr_view audit_id;
    const char *warning; /* of the API server (its Warning headers), printable and at most 203 bytes; "" = none */
    const struct cfr_view *secrets; /* the bearer token, or the password in its two forms, to redact from texts */
    size_t secret_count;
    double duration_s;
    bool renewed; /* as in agent/http/client.h */
};

typedef void cfr_kube_fn(void *ctx, const struct cfr_kube_answer *answer);

/* HTTP is borrowed. CFR_E_NOMEM. */
int cfr_kube_open(struct cfr_http *http, struct cfr_kube **out, struct cfr_err *err);
/* Requests to WHERE need not wait any longer after a failure: the server, which failed, has answered another one, or
 * the kubeconfig or a file that it names has changed. For the first reason called at most every 30 s. May be called
 * from any function of the client; starts and cancels no request. */
typedef void cfr_kube_resume_fn(void *ctx, const struct cfr_kube_where *where);
void cfr_kube_on_resume(struct cfr_kube *k, cfr_kube_resume_fn *resume, void *ctx);
bool cfr_kube_where_is(const struct cfr_kube_where *a, const struct cfr_kube_where *b);
/* Cancels all requests and ends running plugins. NULL is allowed. */
void cfr_kube_close(struct cfr_kube *k);
/* Starts a request. DONE is called once, never before this returns. The kubeconfig, the token file and the CA
 * are read again after a change; an exec plugin is run when its credential is missing or has expired (its
 * standard error is ours). After a 401 everything is read again (and the plugin run again), and the request is sent
 * once more. CFR_E_CONFIG, CFR_E_MISSING ...: nothing was started. */
int cfr_kube_start(struct cfr_kube *k, const struct cfr_kube_where *where, const struct cfr_kube_request *request,
                   cfr_kube_fn *done, void *ctx, struct cfr_kube_call **out, struct cfr_err *err);
/* Ends the request without calling DONE. NULL is allowed; from within its own DONE it does nothing. A plugin that it
 * waits for continues for later requests. */
void cfr_kube_cancel(struct cfr_kube_call *c);
/* The namespace of WHERE (the pod's own, or the context's), or NULL if it names none. Borrowed until the next
 * call. */
const char *cfr_kube_namespace(struct cfr_kube *k, const struct cfr_kube_where *where, struct cfr_err *err);
/* As cfr_kube_namespace, for an object that needs one and has none: CFR_E_CONFIG, which says why it is unknown and that
 * `namespace` of the mapping KEY has it, or the error of what was to be read. */
int cfr_kube_find_namespace(struct cfr_kube *k, const struct cfr_kube_where *where, const char *key, const char **out,
                            struct cfr_err *err);
/* What clients need to reach WHERE: the API server's URL, and the certificates (PEM) that it is verified by, empty for
 * the system's. Borrowed until the next call. */
int cfr_kube_server(struct cfr_kube *k, const struct cfr_kube_where *where, const char **url, struct cfr_view *ca,
                    struct cfr_err *err);
/* Calls EACH for every file (absolute paths) that the kubeconfig of WHERE names; for none while it cannot be read. */
void cfr_kube_each_file(const struct cfr_kube_where *where, void (*each)(void *ctx, const char *path), void *ctx);
/* Whether it names an exec plugin; false also while it cannot be read. */
bool cfr_kube_has_plugin(const struct cfr_kube_where *where);
/* Adds the command of its exec plugin to LIST (agent/loop/launcher.h), as it would be started now; nothing if it names
 * none. */
int cfr_kube_list_plugin(const struct cfr_kube_where *where, struct cfr_secret *list, struct cfr_err *err);
/* Reads and checks everything that WHERE names without sending anything: for `credfresh check`. */
int cfr_kube_check(const struct cfr_kube_where *where, struct cfr_err *err);

#endif
