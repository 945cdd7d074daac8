/* SPDX-License-Identifier: MIT */
/* Events under way. */
#include "agent/kube/event.h"

#include "agent/kube/client_private.h"
#include "base/log.h"
#include "kube/name.h"
#include "kube/status.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define UNDER_WAY_MAX 16

struct cfr_kube_event {
    struct cfr_kube_event *next;
    struct cfr_kube *kube;
    struct cfr_kube_call *call;
    struct cfr_secret body;
    char namespace_name[CFR_K8S_LABEL_MAX + 1];
};

static void free_event(struct cfr_kube_event *e)
{
    cfr_kube_cancel(e->call);
    cfr_secret_free(&e->body);
    free(e);
}

static void log_loss(struct cfr_kube *k, const struct cfr_err *err)
{
    cfr_log(cfr_log_once_is_news(&k->events_logged, err) ? CFR_LOG_WARN : CFR_LOG_DEBUG, NULL, NULL,
            "an Event was lost: %s", err->text);
}

static void on_answer(void *ctx, const struct cfr_kube_answer *answer)
{
    struct cfr_kube_event *e = ctx;
    struct cfr_kube_event **at = &e->kube->events;
    struct cfr_k8s_asked asked = {.what = "the Event",
                                  .verb = "create",
                                  .resource = "events.events.k8s.io",
                                  .namespace_name = e->namespace_name,
                                  .secrets = answer->secrets,
                                  .secret_count = answer->secret_count};
    struct cfr_err err = answer->err;
    int64_t retry_after_s = -1;
    int rc = answer->error;

    if (rc == 0 && answer->status != 201)
        rc = cfr_k8s_refusal(answer->status, answer->body, &asked, &retry_after_s, &err);
    if (rc != 0)
        log_loss(e->kube, &err);
    while (*at != e)
        at = &(*at)->next;
    *at = e->next;
    e->call = NULL;
    free_event(e);
}

void cfr_kube_event_send(struct cfr_kube *k, const struct cfr_kube_where *where, const struct cfr_k8s_event *e)
{
    struct cfr_kube_event *sent = calloc(1, sizeof *sent);
    struct cfr_k8s_event whole = *e;
    char path[CFR_K8S_EVENT_PATH_MAX];
    char host[65] = "";
    struct cfr_kube_request request = {.method = "POST", .path = path, .content_type = "application/json"};
    struct cfr_err err = {0};
    size_t count = 0;
    int rc = 0;

    for (const struct cfr_kube_event *p = k->events; p != NULL; p = p->next)
        count++;
    if (sent == NULL || count >= UNDER_WAY_MAX) {
        free(sent);
        return;
    }
    (void)gethostname(host, sizeof host - 1);
    whole.instance = host[0] != '\0' ? host : "credfresh";
    sent->kube = k;
    (void)snprintf(sent->namespace_name, sizeof sent->namespace_name, "%s", e->namespace_name);
    request.body = &sent->body;
    cfr_secret_init(&sent->body, CFR_K8S_EVENT_BODY_MAX);
    if (!cfr_k8s_event_path(&whole, path))
        rc = cfr_err_set(&err, CFR_E_CONFIG, "its namespace is not valid");
    if (rc == 0)
        rc = cfr_k8s_event_body(&whole, &sent->body, &err);
    if (rc == 0)
        rc = cfr_kube_start(k, where, &request, on_answer, sent, &sent->call, &err);
    if (rc != 0) {
        log_loss(k, &err);
        free_event(sent);
        return;
    }
    sent->next = k->events;
    k->events = sent;
}

void cfr_kube_events_close(struct cfr_kube *k)
{
    while (k->events != NULL) {
        struct cfr_kube_event *e = k->events;

        k->events = e->next;
        free_event(e);
    }
}
