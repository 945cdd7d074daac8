/* SPDX-License-Identifier: MIT */
/* Readers of the values in a kubeconfig's mappings. Pure. */
#ifndef CFR_AGENT_KUBE_KUBECONFIG_PARSE_PRIVATE_H
#define CFR_AGENT_KUBE_KUBECONFIG_PARSE_PRIVATE_H

#include "agent/kube/kubeconfig_private.h"
#include "base/yaml.h"

#define CFR_KUBE_VALUE_MAX 1048576 /* bytes of one value */

struct cfr_kube_reader {
    struct cfr_view original; /* for cfr_kube_yaml_mask_next */
    const char *path;
    const char *context; /* the one being read; NULL before it is known */
    const char *kind;    /* "cluster" or "user", for error texts; NULL = neither */
    const char *name;
    struct cfr_err *err;
};

/* Sets an error about KEY at LINE. Returns its code. */
int cfr_kube_refuse(const struct cfr_kube_reader *r, int line, const char *key, const char *fmt, ...)
    __attribute__((format(printf, 4, 5)));
/* The value of KEY, or NULL if there is none; MAP may be NULL. */
const struct cfr_yaml_node *cfr_kube_get(const struct cfr_kube_reader *r, const struct cfr_yaml_node *map,
                                         const char *key);
bool cfr_kube_is(const struct cfr_kube_reader *r, const struct cfr_yaml_node *node, const char *text);
/* The functions below leave OUT as it is where MAP has no such KEY. */
/* One line of text without control characters, not empty. */
int cfr_kube_string(const struct cfr_kube_reader *r, const struct cfr_yaml_node *map, const char *key, char **out);
/* A path; a relative one starts at the kubeconfig's directory. */
int cfr_kube_path(const struct cfr_kube_reader *r, const struct cfr_yaml_node *map, const char *key, char **out);
/* A boolean of YAML 1.1, which has yes, no, on and off as well. */
bool cfr_kube_is_bool(const struct cfr_kube_reader *r, const struct cfr_yaml_node *node, bool *out);
int cfr_kube_bool(const struct cfr_kube_reader *r, const struct cfr_yaml_node *map, const char *key, bool *out);
/* As cfr_kube_string, appended to a secret. */
int cfr_kube_secret(const struct cfr_kube_reader *r, const struct cfr_yaml_node *map, const char *key,
                    struct cfr_secret *out);
/* Base64 of a PEM text, decoded. */
int cfr_kube_data(const struct cfr_kube_reader *r, const struct cfr_yaml_node *map, const char *key,
                  struct cfr_secret *out);
/* Appends a scalar node's text, unmasked. */
int cfr_kube_text(const struct cfr_kube_reader *r, const struct cfr_yaml_node *node, const char *key,
                  struct cfr_secret *out);
/* NAME relative to the kubeconfig's directory; heap, NULL when memory is short. */
char *cfr_kube_resolve(const struct cfr_kube_reader *r, const char *name);
/* The list (or mapping) at KEY: *OUT is NULL if there is none. */
int cfr_kube_collection(const struct cfr_kube_reader *r, const struct cfr_yaml_node *map, const char *key,
                        enum cfr_yaml_kind kind, const struct cfr_yaml_node **out);
int cfr_kube_no_memory(const struct cfr_kube_reader *r);

/* agent/kube/kubeconfig_exec.c: a user's `exec`, with CLUSTER's settings for it. */
int cfr_kube_plugin_read(struct cfr_kube_reader *r, const struct cfr_yaml_node *exec,
                         const struct cfr_yaml_node *cluster, struct cfr_kube_plugin *out);
void cfr_kube_plugin_free(struct cfr_kube_plugin *p);
/* agent/kube/kubeconfig_keys.c, a cfr_yaml_map_fn for a reader: refuses a MAP that has a key twice, because clients
 * differ in which one counts. */
int cfr_kube_check_keys(void *ctx, const struct cfr_yaml_node *map, int *line);
/* agent/kube/kubeconfig_user.c */
int cfr_kube_user_read(struct cfr_kube_reader *r, const struct cfr_yaml_node *user, const struct cfr_yaml_node *cluster,
                       struct cfr_kube_config *out);

#endif
