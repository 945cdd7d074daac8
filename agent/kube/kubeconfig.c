/* SPDX-License-Identifier: MIT */
/* Parsing a kubeconfig: contexts and clusters. */
#include "agent/kube/kubeconfig_private.h"

#include "agent/kube/kubeconfig_parse_private.h"
#include "agent/kube/yaml_mask_private.h"
#include "base/str.h"
#include "wire/url.h"

#include <stdlib.h>
#include <string.h>

#define NAMES_MAX 192 /* bytes of a list of names in an error text */

void cfr_kube_config_free(struct cfr_kube_config *c)
{
    for (size_t i = 0; i < c->header_count; i++)
        cfr_secret_free(&c->headers[i]);
    cfr_secret_free(&c->ca);
    cfr_secret_free(&c->proxy);
    cfr_secret_free(&c->cert);
    cfr_secret_free(&c->key);
    cfr_secret_free(&c->token);
    cfr_secret_free(&c->basic);
    cfr_kube_plugin_free(c->plugin);
    free(c->server);
    free(c->server_name);
    free(c->ca_file);
    free(c->namespace_name);
    free(c->cert_file);
    free(c->key_file);
    free(c->token_file);
    free(c->headers);
    *c = (struct cfr_kube_config){.server = NULL};
}

/* The scheme of a URL in lower case, as everything after this expects it. */
static void lower_scheme(char *url)
{
    char *colon = url != NULL ? strchr(url, ':') : NULL;

    for (char *p = url; p != NULL && colon != NULL && p < colon; p++) {
        if (*p >= 'A' && *p <= 'Z')
            *p = (char)(*p - 'A' + 'a');
    }
}

static int read_server(struct cfr_kube_reader *r, const struct cfr_yaml_node *cluster, struct cfr_kube_config *out)
{
    int rc = cfr_kube_string(r, cluster, "server", &out->server);
    struct cfr_err why = {0};
    struct cfr_url url;
    size_t n;

    if (rc != 0)
        return rc;
    if (out->server == NULL)
        return cfr_kube_refuse(r, cluster->line, "server", "is missing; write https://HOST:PORT");
    lower_scheme(out->server);
    if (cfr_url_parse(out->server, &url, &why) != 0)
        return cfr_kube_refuse(r, cluster->line, "server", "must be https://HOST:PORT, but %s", why.text);
    if (cfr_view_find(url.path, "?") >= 0)
        return cfr_kube_refuse(r, cluster->line, "server", "must be https://HOST:PORT, without a query");
    n = strlen(out->server);
    while (out->server[n - 1] == '/')
        out->server[--n] = '\0';
    return 0;
}

static int read_cluster(struct cfr_kube_reader *r, const struct cfr_yaml_node *cluster, struct cfr_kube_config *out)
{
    bool insecure = false;
    struct cfr_view proxy;
    int rc = cfr_kube_bool(r, cluster, "insecure-skip-tls-verify", &insecure);

    if (rc == 0 && insecure)
        return cfr_kube_refuse(r, cluster->line, "insecure-skip-tls-verify",
                               "tokens are not sent to an unverified server; remove it, and set "
                               "certificate-authority-data or certificate-authority");
    if (rc == 0)
        rc = read_server(r, cluster, out);
    if (rc == 0)
        rc = cfr_kube_string(r, cluster, "tls-server-name", &out->server_name);
    if (rc == 0)
        rc = cfr_kube_data(r, cluster, "certificate-authority-data", &out->ca);
    if (rc == 0 && out->ca.len == 0)
        rc = cfr_kube_path(r, cluster, "certificate-authority", &out->ca_file);
    cfr_secret_init(&out->proxy, 4096);
    if (rc == 0)
        rc = cfr_kube_secret(r, cluster, "proxy-url", &out->proxy);
    lower_scheme(out->proxy.p);
    proxy = cfr_secret_view(&out->proxy);
    if (rc == 0 && proxy.n != 0 && !cfr_view_starts(proxy, "http://") && !cfr_view_starts(proxy, "https://"))
        rc = cfr_kube_refuse(r, cluster->line, "proxy-url",
                             "must be the URL of an http or https proxy; no other kind, such as socks5, is supported");
    return rc;
}

/* The names in LIST, for an error text. */
static void list_names(const struct cfr_kube_reader *r, const struct cfr_yaml_node *list, char out[NAMES_MAX])
{
    size_t n = 0;

    out[0] = '\0';
    for (const struct cfr_yaml_node *i = list != NULL ? list->child : NULL; i != NULL; i = i->next) {
        char *name = NULL;

        (void)cfr_kube_string(&(struct cfr_kube_reader){.original = r->original}, i, "name", &name);
        if (name != NULL && n + strlen(name) + 5 < NAMES_MAX) {
            memcpy(out + n, n != 0 ? ", " : "", n != 0 ? 2 : 0);
            n += n != 0 ? 2 : 0;
            memcpy(out + n, name, strlen(name) + 1);
            n += strlen(name);
        }
        free(name);
    }
}

/* A user without settings has no identity, as in kubectl. */
static const struct cfr_yaml_node anonymous = {.kind = CFR_YAML_MAP};

/* The mapping at KIND in the item of that NAME in the list at LIST. */
static int find_entry(struct cfr_kube_reader *r, const struct cfr_yaml_node *root, const char *list, const char *kind,
                      const char *name, const struct cfr_yaml_node **out)
{
    const struct cfr_yaml_node *items;
    char names[NAMES_MAX];
    int rc = cfr_kube_collection(r, root, list, CFR_YAML_LIST, &items);

    *out = NULL;
    for (const struct cfr_yaml_node *i = items != NULL ? items->child : NULL; rc == 0 && i != NULL; i = i->next) {
        const struct cfr_yaml_node *n = cfr_kube_get(r, i, "name");

        if (n == NULL || !cfr_kube_is(r, n, name))
            continue;
        if (*out != NULL)
            return cfr_kube_refuse(r, n->line, list, "has two with the name \"%.64s\"", name);
        rc = cfr_kube_collection(r, i, kind, CFR_YAML_MAP, out);
        if (rc == 0 && *out == NULL && strcmp(kind, "user") == 0)
            *out = &anonymous;
        else if (rc == 0 && *out == NULL)
            rc = cfr_kube_refuse(r, i->line, list, "\"%.64s\" has no %s", name, kind);
    }
    if (rc != 0 || *out != NULL)
        return rc;
    list_names(r, items, names);
    return cfr_kube_refuse(r, items != NULL ? items->line : root->line, list, "none has the name \"%.64s\"%s%s", name,
                           names[0] != '\0' ? "; there are: " : "", names);
}

static int read_user(struct cfr_kube_reader *r, const struct cfr_yaml_node *root, const struct cfr_yaml_node *cluster,
                     const char *name, struct cfr_kube_config *out)
{
    const struct cfr_yaml_node *user;
    int rc = find_entry(r, root, "users", "user", name, &user);

    if (rc != 0)
        return rc;
    r->kind = "user";
    r->name = name;
    return cfr_kube_user_read(r, user, cluster, out);
}

static int read_context(struct cfr_kube_reader *r, const struct cfr_yaml_node *root, struct cfr_kube_config *out)
{
    const struct cfr_yaml_node *context;
    const struct cfr_yaml_node *cluster = NULL;
    char *cluster_name = NULL;
    char *user_name = NULL;
    int rc = find_entry(r, root, "contexts", "context", r->context, &context);

    if (rc == 0)
        rc = cfr_kube_string(r, context, "namespace", &out->namespace_name);
    if (rc == 0)
        rc = cfr_kube_string(r, context, "cluster", &cluster_name);
    if (rc == 0)
        rc = cfr_kube_string(r, context, "user", &user_name);
    if (rc == 0 && context != NULL && cluster_name == NULL)
        rc = cfr_kube_refuse(r, context->line, "cluster", "is missing");
    if (rc == 0)
        rc = find_entry(r, root, "clusters", "cluster", cluster_name, &cluster);
    if (rc == 0 && cluster != NULL) {
        r->kind = "cluster";
        r->name = cluster_name;
        rc = read_cluster(r, cluster, out);
        r->kind = NULL;
    }
    /* A context without a user is for a server that needs no identity, such as kubectl's proxy. */
    if (rc == 0 && user_name != NULL)
        rc = read_user(r, root, cluster, user_name, out);
    r->kind = NULL;
    free(cluster_name);
    free(user_name);
    return rc;
}

static int read_root(struct cfr_kube_reader *r, const struct cfr_yaml_node *root, struct cfr_kube_config *out)
{
    char *current = NULL;
    int rc = 0;

    if (root->kind != CFR_YAML_MAP || cfr_kube_get(r, root, "contexts") == NULL)
        return cfr_kube_refuse(r, root->line, NULL, "not a kubeconfig: it has no contexts");
    if (r->context == NULL) {
        rc = cfr_kube_string(r, root, "current-context", &current);
        if (rc == 0 && current == NULL)
            rc = cfr_kube_refuse(r, root->line, "current-context", "is missing, and no context is configured");
        r->context = current;
    }
    if (rc == 0)
        rc = read_context(r, root, out);
    free(current);
    return rc;
}

static int parse(struct cfr_kube_reader *r, struct cfr_view text, struct cfr_kube_config *out)
{
    struct cfr_secret masked;
    struct cfr_kube_reader keys = {.err = r->err};
    struct cfr_yaml *doc = NULL;
    int line = 0;
    int rc;

    cfr_secret_init(&masked, text.n * 2 + 64);
    rc = cfr_kube_yaml_mask(text, &masked, &r->original, r->err);
    keys.original = r->original;
    if (rc == 0) {
        rc = cfr_yaml_parse_foreign(cfr_secret_view(&masked), cfr_kube_check_keys, &keys, &doc, &line, r->err);
        if (rc == CFR_E_CONFIG)
            (void)cfr_err_prefix(r->err, "line %d", line);
    }
    if (rc == 0)
        rc = read_root(r, cfr_yaml_root(doc), out);
    cfr_yaml_free(doc);
    cfr_secret_free(&masked);
    return rc;
}

int cfr_kube_config_parse(struct cfr_view text, const char *path, const char *context, struct cfr_kube_config *out,
                          struct cfr_err *err)
{
    struct cfr_err own = {0};
    struct cfr_kube_reader r = {.path = path, .context = context, .err = err != NULL ? err : &own};
    int rc;

    *out = (struct cfr_kube_config){.server = NULL};
    if (cfr_view_trim(text).n == 0)
        return cfr_err_set(err, CFR_E_CONFIG, "line 1: it is empty");
    rc = text.n > CFR_KUBE_CONFIG_MAX
             ? cfr_err_set(err, CFR_E_CONFIG, "line 1: it is larger than %d bytes", CFR_KUBE_CONFIG_MAX)
             : parse(&r, text, out);
    if (rc != 0)
        cfr_kube_config_free(out);
    return rc;
}
