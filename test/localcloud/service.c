/* SPDX-License-Identifier: MIT */
/* The table of services on the service listeners, their settings and outages. */
#include "service.h"

#include "acr.h"
#include "azure.h"
#include "ecr.h"
#include "gcp.h"
#include "graph.h"
#include "iam.h"
#include "ibm.h"
#include "issuer_site.h"
#include "keystone.h"
#include "kube.h"
#include "oauth.h"
#include "objects.h"
#include "pod_identity.h"
#include "sts.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct lc_service sts = {.name = "sts", .prefix = "/", .handle = lc_sts_handle, .url = ""};
static const struct lc_service issuer = {
    .name = "issuer", .prefix = "/issuer/", .handle = lc_issuer_handle, .survives_outage = true, .url = ""};

/* One line per service. The order is that of the bits of an outage. */
static const struct lc_service *const services[] = {
    &sts,
    &issuer,
    &lc_gcp_service,
    &lc_azure_service,
    &lc_acr_service,
    &lc_oauth_service,
    &lc_keystone_service,
    &lc_ecr_service,
    &lc_pod_identity_service,
    &lc_kube_service,
    &lc_iam_service,
    &lc_graph_service,
    &lc_objects_service,
    &lc_ibm_service,
};

enum { SERVICES = sizeof services / sizeof services[0] };
_Static_assert(SERVICES <= 32, "cloud->outages has a bit for each");

/* Settings in use by any number of requests. Their own count keeps JSON's counts out of the threads' way:
 * what is shared is only read. */
struct lc_held {
    atomic_ulong users;
    json_t *settings;
};

struct lc_services {
    pthread_mutex_t lock;
    struct lc_held *now[SERVICES];
};

const struct lc_service *lc_service_at(size_t n)
{
    return n < SERVICES ? services[n] : NULL;
}

/* SERVICES when there is none of that name. */
static size_t index_of(const char *name)
{
    size_t n = 0;

    while (n < SERVICES && strcmp(services[n]->name, name) != 0) {
        n++;
    }
    return n;
}

const struct lc_service *lc_service_find(const char *name)
{
    return lc_service_at(index_of(name));
}

struct lc_services *lc_services_new(struct lc_fail *fail)
{
    struct lc_services *all = calloc(1, sizeof *all);

    if (all == NULL) {
        (void)lc_fail_set(fail, "out of memory");
        return NULL;
    }
    (void)pthread_mutex_init(&all->lock, NULL);
    return all;
}

void lc_service_release(struct lc_held *held)
{
    if (held != NULL && atomic_fetch_sub(&held->users, 1) == 1) {
        json_decref(held->settings);
        free(held);
    }
}

void lc_services_free(struct lc_services *all)
{
    if (all != NULL) {
        for (size_t n = 0; n < SERVICES; n++) {
            lc_service_release(all->now[n]);
        }
        (void)pthread_mutex_destroy(&all->lock);
        free(all);
    }
}

int lc_service_set(struct lc_cloud *cloud, const struct lc_service *service, json_t *settings, struct lc_fail *fail)
{
    size_t n = index_of(service->name);
    struct lc_held *held = NULL;
    struct lc_held *before = NULL;

    if (n >= SERVICES || service->check == NULL) {
        return lc_fail_set(fail, "%s has no settings", service->name);
    }
    held = calloc(1, sizeof *held);
    if (held == NULL) {
        return lc_fail_set(fail, "out of memory");
    }
    atomic_init(&held->users, 1);
    held->settings = service->check(cloud, settings, fail);
    if (held->settings == NULL) {
        lc_service_release(held);
        return -1;
    }
    (void)pthread_mutex_lock(&cloud->services->lock);
    before = cloud->services->now[n];
    cloud->services->now[n] = held;
    (void)pthread_mutex_unlock(&cloud->services->lock);
    lc_service_release(before);
    return 0;
}

struct lc_held *lc_service_hold(struct lc_cloud *cloud, const struct lc_service *service, json_t **settings)
{
    size_t n = index_of(service->name);
    struct lc_held *held = NULL;

    if (n < SERVICES) {
        (void)pthread_mutex_lock(&cloud->services->lock);
        held = cloud->services->now[n];
        if (held != NULL) {
            (void)atomic_fetch_add(&held->users, 1);
        }
        (void)pthread_mutex_unlock(&cloud->services->lock);
    }
    *settings = held == NULL ? NULL : held->settings;
    return held;
}

json_t *lc_service_settings(struct lc_cloud *cloud, const struct lc_service *service)
{
    json_t *settings = NULL;
    struct lc_held *held = lc_service_hold(cloud, service, &settings);
    json_t *copy = json_deep_copy(settings);

    lc_service_release(held);
    return copy;
}

int lc_service_outage(struct lc_cloud *cloud, const char *name, bool on, struct lc_fail *fail)
{
    unsigned bits = 0;

    if (name != NULL && index_of(name) >= SERVICES) {
        struct lc_buf list = {0};
        for (size_t n = 0; n < SERVICES; n++) {
            lc_buf_format(&list, "%s%s", n == 0 ? "" : ", ", services[n]->name);
        }
        (void)lc_fail_set(fail, "outage: \"service\" must be one of %s", list.at == NULL ? "" : list.at);
        lc_buf_free(&list);
        return -1;
    }
    for (size_t n = 0; n < SERVICES; n++) {
        /* The end of an outage of everything ends also the outages that were asked for by name. */
        bool meant = name == NULL ? !on || !services[n]->survives_outage : n == index_of(name);
        bits |= meant ? 1U << n : 0;
    }
    if (on) {
        (void)atomic_fetch_or(&cloud->outages, bits);
    } else {
        (void)atomic_fetch_and(&cloud->outages, ~bits);
    }
    return 0;
}

bool lc_service_is_out(struct lc_cloud *cloud, const char *name)
{
    size_t n = index_of(name);

    return n < SERVICES && (atomic_load(&cloud->outages) >> n & 1U) != 0;
}

/* "/gcp" belongs to "/gcp/"; "/" is that path alone. */
static bool is_below(const char *path, const char *prefix)
{
    size_t len = strlen(prefix);

    if (len == 1) {
        return strcmp(path, prefix) == 0;
    }
    return strncmp(path, prefix, len) == 0 || (strlen(path) == len - 1 && strncmp(path, prefix, len - 1) == 0);
}

static void not_found(struct lc_reply *reply)
{
    reply->status = 404;
    lc_reply_header(reply, "Content-Type", "text/plain");
    lc_buf_text(&reply->body, "404: the services are");
    for (size_t n = 0; n < SERVICES; n++) {
        lc_buf_format(&reply->body, "%s %s (%s)", n == 0 ? "" : ",", services[n]->prefix, services[n]->name);
    }
    lc_buf_text(&reply->body, "\n");
}

void lc_service_handle(void *owner, const struct lc_request *request, struct lc_reply *reply)
{
    struct lc_cloud *cloud = owner;

    for (size_t n = 0; n < SERVICES; n++) {
        if (is_below(request->path, services[n]->prefix)) {
            if (services[n]->handle != NULL) {
                services[n]->handle(cloud, request, reply);
            } else {
                lc_visit_run(services[n], cloud, request, reply);
            }
            return;
        }
    }
    for (size_t n = 0; n < SERVICES; n++) {
        for (size_t i = 0; i < services[n]->action_count; i++) {
            if (lc_text_like(services[n]->actions[i].path, request->path)) {
                lc_visit_run(services[n], cloud, request, reply);
                return;
            }
        }
    }
    not_found(reply);
}
