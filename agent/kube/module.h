/* SPDX-License-Identifier: MIT */
/* Modules: optional subsystems of the agent that serve all credentials. Each is a file with a row (struct cfr_module),
 * and a line in agent/daemon/modules.c; everything else works through the row.
 *
 * STATE is the module's, and never NULL unless a function says so. Functions are called by the loop and block on disk
 * only. A failure is logged once, kept for the status, and tried again by the module; it stops nothing else. */
#ifndef CFR_AGENT_KUBE_MODULE_H
#define CFR_AGENT_KUBE_MODULE_H

#include "agent/config/config.h"
#include "agent/kube/client.h"
#include "agent/loop/clock.h"
#include "serve/api/status.h"

/* What modules need besides the configuration; borrowed for their lives. */
struct cfr_module_env {
    struct cfr_kube *kube;
    int state_fd;
};

struct cfr_module {
    /* Opens *STATE, changes its rules, or closes it, as CONFIG says, of which nothing is kept. *STATE is NULL while
     * CONFIG has no such module. CFR_E_NOMEM. */
    int (*configure)(void **state, const struct cfr_config *config, const struct cfr_module_env *env,
                     struct cfr_err *err);
    void (*close)(void *state);
    /* The first step of all, before the loop runs; it may wait 1 s for a disk. */
    void (*start)(void *state, struct cfr_now now);
    /* Does what is due. True if what its source grants has changed (agent/source/source.h). */
    bool (*step)(void *state, struct cfr_now now);
    /* Boot time of the next step; INT64_MAX if none. */
    int64_t (*deadline)(const void *state);
    /* The wall clock was set; a step follows. */
    void (*on_clock)(void *state);
    /* A child process has ended. */
    void (*on_child)(void *state);
    /* Repeats now the requests to WHERE that wait after a failure. */
    void (*resume)(void *state, const struct cfr_kube_where *where, struct cfr_now now);
    /* For `credfresh once`: true until everything was tried once; true if the last try failed. */
    bool (*is_busy)(const void *state);
    bool (*is_failing)(const void *state);
    /* The section `service_ca` of the status, which has no other for modules; false if STATE has none. What OUT borrows
     * lives until the next step. */
    bool (*status)(void *state, struct cfr_api_status_authority *out);
};

/* A row of the agent's table; the last one has no row. */
struct cfr_module_slot {
    const struct cfr_module *row;
    void *state; /* NULL = not configured */
};

#endif
