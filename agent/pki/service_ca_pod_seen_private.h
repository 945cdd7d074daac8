/* SPDX-License-Identifier: MIT */
/* The certificate requests of a signer, as they were looked at last, and which of them is next: the namespaces take
 * turns, and in each the oldest request is first. So no number of requests of one namespace keeps another's waiting.
 * Never blocks, and calls nothing back. It has at most 20000 requests; what points into it counts until the next
 * change. */
#ifndef CFR_AGENT_PKI_SERVICE_CA_POD_SEEN_PRIVATE_H
#define CFR_AGENT_PKI_SERVICE_CA_POD_SEEN_PRIVATE_H

#include "agent/loop/backoff.h"
#include "base/view.h"
#include "kube/name.h"

#include <stdbool.h>
#include <stddef.h>

#define CFR_SERVICE_CA_POD_PATH_MAX (CFR_K8S_LABEL_MAX + CFR_K8S_NAME_MAX + 2) /* NAMESPACE/NAME, with its NUL */

struct cfr_service_ca_pod_seen_one {
    char *path; /* NAMESPACE/NAME */
    char *version;
    bool done;     /* it has its result, as of this version */
    bool listed;   /* by the list in progress */
    uint64_t age;  /* its first version: less is older */
    uint64_t turn; /* less is earlier: one more than that of the request before in its namespace */
    struct cfr_backoff backoff;
    int64_t next_boot_ms; /* of the next look, if it is not done */
};

struct cfr_service_ca_pod_space {
    char *name;
    size_t count;  /* of its requests */
    uint64_t turn; /* of the last one that was put in */
};

/* Zero-initialise. */
struct cfr_service_ca_pod_seen {
    struct cfr_service_ca_pod_seen_one *items; /* by their paths */
    size_t count;
    size_t room;
    struct cfr_service_ca_pod_space *spaces; /* by their names; each has a request */
    size_t space_count;
    size_t space_room;
    uint64_t turn; /* of the request that was due last */
    uint64_t added;
};

/* The request has VERSION; what is known of one that is as it was is kept. CFR_E_ANSWER: it has no name that fits.
 * CFR_E_LIMIT: there are too many; then the newest of the namespace with the most is forgotten. CFR_E_NOMEM. */
int cfr_service_ca_pod_seen_note(struct cfr_service_ca_pod_seen *s, struct cfr_view space, struct cfr_view name,
                                 const char *version, struct cfr_err *err);
/* It is gone. */
void cfr_service_ca_pod_seen_drop(struct cfr_service_ca_pod_seen *s, struct cfr_view space, struct cfr_view name);
/* A list begins; and it has ended: those that were not noted in between are gone. */
void cfr_service_ca_pod_seen_begin(struct cfr_service_ca_pod_seen *s);
void cfr_service_ca_pod_seen_end(struct cfr_service_ca_pod_seen *s);
/* NULL if there is none. */
struct cfr_service_ca_pod_seen_one *cfr_service_ca_pod_seen_find(const struct cfr_service_ca_pod_seen *s,
                                                                 const char *path);
/* The one that has to be looked at now, or NULL. */
struct cfr_service_ca_pod_seen_one *cfr_service_ca_pod_seen_due(struct cfr_service_ca_pod_seen *s, int64_t now_boot_ms);
/* It is to be looked at again at NEXT_BOOT_MS, after what waits by then. */
void cfr_service_ca_pod_seen_put_back(struct cfr_service_ca_pod_seen *s, struct cfr_service_ca_pod_seen_one *one,
                                      int64_t next_boot_ms);
/* The time of the next look, INT64_MAX if all are done. */
int64_t cfr_service_ca_pod_seen_next(const struct cfr_service_ca_pod_seen *s);
/* What waits after a failure waits no longer. */
void cfr_service_ca_pod_seen_resume(struct cfr_service_ca_pod_seen *s, int64_t now_boot_ms);
/* True if one has failed, and waits for its turn. */
bool cfr_service_ca_pod_seen_waits(const struct cfr_service_ca_pod_seen *s);
/* It is done, as of VERSION. Without memory it is looked at once more. */
void cfr_service_ca_pod_seen_finish(struct cfr_service_ca_pod_seen_one *one, const char *version);
void cfr_service_ca_pod_seen_free(struct cfr_service_ca_pod_seen *s);

#endif
