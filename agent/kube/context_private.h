/* SPDX-License-Identifier: MIT */
/* One API server and the agent's identity there, from a kubeconfig's context or a pod's service account. Blocks on
 * disk. */
#ifndef CFR_AGENT_KUBE_CONTEXT_PRIVATE_H
#define CFR_AGENT_KUBE_CONTEXT_PRIVATE_H

#include "agent/kube/cached_file_private.h"
#include "agent/kube/client.h"
#include "agent/kube/exec_plugin_private.h"
#include "agent/kube/kubeconfig_private.h"
#include "agent/loop/loop.h"

#define CFR_KUBE_POD_DIRECTORY "/var/run/secrets/kubernetes.io/serviceaccount"

/* Zero it and set the first three (it then owns the strings), and plugin to CFR_KUBE_EXEC_PLUGIN_NONE. */
struct cfr_kube_context {
    const char *pod_directory; /* borrowed */
    char *kubeconfig;          /* NULL: the pod's own service account */
    char *context;             /* NULL: the current one */
    struct cfr_kube *kube;     /* NULL: it is in no list, and has no tasks */
    struct cfr_kube_context *next;
    size_t calls; /* under way */
    int64_t used_boot_ms;
    bool failing;            /* the last request was not answered, not accepted or could not be sent */
    bool refused;            /* some request was forbidden to this identity */
    uint64_t identity;       /* of the files that were last read */
    struct cfr_task look;    /* while it is failing: checks the files */
    int64_t resumed_boot_ms; /* when pauses were last ended; 0 = never */
    struct cfr_kube_config config;
    uint64_t config_version; /* of `source`, that was last parsed */
    bool known;              /* config is usable */
    struct cfr_kube_cached_file source;
    struct cfr_kube_cached_file ca;
    struct cfr_kube_cached_file cert;
    struct cfr_kube_cached_file key;
    struct cfr_kube_cached_file token;
    struct cfr_kube_cached_file space; /* the pod's namespace */
    struct cfr_kube_exec_plugin plugin;
    struct cfr_child plugin_child;
    struct cfr_task plugin_task; /* its end, or that of its time */
};

/* The secrets of a request, all borrowed from the context until it is refreshed or its plugin ends. */
struct cfr_kube_identity {
    struct cfr_view ca; /* PEM; empty = the system's */
    struct cfr_view cert;
    struct cfr_view key;
    struct cfr_view token;
    struct cfr_view basic; /* user:password */
};

/* Reads what has changed, or with FORCE everything. A file that cannot be read or parsed any more leaves its last
 * usable content in use (logged once). CFR_E_CONFIG, CFR_E_MISSING, CFR_E_TOKEN ...: there never was a usable one; the
 * error names file, context and key. */
int cfr_kube_context_refresh(struct cfr_kube_context *p, bool force, struct cfr_now now, struct cfr_err *err);
/* The identity after a successful refresh, and with a plugin after a successful run of it. */
struct cfr_kube_identity cfr_kube_context_identity(const struct cfr_kube_context *p);
/* The namespace, or an empty view. Borrowed until the next refresh. */
struct cfr_view cfr_kube_context_namespace(const struct cfr_kube_context *p);
/* Wipes and frees everything that P owns, but not P. Ends its plugin. */
void cfr_kube_context_free(struct cfr_kube_context *p);

#endif
