/* SPDX-License-Identifier: MIT */
/* Parsing a kubeconfig user's exec plugin. */
#include "agent/kube/kubeconfig_parse_private.h"

#include "base/str.h"
#include "kube/exec_credential.h"

#include <stdlib.h>
#include <string.h>

#define ITEMS_MAX     256 /* arguments, or variables */
#define EXTENSION     "client.authentication.k8s.io/exec"
#define EXTENSION_MAX 65536

static void free_text(char *text)
{
    if (text != NULL)
        cfr_secret_wipe(text, strlen(text));
    free(text);
}

void cfr_kube_plugin_free(struct cfr_kube_plugin *p)
{
    if (p == NULL)
        return;
    for (size_t i = 0; i < p->arg_count; i++)
        free_text(p->args[i]);
    for (size_t i = 0; i < p->env_count; i++)
        cfr_secret_free(&p->env[i]);
    free(p->api_version);
    free(p->command);
    free(p->args);
    free(p->env);
    free(p->cluster_config);
    free(p->install_hint);
    free(p);
}

static int read_command(struct cfr_kube_reader *r, const struct cfr_yaml_node *exec, struct cfr_kube_plugin *out)
{
    char *name = NULL;
    int rc = cfr_kube_string(r, exec, "command", &name);

    if (rc == 0 && name == NULL)
        return cfr_kube_refuse(r, exec->line, "exec", "has no command");
    if (rc == 0 && strchr(name, '/') != NULL) {
        out->command = cfr_kube_resolve(r, name);
        if (out->command == NULL)
            rc = cfr_kube_no_memory(r);
    } else if (rc == 0) {
        out->command = name;
        return 0;
    }
    free(name);
    return rc;
}

static int check_interaction(struct cfr_kube_reader *r, const struct cfr_yaml_node *exec)
{
    const struct cfr_yaml_node *mode = cfr_kube_get(r, exec, "interactiveMode");

    if (mode == NULL || cfr_kube_is(r, mode, "Never") || cfr_kube_is(r, mode, "IfAvailable"))
        return 0;
    if (cfr_kube_is(r, mode, "Always"))
        return cfr_kube_refuse(r, mode->line, "exec.interactiveMode",
                               "the plugin requires a terminal, which an agent does not have; use another user");
    return cfr_kube_refuse(r, mode->line, "exec.interactiveMode", "must be Never, IfAvailable or Always");
}

static int read_args(struct cfr_kube_reader *r, const struct cfr_yaml_node *exec, struct cfr_kube_plugin *out)
{
    const struct cfr_yaml_node *list;
    int rc = cfr_kube_collection(r, exec, "args", CFR_YAML_LIST, &list);

    if (rc != 0 || list == NULL)
        return rc;
    if (list->count > ITEMS_MAX)
        return cfr_kube_refuse(r, list->line, "exec.args", "more than %d", ITEMS_MAX);
    out->args = calloc(list->count + 1, sizeof *out->args);
    if (out->args == NULL)
        return cfr_kube_no_memory(r);
    for (const struct cfr_yaml_node *n = list->child; rc == 0 && n != NULL; n = n->next) {
        struct cfr_secret text;

        cfr_secret_init(&text, 65536);
        rc = cfr_kube_text(r, n, "exec.args", &text);
        if (rc == 0 && text.len != 0 && memchr(text.p, '\0', text.len) != NULL)
            rc = cfr_kube_refuse(r, n->line, "exec.args", "holds a NUL character");
        if (rc == 0) {
            out->args[out->arg_count] = cfr_str_dup(cfr_secret_view(&text));
            if (out->args[out->arg_count] == NULL)
                rc = cfr_kube_no_memory(r);
            else
                out->arg_count++;
        }
        cfr_secret_free(&text);
    }
    return rc;
}

static int read_variable(struct cfr_kube_reader *r, const struct cfr_yaml_node *pair, struct cfr_secret *out)
{
    const struct cfr_yaml_node *value = cfr_kube_get(r, pair, "value");
    int rc;

    cfr_secret_init(out, 131072);
    rc = cfr_kube_secret(r, pair, "name", out);
    if (rc == 0 && (out->len == 0 || memchr(out->p, '=', out->len) != NULL))
        rc = cfr_kube_refuse(r, pair->line, "exec.env", "each must have a name, without =, and a value");
    if (rc == 0)
        rc = cfr_secret_append_str(out, "=", r->err);
    if (rc == 0 && value != NULL)
        rc = cfr_kube_text(r, value, "exec.env", out);
    if (rc == 0 && memchr(out->p, '\0', out->len) != NULL)
        rc = cfr_kube_refuse(r, pair->line, "exec.env", "holds a NUL character");
    return rc;
}

static int read_env(struct cfr_kube_reader *r, const struct cfr_yaml_node *exec, struct cfr_kube_plugin *out)
{
    const struct cfr_yaml_node *list;
    int rc = cfr_kube_collection(r, exec, "env", CFR_YAML_LIST, &list);

    if (rc != 0 || list == NULL)
        return rc;
    if (list->count > ITEMS_MAX)
        return cfr_kube_refuse(r, list->line, "exec.env", "more than %d", ITEMS_MAX);
    out->env = calloc(list->count + 1, sizeof *out->env);
    if (out->env == NULL)
        return cfr_kube_no_memory(r);
    for (const struct cfr_yaml_node *n = list->child; rc == 0 && n != NULL; n = n->next)
        rc = read_variable(r, n, &out->env[out->env_count++]);
    return rc;
}

static int append_json(struct cfr_kube_reader *r, const struct cfr_yaml_node *node, struct cfr_secret *out);

/* JSON has no plus sign and no leading zeros. */
static bool is_json_integer(struct cfr_view text)
{
    size_t first = text.n != 0 && text.p[0] == '-' ? 1 : 0;
    int64_t number;

    return cfr_view_int(text, &number) && text.p[0] != '+' && (text.p[first] != '0' || text.n == first + 1);
}

static int append_scalar(struct cfr_kube_reader *r, const struct cfr_yaml_node *node, struct cfr_secret *out)
{
    struct cfr_secret text;
    bool yes;
    int rc;

    cfr_secret_init(&text, EXTENSION_MAX);
    rc = cfr_kube_text(r, node, EXTENSION, &text);
    if (rc == 0 && cfr_yaml_is_null(node))
        rc = cfr_secret_append_str(out, "null", r->err);
    else if (rc == 0 && cfr_kube_is_bool(r, node, &yes))
        rc = cfr_secret_append_str(out, yes ? "true" : "false", r->err);
    else if (rc == 0 && !node->quoted && is_json_integer(cfr_secret_view(&text)))
        rc = cfr_secret_append(out, cfr_secret_view(&text), r->err);
    else if (rc == 0)
        rc = cfr_secret_append_json(out, cfr_secret_view(&text), r->err);
    cfr_secret_free(&text);
    return rc;
}

static int append_collection(struct cfr_kube_reader *r, const struct cfr_yaml_node *node, struct cfr_secret *out)
{
    bool map = node->kind == CFR_YAML_MAP;
    int rc = cfr_secret_append_str(out, map ? "{" : "[", r->err);
    bool value = false;

    for (const struct cfr_yaml_node *n = node->child; rc == 0 && n != NULL; n = n->next) {
        struct cfr_yaml_node key = *n;

        if (n != node->child)
            rc = cfr_secret_append_str(out, value ? ":" : ",", r->err);
        if (map && !value && n->kind != CFR_YAML_SCALAR)
            return cfr_kube_refuse(r, n->line, "extensions", "every key must be text");
        /* A key is text, even if it looks like a number. */
        key.quoted = key.quoted || (map && !value);
        if (rc == 0)
            rc = append_json(r, &key, out);
        value = map && !value;
    }
    return rc != 0 ? rc : cfr_secret_append_str(out, map ? "}" : "]", r->err);
}

/* The YAML parser limits the depth. */
static int append_json(struct cfr_kube_reader *r, const struct cfr_yaml_node *node, struct cfr_secret *out)
{
    return node->kind == CFR_YAML_SCALAR ? append_scalar(r, node, out) : append_collection(r, node, out);
}

static int read_extension(struct cfr_kube_reader *r, const struct cfr_yaml_node *cluster, struct cfr_kube_plugin *out)
{
    const struct cfr_yaml_node *list;
    struct cfr_secret json;
    int rc = cfr_kube_collection(r, cluster, "extensions", CFR_YAML_LIST, &list);

    cfr_secret_init(&json, EXTENSION_MAX);
    for (const struct cfr_yaml_node *n = list != NULL ? list->child : NULL; rc == 0 && n != NULL; n = n->next) {
        const struct cfr_yaml_node *name = cfr_kube_get(r, n, "name");
        const struct cfr_yaml_node *value = cfr_kube_get(r, n, "extension");

        if (name == NULL || value == NULL || json.len != 0 || !cfr_kube_is(r, name, EXTENSION))
            continue;
        rc = append_json(r, value, &json);
        if (rc == CFR_E_LIMIT)
            rc = cfr_kube_refuse(r, value->line, "extensions", "the one of %s is too large", EXTENSION);
    }
    if (rc == 0 && json.len != 0) {
        out->cluster_config = cfr_str_dup(cfr_secret_view(&json));
        rc = out->cluster_config != NULL ? 0 : cfr_kube_no_memory(r);
    }
    cfr_secret_free(&json);
    return rc;
}

/* The hint gets into an error text: control characters are replaced. */
static int read_hint(struct cfr_kube_reader *r, const struct cfr_yaml_node *exec, struct cfr_kube_plugin *out)
{
    const struct cfr_yaml_node *node = cfr_kube_get(r, exec, "installHint");
    struct cfr_secret text;
    int rc;

    if (node == NULL)
        return 0;
    cfr_secret_init(&text, 65536);
    rc = cfr_kube_text(r, node, "exec.installHint", &text);
    for (size_t i = 0; i < text.len; i++) {
        if ((unsigned char)text.p[i] < 0x20 || text.p[i] == 0x7f)
            text.p[i] = ' ';
    }
    if (rc == 0) {
        out->install_hint = cfr_str_dup(cfr_view_trim(cfr_secret_view(&text)));
        rc = out->install_hint != NULL ? 0 : cfr_kube_no_memory(r);
    }
    cfr_secret_free(&text);
    return rc;
}

int cfr_kube_plugin_read(struct cfr_kube_reader *r, const struct cfr_yaml_node *exec,
                         const struct cfr_yaml_node *cluster, struct cfr_kube_plugin *out)
{
    int rc = cfr_kube_string(r, exec, "apiVersion", &out->api_version);

    if (rc == 0 && !cfr_k8s_exec_credential_version_ok(out->api_version))
        rc = cfr_kube_refuse(r, exec->line, "exec.apiVersion",
                             "must be client.authentication.k8s.io/v1 or client.authentication.k8s.io/v1beta1");
    if (rc == 0)
        rc = read_command(r, exec, out);
    if (rc == 0)
        rc = check_interaction(r, exec);
    if (rc == 0)
        rc = read_args(r, exec, out);
    if (rc == 0)
        rc = read_env(r, exec, out);
    if (rc == 0)
        rc = cfr_kube_bool(r, exec, "provideClusterInfo", &out->cluster_info);
    if (rc == 0)
        rc = read_hint(r, exec, out);
    return rc == 0 && out->cluster_info ? read_extension(r, cluster, out) : rc;
}
