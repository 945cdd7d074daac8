/* SPDX-License-Identifier: MIT */
/* Watches of objects of the cluster by their names: one stream (agent/kube/stream.h) for all objects of a kind in a
 * namespace and API server.
 *
 * Nothing blocks. Where the verbs list and watch are not allowed for all objects, as by a Role that names some, up to
 * 64 are watched one by one; where they are not allowed at all there are no reports, which is logged once. Reports come
 * from cfr_http_step; they may neither begin nor end a watch or a request. */
#ifndef CFR_AGENT_KUBE_WATCH_H
#define CFR_AGENT_KUBE_WATCH_H

#include "agent/kube/client.h"

struct cfr_kube_watch; /* of one object */

/* What to watch; copied. */
struct cfr_kube_object {
    struct cfr_kube_where where;
    const char *collection; /* path of the objects of the kind: "/api/v1/namespaces/NS/secrets" */
    const char *name;
    bool alone; /* a watch of its own, by its name; else several are watched by credfresh's label managed-by */
};

/* The object has the resourceVersion VERSION; NULL: it does not exist. */
typedef void cfr_kube_watch_fn(void *ctx, const char *version);

/* CFR_E_LIMIT, CFR_E_NOMEM. */
int cfr_kube_watch_start(struct cfr_kube *k, const struct cfr_kube_object *object, cfr_kube_watch_fn *report, void *ctx,
                         struct cfr_kube_watch **out, struct cfr_err *err);
/* True if every change of the object was reported until now: nothing needs to be asked. NULL is allowed. */
bool cfr_kube_watch_is_live(const struct cfr_kube_watch *w);
/* NULL is allowed. */
void cfr_kube_watch_end(struct cfr_kube_watch *w);

#endif
