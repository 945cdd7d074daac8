/* SPDX-License-Identifier: MIT */
/* Events of events.k8s.io/v1. */
#include "kube/event.h"

#include "base/time.h"
#include "base/writer.h"
#include "kube/name_private.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define NAME_PART_MAX 200 /* of the object's name in the event's, which has at most 253 characters */

bool cfr_k8s_event_path(const struct cfr_k8s_event *e, char out[CFR_K8S_EVENT_PATH_MAX])
{
    out[0] = '\0';
    if (!cfr_k8s_name_is_label(e->namespace_name))
        return false;
    (void)snprintf(out, CFR_K8S_EVENT_PATH_MAX, "/apis/events.k8s.io/v1/namespaces/%s/events?fieldManager=credfresh",
                   e->namespace_name);
    return true;
}

/* RFC 3339 with microseconds. */
static void write_time(int64_t wall_ms, char out[48])
{
    char text[CFR_TIME_RFC3339_MAX];

    (void)cfr_time_format(wall_ms / 1000, text);
    text[strcspn(text, "Z")] = '\0';
    (void)snprintf(out, 48, "%.30s.%03d000Z", text, (int)(wall_ms % 1000));
}

int cfr_k8s_event_body(const struct cfr_k8s_event *e, struct cfr_secret *out, struct cfr_err *err)
{
    struct cfr_writer w = {.secret = out, .err = err};
    char note[CFR_K8S_EVENT_NOTE_MAX];
    char name[256];
    char at[48];

    write_time(e->wall_ms, at);
    (void)snprintf(name, sizeof name, "%.*s.%" PRIx64, NAME_PART_MAX, e->name, (uint64_t)e->wall_ms);
    (void)snprintf(note, sizeof note, "%s", e->note);
    cfr_writer_object(&w, NULL);
    cfr_writer_string(&w, "apiVersion", cfr_view_of("events.k8s.io/v1"));
    cfr_writer_string(&w, "kind", cfr_view_of("Event"));
    cfr_writer_object(&w, "metadata");
    cfr_writer_string(&w, "generateName", cfr_view_of(name));
    cfr_writer_string(&w, "namespace", cfr_view_of(e->namespace_name));
    cfr_writer_close(&w);
    cfr_writer_string(&w, "eventTime", cfr_view_of(at));
    cfr_writer_string(&w, "reportingController", cfr_view_of("credfresh.io/agent"));
    cfr_writer_string(&w, "reportingInstance", cfr_view_of(e->instance));
    cfr_writer_string(&w, "type", cfr_view_of(e->warning ? "Warning" : "Normal"));
    cfr_writer_string(&w, "reason", cfr_view_of(e->reason));
    cfr_writer_string(&w, "action", cfr_view_of(e->action));
    cfr_writer_string(&w, "note", cfr_view_of(note));
    cfr_writer_object(&w, "regarding");
    cfr_writer_string(&w, "apiVersion", cfr_view_of("v1"));
    cfr_writer_string(&w, "kind", cfr_view_of(e->kind));
    cfr_writer_string(&w, "namespace", cfr_view_of(e->namespace_name));
    cfr_writer_string(&w, "name", cfr_view_of(e->name));
    cfr_writer_optional(&w, "uid", cfr_view_of(e->uid));
    cfr_writer_close(&w);
    cfr_writer_close(&w);
    return w.rc;
}
