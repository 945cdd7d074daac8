/* SPDX-License-Identifier: MIT */
/* Events on the Secrets and ConfigMaps that are published. */
#include "agent/kube/event.h"
#include "agent/publish/delivery_private.h"
#include "base/time.h"

#include <inttypes.h>
#include <stdio.h>

static void send_event(const struct cfr_delivery_object *t, bool warning, const char *reason, const char *note)
{
    struct cfr_k8s_event e = {.kind = t->kind->name,
                              .namespace_name = t->namespace_name,
                              .name = t->config->name,
                              .uid = t->uid,
                              .warning = warning,
                              .reason = reason,
                              .action = "Publish",
                              .note = note,
                              .wall_ms = cfr_clock_now().wall_ms};

    if (t->config->events && t->namespace_name[0] != '\0')
        cfr_kube_event_send(t->all->kube, &(struct cfr_kube_where){t->config->kubeconfig, t->config->context}, &e);
}

static const char *reason_of(const struct cfr_delivery_object *t)
{
    if (t->repairs && t->key == t->done_key)
        return "Restored";
    if (t->ca_rotated)
        return "CARotated";
    if (t->key == 0 || t->key == t->done_key)
        return "Published";
    return t->adopted ? "Adopted" : "Rotated";
}

void cfr_publish_delivery_report_published(const struct cfr_delivery_object *t)
{
    char note[256];
    char expires[CFR_TIME_RFC3339_MAX];
    bool ends = t->done_expires_ms != INT64_MAX;

    (void)snprintf(note, sizeof note, "it holds generation %" PRIu64 " of the credential %.63s, which %s%s", t->done,
                   t->all->config->name, ends ? "expires at " : "does not expire",
                   ends ? cfr_time_format(t->done_expires_ms / 1000, expires) : "");
    send_event(t, false, reason_of(t), note);
}

void cfr_publish_delivery_report_failed(const struct cfr_delivery_object *t)
{
    char note[160];

    (void)snprintf(note, sizeof note,
                   "the credential %.63s could not be published here [%s]; the log of credfresh says why",
                   t->all->config->name, cfr_err_name(t->error_code));
    send_event(t, true, "PublishFailed", note);
}

void cfr_publish_delivery_check_expired(struct cfr_delivery_object *t, struct cfr_now now)
{
    char note[160];

    if (!t->config->events || t->told_expired || t->done == 0 || t->done_expires_ms > now.wall_ms)
        return;
    t->told_expired = true;
    (void)snprintf(note, sizeof note, "generation %" PRIu64 " of the credential %.63s has expired", t->done,
                   t->all->config->name);
    send_event(t, true, "Expired", note);
}
