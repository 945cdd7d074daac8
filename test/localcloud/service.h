/* SPDX-License-Identifier: MIT */
/* The table of services on the service listeners, their settings and outages, and what every service is. */
#ifndef LC_SERVICE_H
#define LC_SERVICE_H

#include "cloud.h"
#include "visit.h"

/* One thing that a service does. */
struct lc_action {
    const char *name;                    /* in faults, statistics and the log: "gcp.token" */
    const char *method;                  /* "POST" */
    const char *path;                    /* of the request, undecoded; `*` matches anything: the action checks it */
    void (*run)(struct lc_visit *visit); /* answers */
    const char *who; /* the form parameter that is the record's `role`; NULL: none, or `note` knows */
    bool use;        /* uses a credential: goes on during an outage, and takes only faults that name it */
};

struct lc_service {
    const char *name; /* also the key of its settings, of its URL in ready.json ("NAME_url") and of its outage */
    /* Of its paths, "/gcp/"; "/" is that path alone. Its actions may also have paths that no service's prefix has. */
    const char *prefix;
    /* Answers everything by itself, faults, outage and statistics included. NULL: lc_visit_run does that with
     * what follows. */
    void (*handle)(struct lc_cloud *cloud, const struct lc_request *request, struct lc_reply *reply);
    const struct lc_action *actions;
    size_t action_count;
    /* Instead of looking in actions by method and path. NULL: with the status that says why. */
    const struct lc_action *(*find)(const struct lc_request *request, unsigned *status);
    /* Before faults are taken: may set visit->record.role. NULL: nothing to do. */
    void (*note)(struct lc_visit *visit);
    /* Writes a refusal as this service words it: status, headers, body. Also for faults; code may be any
     * text. */
    void (*refuse)(struct lc_visit *visit, const struct lc_refusal *refusal);
    /* Its settings when the configuration has none: JSON. NULL: there are no settings. */
    const char *demo;
    /* Checks settings and returns what visit->settings shall be (a new reference; it is never changed again,
     * so that any thread may read it), or NULL with the reason. */
    json_t *(*check)(struct lc_cloud *cloud, json_t *settings, struct lc_fail *fail);
    bool survives_outage; /* an outage of everything spares it */
    const char *url;      /* path for ready.json; NULL: the prefix without its last slash; "": none */
    bool plain_url;       /* ... on the listener without TLS */
};

/* owner is the struct lc_cloud. */
void lc_service_handle(void *owner, const struct lc_request *request, struct lc_reply *reply);

/* Service n of the table, NULL past its end. */
const struct lc_service *lc_service_at(size_t n);
const struct lc_service *lc_service_find(const char *name);

/* Settings of every service. settings is the service's own object. */
struct lc_services *lc_services_new(struct lc_fail *fail);
void lc_services_free(struct lc_services *services);
int lc_service_set(struct lc_cloud *cloud, const struct lc_service *service, json_t *settings, struct lc_fail *fail);
/* What holds now, until the caller releases it; *settings (NULL when the service has none) is shared by all:
 * only to be read, and no part of it to be referenced from another document. */
struct lc_held *lc_service_hold(struct lc_cloud *cloud, const struct lc_service *service, json_t **settings);
void lc_service_release(struct lc_held *held);
/* A copy of them; the caller drops it. */
json_t *lc_service_settings(struct lc_cloud *cloud, const struct lc_service *service);

/* name NULL: every service, except those that survive one. -1 when there is no such service. */
int lc_service_outage(struct lc_cloud *cloud, const char *name, bool on, struct lc_fail *fail);
bool lc_service_is_out(struct lc_cloud *cloud, const char *name);

#endif
