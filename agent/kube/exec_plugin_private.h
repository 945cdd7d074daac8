/* SPDX-License-Identifier: MIT */
/* The credential that an exec plugin hands out, and the plugin's run. */
#ifndef CFR_AGENT_KUBE_EXEC_PLUGIN_PRIVATE_H
#define CFR_AGENT_KUBE_EXEC_PLUGIN_PRIVATE_H

#include "agent/loop/clock.h"
#include "agent/kube/kubeconfig_private.h"
#include "kube/exec_credential.h"

#include <sys/types.h>

#define CFR_KUBE_PLUGIN_LIMIT_MS 30000

/* To be begun with CFR_KUBE_EXEC_PLUGIN_NONE. */
struct cfr_kube_exec_plugin {
    struct cfr_k8s_exec_credential credential; /* of the latest run that went well */
    uint64_t number;                           /* counts such runs */
    bool usable;                               /* not yet refused by the server */
    bool outdated;                             /* the kubeconfig changed during the run: its credential is not kept */
    uint64_t run;                              /* counts runs */
    pid_t pid;
    int pidfd; /* -1 = none runs */
    int out_fd;
    int64_t deadline_boot_ms;
    char *command;
    char *api_version; /* of the run */
};

#define CFR_KUBE_EXEC_PLUGIN_NONE ((struct cfr_kube_exec_plugin){.pidfd = -1, .out_fd = -1})

/* Whether the credential may be used at NOW; one is renewed 10 s before its end. */
bool cfr_kube_exec_plugin_fresh(const struct cfr_kube_exec_plugin *l, struct cfr_now now);
/* Starts a run with L's old credential kept. CA is what the cluster's certificate is checked with (PEM, may
 * be empty). CFR_E_MISSING (no such command, with what to install), CFR_E_PERM, CFR_E_NOMEM ... */
int cfr_kube_exec_plugin_start(struct cfr_kube_exec_plugin *l, const struct cfr_kube_config *config, struct cfr_view ca,
                               struct cfr_now now, int64_t limit_ms, struct cfr_err *err);
/* After L's pidfd became readable. CFR_E_REJECTED (it failed), CFR_E_ANSWER (it printed something else). */
int cfr_kube_exec_plugin_ended(struct cfr_kube_exec_plugin *l, struct cfr_err *err);
/* Kills a run that has passed its deadline. Always an error: CFR_E_TIMEOUT, CFR_E_LIMIT (it printed too
 * much). */
int cfr_kube_exec_plugin_overdue(struct cfr_kube_exec_plugin *l, struct cfr_err *err);
/* Kills what runs and forgets everything. */
void cfr_kube_exec_plugin_free(struct cfr_kube_exec_plugin *l);
/* The plugin's executable: *OUT is heap. As cfr_kube_exec_plugin_start. */
int cfr_kube_exec_plugin_find(const struct cfr_kube_plugin *plugin, char **out, struct cfr_err *err);

#endif
