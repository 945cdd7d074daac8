/* SPDX-License-Identifier: MIT */
/* The objects of the simulated cluster. They are JSON that is replaced and never changed, so that whoever
 * holds a reference needs no lock. */
#ifndef LC_KUBE_DATA_H
#define LC_KUBE_DATA_H

#include "kube.h"

#include <pthread.h>

struct lc_kube {
    struct lc_cloud *cloud;
    pthread_mutex_t lock;             /* of everything below; the keys of namespaced objects are NAMESPACE/NAME */
    json_t *accounts;                 /* {"namespace", "name", "uid"} */
    json_t *pods;                     /* ... and "service_account", "node" (or absent), "audiences" */
    json_t *nodes;                    /* NAME: {"name", "uid"} */
    json_t *configmaps;               /* as secrets */
    json_t *events;                   /* array of those that were created */
    json_t *workloads;                /* KIND/NAMESPACE/NAME: the object */
    json_t *secrets;                  /* {"object": without managedFields, "managers": see kube_fields.h} */
    json_t *cluster;                  /* PLURAL/NAME: {"object", "managers"}, see kube_cluster.c */
    json_t *pod_certificates;         /* the objects, without apiVersion */
    json_t *pod_certificate_versions; /* of the API, that are served */
    json_t *tokens;                   /* TOKEN: {"user", "groups"} */
    json_t *namespaces;               /* NAME: true */
    json_t *rules;                    /* array of {"user" or "group", "verb", "resource", "namespace", "names"} */
    json_t *implied;                  /* array of {"namespace", "name"} */
    json_t *api_audiences;
    const char *first_token; /* of the configuration; borrowed from its settings, which stay */
    json_t *settings;
    int64_t max_expiration_s; /* 0: none */
    bool extend;
    uint64_t version;   /* of the last write */
    json_t *history;    /* array of {"resource", "namespace", "version", "before", "after"}, for watches */
    uint64_t forgotten; /* the last version that is not in the history any more */
};

/* An empty cluster; NULL with the reason. */
struct lc_kube *lc_kube_new(struct lc_cloud *cloud, struct lc_fail *fail);

extern const char lc_kube_demo[];
json_t *lc_kube_check(struct lc_cloud *cloud, json_t *settings, struct lc_fail *fail);

/* A new reference to what is under NAMESPACE/NAME in one of the lists, or NULL. Takes the lock. */
json_t *lc_kube_get(struct lc_kube *kube, json_t *const *list, const char *namespace_name, const char *name);

/* The API's audiences; a new reference. Takes the lock. */
json_t *lc_kube_audiences(struct lc_kube *kube);

const char *lc_kube_text(json_t *object, const char *key);

/* NAMESPACE/NAME, for free(). */
char *lc_kube_key(const char *namespace_name, const char *name);

/* "2026-01-02T03:04:05Z" of now. */
json_t *lc_kube_now(void);

#endif
