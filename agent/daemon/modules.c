/* SPDX-License-Identifier: MIT */
/* Table of the agent's modules. */
#include "agent/daemon/modules_private.h"

#include "agent/pki/service_ca_module.h"
#include "agent/source/source.h"

/* In the order in which they are stepped. */
static const struct cfr_module *const rows[CFR_DAEMON_MODULES] = {&cfr_service_ca_module};

int cfr_daemon_modules_configure(struct cfr_daemon *a, const struct cfr_config *config, struct cfr_err *err)
{
    const struct cfr_module_env env = {.kube = a->host.kube, .state_fd = a->host.state_fd};
    int rc = 0;

    a->host.modules = a->modules;
    for (size_t i = 0; rc == 0 && i < CFR_DAEMON_MODULES; i++) {
        a->modules[i].row = rows[i];
        rc = rows[i]->configure(&a->modules[i].state, config, &env, err);
    }
    return rc;
}

/* The next of A's modules that is configured, beginning at *I; NULL after the last. */
static const struct cfr_module_slot *next(const struct cfr_daemon *a, size_t *i)
{
    while (*i < CFR_DAEMON_MODULES) {
        const struct cfr_module_slot *m = &a->modules[(*i)++];

        if (m->state != NULL)
            return m;
    }
    return NULL;
}

void cfr_daemon_modules_start(struct cfr_daemon *a)
{
    const struct cfr_module_slot *m;

    for (size_t i = 0; (m = next(a, &i)) != NULL;)
        m->row->start(m->state, cfr_clock_now());
}

void cfr_daemon_modules_close(struct cfr_daemon *a)
{
    const struct cfr_module_slot *m;

    for (size_t i = 0; (m = next(a, &i)) != NULL;)
        m->row->close(m->state);
}

/* Lets the workers whose source is ROW's check it soon. */
static void check_sources(struct cfr_daemon *a, const struct cfr_module *row)
{
    for (size_t i = 0; i < a->count; i++) {
        if (cfr_source_of(cfr_worker_config(a->workers[i]))->module == row)
            cfr_worker_look_soon(a->workers[i]);
    }
}

void cfr_daemon_modules_step(struct cfr_daemon *a)
{
    const struct cfr_module_slot *m;

    for (size_t i = 0; (m = next(a, &i)) != NULL;) {
        if (m->row->step(m->state, cfr_clock_now()))
            check_sources(a, m->row);
    }
}

int64_t cfr_daemon_modules_deadline(const struct cfr_daemon *a)
{
    const struct cfr_module_slot *m;
    int64_t at = INT64_MAX;

    for (size_t i = 0; (m = next(a, &i)) != NULL;)
        at = m->row->deadline(m->state) < at ? m->row->deadline(m->state) : at;
    return at;
}

void cfr_daemon_modules_on_clock(struct cfr_daemon *a)
{
    const struct cfr_module_slot *m;

    for (size_t i = 0; (m = next(a, &i)) != NULL;)
        m->row->on_clock(m->state);
    cfr_daemon_modules_step(a);
}

void cfr_daemon_modules_on_child(struct cfr_daemon *a)
{
    const struct cfr_module_slot *m;

    for (size_t i = 0; (m = next(a, &i)) != NULL;)
        m->row->on_child(m->state);
}

void cfr_daemon_modules_resume(struct cfr_daemon *a, const struct cfr_kube_where *where)
{
    const struct cfr_module_slot *m;

    for (size_t i = 0; (m = next(a, &i)) != NULL;)
        m->row->resume(m->state, where, cfr_clock_now());
}

bool cfr_daemon_modules_are_busy(const struct cfr_daemon *a)
{
    const struct cfr_module_slot *m;
    bool busy = false;

    for (size_t i = 0; (m = next(a, &i)) != NULL;)
        busy = m->row->is_busy(m->state) || busy;
    return busy;
}

bool cfr_daemon_modules_are_failing(const struct cfr_daemon *a)
{
    const struct cfr_module_slot *m;
    bool failing = false;

    for (size_t i = 0; (m = next(a, &i)) != NULL;)
        failing = m->row->is_failing(m->state) || failing;
    return failing;
}

bool cfr_daemon_modules_status(struct cfr_daemon *a, struct cfr_api_status_authority *out)
{
    const struct cfr_module_slot *m;
    bool found = false;

    for (size_t i = 0; !found && (m = next(a, &i)) != NULL;)
        found = m->row->status(m->state, out);
    return found;
}
