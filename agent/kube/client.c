/* SPDX-License-Identifier: MIT */
/* The Kubernetes client: opening, namespaces, and the ends of exec plugins. */
#include "agent/kube/client.h"

#include "agent/kube/client_private.h"
#include "agent/loop/slow_file.h"
#include "base/str.h"

#include <stdlib.h>

int cfr_kube_open(struct cfr_http *http, struct cfr_kube **out, struct cfr_err *err)
{
    struct cfr_kube *k = calloc(1, sizeof *k);

    *out = k;
    if (k == NULL)
        return cfr_err_nomem(err);
    k->http = http;
    k->pod_directory = CFR_KUBE_POD_DIRECTORY;
    k->plugin_limit_ms = CFR_KUBE_PLUGIN_LIMIT_MS;
    return 0;
}

void cfr_kube_close(struct cfr_kube *k)
{
    if (k == NULL)
        return;
    cfr_kube_watch_close(k);
    cfr_kube_events_close(k);
    while (k->calls != NULL)
        cfr_kube_cancel(k->calls);
    while (k->contexts != NULL) {
        struct cfr_kube_context *p = k->contexts;

        k->contexts = p->next;
        cfr_kube_context_destroy(p);
    }
    free(k->namespace_name);
    free(k);
}

const char *cfr_kube_namespace(struct cfr_kube *k, const struct cfr_kube_where *where, struct cfr_err *err)
{
    struct cfr_now now = cfr_clock_now();
    struct cfr_err own = {0};
    struct cfr_kube_context *p = cfr_kube_context_of(k, where, now, &own);
    struct cfr_view name;

    free(k->namespace_name);
    k->namespace_name = NULL;
    if (p == NULL || cfr_kube_refresh(k, p, false, now, &own) != 0) {
        (void)cfr_err_set(err, own.code, "%s", own.text);
        return NULL;
    }
    name = cfr_kube_context_namespace(p);
    if (name.n == 0)
        return NULL;
    k->namespace_name = cfr_str_dup(name);
    if (k->namespace_name == NULL)
        (void)cfr_err_nomem(err);
    return k->namespace_name;
}

int cfr_kube_find_namespace(struct cfr_kube *k, const struct cfr_kube_where *where, const char *key, const char **out,
                            struct cfr_err *err)
{
    struct cfr_err why = {0};

    *out = cfr_kube_namespace(k, where, &why);
    if (*out != NULL)
        return 0;
    if (why.code != 0)
        return cfr_err_set(err, why.code, "the namespace is unknown: %s", why.text);
    return cfr_err_set(err, CFR_E_CONFIG, "the namespace is unknown: %.200s has none; write `namespace` in `%s`",
                       where->kubeconfig != NULL ? where->kubeconfig : "the pod's service account", key);
}

int cfr_kube_server(struct cfr_kube *k, const struct cfr_kube_where *where, const char **url, struct cfr_view *ca,
                    struct cfr_err *err)
{
    struct cfr_now now = cfr_clock_now();
    struct cfr_err own = {0};
    struct cfr_kube_context *p = cfr_kube_context_of(k, where, now, &own);

    if (p == NULL || cfr_kube_refresh(k, p, false, now, &own) != 0)
        return cfr_err_set(err, own.code, "%s", own.text);
    *url = p->config.server;
    *ca = cfr_kube_context_identity(p).ca;
    return 0;
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

    if (p != NULL && rc == 0)
        rc = check_plugin(p, &own);
    cfr_kube_context_destroy(p);
    return rc == 0 ? 0 : cfr_err_set(err, rc, "%s", own.text);
}

int cfr_kube_list_plugin(const struct cfr_kube_where *where, struct cfr_secret *list, struct cfr_err *err)
{
    struct cfr_err own = {0};
    struct cfr_kube_context *p = cfr_kube_context_make(CFR_KUBE_POD_DIRECTORY, where, &own);
    int rc = p != NULL ? cfr_kube_context_refresh(p, true, cfr_clock_now(), &own) : own.code;

    if (p != NULL && rc == 0 && p->config.plugin != NULL)
        rc = cfr_kube_exec_plugin_list(&p->config, cfr_kube_context_identity(p).ca, list, &own);
    cfr_kube_context_destroy(p);
    return rc == 0 ? 0 : cfr_err_set(err, rc, "%s", own.text);
}

/* False without one that can be used; else the caller frees OUT. */
static bool read_config(const struct cfr_kube_where *where, struct cfr_kube_config *out)
{
    struct cfr_secret text;
    bool found;

    cfr_secret_init(&text, CFR_KUBE_CONFIG_MAX);
    found = cfr_slow_file_read(where->kubeconfig, &text, NULL, NULL) == 0 &&
            cfr_kube_config_parse(cfr_secret_view(&text), where->kubeconfig, where->context, out, NULL) == 0;
    cfr_secret_free(&text);
    return found;
}

void cfr_kube_each_file(const struct cfr_kube_where *where, void (*each)(void *ctx, const char *path), void *ctx)
{
    struct cfr_kube_config c;

    if (read_config(where, &c)) {
        const char *const files[] = {c.ca_file, c.cert_file, c.key_file, c.token_file};

        for (size_t i = 0; i < sizeof files / sizeof files[0]; i++) {
            if (files[i] != NULL)
                each(ctx, files[i]);
        }
        cfr_kube_config_free(&c);
    }
}

bool cfr_kube_has_plugin(const struct cfr_kube_where *where)
{
    struct cfr_kube_config c;
    bool has;

    if (!read_config(where, &c))
        return false;
    has = c.plugin != NULL;
    cfr_kube_config_free(&c);
    return has;
}
