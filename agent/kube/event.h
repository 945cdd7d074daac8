/* SPDX-License-Identifier: MIT */
/* Sends Events about objects of the cluster, once each: one that the API server refuses is lost, which is logged once
 * for each kind of refusal. Nothing blocks; at most 16 are under way, and what exceeds that is dropped. */
#ifndef CFR_AGENT_KUBE_EVENT_H
#define CFR_AGENT_KUBE_EVENT_H

#include "agent/kube/client.h"
#include "kube/event.h"

/* E is copied; its instance is filled in. */
void cfr_kube_event_send(struct cfr_kube *k, const struct cfr_kube_where *where, const struct cfr_k8s_event *e);

#endif
