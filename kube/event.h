/* SPDX-License-Identifier: MIT */
/* An Event about an object of the cluster. Pure. Source: events.k8s.io/v1, whose server requires every field that is
 * written here but the uid. */
#ifndef CFR_KUBE_EVENT_H
#define CFR_KUBE_EVENT_H

#include "base/secret.h"

#define CFR_K8S_EVENT_PATH_MAX 320
#define CFR_K8S_EVENT_BODY_MAX 8192
#define CFR_K8S_EVENT_NOTE_MAX 1024 /* with its NUL; longer ones are cut */

/* All borrowed. */
struct cfr_k8s_event {
    const char *kind; /* of the object, of core/v1: "Secret" */
    const char *namespace_name;
    const char *name;
    const char *uid; /* empty: not known */
    bool warning;
    const char *reason; /* "Published" */
    const char *action; /* "Publish" */
    const char *note;   /* for people; never secret */
    const char *instance;
    int64_t wall_ms;
};

/* False for a namespace that is not valid. */
bool cfr_k8s_event_path(const struct cfr_k8s_event *e, char out[CFR_K8S_EVENT_PATH_MAX]);
int cfr_k8s_event_body(const struct cfr_k8s_event *e, struct cfr_secret *out, struct cfr_err *err);

#endif
