/* SPDX-License-Identifier: MIT */
/* Parsing a kubeconfig's user: certificate, token, password, impersonation, exec plugin. */
#include "agent/kube/kubeconfig_parse_private.h"

#include <stdlib.h>
#include <string.h>

#define GROUPS_MAX 256 /* Impersonate- headers */

static int read_certificate(struct cfr_kube_reader *r, const struct cfr_yaml_node *user, struct cfr_kube_config *out)
{
    int rc = cfr_kube_data(r, user, "client-certificate-data", &out->cert);

    if (rc == 0 && out->cert.len == 0)
        rc = cfr_kube_path(r, user, "client-certificate", &out->cert_file);
    if (rc == 0)
        rc = cfr_kube_data(r, user, "client-key-data", &out->key);
    if (rc == 0 && out->key.len == 0)
        rc = cfr_kube_path(r, user, "client-key", &out->key_file);
    if (rc != 0)
        return rc;
    if ((out->cert.len != 0 || out->cert_file != NULL) != (out->key.len != 0 || out->key_file != NULL))
        return cfr_kube_refuse(r, user->line, NULL,
                               "client-certificate and client-key (or the same with -data) must both be there");
    return 0;
}

/* An empty value counts as none, as in kubectl. */
static const struct cfr_yaml_node *get_text(const struct cfr_kube_reader *r, const struct cfr_yaml_node *user,
                                            const char *key)
{
    const struct cfr_yaml_node *node = cfr_kube_get(r, user, key);

    return node != NULL && node->kind == CFR_YAML_SCALAR && node->text.n == 0 ? NULL : node;
}

static int read_password(struct cfr_kube_reader *r, const struct cfr_yaml_node *user, struct cfr_kube_config *out)
{
    int rc;

    cfr_secret_init(&out->basic, 65536);
    rc = cfr_kube_secret(r, user, "username", &out->basic);
    if (rc == 0 && out->basic.len != 0 && memchr(out->basic.p, ':', out->basic.len) != NULL)
        return cfr_kube_refuse(r, user->line, "username", "must not hold a colon");
    if (rc == 0 && out->basic.len == 0 && get_text(r, user, "password") != NULL)
        return cfr_kube_refuse(r, user->line, "password", "needs a username");
    if (rc == 0 && out->basic.len != 0)
        rc = cfr_secret_append_str(&out->basic, ":", r->err);
    return rc == 0 ? cfr_kube_secret(r, user, "password", &out->basic) : rc;
}

/* A new, empty header line. */
static struct cfr_secret *add_header(struct cfr_kube_config *out)
{
    struct cfr_secret *more;

    if (out->header_count >= GROUPS_MAX)
        return NULL;
    more = realloc(out->headers, (out->header_count + 1) * sizeof *more);
    if (more == NULL)
        return NULL;
    out->headers = more;
    cfr_secret_init(&more[out->header_count], 16384);
    return &more[out->header_count++];
}

static int add_text_header(struct cfr_kube_reader *r, const struct cfr_yaml_node *node, const char *key,
                           const char *name, struct cfr_kube_config *out)
{
    struct cfr_secret *line = add_header(out);
    size_t before;
    int rc;

    if (line == NULL)
        return out->header_count >= GROUPS_MAX ? cfr_kube_refuse(r, node->line, key, "more than %d", GROUPS_MAX)
                                               : cfr_kube_no_memory(r);
    rc = cfr_secret_append_str(line, name, r->err);
    if (rc == 0)
        rc = cfr_secret_append_str(line, ": ", r->err);
    before = line->len;
    if (rc == 0)
        rc = cfr_kube_text(r, node, key, line);
    if (rc != 0)
        return rc;
    for (size_t i = before; i < line->len; i++) {
        if ((unsigned char)line->p[i] < 0x20 || line->p[i] == 0x7f)
            return cfr_kube_refuse(r, node->line, key, "holds control characters");
    }
    if (before == line->len || line->p[before] == ' ' || line->p[line->len - 1] == ' ')
        return cfr_kube_refuse(r, node->line, key, "must not be empty or have blanks around it");
    return 0;
}

static int add_list(struct cfr_kube_reader *r, const struct cfr_yaml_node *list, const char *key, const char *name,
                    struct cfr_kube_config *out)
{
    int rc = 0;

    for (const struct cfr_yaml_node *n = list->child; rc == 0 && n != NULL; n = n->next)
        rc = add_text_header(r, n, key, name, out);
    return rc;
}

/* The key goes into the header's name, percent-encoded as the API server expects it. */
static int add_extra(struct cfr_kube_reader *r, const struct cfr_yaml_node *key, const struct cfr_yaml_node *values,
                     struct cfr_kube_config *out)
{
    struct cfr_secret text;
    struct cfr_secret name;
    int rc;

    cfr_secret_init(&text, 1024);
    cfr_secret_init(&name, 4096);
    rc = cfr_kube_text(r, key, "as-user-extra", &text);
    if (rc == 0 && (text.len == 0 || (values->kind != CFR_YAML_LIST && !cfr_yaml_is_null(values))))
        rc = cfr_kube_refuse(r, key->line, "as-user-extra", "must map names to lists of text");
    if (rc == 0)
        rc = cfr_secret_append_str(&name, "Impersonate-Extra-", r->err);
    if (rc == 0)
        rc = cfr_secret_append_percent(&name, cfr_secret_view(&text), r->err);
    if (rc == 0)
        rc = add_list(r, values, "as-user-extra", name.p, out);
    cfr_secret_free(&text);
    cfr_secret_free(&name);
    return rc;
}

static int read_impersonation(struct cfr_kube_reader *r, const struct cfr_yaml_node *user, struct cfr_kube_config *out)
{
    const struct cfr_yaml_node *as = get_text(r, user, "as");
    const struct cfr_yaml_node *uid = get_text(r, user, "as-uid");
    const struct cfr_yaml_node *groups;
    const struct cfr_yaml_node *extra;
    int rc = cfr_kube_collection(r, user, "as-groups", CFR_YAML_LIST, &groups);

    if (rc == 0)
        rc = cfr_kube_collection(r, user, "as-user-extra", CFR_YAML_MAP, &extra);
    if (rc != 0)
        return rc;
    if (as == NULL && (uid != NULL || (groups != NULL && groups->count != 0) || (extra != NULL && extra->count != 0)))
        return cfr_kube_refuse(r, user->line, NULL, "as-uid, as-groups and as-user-extra need `as`");
    if (as != NULL)
        rc = add_text_header(r, as, "as", "Impersonate-User", out);
    if (rc == 0 && uid != NULL)
        rc = add_text_header(r, uid, "as-uid", "Impersonate-Uid", out);
    if (rc == 0 && groups != NULL)
        rc = add_list(r, groups, "as-groups", "Impersonate-Group", out);
    for (const struct cfr_yaml_node *k = extra != NULL ? extra->child : NULL; rc == 0 && k != NULL; k = k->next->next)
        rc = add_extra(r, k, k->next, out);
    return rc;
}

static int read_exec(struct cfr_kube_reader *r, const struct cfr_yaml_node *user, const struct cfr_yaml_node *cluster,
                     struct cfr_kube_config *out)
{
    const struct cfr_yaml_node *exec;
    int rc = cfr_kube_collection(r, user, "exec", CFR_YAML_MAP, &exec);

    if (rc != 0 || exec == NULL)
        return rc;
    out->plugin = calloc(1, sizeof *out->plugin);
    if (out->plugin == NULL)
        return cfr_kube_no_memory(r);
    return cfr_kube_plugin_read(r, exec, cluster, out->plugin);
}

/* Clients differ in which one takes precedence, so two are refused. */
static int check_conflicts(struct cfr_kube_reader *r, const struct cfr_yaml_node *user, const struct cfr_kube_config *c)
{
    bool token = c->token.len != 0 || c->token_file != NULL;
    bool basic = c->basic.len != 0;

    if (token && basic)
        return cfr_kube_refuse(r, user->line, NULL, "has both a token and a username; keep one of them");
    if (c->plugin != NULL && (token || basic))
        return cfr_kube_refuse(r, user->line, NULL, "has both exec and %s; keep one of them",
                               token ? "a token" : "a username");
    return 0;
}

static int refuse_provider(struct cfr_kube_reader *r, const struct cfr_yaml_node *provider)
{
    const struct cfr_yaml_node *name = cfr_kube_get(r, provider, "name");

    if (name != NULL && cfr_kube_is(r, name, "oidc"))
        return cfr_kube_refuse(r, provider->line, "auth-provider",
                               "oidc renews its token by writing into the kubeconfig, which credfresh does not do; use "
                               "an exec plugin such as kubelogin (`kubectl oidc-login setup` prints one)");
    return cfr_kube_refuse(r, provider->line, "auth-provider",
                           "only oidc is left of these in Kubernetes; use the exec plugin that replaced it, such as "
                           "gke-gcloud-auth-plugin or kubelogin");
}

int cfr_kube_user_read(struct cfr_kube_reader *r, const struct cfr_yaml_node *user, const struct cfr_yaml_node *cluster,
                       struct cfr_kube_config *out)
{
    const struct cfr_yaml_node *provider = cfr_kube_get(r, user, "auth-provider");
    int rc;

    if (provider != NULL)
        return refuse_provider(r, provider);
    rc = read_certificate(r, user, out);
    if (rc == 0)
        rc = cfr_kube_path(r, user, "tokenFile", &out->token_file);
    cfr_secret_init(&out->token, 65536);
    if (rc == 0 && out->token_file == NULL)
        rc = cfr_kube_secret(r, user, "token", &out->token);
    if (rc == 0)
        rc = read_password(r, user, out);
    if (rc == 0)
        rc = read_impersonation(r, user, out);
    if (rc == 0)
        rc = read_exec(r, user, cluster, out);
    return rc == 0 ? check_conflicts(r, user, out) : rc;
}
