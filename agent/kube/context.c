/* SPDX-License-Identifier: MIT */
/* The list of contexts, and refreshing one from its kubeconfig or the pod's files. */
#include "agent/kube/client_private.h"

#include "base/log.h"
#include "base/str.h"

#include <stdlib.h>
#include <string.h>

#define TOKEN_MAX 65536
#define PEM_MAX   1048576
#define SPACE_MAX 1024
#define FORGET_MS INT64_C(172800000) /* an unused context is kept for two days */

void cfr_kube_context_free(struct cfr_kube_context *p)
{
    cfr_loop_off(&p->look);
    cfr_loop_off(&p->plugin_task);
    cfr_loop_child_off(&p->plugin_child);
    cfr_kube_exec_plugin_free(&p->plugin);
    cfr_kube_config_free(&p->config);
    cfr_kube_cached_file_free(&p->source);
    cfr_kube_cached_file_free(&p->ca);
    cfr_kube_cached_file_free(&p->cert);
    cfr_kube_cached_file_free(&p->key);
    cfr_kube_cached_file_free(&p->token);
    cfr_kube_cached_file_free(&p->space);
    free(p->kubeconfig);
    free(p->context);
}

/* ---- the list of contexts ---- */

struct cfr_kube_context *cfr_kube_context_make(const char *pod_directory, const struct cfr_kube_where *where,
                                               struct cfr_err *err)
{
    struct cfr_kube_context *p = calloc(1, sizeof *p);
    bool pod = where->kubeconfig == NULL;

    if (p == NULL) {
        (void)cfr_err_nomem(err);
        return NULL;
    }
    p->pod_directory = pod_directory;
    p->plugin = CFR_KUBE_EXEC_PLUGIN_NONE;
    if (!pod)
        p->kubeconfig = cfr_str_dup(cfr_view_of(where->kubeconfig));
    if (!pod && where->context != NULL)
        p->context = cfr_str_dup(cfr_view_of(where->context));
    if (!pod && (p->kubeconfig == NULL || (where->context != NULL && p->context == NULL))) {
        (void)cfr_err_nomem(err);
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

bool cfr_kube_where_is(const struct cfr_kube_where *a, const struct cfr_kube_where *b)
{
    return cfr_view_same(a->kubeconfig, b->kubeconfig) &&
           (a->kubeconfig == NULL || cfr_view_same(a->context, b->context));
}

/* Wipes the secrets of contexts that left the configuration long ago. */
static void forget_unused(struct cfr_kube *k, struct cfr_now now)
{
    struct cfr_kube_context **at = &k->contexts;

    while (*at != NULL) {
        struct cfr_kube_context *p = *at;

        if (p->calls != 0 || p->plugin.pid != 0 || now.boot_ms - p->used_boot_ms < FORGET_MS) {
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
    struct cfr_kube_context *p = k->contexts;

    while (p != NULL && !cfr_kube_where_is(&(struct cfr_kube_where){p->kubeconfig, p->context}, where))
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
    p->kube = k;
    p->next = k->contexts;
    k->contexts = p;
    return p;
}

/* ---- the pod's own service account ---- */

static int read_pod_server(struct cfr_kube_context *p, struct cfr_err *err)
{
    const char *host = getenv("KUBERNETES_SERVICE_HOST");
    const char *port = getenv("KUBERNETES_SERVICE_PORT");
    struct cfr_str server = {.limit = 1024};
    bool bare = host != NULL && strchr(host, ':') != NULL;
    int64_t number = 0;

    if (host == NULL || host[0] == '\0' || port == NULL || port[0] == '\0')
        return cfr_err_set(
            err, CFR_E_CONFIG,
            "KUBERNETES_SERVICE_HOST and KUBERNETES_SERVICE_PORT are not set, so this is not a pod: name a "
            "kubeconfig");
    if (!cfr_view_int(cfr_view_of(port), &number) || number < 1 || number > 65535 || strpbrk(host, "/?#@[] ") != NULL)
        return cfr_err_set(err, CFR_E_CONFIG,
                           "KUBERNETES_SERVICE_HOST and KUBERNETES_SERVICE_PORT are not a host and a port");
    cfr_str_addf(&server, bare ? "https://[%s]:%d" : "https://%s:%d", host, (int)number);
    if (server.failed)
        return cfr_err_nomem(err);
    free(p->config.server);
    p->config.server = server.p;
    return 0;
}

static int refresh_pod_file(const struct cfr_kube_context *p, struct cfr_kube_cached_file *f, const char *name,
                            size_t limit, bool force, struct cfr_now now, struct cfr_err *err)
{
    struct cfr_str path = {.limit = 4096};
    int rc;

    cfr_str_addf(&path, "%s/%s", p->pod_directory, name);
    rc = path.failed ? cfr_err_nomem(err) : cfr_kube_cached_file_refresh(f, path.p, limit, force, now, err);
    cfr_str_free(&path);
    return rc;
}

static int refresh_pod(struct cfr_kube_context *p, bool force, struct cfr_now now, struct cfr_err *err)
{
    int rc = read_pod_server(p, err);

    if (rc == 0)
        rc = refresh_pod_file(p, &p->token, "token", TOKEN_MAX, force, now, err);
    if (rc == 0)
        rc = refresh_pod_file(p, &p->ca, "ca.crt", PEM_MAX, force, now, err);
    if (rc == CFR_E_MISSING)
        (void)cfr_err_prefix(err, "the pod has no service account's token (automountServiceAccountToken: false?)");
    /* A pod without this file names no namespace, which only some callers need. */
    if (rc == 0)
        (void)refresh_pod_file(p, &p->space, "namespace", SPACE_MAX, force, now, NULL);
    return rc;
}

/* ---- a kubeconfig ---- */

/* Parses the new kubeconfig; if it is malformed, the last good one stays in use. */
static int parse_config(struct cfr_kube_context *p, struct cfr_err *err)
{
    struct cfr_kube_config fresh;
    struct cfr_err why = {0};
    int rc = cfr_kube_config_parse(cfr_secret_view(&p->source.content), p->kubeconfig, p->context, &fresh, &why);

    if (rc == CFR_E_NOMEM)
        return cfr_err_set(err, rc, "%s", why.text);
    p->config_version = p->source.version;
    if (rc != 0 && !p->known)
        return cfr_err_set(err, rc, "%s: %s", p->kubeconfig, why.text);
    if (rc != 0) {
        cfr_log(CFR_LOG_WARN, NULL, NULL, "%s: %s; its last good content is still used", p->kubeconfig, why.text);
        return 0;
    }
    cfr_kube_config_free(&p->config);
    p->config = fresh;
    /* The plugin's credential may be another user's. */
    p->plugin.usable = false;
    p->plugin.outdated = true;
    return 0;
}

static int refresh_named(struct cfr_kube_cached_file *f, const char *path, size_t limit, bool force, struct cfr_now now,
                         struct cfr_err *err)
{
    if (path != NULL)
        return cfr_kube_cached_file_refresh(f, path, limit, force, now, err);
    cfr_kube_cached_file_free(f);
    return 0;
}

static int refresh_named_files(struct cfr_kube_context *p, bool force, struct cfr_now now, struct cfr_err *err)
{
    int rc = refresh_named(&p->ca, p->config.ca_file, PEM_MAX, force, now, err);
    const char *key = "certificate-authority";

    if (rc == 0) {
        key = "client-certificate";
        rc = refresh_named(&p->cert, p->config.cert_file, PEM_MAX, force, now, err);
    }
    if (rc == 0) {
        key = "client-key";
        rc = refresh_named(&p->key, p->config.key_file, PEM_MAX, force, now, err);
    }
    if (rc == 0) {
        key = "tokenFile";
        rc = refresh_named(&p->token, p->config.token_file, TOKEN_MAX, force, now, err);
    }
    if (rc == 0)
        return 0;
    if (p->context != NULL)
        return cfr_err_prefix(err, "%s: context \"%.64s\": %s", p->kubeconfig, p->context, key);
    return cfr_err_prefix(err, "%s: current-context: %s", p->kubeconfig, key);
}

static int refresh_kubeconfig(struct cfr_kube_context *p, bool force, struct cfr_now now, struct cfr_err *err)
{
    int rc = cfr_kube_cached_file_refresh(&p->source, p->kubeconfig, CFR_KUBE_CONFIG_MAX, force, now, err);

    if (rc != 0)
        return cfr_err_prefix(err, "kubeconfig");
    if (!p->known || p->config_version != p->source.version)
        rc = parse_config(p, err);
    if (rc == 0)
        rc = refresh_named_files(p, force, now, err);
    p->known = p->known || rc == 0;
    return rc;
}

/* ---- both ---- */

/* The HTTP engine would refuse the header without knowing which file the token is from. */
static int check_token(const struct cfr_kube_context *p, struct cfr_view token, struct cfr_err *err)
{
    for (size_t i = 0; i < token.n; i++) {
        if (token.p[i] <= 0x20 || token.p[i] > 0x7e)
            return cfr_err_set(err, CFR_E_TOKEN,
                               "%s holds no bearer token: it contains a blank or a character that is not ASCII",
                               p->token.version != 0 ? p->token.path : p->kubeconfig);
    }
    return 0;
}

int cfr_kube_context_refresh(struct cfr_kube_context *p, bool force, struct cfr_now now, struct cfr_err *err)
{
    int rc = p->kubeconfig != NULL ? refresh_kubeconfig(p, force, now, err) : refresh_pod(p, force, now, err);

    return rc == 0 ? check_token(p, cfr_kube_context_identity(p).token, err) : rc;
}

/* The first that is not empty. */
static struct cfr_view first_set(const struct cfr_secret *a, const struct cfr_secret *b, const struct cfr_secret *c)
{
    const struct cfr_secret *s = a->len != 0 ? a : b->len != 0 ? b : c;

    return cfr_secret_view(s);
}

struct cfr_kube_identity cfr_kube_context_identity(const struct cfr_kube_context *p)
{
    static const struct cfr_secret none;
    const struct cfr_k8s_exec_credential *own = &p->plugin.credential;
    bool plugin = p->config.plugin != NULL;

    return (struct cfr_kube_identity){
        .ca = first_set(&p->config.ca, &p->ca.content, &none),
        .cert = first_set(plugin ? &own->cert : &none, &p->config.cert, &p->cert.content),
        .key = first_set(plugin ? &own->key : &none, &p->config.key, &p->key.content),
        .token = cfr_view_trim(first_set(plugin ? &own->token : &none, &p->token.content, &p->config.token)),
        .basic = cfr_secret_view(&p->config.basic),
    };
}

struct cfr_view cfr_kube_context_namespace(const struct cfr_kube_context *p)
{
    if (p->kubeconfig != NULL)
        return cfr_view_of(p->config.namespace_name);
    return cfr_view_trim(cfr_secret_view(&p->space.content));
}
