/* SPDX-License-Identifier: MIT */
/* All API servers. */
#include "agent/kube/client.h"

#include "agent/kube/client_private.h"
#include "base/str.h"

#include <poll.h>
#include <stdlib.h>
#include <string.h>

#define FORGET_MS INT64_C(172800000) /* a place that nobody asked for so long */

int cfr_kube_open(struct cfr_http *http, struct cfr_kube **out, struct cfr_err *err)
{
    struct cfr_kube *k = calloc(1, sizeof *k);

    *out = k;
    if (k == NULL)
        return cfr_err_set(err, CFR_E_NOMEM, "out of memory");
    k->http = http;
    k->pod_directory = CFR_KUBE_POD_DIRECTORY;
    k->plugin_limit_ms = CFR_KUBE_PLUGIN_LIMIT_MS;
    return 0;
}

void cfr_kube_close(struct cfr_kube *k)
{
    if (k == NULL)
        return;
    while (k->calls != NULL)
        cfr_kube_cancel(k->calls);
    while (k->places != NULL) {
        struct cfr_kube_context *p = k->places;

        k->places = p->next;
        cfr_kube_context_destroy(p);
    }
    free(k->namespace_name);
    free(k);
}

/* ---- places ---- */

struct cfr_kube_context *cfr_kube_context_make(const char *pod_directory, const struct cfr_kube_where *where,
                                               struct cfr_err *err)
{
    struct cfr_kube_context *p = calloc(1, sizeof *p);
    bool pod = where->kubeconfig == NULL;

    if (p == NULL) {
        (void)cfr_err_set(err, CFR_E_NOMEM, "out of memory");
        return NULL;
    }
    p->pod_directory = pod_directory;
    p->login = CFR_KUBE_EXEC_PLUGIN_NONE;
    if (!pod)
        p->kubeconfig = cfr_str_dup(cfr_view_of(where->kubeconfig));
    if (!pod && where->context != NULL)
        p->context = cfr_str_dup(cfr_view_of(where->context));
    if (!pod && (p->kubeconfig == NULL || (where->context != NULL && p->context == NULL))) {
        (void)cfr_err_set(err, CFR_E_NOMEM, "out of memory");
        cfr_kube_context_destroy(p);
        return NULL;
    }
    return p;
}

void cfr_kube_context_destroy(struct cfr_kube_context *p)
{
    if (p == NULL)
        return;
    cfr_kube_context_free(p);
    free(p);
}

static bool same_text(const char *a, const char *b)
{
    return a == NULL || b == NULL ? a == b : strcmp(a, b) == 0;
}

/* The secrets of what left the configuration long ago. */
static void forget_unused(struct cfr_kube *k, struct cfr_now now)
{
    struct cfr_kube_context **at = &k->places;

    while (*at != NULL) {
        struct cfr_kube_context *p = *at;

        if (p->calls != 0 || p->login.pidfd >= 0 || now.boot_ms - p->used_boot_ms < FORGET_MS) {
            at = &p->next;
            continue;
        }
        *at = p->next;
        cfr_kube_context_destroy(p);
    }
}

struct cfr_kube_context *cfr_kube_context_of(struct cfr_kube *k, const struct cfr_kube_where *where, struct cfr_now now,
                                             struct cfr_err *err)
{
    struct cfr_kube_context *p = k->places;

    while (p != NULL && !(same_text(p->kubeconfig, where->kubeconfig) &&
                          (p->kubeconfig == NULL || same_text(p->context, where->context))))
        p = p->next;
    if (p != NULL) {
        p->used_boot_ms = now.boot_ms;
        return p;
    }
    forget_unused(k, now);
    p = cfr_kube_context_make(k->pod_directory, where, err);
    if (p == NULL)
        return NULL;
    p->used_boot_ms = now.boot_ms;
    p->next = k->places;
    k->places = p;
    return p;
}

const char *cfr_kube_namespace(struct cfr_kube *k, const struct cfr_kube_where *where, struct cfr_err *err)
{
    struct cfr_now now = cfr_clock_now();
    struct cfr_err own = {0};
    struct cfr_kube_context *p = cfr_kube_context_of(k, where, now, &own);
    struct cfr_view name;

    free(k->namespace_name);
    k->namespace_name = NULL;
    if (p == NULL || cfr_kube_context_refresh(p, false, now, &own) != 0) {
        (void)cfr_err_set(err, own.code, "%s", own.text);
        return NULL;
    }
    name = cfr_kube_context_namespace(p);
    if (name.n == 0)
        return NULL;
    k->namespace_name = cfr_str_dup(name);
    if (k->namespace_name == NULL)
        (void)cfr_err_set(err, CFR_E_NOMEM, "out of memory");
    return k->namespace_name;
}

static int check_plugin(const struct cfr_kube_context *p, struct cfr_err *err)
{
    char *program = NULL;
    int rc = p->config.plugin != NULL ? cfr_kube_exec_plugin_find(p->config.plugin, &program, err) : 0;

    free(program);
    return rc == 0 ? 0 : cfr_err_prefix(err, "%s", p->kubeconfig);
}

int cfr_kube_check(const struct cfr_kube_where *where, struct cfr_err *err)
{
    struct cfr_err own = {0};
    struct cfr_kube_context *p = cfr_kube_context_make(CFR_KUBE_POD_DIRECTORY, where, &own);
    int rc = p != NULL ? cfr_kube_context_refresh(p, false, cfr_clock_now(), &own) : own.code;

    if (rc == 0)
        rc = check_plugin(p, &own);
    cfr_kube_context_destroy(p);
    return rc == 0 ? 0 : cfr_err_set(err, rc, "%s", own.text);
}

/* ---- plugins ---- */

static void resume(struct cfr_kube *k, const struct cfr_kube_context *p, uint64_t run, int rc, struct cfr_err *err)
{
    if (rc != 0)
        (void)cfr_err_prefix(err, "%s", p->kubeconfig);
    cfr_kube_calls_resume(k, p, run, rc, err);
}

/* A place is not taken away while calls wait there or a plugin runs, and new ones come at the front. */
void cfr_kube_child(struct cfr_kube *k)
{
    for (struct cfr_kube_context *p = k->places; p != NULL; p = p->next) {
        struct pollfd fd = {p->login.pidfd, POLLIN, 0};
        struct cfr_err err = {0};
        uint64_t run = p->login.run;

        if (fd.fd < 0 || poll(&fd, 1, 0) != 1)
            continue;
        resume(k, p, run, cfr_kube_exec_plugin_ended(&p->login, &err), &err);
    }
}

int64_t cfr_kube_deadline(const struct cfr_kube *k)
{
    int64_t next = INT64_MAX;

    for (const struct cfr_kube_context *p = k->places; p != NULL; p = p->next) {
        if (p->login.pidfd >= 0 && p->login.deadline_boot_ms < next)
            next = p->login.deadline_boot_ms;
    }
    return next;
}

void cfr_kube_step(struct cfr_kube *k, struct cfr_now now)
{
    for (struct cfr_kube_context *p = k->places; p != NULL; p = p->next) {
        struct cfr_err err = {0};
        uint64_t run = p->login.run;

        if (p->login.pidfd < 0 || p->login.deadline_boot_ms > now.boot_ms)
            continue;
        resume(k, p, run, cfr_kube_exec_plugin_overdue(&p->login, &err), &err);
    }
}
