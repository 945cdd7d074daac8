/* SPDX-License-Identifier: MIT */
/* A kubeconfig, parsed for one of its contexts. Pure. One file only: the list of files that $KUBECONFIG may be, and
 * their merging, is not supported. Source: Kubernetes'
 * "Client Authentication" and kubeconfig (v1 Config) reference. */
#ifndef CFR_AGENT_KUBE_KUBECONFIG_PRIVATE_H
#define CFR_AGENT_KUBE_KUBECONFIG_PRIVATE_H

#include "base/secret.h"

#define CFR_KUBE_CONFIG_MAX 4194304 /* bytes of a kubeconfig */

/* An exec plugin: the program that returns the credential. */
struct cfr_kube_plugin {
    char *api_version;
    char *command; /* an absolute path, or a name to find in PATH */
    char **args;   /* without the command; arg_count of them */
    size_t arg_count;
    struct cfr_secret *env; /* NAME=VALUE, each */
    size_t env_count;
    bool cluster_info;
    char *cluster_config; /* JSON out of the cluster's extensions; NULL = none */
    char *install_hint;   /* one line; NULL = none */
};

/* Strings are heap, paths absolute; NULL or empty where the kubeconfig has no value. */
struct cfr_kube_config {
    char *server;      /* https://HOST[:PORT][/PATH], without a slash at its end */
    char *server_name; /* in its certificate, where that is not the host */
    char *ca_file;
    struct cfr_secret ca;    /* PEM; in place of ca_file */
    struct cfr_secret proxy; /* URL, perhaps with a password */
    char *namespace_name;
    char *cert_file;
    char *key_file;
    struct cfr_secret cert; /* PEM; in place of cert_file */
    struct cfr_secret key;
    char *token_file; /* takes precedence over the token */
    struct cfr_secret token;
    struct cfr_secret basic;    /* user:password */
    struct cfr_secret *headers; /* Impersonate-User and the like, complete lines */
    size_t header_count;
    struct cfr_kube_plugin *plugin; /* NULL = none */
};

/* Parses CONTEXT (NULL = the current one) of the kubeconfig TEXT, whose absolute path is PATH. CFR_E_CONFIG (the error
 * names the line, context, cluster or user and key, but not PATH) or CFR_E_NOMEM: OUT is then empty. The caller frees
 * OUT. */
int cfr_kube_config_parse(struct cfr_view text, const char *path, const char *context, struct cfr_kube_config *out,
                          struct cfr_err *err);
/* Wipes and frees; OUT is empty afterwards. */
void cfr_kube_config_free(struct cfr_kube_config *c);

#endif
