/* SPDX-License-Identifier: MIT */
/* The objects of the simulated cluster. */
#include "kube_data.h"

#include <stdlib.h>
#include <string.h>

const char *lc_kube_text(json_t *object, const char *key)
{
    const char *text = json_string_value(json_object_get(object, key));

    return text == NULL ? "" : text;
}

char *lc_kube_key(const char *namespace_name, const char *name)
{
    return lc_text_format("%s/%s", namespace_name, name);
}

json_t *lc_kube_now(void)
{
    char now[LC_TIME_BYTES];

    lc_time_iso((int64_t)lc_time_now(), now);
    return json_string(now);
}

json_t *lc_kube_get(struct lc_kube *kube, json_t *const *list, const char *namespace_name, const char *name)
{
    char *key = lc_kube_key(namespace_name, name);
    json_t *found = NULL;

    (void)pthread_mutex_lock(&kube->lock);
    found = key == NULL ? NULL : json_object_get(*list, key);
    found = json_is_object(found) ? json_incref(found) : NULL;
    (void)pthread_mutex_unlock(&kube->lock);
    free(key);
    return found;
}

json_t *lc_kube_audiences(struct lc_kube *kube)
{
    json_t *audiences = NULL;

    (void)pthread_mutex_lock(&kube->lock);
    audiences = json_incref(kube->api_audiences);
    (void)pthread_mutex_unlock(&kube->lock);
    return audiences;
}

struct lc_kube *lc_kube_new(struct lc_cloud *cloud, struct lc_fail *fail)
{
    struct lc_kube *kube = calloc(1, sizeof *kube);

    if (kube == NULL) {
        (void)lc_fail_set(fail, "out of memory");
        return NULL;
    }
    (void)pthread_mutex_init(&kube->lock, NULL);
    kube->cloud = cloud;
    kube->accounts = json_object();
    kube->pods = json_object();
    kube->nodes = json_object();
    kube->configmaps = json_object();
    kube->workloads = json_object();
    kube->events = json_array();
    kube->secrets = json_object();
    kube->cluster = json_object();
    kube->pod_certificates = json_object();
    kube->tokens = json_object();
    kube->namespaces = json_object();
    kube->rules = json_array();
    kube->implied = json_array();
    kube->version = 1000;
    return kube;
}

void lc_kube_free(struct lc_kube *kube)
{
    if (kube == NULL) {
        return;
    }
    json_decref(kube->accounts);
    json_decref(kube->pods);
    json_decref(kube->nodes);
    json_decref(kube->history);
    json_decref(kube->configmaps);
    json_decref(kube->workloads);
    json_decref(kube->events);
    json_decref(kube->secrets);
    json_decref(kube->cluster);
    json_decref(kube->pod_certificates);
    json_decref(kube->pod_certificate_versions);
    json_decref(kube->tokens);
    json_decref(kube->namespaces);
    json_decref(kube->rules);
    json_decref(kube->implied);
    json_decref(kube->api_audiences);
    json_decref(kube->settings);
    (void)pthread_mutex_destroy(&kube->lock);
    free(kube);
}

bool lc_kube_config(struct lc_kube *kube, const char *server, const char *ca_pem, struct lc_buf *out)
{
    struct lc_buf ca = {0};
    json_t *user = NULL;

    if (kube->first_token == NULL) {
        return false;
    }
    user = json_object_get(json_object_get(kube->tokens, kube->first_token), "user");
    lc_base64(&ca, ca_pem, strlen(ca_pem), false);
    lc_buf_format(out,
                  "apiVersion: v1\nkind: Config\ncurrent-context: localcloud\nclusters:\n- name: localcloud\n"
                  "  cluster:\n    server: \"%s\"\n    certificate-authority-data: %s\nusers:\n- name: \"%s\"\n"
                  "  user:\n    token: \"%s\"\ncontexts:\n- name: localcloud\n  context:\n    cluster: localcloud\n"
                  "    user: \"%s\"\n    namespace: default\n",
                  server, ca.at == NULL ? "" : ca.at, json_string_value(user), kube->first_token,
                  json_string_value(user));
    lc_buf_free(&ca);
    return !out->broken;
}
