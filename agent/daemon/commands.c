/* SPDX-License-Identifier: MIT */
/* The commands that a configuration names: the programs of hooks and the exec plugins of kubeconfigs. The process that
 * starts commands (agent/loop/launcher.h) starts no others. */
#include "agent/daemon/commands_private.h"

#include "agent/hook/hook.h"
#include "agent/kube/client.h"
#include "agent/loop/env.h"
#include "agent/loop/launcher.h"
#include "agent/loop/slow_file.h"
#include "base/json.h"

#include <stdio.h>
#include <string.h>

static void note_kubeconfig(void *ctx, const struct cfr_field_text *kubeconfig)
{
    bool *found = ctx;

    (void)kubeconfig;
    *found = true;
}

bool cfr_daemon_has_commands(const struct cfr_config *config)
{
    bool found = false;

    for (size_t i = 0; !found && i < config->credentials.count; i++) {
        const struct cfr_list *hooks = &cfr_config_at(config, i)->reload;

        for (size_t k = 0; k < hooks->count; k++) {
            const void *own;

            found = found || cfr_config_hook_kind((const struct cfr_config_hook *)hooks->items + k, &own)->runs_program;
        }
    }
    cfr_field_each(&cfr_config_table, config, CFR_FIELD_KUBECONFIG, note_kubeconfig, &found);
    return found;
}

struct plugins {
    struct cfr_secret *list;
    bool slow; /* those on file systems that may hang, or else the others */
    struct cfr_daemon_known seen;
};

/* A plugin that is already known can still be started while its kubeconfig cannot be read. */
static void list_plugin(void *ctx, const struct cfr_field_text *kubeconfig)
{
    const struct cfr_kube_where where = cfr_daemon_kube_where(kubeconfig);
    struct plugins *plugins = ctx;
    char key[8192];
    struct stat st;

    (void)snprintf(key, sizeof key, "%s\n%s", where.kubeconfig, where.context != NULL ? where.context : "");
    if (cfr_daemon_known_has(&plugins->seen, key) ||
        (cfr_slow_file_status(where.kubeconfig, &st, NULL) == CFR_FILE_ELSEWHERE) != plugins->slow)
        return;
    (void)cfr_daemon_known_add(&plugins->seen, key);
    if (cfr_kube_list_plugin(&where, plugins->list, NULL) != 0)
        cfr_launcher_list_is_partial();
    cfr_launcher_list_send(plugins->list);
}

void cfr_daemon_list_commands(const struct cfr_config *config, struct cfr_secret *list)
{
    struct plugins plugins = {.list = list};

    /* A hook that cannot be listed cannot run either, and is no reason to leave out the others. */
    for (size_t i = 0; i < config->credentials.count; i++)
        (void)cfr_hook_list(cfr_config_at(config, i), list, NULL);
    /* One that hangs delays only what comes after it. */
    cfr_launcher_list_send(list);
    cfr_field_each(&cfr_config_table, config, CFR_FIELD_KUBECONFIG, list_plugin, &plugins);
    plugins.slow = true;
    cfr_field_each(&cfr_config_table, config, CFR_FIELD_KUBECONFIG, list_plugin, &plugins);
    cfr_daemon_known_free(&plugins.seen);
}

int cfr_daemon_read_commands(const void *config_path, struct cfr_secret *list, struct cfr_err *err)
{
    struct cfr_config *config;
    int rc;

    cfr_json_setup();
    rc = cfr_config_load(config_path, cfr_env_get, &config, NULL, err);
    if (rc == 0)
        cfr_daemon_list_commands(config, list);
    cfr_config_free(config);
    return rc;
}
