/* SPDX-License-Identifier: MIT */
/* The client's contexts and calls. */
#ifndef CFR_AGENT_KUBE_CLIENT_PRIVATE_H
#define CFR_AGENT_KUBE_CLIENT_PRIVATE_H

#include "agent/kube/context_private.h"
#include "agent/loop/log_once.h"

struct cfr_kube {
    struct cfr_http *http;
    const char *pod_directory;
    int64_t plugin_limit_ms;
    struct cfr_kube_context *contexts;
    struct cfr_kube_call *calls;
    struct cfr_kube_stream *streams; /* agent/kube/stream.c */
    struct cfr_kube_group *groups;   /* agent/kube/watch.c */
    struct cfr_kube_event *events;   /* agent/kube/event.c, under way */
    struct cfr_log_once events_logged;
    cfr_kube_resume_fn *resume;
    void *resume_ctx;
    char *namespace_name; /* last returned */
};

/* The context of WHERE, made if it is new; contexts that were not used for two days are freed first. NULL with err
 * set: CFR_E_NOMEM. */
struct cfr_kube_context *cfr_kube_context_of(struct cfr_kube *k, const struct cfr_kube_where *where, struct cfr_now now,
                                             struct cfr_err *err);
/* A context in no list. The caller frees it with cfr_kube_context_destroy. NULL with err set: CFR_E_NOMEM. */
struct cfr_kube_context *cfr_kube_context_make(const char *pod_directory, const struct cfr_kube_where *where,
                                               struct cfr_err *err);
/* NULL is allowed. */
void cfr_kube_context_destroy(struct cfr_kube_context *p);

/* ---- agent/kube/recovery.c ---- */

/* cfr_kube_context_refresh; what has changed may end the pauses of requests to the server. */
int cfr_kube_refresh(struct cfr_kube *k, struct cfr_kube_context *p, bool force, struct cfr_now now,
                     struct cfr_err *err);
/* A request to P's server has ended with ERROR, or was answered with STATUS. */
void cfr_kube_note_answer(struct cfr_kube *k, struct cfr_kube_context *p, int error, long status);

/* ---- agent/kube/stream.c, watch.c, event.c ---- */

/* Ends the pauses of the streams from WHERE. */
void cfr_kube_streams_resume(struct cfr_kube *k, const struct cfr_kube_where *where);
struct cfr_kube_where cfr_kube_stream_where(const struct cfr_kube_stream *s); /* borrowed */
/* True if the list is complete, and every change since then was reported until now. */
bool cfr_kube_stream_is_live(const struct cfr_kube_stream *s);
void cfr_kube_watch_close(struct cfr_kube *k);
void cfr_kube_events_close(struct cfr_kube *k);

#endif
