/* SPDX-License-Identifier: MIT */
/* Answers to a list and a watch of objects, as far as their names and versions go. Pure; views are borrowed from the
 * document. Source: API concepts (resource versions, chunks, watch events, PartialObjectMetadata). */
#ifndef CFR_KUBE_WATCH_ANSWER_H
#define CFR_KUBE_WATCH_ANSWER_H

#include "base/err.h"
#include "base/view.h"

#define CFR_K8S_VERSION_MAX  64     /* of a resourceVersion, with its NUL; longer ones are refused */
#define CFR_K8S_CONTINUE_MAX 4096   /* of a continue token, with its NUL */
#define CFR_K8S_WATCH_MAX    524288 /* bytes of an event, or of a chunk of a list */

/* What is asked for: names and versions. Servers that cannot answer so answer in full. */
#define CFR_K8S_WATCH_ACCEPT "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1,application/json"
#define CFR_K8S_LIST_ACCEPT  "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1,application/json"

/* Called with each object; SPACE is its namespace, if it has one; VERSION is NULL for one that was deleted. */
typedef void cfr_k8s_seen_fn(void *ctx, struct cfr_view space, struct cfr_view name, const char *version);

/* Reads one chunk of a list. VERSION is where a watch goes on; NEXT is the continue token, empty after the last one.
 * CFR_E_ANSWER, CFR_E_LIMIT (too many values), CFR_E_NOMEM. */
int cfr_k8s_watch_list(struct cfr_view body, cfr_k8s_seen_fn *seen, void *ctx, char version[CFR_K8S_VERSION_MAX],
                       char next[CFR_K8S_CONTINUE_MAX], struct cfr_err *err);
/* Reads one event, a line. VERSION becomes that of the event, also of a bookmark. CFR_E_UNAVAILABLE: the server wants a
 * new list (410). CFR_E_ANSWER: another error of the server, or no event. CFR_E_LIMIT, CFR_E_NOMEM. */
int cfr_k8s_watch_event(struct cfr_view line, cfr_k8s_seen_fn *seen, void *ctx, char version[CFR_K8S_VERSION_MAX],
                        struct cfr_err *err);

#endif
