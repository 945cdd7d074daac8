/* SPDX-License-Identifier: MIT */
/* Producers: sources that make what they grant, with a state of their own and requests that can take hours, such as a
 * rotated key. Their rows are in later rooms and are registered (cfr_source_add).
 *
 * STATE is the producer's; it borrows the client and the configuration. Functions are called from the loop, block on
 * disk only, and call nothing of the client but what their comments name. */
#ifndef CFR_AGENT_SOURCE_PRODUCER_H
#define CFR_AGENT_SOURCE_PRODUCER_H

#include "agent/source/exchange.h"
#include "serve/api/status.h"
#include "serve/sdk/endpoint.h"

struct cfr_delivery;
struct cfr_publish_record;
struct cfr_publisher;

/* What a producer needs of its worker. */
struct cfr_source_client {
    struct cfr_http *http;
    struct cfr_kube *kube;
    int state_fd;
    double spread;        /* from 0 to 1, the same at each start: agents do not move in step */
    const bool *draining; /* the agent is stopping: start nothing new */
    /* Fills OUT with the offer of the credential NAME; false if there is no such credential. */
    bool (*offer)(void *ctx, const char *name, struct cfr_offer *out);
    void *offer_ctx;
    struct cfr_publish_record *record;
    const struct cfr_publisher *targets;
    const struct cfr_delivery *delivery; /* NULL: no target in the cluster */
    bool (*used_by_all)(void *ctx);      /* every consumer that acknowledges uses the published generation */
    void (*save)(void *ctx);             /* writes the record */
    void (*wake)(void *ctx);             /* a step is due */
    void *ctx;                           /* of the last three */
};

/* Reasons for a start. */
struct cfr_source_order {
    bool wanted; /* an operator requested a new grant */
    bool again;  /* the configuration changed: what is granted is published in another way */
    bool lost;   /* published files are missing */
};

/* The present state of a producer. */
struct cfr_source_report {
    bool made;      /* it made what is published */
    bool busy;      /* a request, or a write to disk, is in progress */
    bool writing;   /* a step is due when a child process ends */
    bool continues; /* work is due now: `credfresh once` waits for it */
    bool refused;   /* the server refuses what is published, for certain */
    bool old_gone;  /* what was published before can never be used again */
};

struct cfr_source_producer {
    /* Reads what an earlier run left; starts nothing. CFR_E_NOMEM. */
    int (*open)(const struct cfr_source_client *client, const struct cfr_config_credential *c, void **state,
                struct cfr_err *err);
    /* Ends what is in progress; the next run continues it. */
    void (*close)(void *state);
    /* C replaces the configuration, and is about the same credential. */
    void (*rebind)(void *state, const struct cfr_config_credential *c);
    /* C was removed from the configuration: logs what remains of it. */
    void (*abandon)(const void *state);
    /* True if what is published needs no start now; *DUE_MS is when the next is due, by the wall clock. */
    bool (*adopt)(void *state, int64_t *due_ms);
    /* Continues until there is something to publish, or nothing is to be done, and calls DONE once, not before this
     * returns, with result->produced; unless it is cancelled. */
    void (*start)(void *state, struct cfr_source_order order, cfr_source_exchange_fn *done, void *ctx);
    void (*cancel)(void *state);
    /* What the record names as GENERATION is at all targets, and on disk. False if that is not the end of a start.
     * *DUE_MS is when the next start is due, INT64_MAX if that is not known. */
    bool (*published)(void *state, uint64_t generation, int64_t *due_ms);
    /* Does what is due. FAILED: the last start did. True: start again now. */
    bool (*step)(void *state, bool failed);
    /* Boot time of the next step, INT64_MAX if none. */
    int64_t (*deadline)(void *state);
    /* What waits after a failure of a request to WHERE waits no longer. True if it did. */
    bool (*resume)(void *state, const struct cfr_kube_where *where);
    /* What it does next needs the credential NAME. DUE: a start is. */
    bool (*needs)(void *state, const char *name, bool due);
    /* The credential NAME has something new, or its own configuration has (NULL). True: start again now. */
    bool (*changed)(void *state, const char *name);
    /* 0 if an operator may request a new grant. CFR_E_USAGE, CFR_E_UNAVAILABLE. */
    int (*may_request)(const void *state, struct cfr_err *err);
    /* An operator requested a new grant: a start that is in progress does not count for it. */
    void (*request)(void *state);
    void (*report)(void *state, struct cfr_source_report *out);
    /* Adds its part. What that borrows lives until the next call. */
    void (*status)(void *state, struct cfr_api_status_credential *out);
};

#endif
