/* SPDX-License-Identifier: MIT */
/* Row of the service CA in the agent's table of modules. */
#include "agent/pki/service_ca_module.h"

#include "agent/pki/service_ca_injector_private.h"
#include "agent/pki/service_ca_pod_signer_private.h"
#include "agent/pki/service_ca_private.h"

#include <stdlib.h>

/* Without a CA there is no injector and no signer. */
struct module {
    struct cfr_service_ca *ca;
    struct cfr_service_ca_injector *injector;
    struct cfr_service_ca_pod_signer *signer;
};

static void close_module(void *state)
{
    struct module *m = state;

    cfr_service_ca_injector_close(m->injector);
    cfr_service_ca_pod_signer_close(m->signer);
    cfr_service_ca_close(m->ca);
    free(m);
}

static int configure(void **state, const struct cfr_config *config, const struct cfr_module_env *env,
                     struct cfr_err *err)
{
    struct module *m = *state;
    int rc;

    if (m == NULL && config->service_ca == NULL)
        return 0;
    if (m == NULL)
        m = calloc(1, sizeof *m);
    if (m == NULL)
        return cfr_err_nomem(err);
    *state = m;
    rc = cfr_service_ca_configure(&m->ca, config, env->state_fd, err);
    if (rc == 0)
        rc = cfr_service_ca_injector_configure(&m->injector, config, env->kube, err);
    if (rc == 0)
        rc = cfr_service_ca_pod_signer_configure(&m->signer, config, env->kube, err);
    if (rc == 0 && m->ca == NULL) {
        close_module(m);
        *state = NULL;
    }
    return rc;
}

static void use_ca(struct module *m, struct cfr_now now)
{
    cfr_service_ca_injector_step(m->injector, m->ca, now);
    cfr_service_ca_pod_signer_step(m->signer, m->ca, m->injector, now);
}

static void start(void *state, struct cfr_now now)
{
    struct module *m = state;

    cfr_service_ca_start(m->ca, now);
    use_ca(m, now);
}

static bool step(void *state, struct cfr_now now)
{
    struct module *m = state;
    bool changed = cfr_service_ca_step(m->ca, now);

    use_ca(m, now);
    return changed;
}

static int64_t earlier(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

static int64_t deadline(const void *state)
{
    const struct module *m = state;

    return earlier(cfr_service_ca_deadline(m->ca), earlier(cfr_service_ca_injector_deadline(m->injector),
                                                           cfr_service_ca_pod_signer_deadline(m->signer, m->injector)));
}

static void on_clock(void *state)
{
    struct module *m = state;

    cfr_service_ca_on_clock(m->ca);
}

static void on_child(void *state)
{
    struct module *m = state;

    cfr_service_ca_on_child(m->ca);
}

static void resume(void *state, const struct cfr_kube_where *where, struct cfr_now now)
{
    struct module *m = state;

    cfr_service_ca_injector_resume(m->injector, where, now);
    cfr_service_ca_pod_signer_resume(m->signer, where, now);
}

static bool is_busy(const void *state)
{
    const struct module *m = state;

    return cfr_service_ca_is_rotating(m->ca) || cfr_service_ca_injector_is_busy(m->injector) ||
           cfr_service_ca_pod_signer_is_busy(m->signer);
}

static bool is_failing(const void *state)
{
    const struct module *m = state;

    return cfr_service_ca_injector_is_failing(m->injector) || cfr_service_ca_pod_signer_is_failing(m->signer);
}

static bool add_status(void *state, struct cfr_api_status_authority *out)
{
    struct module *m = state;

    if (!cfr_service_ca_status(m->ca, out))
        return false;
    cfr_service_ca_injector_status(m->injector, out);
    cfr_service_ca_pod_signer_status(m->signer, out);
    return true;
}

const struct cfr_module cfr_service_ca_module = {
    .configure = configure,
    .close = close_module,
    .start = start,
    .step = step,
    .deadline = deadline,
    .on_clock = on_clock,
    .on_child = on_child,
    .resume = resume,
    .is_busy = is_busy,
    .is_failing = is_failing,
    .status = add_status,
};

struct cfr_service_ca *cfr_service_ca_of(void *state)
{
    struct module *m = state;

    return m != NULL ? m->ca : NULL;
}
