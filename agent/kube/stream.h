/* SPDX-License-Identifier: MIT */
/* Follows all objects of a collection that a selector chooses: a list, and a watch that goes on from it. Only names and
 * versions are asked for (PartialObjectMetadata), so that no secret is received.
 *
 * Nothing blocks. A watch that ends is resumed at the version that it has reached; one whose version is too old (410)
 * and one that failed begin again with a list, after agent/loop/backoff.h. Callbacks come from cfr_http_step; they may
 * open and select streams, but neither end one nor start or cancel a request. A list has at most 1000 parts of 100
 * objects, or fewer where 100 are too large, and a client at most 256 streams. */
#ifndef CFR_AGENT_KUBE_STREAM_H
#define CFR_AGENT_KUBE_STREAM_H

#include "agent/kube/client.h"

struct cfr_kube_stream;

/* A list or a watch has failed. */
struct cfr_kube_trouble {
    bool listing; /* else watching: what was listed is good */
    long status;  /* of HTTP; 0 without an answer */
    const struct cfr_err *err;
    bool news; /* it is another one than the one before */
};

struct cfr_kube_stream_ops {
    /* A list begins: what it does not name is gone when it ends. May be NULL. */
    void (*begun)(void *ctx);
    /* An object has the resourceVersion VERSION; NULL: it was deleted. SPACE is empty for objects of the cluster. */
    void (*seen)(void *ctx, struct cfr_view space, struct cfr_view name, const char *version);
    void (*listed)(void *ctx);
    /* True: the stream rests until it is selected again, or ended. */
    bool (*failed)(void *ctx, const struct cfr_kube_trouble *trouble);
};

/* Copied, but for OPS, CTX and WHAT, which outlive the stream. */
struct cfr_kube_selection {
    struct cfr_kube_where where;
    const char *collection; /* path of the objects: "/api/v1/namespaces/NS/secrets" */
    const char *what;       /* for errors: "the watch" */
    int64_t pause_max_ms;   /* between two lists that fail; 0 = as the backoff has it */
    /* Where watches fail the list is repeated after this time, until one works; 0: only after the watch's backoff */
    int64_t poll_ms;
    const struct cfr_kube_stream_ops *ops;
    void *ctx;
};

/* Opens a stream that rests until it is selected. CFR_E_LIMIT, CFR_E_NOMEM. */
int cfr_kube_stream_open(struct cfr_kube *k, const struct cfr_kube_selection *selection, struct cfr_kube_stream **out,
                         struct cfr_err *err);
/* Begins again with the list of those whose fields are FIELDS ("spec.signerName=a"), or, if that is NULL, whose labels
 * are LABELS. NAME: the only object that there can be, for errors, or NULL. CFR_E_LIMIT: the selector is too long. */
int cfr_kube_stream_select(struct cfr_kube_stream *s, const char *fields, const char *labels, const char *name,
                           struct cfr_err *err);
/* NULL is allowed. */
void cfr_kube_stream_end(struct cfr_kube_stream *s);

#endif
