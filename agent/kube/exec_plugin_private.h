/* SPDX-License-Identifier: MIT */
/* Runs of a kubeconfig's exec plugin, and the credential that it returns. Never blocks, except to kill. */
#ifndef CFR_AGENT_KUBE_EXEC_PLUGIN_PRIVATE_H
#define CFR_AGENT_KUBE_EXEC_PLUGIN_PRIVATE_H

#include "agent/loop/clock.h"
#include "agent/kube/kubeconfig_private.h"
#include "kube/exec_credential.h"

#include <sys/types.h>

#define CFR_KUBE_PLUGIN_LIMIT_MS 30000

/* Initialise with CFR_KUBE_EXEC_PLUGIN_NONE. */
struct cfr_kube_exec_plugin {
    struct cfr_k8s_exec_credential credential; /* of the latest successful run */
    uint64_t number;                           /* counts such runs */
    bool usable;                               /* not yet refused by the server */
    bool outdated;                             /* the kubeconfig changed during the run: its credential is not kept */
    uint64_t run;                              /* counts runs */
    pid_t pid;                                 /* 0 = none runs */
    int out_fd;
    char *command;
    char *api_version; /* of the run */
};

#define CFR_KUBE_EXEC_PLUGIN_NONE ((struct cfr_kube_exec_plugin){.out_fd = -1})

/* True if the credential may be used at NOW; it is renewed 10 s before it expires. */
bool cfr_kube_exec_plugin_fresh(const struct cfr_kube_exec_plugin *l, struct cfr_now now);
/* Starts a run; L's old credential stays. CA verifies the cluster's certificate (PEM, may be empty). CFR_E_MISSING (no
 * such command, with what to install), CFR_E_PERM, CFR_E_NOMEM ... */
int cfr_kube_exec_plugin_start(struct cfr_kube_exec_plugin *l, const struct cfr_kube_config *config, struct cfr_view ca,
                               struct cfr_err *err);
/* Reads the result, after L's process has ended. CFR_E_REJECTED (it failed), CFR_E_ANSWER (its output is not a
 * credential). */
int cfr_kube_exec_plugin_ended(struct cfr_kube_exec_plugin *l, struct cfr_err *err);
/* Kills a run that takes too long. Always an error: CFR_E_TIMEOUT, CFR_E_LIMIT (it printed too
 * much). */
int cfr_kube_exec_plugin_overdue(struct cfr_kube_exec_plugin *l, struct cfr_err *err);
/* Kills a running plugin, wipes and frees everything. */
void cfr_kube_exec_plugin_free(struct cfr_kube_exec_plugin *l);
/* Adds to LIST (agent/loop/launcher.h) what cfr_kube_exec_plugin_start starts, with the same arguments. */
int cfr_kube_exec_plugin_list(const struct cfr_kube_config *config, struct cfr_view ca, struct cfr_secret *list,
                              struct cfr_err *err);
/* The path of the plugin's executable: *OUT is heap. Errors as from cfr_kube_exec_plugin_start. */
int cfr_kube_exec_plugin_find(const struct cfr_kube_plugin *plugin, char **out, struct cfr_err *err);

#endif
