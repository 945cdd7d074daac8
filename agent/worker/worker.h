/* SPDX-License-Identifier: MIT */
/* One credential's work: it feeds the state machine with events and does what the machine says. */
#ifndef CFR_AGENT_WORKER_WORKER_H
#define CFR_AGENT_WORKER_WORKER_H

#include "agent/config/config.h"
#include "agent/worker/lifecycle.h"
#include "agent/publish/secret_target.h"
#include "agent/source/exchange.h"
#include "agent/hook/hook.h"
#include "agent/http/client.h"
#include "agent/kube/client.h"
#include "agent/rotation/rotator.h"
#include "agent/publish/record.h"
#include "agent/pki/service_ca.h"
#include "agent/loop/timer_heap.h"
#include "agent/loop/fair_queue.h"
#include "agent/loop/file_watcher.h"
#include "files/watch.h"
#include "serve/sdk/endpoint.h"
#include "serve/api/status.h"

#define CFR_HOST_TURN_MS 100 /* how long workers may keep the loop from everybody else */

struct cfr_worker;
struct cfr_worker_kept; /* private to agent/worker/worker_cache.c */
struct cfr_worker_ack;  /* private to agent/worker/worker_ack.c */
struct reading;         /* private to agent/worker_*.c */

/* What all workers share; owned by the agent. */
struct cfr_host {
    struct cfr_http *http;
    struct cfr_kube *kube;
    struct cfr_service_ca *service_ca; /* NULL = none */
    struct cfr_watch *watch;           /* NULL: polling only */
    struct cfr_timer_heap timers;
    int state_fd;
    const struct cfr_config *config;
    bool (*offer)(void *ctx, const char *name,
                  struct cfr_offer *out); /* what the credential NAME has; false: there is none */
    void *offer_ctx;
    unsigned hook_attempts;      /* 0 = never give up */
    struct cfr_fair_queue turns; /* of workers, by provider */
    bool draining;               /* the end is near: what is under way goes on, and nothing new is begun */
    bool serving;                /* the queue, a few frames up: what ends at once must not begin to serve it again */
};

/* The subject token as last read. */
struct cfr_worker_token {
    int64_t issued_s;
    int64_t expires_s;
    uint64_t mark;           /* of the material, see agent/source/inputs.h */
    int64_t overdue_boot_ms; /* when it should have been replaced at the latest */
    bool overdue;
    bool sub_path;
    bool requested; /* the last one was asked of the API server */
    bool refused;   /* the API server gave none in place of the overdue one, which is used while it is good */
};

struct cfr_worker {
    struct cfr_timer timer; /* first, so that a timer is its worker */
    struct cfr_host *host;
    const struct cfr_config_credential *config;
    const struct cfr_sts_provider *provider; /* of what was last read; NULL = nothing is exchanged */
    struct cfr_lifecycle c;
    struct cfr_publish_record record;
    struct cfr_worker_token token;
    struct cfr_exchange *exchange;
    struct cfr_rotator *minter; /* NULL: it is no key that we make */
    struct cfr_hooks *hooks;
    struct cfr_delivery *delivery;    /* NULL: no target in the cluster */
    struct cfr_worker_ack *ack;       /* NULL: no consumer says what it uses */
    struct cfr_watcher token_watcher; /* of everything that an exchange begins with */
    struct cfr_fair_queue_entry turn;
    bool rotate_wanted; /* somebody asked, and no exchange since */
    bool forced;        /* the exchange under way is for that */
    bool known; /* what stands is what the record says, because this run published it and nobody else touched it */
    bool first_delivery; /* nothing was delivered to the cluster before */
    bool replace;        /* the configuration changed: shorter lives are welcome */
    double spread;
    int64_t retire_boot_ms;
    struct reading *reading; /* what an event handler has just read, so that the try it leads to need not; else NULL */
    int64_t
        look_boot_ms; /* when the source is looked at again, such as one that could not be read; INT64_MAX = no more */
    unsigned looks;   /* how often it was */
    uint64_t token_used;          /* mark of the token that the exchange under way, or the last one, used */
    struct cfr_worker_kept *kept; /* the last grant, where somebody is served with it; NULL = none */
    bool wanted;                  /* somebody asked for it, though the configuration says of nobody that he would */
    char *watched;                /* the token's path that a mounted Secret names, as it is watched now; NULL = none */
    char *note;                   /* what was last said of a mounted Secret; NULL = nothing */
    char *error;
    int error_code;
    int64_t error_s;
    char *last_reason;
    bool skew_known;
    int64_t skew_s; /* the server's clock less ours, when it last answered an exchange */
    uint64_t exchanges_ok;
    uint64_t exchanges_failed[CFR_CLASS_COUNT];
    struct cfr_api_status_histogram duration;
};

enum cfr_worker_outcome { CFR_WORKER_BUSY, CFR_WORKER_GOOD, CFR_WORKER_BAD };

/* Makes a worker and reads what an earlier run left (record, published files); starts nothing. CFR_E_NOMEM. */
int cfr_worker_open(struct cfr_host *host, const struct cfr_config_credential *config, struct cfr_worker **out,
                    struct cfr_err *err);
/* Adopts what is still fresh, or makes the first try due. */
void cfr_worker_start(struct cfr_worker *w);
/* Ends what is under way, without touching what is published. */
void cfr_worker_close(struct cfr_worker *w);
/* The configuration was reloaded; CONFIG has the same digest_material. Replaces the hooks where they differ. */
int cfr_worker_rebind(struct cfr_worker *w, const struct cfr_config_credential *config, struct cfr_err *err);

/* What W has in memory for those who ask, NULL if there is nothing, which is taken from it; and giving it to a
 * successor that is granted the same, so that nobody is turned away until it has its own. KEPT may be NULL. */
struct cfr_worker_kept *cfr_worker_take_kept(struct cfr_worker *w);
void cfr_worker_give_kept(struct cfr_worker *w, struct cfr_worker_kept *kept);
void cfr_worker_free_kept(struct cfr_worker_kept *kept);

/* Events from the loop. */
void cfr_worker_on_token(struct cfr_worker *w);
/* The same by its timer, for what concerns many at once: they are too many for one turn of the loop, where each makes a
 * key. */
void cfr_worker_look_soon(struct cfr_worker *w);
void cfr_worker_on_timer(struct cfr_worker *w);
void cfr_worker_on_child(struct cfr_worker *w);
void cfr_worker_on_clock(struct cfr_worker *w);
/* Once a minute: published files that somebody removed are published anew, a lost deadline is planned again. */
void cfr_worker_on_tick(struct cfr_worker *w);
/* Gives turns to queued workers while there are any to give, for CFR_HOST_TURN_MS at most. */
void cfr_worker_serve_queue(struct cfr_host *host);
/* True if a turn could be given to a queued worker now. */
bool cfr_worker_queue_ready(const struct cfr_host *host);

/* Rotates now. REASON may be NULL or empty. CFR_E_CONFLICT if this reason was used before; other errors if it could
 * not be recorded. *REPLACES is the generation that will be replaced. */
int cfr_worker_rotate(struct cfr_worker *w, const char *reason, uint64_t *replaces, struct cfr_err *err);

/* What it has to offer now: from memory, never waits. OUT borrows until the loop's next turn. Where nothing is in
 * memory an exchange is made due, if none is under way or planned. */
void cfr_worker_offer(struct cfr_worker *w, struct cfr_offer *out);

/* True while an exchange, a delivery or a hook is under way. */
bool cfr_worker_is_busy(const struct cfr_worker *w);
enum cfr_worker_outcome cfr_worker_outcome(const struct cfr_worker *w);
void cfr_worker_status(struct cfr_worker *w, struct cfr_now now, struct cfr_api_status_credential *out);

#endif
